//! A pool as the world keeps it: what the object says, and how far its wishes have got.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::{Intent, Ledger, Pool, Remembered, Text};
use crate::nodes::ClassId;
use crate::world::{Settings, Work};

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
    pub(crate) intents: BTreeMap<Text, IntentProgress>,
    /// Intents that were sent and whose outcome is not known, in case somebody wipes the
    /// ledger that names them.
    sent: BTreeMap<Text, Intent>,
    /// What a write of the ledger that is under way, or that nobody knows the end of, adds:
    /// its addresses and its intents' machines are spoken for.
    pub(crate) writing: Ledger,
    /// The write of its ledger.
    pub(crate) ledger_work: Work,
    /// What became of the last write of the ledger is not known.
    ledger_in_doubt: bool,
    /// Reservations that failed.
    pub creation: Work,
    /// Addresses that could not be given back.
    pub release: Work,
    /// Addresses that a call of ours for this very object is moving.
    moving: BTreeSet<IpAddr>,
    /// Its addresses in order, and the place of each.
    addresses: Vec<IpAddr>,
    places: BTreeMap<IpAddr, usize>,
}

/// More intents than this are not kept in mind for writes that may have come through.
const MANY: usize = 100;

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

impl PoolEntry {
    /// A pool of which only the object is known.
    pub(crate) fn new(pool: Pool, class: Option<ClassId>) -> Self {
        let mut entry = Self {
            class,
            remembered: pool.remembered.clone(),
            last_assignment: pool.last_assignment,
            intents: BTreeMap::new(),
            sent: BTreeMap::new(),
            writing: Ledger::default(),
            ledger_work: Work::default(),
            ledger_in_doubt: false,
            creation: Work::default(),
            release: Work::default(),
            moving: BTreeSet::new(),
            addresses: Vec::new(),
            places: BTreeMap::new(),
            pool,
        };
        entry.recount();
        entry
    }

    /// What an earlier term did counts, also if it could not be written down any more.
    pub(crate) fn recall(&mut self, earlier: &Self) {
        self.last_assignment = self.last_assignment.max(earlier.last_assignment);
        self.moving.clone_from(&earlier.moving);
        for (ip, memory) in &earlier.remembered {
            if let Some(known) = self.remembered.get_mut(ip) {
                known.assigned_at = known.assigned_at.max(memory.assigned_at);
            }
        }
    }

    /// The same object again, not older.
    pub(crate) fn observe(&mut self, mut pool: Pool) {
        // An object that cannot be decoded still names what it named.
        if pool.request.is_err() && pool.named.is_none() {
            pool.named = Some(self.named().collect());
        }
        // A new wish is worth a new attempt.
        if self.pool.request != pool.request {
            self.creation = Work::default();
            self.ledger_work = Work { in_flight: self.ledger_work.in_flight, ..Work::default() };
        }
        self.written_to(pool.version);
        self.pool = pool;
        self.forget_intents();
        self.recount();
    }

    /// The object has this version, whoever wrote it. If that is news, no earlier write of
    /// ours can come through any more: what the object says is what there is.
    pub(crate) fn written_to(&mut self, version: u64) {
        if version > self.pool.version {
            self.pool.version = version;
            self.end_doubt();
        }
    }

    fn end_doubt(&mut self) {
        self.ledger_in_doubt = false;
        // Our own status is a new version, and no reason to expect another answer to a write
        // that was refused.
        if self.ledger_work.refusal().is_none() {
            self.ledger_work = Work { in_flight: self.ledger_work.in_flight, ..Work::default() };
        }
        self.writing = Ledger::default();
    }

    /// A write of the ledger begins. Its new intents are ours, and surely not sent.
    pub(crate) fn write_begins(&mut self, ledger: &Ledger) {
        let known = |intent: &&Intent| self.pool.ledger.intents.contains(intent);
        let intents: Vec<_> = ledger.intents.iter().filter(|one| !known(one)).cloned().collect();
        // Names of writes that nobody knows the end of are kept, but not for ever.
        if self.intents.len() > MANY {
            self.forget_intents();
        }
        for intent in &intents {
            self.intents.entry(intent.id.clone()).or_insert(IntentProgress::Ready);
        }
        let known = |ip: &IpAddr| self.places.contains_key(ip);
        let created = ledger.created.iter().copied().filter(|ip| !known(ip)).collect();
        self.ledger_work.in_flight = true;
        self.writing = Ledger { created, intents, ..Ledger::default() };
    }

    /// The ledger was written.
    pub(crate) fn write_done(&mut self, ledger: Ledger, version: u64) {
        let open = |id: &Text| ledger.intents.iter().any(|intent| intent.id == *id);
        self.sent.retain(|id, _| open(id) || self.intents.get(id) == Some(&IntentProgress::Sent));
        self.pool.ledger = ledger;
        self.pool.ledger_stripped = false;
        self.pool.version = self.pool.version.max(version);
        self.pool.resolution = None;
        self.ledger_work = Work::default();
        self.end_doubt();
        self.forget_intents();
        self.recount();
    }

