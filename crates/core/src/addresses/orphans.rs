//! What deleted pools leave behind: addresses that were reserved for them, and reservations whose
//! result is unknown. No other pool takes either for the result of its own reservation.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::pool::{IntentProgress, PoolEntry};
use crate::Time;
use crate::model::{AccountId, Family, Intent, ObjectKey, Text};

/// A reservation: its pool and its intent.
type Reservation = (ObjectKey, Text);

/// The orphans of deleted pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orphans {
    addresses: BTreeSet<IpAddr>,
    reservations: BTreeMap<Reservation, Orphan>,
}

/// A reservation of a deleted pool.
#[derive(Clone, Debug)]
struct Orphan {
    intent: Intent,
    /// The account. `None` if neither the ledger nor the spec named one.
    account: Option<AccountId>,
    /// The time from which a listing shows the result, or `None` while an answer is due.
    shown_from: Option<Time>,
    /// Whether a listing has shown the result: an address that no new intent takes for its own.
    shown: bool,
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
    pub(crate) fn has(&self, ip: IpAddr) -> bool {
        self.addresses.contains(&ip)
    }

    /// Notes what a deleted pool leaves behind, beside all other pools. The result of a reservation
    /// of another term shows from `shown_from` on.
    pub(crate) fn left_by(
        &mut self,
        entry: &PoolEntry,
        others: &BTreeMap<ObjectKey, PoolEntry>,
        shown_from: Time,
    ) {
        self.addresses.extend(&entry.pool.ledger.created);
        let (key, account) = (&entry.pool.key, entry.reserves_at());
        for intent in entry.open_intents() {
            let id = (key.clone(), intent.id.clone());
            // An earlier object of the same name may await an answer.
            let due = self.reservations.get(&id).is_some_and(|one| one.shown_from.is_none());
            let orphan = Orphan {
                intent: intent.clone(),
                account: account.cloned(),
                shown_from: None,
                shown: false,
                rivals: rivals(account, others),
            };
            self.reservations.insert(id, orphan);
            if !due {
                self.progressed(key, &intent.id, entry.progress(&intent.id, shown_from));
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
                self.addresses.insert(ip);
                self.reservations.remove(&id);
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
            news |= shows && !one.shown;
            one.shown |= shows;
            !one.shown || one.rivals.iter().any(&is_open)
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
        let hidden =
            |one: &&Orphan| !one.shown && one.may_be_in(account) && one.intent.family == family;
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
