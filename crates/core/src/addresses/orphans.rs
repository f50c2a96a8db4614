//! What deleted pools leave behind: addresses that were reserved for them, and reservations whose
//! result is unknown. No other pool takes either for the result of its own reservation.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::pool::{IntentProgress, PoolEntry};
use crate::Time;
use crate::model::{AccountId, Family, Intent, ObjectKey, Text};

/// A reservation: its pool and its intent.
type Reservation = (ObjectKey, Text);

/// The orphans of deleted pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orphans {
    addresses: BTreeMap<IpAddr, Left>,
    reservations: BTreeMap<Reservation, Orphan>,
}

/// An address of a deleted pool.
#[derive(Clone, Debug)]
struct Left {
    /// The account, if known.
    account: Option<AccountId>,
    /// The reservation that made the address, if its answer came after the deletion. If the pool is
    /// restored with the intent, the address is its own.
    by: Option<Reservation>,
    /// The first of the listings in a row that did not show the address.
    missed_at: Option<Time>,
}

/// A reservation of a deleted pool.
#[derive(Clone, Debug)]
struct Orphan {
    intent: Intent,
    /// The account. `None` if neither the ledger nor the spec named one.
    account: Option<AccountId>,
    /// The time from which a listing shows the result, or `None` while an answer is due.
    shown_from: Option<Time>,
    /// The accounts of which a listing has shown the result: an address that no new intent takes for
    /// its own.
    shown: BTreeSet<AccountId>,
    /// The reservations of other pools that were open when the pool was deleted. A new address may
    /// be the result of any of them.
    rivals: BTreeSet<Reservation>,
}

/// When a listing shows every orphan of an account, the soonest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shown {
    /// The last listing did.
    Already,
    /// A listing does that is sent at or after this time.
    From(Time),
    /// Unknown: an answer is due.
    AfterAnswer,
}

impl Orphans {
    /// Whether a deleted pool left an address that is not the result of this reservation.
    pub(crate) fn has(&self, ip: IpAddr, pool: &ObjectKey, id: &Text) -> bool {
        let made = |one: &Left| one.by.as_ref().is_some_and(|by| by.0 == *pool && by.1 == *id);
        self.addresses.get(&ip).is_some_and(|one| !made(one))
    }

    /// Forgets the addresses of an account that two full listings do not show, `apart` in time. The provider
    /// may hand out their numbers again.
    pub(crate) fn forget_gone(
        &mut self,
        account: &AccountId,
        families: &[Family],
        (sent_at, apart): (Time, Duration),
        exists: impl Fn(IpAddr) -> bool,
    ) {
        self.addresses.retain(|ip, one| {
            let asked =
                families.contains(&Family::of(*ip)) && one.account.as_ref() == Some(account);
            if asked {
                one.missed_at = (!exists(*ip)).then(|| one.missed_at.unwrap_or(sent_at));
            }
            !asked || one.missed_at.is_none_or(|first| sent_at < first + apart)
        });
    }

    /// Notes what a deleted pool leaves behind, beside all other pools. The result of a reservation
    /// of another term shows from `shown_from` on.
    pub(crate) fn left_by(
        &mut self,
        entry: &PoolEntry,
        others: &BTreeMap<ObjectKey, PoolEntry>,
        shown_from: Time,
    ) {
        let (key, account) = (&entry.pool.key, entry.reserves_at());
        for ip in &entry.pool.ledger.created {
            let left = Left { account: account.cloned(), by: None, missed_at: None };
            self.addresses.insert(*ip, left);
        }
        for intent in entry.open_intents() {
            let id = (key.clone(), intent.id.clone());
            // An earlier object of the same name may await an answer.
            let before = self.reservations.get(&id).map(|one| one.shown_from);
            let due = before == Some(None);
            let orphan = Orphan {
                intent: intent.clone(),
                account: account.cloned(),
                shown_from: None,
                shown: BTreeSet::new(),
                rivals: rivals(account, others),
            };
            self.reservations.insert(id.clone(), orphan);
            if !due {
                self.progressed(key, &intent.id, entry.progress(&intent.id, shown_from));
                // The call of an earlier object of the same name may still take effect.
                if let Some(one) =
                    self.reservations.get_mut(&id).filter(|one| one.shown_from.is_some())
                {
                    one.shown_from = one.shown_from.max(before.flatten());
                }
            }
        }
    }

