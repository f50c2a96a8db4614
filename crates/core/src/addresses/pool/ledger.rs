//! The ledger of a pool: its writes, and the progress of the reservations it records.

use std::net::IpAddr;

use super::PoolEntry;
use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::{AccountId, Intent, Ledger, Text};
use crate::world::{Settings, Work};

/// Above this number of intents, those of ledger writes without a known outcome are dropped.
const MOST_INTENTS_REMEMBERED: usize = 100;

/// Progress of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentProgress {
    /// Written to the ledger, and certainly not sent.
    Ready,
    /// The reservation is in flight.
    Sent,
    /// The reservation may have made an address.
    Doubtful {
        /// A listing sent at or after this time shows the result.
        until: Time,
    },
    /// The reservation made this address. The ledger does not record the address yet.
    Made(IpAddr),
}

impl PoolEntry {
    /// Takes over the reservations of this process that may have made an address, in case the ledger
    /// was or is wiped from outside. An intent that is missing from a ledger with other entries was
    /// settled by another leader.
    pub(super) fn recall_reservations(&mut self, earlier: &Self) {
        let listed = |id: &Text| self.pool.ledger.intents.iter().any(|one| one.id == *id);
        let open = |id: &Text| self.pool.ledger_stripped || listed(id);
        let sent = earlier.sent.iter().filter(|(id, _)| open(id));
        self.sent = sent.map(|(id, intent)| (id.clone(), intent.clone())).collect();
        let made = |progress: &IntentProgress| matches!(progress, IntentProgress::Made(_));
        let made = earlier.intents.iter().filter(|(id, progress)| open(id) && made(progress));
        self.intents = made.map(|(id, progress)| (id.clone(), *progress)).collect();
        self.recount();
    }

    /// Whether a reservation is in flight.
    pub(crate) fn is_reserving(&self) -> bool {
        self.intents.values().any(|progress| *progress == IntentProgress::Sent)
    }

    /// Adds the addresses that the ledger named until it was removed from outside. The status, from
    /// which `copy` was made, names a new address later than the ledger.
    pub(super) fn recall_created(&self, copy: &mut Ledger) {
        let created = self.pool.ledger.created.iter();
        let lost: Vec<_> = created.filter(|ip| !copy.created.contains(ip)).copied().collect();
        copy.created.extend(lost);
        copy.account = self.pool.ledger.account.clone();
    }

    /// Notes the object's version, from any writer. A newer version rules out that an earlier
    /// ledger write of ours still takes effect: the object shows the truth.
    pub(crate) fn written_to(&mut self, version: u64) {
        if version > self.pool.version {
            self.pool.version = version;
            self.end_doubt();
        }
    }

    fn end_doubt(&mut self) {
        self.ledger_in_doubt = false;
        // Our own status write also changes the version, and does not make a refused ledger write
        // worth repeating.
        if self.ledger_work.refusal().is_none() {
            self.ledger_work = Work { in_flight: self.ledger_work.in_flight, ..Work::default() };
        }
        self.writing = Ledger::default();
    }

    /// Notes the start of a ledger write. Intents not in the object yet are ours, and certainly not
    /// sent.
    pub(crate) fn write_begins(&mut self, ledger: &Ledger) {
        let known = |intent: &&Intent| self.pool.ledger.intents.contains(intent);
        let intents: Vec<_> = ledger.intents.iter().filter(|one| !known(one)).cloned().collect();
        // Intents of writes without a known outcome are kept, but not without limit.
        if self.intents.len() > MOST_INTENTS_REMEMBERED {
            self.forget_intents();
        }
        // An intent that was wiped off the object may have been sent.
        for intent in intents.iter().filter(|intent| !self.sent.contains_key(&intent.id)) {
            self.intents.entry(intent.id.clone()).or_insert(IntentProgress::Ready);
        }
        let known = |ip: &IpAddr| self.places.contains_key(ip);
        let created = ledger.created.iter().copied().filter(|ip| !known(ip)).collect();
        self.ledger_work.in_flight = true;
        self.last_write = Some(ledger.clone());
        self.writing = Ledger { created, intents, ..Ledger::default() };
    }

    /// Applies a successful ledger write.
    pub(crate) fn write_done(&mut self, ledger: Ledger, version: u64) {
        let left = self.leaving().collect();
        self.pool.ledger = ledger;
        self.pool.ledger_stripped = false;
        self.forget_settled();
        self.pool.version = self.pool.version.max(version);
        self.pool.resolution = None;
        self.ledger_work = Work::default();
        self.end_doubt();
        self.forget_intents();
        self.recount();
        self.note_leaving(&left);
    }

    /// Whether the object shows the ledger of our last write, perhaps before the answer to the write.
    pub(super) fn shows_last_write(&self) -> bool {
        let shown = &self.pool.ledger;
        let is_shown =
            |last: &Ledger| last.created == shown.created && last.intents == shown.intents;
        self.last_write.as_ref().is_some_and(is_shown)
    }

    /// Forgets reservations that the ledger settled: the ledger was written without their intents.
    pub(super) fn forget_settled(&mut self) {
        let intents = &self.pool.ledger.intents;
        let open = |id: &Text| intents.iter().any(|intent| intent.id == *id);
        self.sent.retain(|id, _| open(id) || self.intents.get(id) == Some(&IntentProgress::Sent));
    }

    /// Notes a ledger write that failed, or has no known outcome.
    pub(crate) fn write_failed(
        &mut self,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        self.ledger_in_doubt |= failure.kind != FailureKind::NotSent;
        if !self.ledger_in_doubt {
            self.writing = Ledger::default();
        }
        self.ledger_work.unwritten(failure, now, jitter, settings);
    }