    /// The ledger was not written, or nobody can tell.
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

    /// A write of the ledger ended after a newer version was seen: it came through as that,
    /// or never will.
    pub(crate) fn write_overtaken(&mut self) {
        self.ledger_work.in_flight = false;
        self.end_doubt();
    }

    /// An intent is sent.
    pub(crate) fn sends(&mut self, intent: &Intent) {
        self.sent.insert(intent.id.clone(), intent.clone());
        self.progressed(&intent.id, IntentProgress::Sent);
    }

    /// An intent got further.
    pub(crate) fn progressed(&mut self, intent: &Text, progress: IntentProgress) {
        if matches!(progress, IntentProgress::Ready | IntentProgress::Made(_)) {
            self.sent.remove(intent);
        }
        self.intents.insert(intent.clone(), progress);
        self.recount();
    }

    /// Forgets intents that are no longer in the ledger, but not what they made or may be
    /// making: an object that was wiped must not lose an address.
    fn forget_intents(&mut self) {
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

    /// Brings the address list in line with the object and with what was made.
    fn recount(&mut self) {
        let listed = self.pool.request.as_ref().map(|request| request.listed.as_slice());
        let made = self.intents.values().filter_map(|progress| match progress {
            IntentProgress::Made(ip) => Some(ip),
            _ => None,
        });
        self.addresses.clear();
        self.places.clear();
        let Ledger { created, kept, .. } = &self.pool.ledger;
        let all = listed.unwrap_or_default().iter().chain(created).chain(kept).chain(made);
        for ip in all {
            if let std::collections::btree_map::Entry::Vacant(place) = self.places.entry(*ip) {
                place.insert(self.addresses.len());
                self.addresses.push(*ip);
            }
        }
        // What was never had is forgotten, the rest once it is let go of in order. An object
        // that cannot be understood has not let go of anything.
        if self.pool.request.is_ok() {
            self.remembered.retain(|ip, memory| memory.had || self.places.contains_key(ip));
        }
    }

    /// Addresses that the pool had and names no more.
    pub fn leaving(&self) -> impl Iterator<Item = IpAddr> {
        self.remembered.keys().copied().filter(|ip| self.is_leaving(*ip))
    }

    /// Whether an address is one that the pool had and names no more. What an open
    /// reservation may have made is not: the object is about to name it.
    pub(crate) fn is_leaving(&self, ip: IpAddr) -> bool {
        let had = self.remembered.get(&ip).is_some_and(|memory| memory.had);
        had && self.pool.request.is_ok()
            && !self.has(ip)
            && self.pool.ledger.intents.iter().all(|intent| intent.strangers.contains(&ip))
    }

    /// Addresses that the user lists, also where the rest of the object cannot be understood.
    pub(crate) fn named(&self) -> impl Iterator<Item = IpAddr> {
        let listed = self.pool.request.as_ref().ok().map(|request| &request.listed);
        listed.or(self.pool.named.as_ref()).into_iter().flatten().copied()
    }

    /// Addresses that a pool keeps from others although it cannot be planned: those that it
    /// names, and those that it had.
    pub(crate) fn claimed_unplanned(&self) -> impl Iterator<Item = IpAddr> {
        let had = self.remembered.iter().filter(|(_, memory)| memory.had).map(|(ip, _)| *ip);
        let unplanned = self.pool.request.is_err();
        self.named().chain(had).filter(move |_| unplanned)
    }

    /// Whether it wants more addresses than it has.
    pub(crate) fn lacks_addresses(&self) -> bool {
        let wanted = self.pool.request.as_ref().ok().and_then(|request| request.wanted);
        wanted.is_some_and(|wanted| wanted > self.addresses.len())
    }

    /// The pool has nothing to do with an address any more.
    pub(crate) fn let_go(&mut self, ip: IpAddr) {
        if self.is_leaving(ip) {
            self.remembered.remove(&ip);
        }
    }

    /// Every address of the pool, listed ones first, without repetition.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Whether the object waits for its addresses to be given back before it goes. One whose
    /// user thought better of it goes as it is, once its guard is off.
    pub fn is_ending(&self) -> bool {
        self.pool.deleting && self.pool.ledger.guarded && self.pool.releases
    }

    /// Whether an address is among those that the pool uses.
    pub(crate) fn uses(&self, ip: IpAddr) -> bool {
        let wanted = self.pool.request.as_ref().ok().and_then(|request| request.wanted);
        self.places.get(&ip).is_some_and(|place| wanted.is_none_or(|wanted| *place < wanted))
    }

    /// Whether the object itself names an address: its own, and not only made for it or
    /// being written down; or by its status, if it is leaving.
    pub(crate) fn is_recorded(&self, ip: IpAddr) -> bool {
        if self.is_leaving(ip) {
            return self.pool.remembered.get(&ip).is_some_and(|memory| memory.had);
        }
        let made = |progress: &IntentProgress| *progress == IntentProgress::Made(ip);
        let only_made = self.intents.values().any(made) && !self.pool.ledger.created.contains(&ip);
        self.has(ip) && !only_made
    }

    /// Whether an address is one of the pool's.
    pub(crate) fn has(&self, ip: IpAddr) -> bool {
        self.places.contains_key(&ip)
    }

    /// How far an intent of the ledger is. One that somebody else wrote may have been sent
    /// up to the moment from which on we may act.
    pub fn progress(&self, intent: &Text, open_from: Time) -> IntentProgress {
        let found = IntentProgress::Doubtful { until: open_from };
        self.intents.get(intent).copied().unwrap_or(found)
    }

    /// Whether an intent was written by this process in this term. One that was found may be
    /// an old story: the object may have moved on.
    pub(crate) fn wrote_intent(&self, intent: &Text) -> bool {
        self.intents.contains_key(intent)
    }

    /// Every reservation that may be sent: the ledger's, those that are being written, and
    /// those that somebody wiped from it.
    pub(crate) fn open_intents(&self) -> impl Iterator<Item = &Intent> {
        let unwritten =
            |intent: &&Intent| self.writing.intents.iter().all(|one| one.id != intent.id);
        let wiped = self.wiped().filter(unwritten);
        self.pool.ledger.intents.iter().chain(&self.writing.intents).chain(wiped)
    }

    /// Reservations that may have made something, and that the ledger does not name any more.
    pub(crate) fn wiped(&self) -> impl Iterator<Item = &Intent> {
        let listed = |id: &Text| self.pool.ledger.intents.iter().any(|one| one.id == *id);
        self.sent.values().filter(move |intent| !listed(&intent.id))
    }

    /// How far the intents are that we know of and the ledger does not name.
    pub(crate) fn unlisted_progress(&self) -> impl Iterator<Item = IntentProgress> {
        let listed = |id: &Text| self.pool.ledger.intents.iter().any(|one| one.id == *id);
        self.intents.iter().filter(move |(id, _)| !listed(id)).map(|(_, progress)| *progress)
    }

    /// Whether an intent of this name is known.
    pub(crate) fn knows_intent(&self, id: &str) -> bool {
        self.intents.contains_key(id) || self.pool.ledger.intents.iter().any(|one| *one.id == *id)
    }

    /// Whether a write of the ledger is under way.
    pub fn is_writing_ledger(&self) -> bool {
        self.ledger_work.in_flight
    }

    /// Whether the ledger may say something else than we know.
    pub(crate) fn is_ledger_in_doubt(&self) -> bool {
        self.ledger_in_doubt
    }

    /// Whether the ledger may be written now.
    pub fn ledger_writable(&self, now: Time) -> bool {
        self.ledger_work.may_start(now)
    }

    /// Why the ledger cannot be written, if the API server refuses it.
    pub(crate) fn ledger_refusal(&self) -> Option<&Failure> {
        self.ledger_work.refusal()
    }

    /// When the ledger may be written again.
    pub fn ledger_not_before(&self) -> Time {
        self.ledger_work.not_before
    }

    /// What is remembered of an address.
    pub fn memory(&self, ip: IpAddr) -> Remembered {
        self.remembered.get(&ip).cloned().unwrap_or_default()
    }

    /// An answer came to a call that moved `ip`. Returns whether the call was for this object:
    /// another one of the same name is not concerned.
    pub(crate) fn move_ended(&mut self, ip: IpAddr) -> bool {
        self.moving.remove(&ip)
    }

    /// Whether a reservation was sent for this object, or its ledger names it.
    pub(crate) fn has_sent(&self, intent: &Text) -> bool {
        self.sent.contains_key(intent) || self.knows_intent(intent)
    }

    /// A call that moves `ip` begins: where it is found next is our own doing.
    pub(crate) fn departs(&mut self, ip: IpAddr) {
        self.moving.insert(ip);
        if let Some(memory) = self.remembered.get_mut(&ip) {
            memory.machine = None;
        }
    }

    /// An assignment of `ip` began just now.
    pub(crate) fn assigned(&mut self, ip: IpAddr, now: Time) {
        let memory = self.remembered.entry(ip).or_default();
        memory.had = true;
        memory.held = true;
        memory.assigned_at = Some(now);
        self.last_assignment = Some(now);
    }
}

impl Pool {
    /// Whether `other` is the same wish with another status: our own writes, seen again.
    pub(crate) fn differs_only_in_memory(&self, other: &Self) -> bool {
        self.request == other.request
            && self.ledger == other.ledger
            && self.ledger_stripped == other.ledger_stripped
            && self.resolution == other.resolution
            && self.deleting == other.deleting
            && self.releases == other.releases
            && self.finalizers == other.finalizers
            && self.paused == other.paused
            && self.created_at == other.created_at
            && self.uid == other.uid
            && self.named == other.named
    }
}