    /// Notes the progress of a reservation whose pool is deleted. Returns whether there is such a
    /// reservation.
    pub(crate) fn progressed(
        &mut self,
        pool: &ObjectKey,
        id: &Text,
        progress: IntentProgress,
    ) -> bool {
        let id = (pool.clone(), id.clone());
        let Some(one) = self.reservations.get_mut(&id) else { return false };
        match progress {
            IntentProgress::Sent => one.shown_from = None,
            IntentProgress::Doubtful { until } => one.shown_from = Some(until),
            IntentProgress::Ready => drop(self.reservations.remove(&id)),
            IntentProgress::Made(ip) => {
                let account = one.account.clone();
                self.reservations.remove(&id);
                self.addresses.insert(ip, Left { account, by: Some(id), missed_at: None });
            }
        }
        true
    }

    /// Notes a listing of `families` sent at `sent_at`, and forgets the reservations that it shows, as
    /// far as no rival of theirs `is_open`. Returns whether the listing shows any.
    pub(crate) fn listed(
        &mut self,
        account: &AccountId,
        families: &[Family],
        sent_at: Time,
        is_open: impl Fn(&Reservation) -> bool,
    ) -> bool {
        let mut news = false;
        self.reservations.retain(|_, one| {
            let shows = one.may_be_in(account)
                && families.contains(&one.intent.family)
                && one.shown_from.is_some_and(|from| sent_at >= from);
            news |= shows && one.shown.insert(account.clone());
            let shown = one.account.as_ref().is_some_and(|own| one.shown.contains(own));
            !shown || one.rivals.iter().any(&is_open)
        });
        news
    }

    /// A new term begins: calls of earlier terms have no answer any more.
    pub(crate) fn term_begins(&mut self, shown_from: Time) {
        for one in self.reservations.values_mut() {
            one.shown_from = one.shown_from.max(Some(shown_from));
        }
    }

    /// When a listing of an account shows every orphan of a family.
    pub(crate) fn shown(&self, account: &AccountId, family: Family) -> Shown {
        let hidden = |one: &&Orphan| {
            !one.shown.contains(account) && one.may_be_in(account) && one.intent.family == family
        };
        let hidden = self.reservations.values().filter(hidden);
        let each = hidden.map(|one| one.shown_from.map_or(Shown::AfterAnswer, Shown::From));
        each.max().unwrap_or(Shown::Already)
    }

    /// The reservations of deleted pools that may have made an address of the same time as a
    /// reservation, with their progress.
    pub(crate) fn rivals_of(
        &self,
        pool: &ObjectKey,
        id: &Text,
    ) -> impl Iterator<Item = (&Intent, IntentProgress)> {
        let id = (pool.clone(), id.clone());
        let rivals = self.reservations.values().filter(move |one| one.rivals.contains(&id));
        rivals.map(|one| {
            let doubtful = |until| IntentProgress::Doubtful { until };
            (&one.intent, one.shown_from.map_or(IntentProgress::Sent, doubtful))
        })
    }
}

impl Orphan {
    fn may_be_in(&self, account: &AccountId) -> bool {
        self.account.as_ref().is_none_or(|own| own == account)
    }
}

/// The open reservations in an account. If neither ledger nor spec names the account of a pool, its
/// reservations count.
fn rivals(
    account: Option<&AccountId>,
    pools: &BTreeMap<ObjectKey, PoolEntry>,
) -> BTreeSet<Reservation> {
    let here = |entry: &&PoolEntry| {
        account.zip(entry.reserves_at()).is_none_or(|(one, other)| one == other)
    };
    let each = pools.values().filter(here).flat_map(|entry| {
        entry.open_intents().map(|intent| (entry.pool.key.clone(), intent.id.clone()))
    });
    each.collect()
}
