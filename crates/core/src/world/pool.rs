//! A pool as the world keeps it: what the object says, and how far its wishes have got.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{ClassId, Settings};
use crate::Time;
use crate::action::Failure;
use crate::model::{Pool, Remembered, Text};

/// A pool with its progress.
#[derive(Clone, Debug)]
pub struct PoolEntry {
    /// As it was last seen, with our own ledger writes folded in.
    pub pool: Pool,
    /// Its candidate set.
    pub class: Option<ClassId>,
    /// What is remembered of each address: from the status at first, then our own doing.
    pub remembered: BTreeMap<IpAddr, Remembered>,
    /// When its last assignment began.
    pub last_assignment: Option<Time>,
    /// How far each intent is; one that is missing here was found, not written by us.
    pub(super) intents: BTreeMap<Text, IntentProgress>,
    /// The write of its ledger.
    pub(super) ledger_work: Work,
    /// Reservations that failed.
    pub creation: Work,
}

/// How far an intent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentProgress {
    /// Written, and surely not sent.
    Ready,
    /// On its way.
    Sent,
    /// It may have made an address: a listing that is sent from then on tells.
    Doubtful {
        /// From when on a listing tells.
        until: Time,
    },
    /// It made this address; the ledger does not say so yet.
    Made(IpAddr),
}

/// Something that is tried until it works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// It is under way.
    pub in_flight: bool,
    /// How often it failed since it last worked.
    pub failures: u32,
    /// The next attempt is not made before.
    pub not_before: Time,
    /// The last failure.
    pub failure: Option<Failure>,
}

impl Work {
    /// Whether it may be tried now.
    pub fn may_start(&self, now: Time) -> bool {
        !self.in_flight && now >= self.not_before
    }

    /// It failed.
    pub(super) fn failed(&mut self, failure: Failure, now: Time, jitter: u16, settings: &Settings) {
        self.in_flight = false;
        self.failures += 1;
        self.not_before = now + settings.back_off(self.failures, jitter);
        self.failure = Some(failure);
    }
}

impl PoolEntry {
    /// A pool of which only the object is known.
    pub(super) fn new(pool: Pool, class: Option<ClassId>) -> Self {
        Self {
            class,
            remembered: pool.remembered.clone(),
            last_assignment: pool.last_assignment,
            intents: BTreeMap::new(),
            ledger_work: Work::default(),
            creation: Work::default(),
            pool,
        }
    }

    /// The same object again, newer.
    pub(super) fn observe(&mut self, pool: Pool) {
        self.intents.retain(|id, _| pool.ledger.intents.iter().any(|intent| intent.id == *id));
        // A new wish is worth a new attempt.
        if self.pool.request != pool.request {
            self.creation = Work::default();
        }
        self.ledger_work.not_before = Time::default();
        self.pool = pool;
    }

    /// Every address of the pool, listed ones first, without repetition.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let listed = self.pool.request.as_ref().map(|request| request.listed.as_slice());
        let mut addresses = listed.unwrap_or_default().to_vec();
        let made = self.intents.values().filter_map(|progress| match progress {
            IntentProgress::Made(ip) => Some(*ip),
            _ => None,
        });
        for ip in self.pool.ledger.created.iter().copied().chain(made) {
            if !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        addresses
    }

    /// How far an intent of the ledger is. One that somebody else wrote may have been sent
    /// up to the moment from which on we may act.
    pub fn progress(&self, intent: &Text, open_from: Time) -> IntentProgress {
        let found = IntentProgress::Doubtful { until: open_from };
        self.intents.get(intent).copied().unwrap_or(found)
    }

    /// Whether a write of the ledger is under way.
    pub fn is_writing_ledger(&self) -> bool {
        self.ledger_work.in_flight
    }

    /// Whether the ledger may be written now.
    pub fn ledger_writable(&self, now: Time) -> bool {
        self.ledger_work.may_start(now)
    }

    /// When the ledger may be written again.
    pub fn ledger_not_before(&self) -> Time {
        self.ledger_work.not_before
    }

    /// What is remembered of an address.
    pub fn memory(&self, ip: IpAddr) -> Remembered {
        self.remembered.get(&ip).copied().unwrap_or_default()
    }
}

impl Pool {
    /// Whether `other` is the same wish with another status: our own writes, seen again.
    pub(super) fn differs_only_in_memory(&self, other: &Self) -> bool {
        self.request == other.request
            && self.ledger == other.ledger
            && self.resolution == other.resolution
            && self.created_at == other.created_at
            && self.uid == other.uid
    }
}