    /// Notes the end of a ledger write after a newer version was seen: the write is part of a seen
    /// version, or never takes effect.
    pub(crate) fn write_overtaken(&mut self) {
        self.ledger_work.in_flight = false;
        self.end_doubt();
    }

    /// Notes that the reservation of an intent is sent.
    pub(crate) fn sends(&mut self, intent: &Intent) {
        // A write without this intent, which failed, must not count as the end of the reservation.
        let names = |last: &Ledger| last.intents.iter().any(|one| one.id == intent.id);
        self.last_write = self.last_write.take().filter(names);
        self.sent.insert(intent.id.clone(), intent.clone());
        self.progressed(&intent.id, IntentProgress::Sent);
    }

    /// Records the progress of an intent.
    pub(crate) fn progressed(&mut self, intent: &Text, progress: IntentProgress) {
        if matches!(progress, IntentProgress::Ready | IntentProgress::Made(_)) {
            self.sent.remove(intent);
        }
        self.intents.insert(intent.clone(), progress);
        self.recount();
    }

    /// Forgets intents that are no longer in the ledger, except reservations in flight or in doubt,
    /// and addresses not recorded yet: a wiped ledger must not lose an address.
    pub(super) fn forget_intents(&mut self) {
        let ledger = &self.pool.ledger;
        let listed = |id: &Text| ledger.intents.iter().any(|intent| intent.id == *id);
        let writing = self.ledger_work.in_flight;
        self.intents.retain(|id, progress| match progress {
            IntentProgress::Ready => writing || listed(id),
            IntentProgress::Doubtful { .. } => listed(id) || self.sent.contains_key(id),
            IntentProgress::Sent => true,
            IntentProgress::Made(ip) => listed(id) || !ledger.created.contains(ip),
        });
    }

    /// Progress of an intent. An intent of another process or term may have been sent. A read sent
    /// from `shown_from` on shows its effect.
    pub fn progress(&self, intent: &Text, shown_from: Time) -> IntentProgress {
        let found = IntentProgress::Doubtful { until: shown_from };
        self.intents.get(intent).copied().unwrap_or(found)
    }

    /// Whether a reservation is known to have made an address, and the ledger does not record it yet.
    pub(crate) fn is_made(&self, intent: &Intent) -> bool {
        matches!(self.intents.get(&intent.id), Some(IntentProgress::Made(_)))
    }

    /// Whether this process wrote the intent in this term. Other intents may be outdated.
    pub(crate) fn wrote_intent(&self, intent: &Text) -> bool {
        self.intents.contains_key(intent)
    }

    /// The account of the pool's reservations, unless neither the ledger nor the spec names one.
    pub(crate) fn reserves_at(&self) -> Option<&AccountId> {
        let requested = self.pool.request.as_ref().ok().map(|request| &request.account);
        self.pool.ledger.account.as_ref().or(requested)
    }

    /// Every reservation that may be sent: those in the ledger, in the ledger write in progress,
    /// and wiped from the ledger.
    pub(crate) fn open_intents(&self) -> impl Iterator<Item = &Intent> {
        let unwritten =
            |intent: &&Intent| self.writing.intents.iter().all(|one| one.id != intent.id);
        let wiped = self.wiped().filter(unwritten);
        self.pool.ledger.intents.iter().chain(&self.writing.intents).chain(wiped)
    }

    /// Whether a ledger write under way, or without a known outcome, drops an intent of the ledger: its
    /// result is known.
    pub(crate) fn is_settling(&self, id: &Text) -> bool {
        let written =
            self.last_write.as_ref().filter(|_| self.ledger_work.in_flight || self.ledger_in_doubt);
        written.is_some_and(|last| last.intents.iter().all(|one| one.id != *id))
    }

    /// Reservations sent without a known outcome that the ledger no longer names.
    pub fn wiped(&self) -> impl Iterator<Item = &Intent> {
        let listed = |id: &Text| self.pool.ledger.intents.iter().any(|one| one.id == *id);
        self.sent.values().filter(move |intent| !listed(&intent.id))
    }

    /// Progress of the known intents that the ledger does not name.
    pub(crate) fn unlisted_progress(&self) -> impl Iterator<Item = IntentProgress> {
        let listed = |id: &Text| self.pool.ledger.intents.iter().any(|one| one.id == *id);
        self.intents.iter().filter(move |(id, _)| !listed(id)).map(|(_, progress)| *progress)
    }

    /// Whether an intent with this ID is known.
    pub(crate) fn knows_intent(&self, id: &str) -> bool {
        self.intents.contains_key(id) || self.pool.ledger.intents.iter().any(|one| *one.id == *id)
    }

    /// Whether a write of the ledger is under way.
    pub fn is_writing_ledger(&self) -> bool {
        self.ledger_work.in_flight
    }

    /// Whether the object's ledger may differ from the known one.
    pub(crate) fn is_ledger_in_doubt(&self) -> bool {
        self.ledger_in_doubt
    }

    /// Whether the ledger may be written now.
    pub fn ledger_writable(&self, now: Time) -> bool {
        self.ledger_work.may_start(now)
    }

    /// The API server's refusal of the last ledger write.
    pub(crate) fn ledger_refusal(&self) -> Option<&Failure> {
        self.ledger_work.refusal()
    }

    /// Earliest time of the next ledger write.
    pub fn ledger_not_before(&self) -> Time {
        self.ledger_work.not_before
    }

    /// Whether a reservation was sent for this object, or is in its ledger.
    pub(crate) fn has_sent(&self, intent: &Text) -> bool {
        self.sent.contains_key(intent) || self.knows_intent(intent)
    }
}
