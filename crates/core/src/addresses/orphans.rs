//! What deleted pools leave behind: addresses that were reserved for them, and reservations whose
//! result is unknown. No other pool takes either for the result of its own reservation.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::pool::{IntentProgress, PoolEntry};
use crate::Time;
use crate::model::{AccountId, ObjectKey, Text};

/// The orphans of deleted pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orphans {
    addresses: BTreeSet<IpAddr>,
    /// Reservations by pool and intent. No listing has shown their results yet.
    reservations: BTreeMap<(ObjectKey, Text), Reservation>,
}

#[derive(Clone, Debug)]
struct Reservation {
    /// The account. `None` if neither the ledger nor the spec named one.
    account: Option<AccountId>,
    /// The time from which a listing shows the result, or `None` while an answer is due.
    shown_from: Option<Time>,
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

    /// Notes what a pool leaves behind that is deleted.
    pub(crate) fn left_by(&mut self, entry: &PoolEntry, shown_from: Time) {
        let pool = &entry.pool;
        self.addresses.extend(&pool.ledger.created);
        let requested = pool.request.as_ref().ok().map(|request| &request.account);
        let account = pool.ledger.account.as_ref().or(requested).cloned();
        for intent in entry.open_intents() {
            let key = (pool.key.clone(), intent.id.clone());
            let one = Reservation { account: account.clone(), shown_from: None };
            self.reservations.insert(key.clone(), one);
            let progress = entry.progress(&intent.id, shown_from);
            self.progressed(&key.0, &key.1, progress);
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
        let key = (pool.clone(), id.clone());
        let Some(one) = self.reservations.get_mut(&key) else { return false };
        match progress {
            IntentProgress::Sent => one.shown_from = None,
            IntentProgress::Doubtful { until } => one.shown_from = Some(until),
            IntentProgress::Ready => drop(self.reservations.remove(&key)),
            IntentProgress::Made(ip) => {
                self.addresses.insert(ip);
                self.reservations.remove(&key);
            }
        }
        true
    }

    /// Forgets the reservations whose results a listing sent at `sent_at` shows. Returns whether
    /// there were any.
    pub(crate) fn listed(&mut self, account: &AccountId, sent_at: Time) -> bool {
        let before = self.reservations.len();
        self.reservations.retain(|_, one| {
            !one.may_be_in(account) || one.shown_from.is_none_or(|from| sent_at < from)
        });
        self.reservations.len() < before
    }

    /// A new term begins: calls of earlier terms have no answer any more.
    pub(crate) fn term_begins(&mut self, shown_from: Time) {
        for one in self.reservations.values_mut() {
            one.shown_from = one.shown_from.max(Some(shown_from));
        }
    }

    /// When a listing of an account shows every orphan.
    pub(crate) fn shown(&self, account: &AccountId) -> Shown {
        let here = self.reservations.values().filter(|one| one.may_be_in(account));
        let each = here.map(|one| one.shown_from.map_or(Shown::AfterAnswer, Shown::From));
        each.max().unwrap_or(Shown::Already)
    }
}

impl Reservation {
    fn may_be_in(&self, account: &AccountId) -> bool {
        self.account.as_ref().is_none_or(|own| own == account)
    }
}
