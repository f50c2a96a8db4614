//! A pool in the world: the object as last seen, and the progress of its reservations, releases and
//! moves.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::{Intent, Ledger, MachineId, Pool, Remembered, Text};
use crate::nodes::{ClassId, Match};
use crate::world::{Settings, Work};

/// A pool with its progress.
#[derive(Clone, Debug)]
pub struct PoolEntry {
    /// The object as last seen, with our own ledger writes applied.
    pub pool: Pool,
    /// The pool's candidate set.
    pub class: Option<ClassId>,
    /// Facts about each address: read from the status at first, then kept up to date by our own
    /// calls.
    pub remembered: BTreeMap<IpAddr, Remembered>,
    /// Time of the answer to the pool's last assignment call, or of its timeout.
    pub last_assignment: Option<Time>,
    /// Progress of each intent. An intent without an entry was written by another process or term.
    pub(crate) intents: BTreeMap<Text, IntentProgress>,
    /// Intents sent without a known outcome. Kept here in case the ledger is wiped from outside.
    sent: BTreeMap<Text, Intent>,
    /// Additions of a ledger write without a known outcome. Their addresses and machines count as
    /// taken.
    pub(crate) writing: Ledger,
    /// The write of the ledger.
    pub(crate) ledger_work: Work,
    /// Whether the outcome of the last ledger write is unknown.
    ledger_in_doubt: bool,
    /// Back-off after failed reservations.
    pub creation: Work,
    /// Back-off after failed releases.
    pub release: Work,
    /// Addresses being moved by a call for this object, not for an earlier object of the same name.
    moving: BTreeSet<IpAddr>,
    /// Addresses that were listed, or may have moved while nothing was done for the pool. Their place
    /// is read anew once the spec is valid.
    pub(crate) listed_unread: BTreeSet<IpAddr>,
    /// Addresses that left the list. Their place is read before they are taken off.
    pub(crate) leaving_unread: BTreeSet<IpAddr>,
    /// The pool's addresses in order. `places` holds the index of each.
    addresses: Vec<IpAddr>,
    places: BTreeMap<IpAddr, usize>,
}

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
    /// Creates the entry from the object alone.
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
            listed_unread: BTreeSet::new(),
            leaving_unread: BTreeSet::new(),
            addresses: Vec::new(),
            places: BTreeMap::new(),
            pool,
        };
        entry.recount();
        entry
    }

    /// The entry of an object that appeared or changed, after the entry of before.
    pub(crate) fn following(before: Option<Self>, pool: Pool, class: Option<ClassId>) -> Self {
        let Some(mut entry) = before.filter(|before| before.pool.uid == pool.uid) else {
            let mut entry = Self::new(pool, class);
            entry.note_leaving(&BTreeSet::new());
            return entry;
        };
        if entry.class.is_none() {
            entry.count_ineligibility_anew();
        }
        entry.class = class;
        // While nothing was done for the pool, a person may have moved its addresses.
        let resumes = entry.pool.is_idle() && !pool.is_idle();
        // Another request may decide otherwise about an address that left the list before.
        let anew = resumes || entry.pool.request != pool.request;
        let left = if anew { BTreeSet::new() } else { entry.leaving().collect() };
        let named = anew.then(|| entry.named().collect());
        entry.observe(pool);
        entry.note_leaving(&left);
        if let Some(before) = named {
            entry.note_listed(&before);
        }
        if resumes {
            entry.read_anew();
        }
        entry
    }

    /// Takes over facts of an earlier term as leader that may be missing from the status.
    pub(crate) fn recall(&mut self, earlier: &Self) {
        self.last_assignment = self.last_assignment.max(earlier.last_assignment);
        self.moving.clone_from(&earlier.moving);
        self.recall_reservations(earlier);
        for (ip, memory) in &earlier.remembered {
            if let Some(known) = self.remembered.get_mut(ip) {
                known.assigned_at = known.assigned_at.max(memory.assigned_at);
            }
        }
    }

    /// Takes over the reservations of this process that may have made an address, in case the ledger
    /// was or is wiped from outside. An intent that is missing from a ledger with other entries was
    /// settled by another leader.
    fn recall_reservations(&mut self, earlier: &Self) {
        let listed = |id: &Text| self.pool.ledger.intents.iter().any(|one| one.id == *id);
        let open = |id: &Text| self.pool.ledger_stripped || listed(id);
        let sent = earlier.sent.iter().filter(|(id, _)| open(id));
        self.sent = sent.map(|(id, intent)| (id.clone(), intent.clone())).collect();
        let made = |progress: &IntentProgress| matches!(progress, IntentProgress::Made(_));
        let made = earlier.intents.iter().filter(|(id, progress)| open(id) && made(progress));
        self.intents = made.map(|(id, progress)| (id.clone(), *progress)).collect();
        self.recount();
    }

    /// Updates the object. The version of `pool` must not be older than the known one.
    pub(crate) fn observe(&mut self, mut pool: Pool) {
        // An object that cannot be decoded keeps the addresses it listed before.
        if pool.request.is_err() && pool.named.is_none() {
            pool.named = Some(self.named().collect());
        }
        // A changed spec resets the back-offs.
        if self.pool.request != pool.request {
            self.creation = Work::default();
            self.ledger_work = Work { in_flight: self.ledger_work.in_flight, ..Work::default() };
        }
        self.written_to(pool.version);
        self.pool = pool;
        self.forget_intents();
        self.recount();
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
        self.writing = Ledger { created, intents, ..Ledger::default() };
    }

    /// Applies a successful ledger write.
    pub(crate) fn write_done(&mut self, ledger: Ledger, version: u64) {
        let left = self.leaving().collect();
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
        self.note_leaving(&left);
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

    /// Rebuilds the address list from the spec, the ledger and finished reservations.
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
        // Forget addresses the pool never had. The others stay until `let_go`. An invalid spec
        // gives up no address.
        if self.pool.request.is_ok() {
            self.remembered.retain(|ip, memory| memory.had || self.places.contains_key(ip));
        }
    }

    /// Addresses the pool had and no longer names.
    pub fn leaving(&self) -> impl Iterator<Item = IpAddr> {
        self.remembered.keys().copied().filter(|ip| self.is_leaving(*ip))
    }

    /// Has the place of every address read anew, also of those that leave: the ledger may keep them.
    fn read_anew(&mut self) {
        let leaving: Vec<_> = self.leaving().collect();
        self.listed_unread.extend(self.addresses.iter().chain(&leaving));
    }

    /// Has the place of every address read anew that the user listed since `before`.
    fn note_listed(&mut self, before: &BTreeSet<IpAddr>) {
        let new: Vec<_> = self.named().filter(|ip| !before.contains(ip)).collect();
        self.listed_unread.extend(new);
    }

    /// Notes addresses that left the list, except those in `before`: somebody may have moved them, and
    /// nobody looked since.
    fn note_leaving(&mut self, before: &BTreeSet<IpAddr>) {
        let new: Vec<_> = self.leaving().filter(|ip| !before.contains(ip)).collect();
        self.leaving_unread.extend(new);
    }

    /// Whether the pool had an address and no longer names it. A possible result of an open
    /// reservation is not leaving: the ledger is about to name it.
    pub(crate) fn is_leaving(&self, ip: IpAddr) -> bool {
        let had = self.remembered.get(&ip).is_some_and(|memory| memory.had);
        had && self.pool.request.is_ok()
            && !self.has(ip)
            && self.pool.ledger.intents.iter().all(|intent| intent.strangers.contains(&ip))
    }

    /// Addresses in the user's list, even if the rest of the spec is invalid.
    pub(crate) fn named(&self) -> impl Iterator<Item = IpAddr> {
        let listed = self.pool.request.as_ref().ok().map(|request| &request.listed);
        listed.or(self.pool.named.as_ref()).into_iter().flatten().copied()
    }

    /// Addresses a pool with an invalid spec keeps from other pools: the listed ones, and those the
    /// pool had.
    pub(crate) fn claimed_unplanned(&self) -> impl Iterator<Item = IpAddr> {
        let had = self.remembered.iter().filter(|(_, memory)| memory.had).map(|(ip, _)| *ip);
        let unplanned = self.pool.request.is_err();
        self.named().chain(had).filter(move |_| unplanned)
    }

    /// Whether the pool wants more addresses than it has.
    pub(crate) fn lacks_addresses(&self) -> bool {
        let wanted = self.pool.request.as_ref().ok().and_then(|request| request.wanted);
        wanted.is_some_and(|wanted| wanted > self.addresses.len())
    }

    /// Forgets an address the pool no longer names.
    pub(crate) fn let_go(&mut self, ip: IpAddr) {
        if self.is_leaving(ip) {
            self.remembered.remove(&ip);
        }
    }

    /// Every address of the pool without duplicates, listed ones first.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Whether deletion of the object waits for the release of its addresses. If the user changes
    /// the deletion policy meanwhile, no address is released, and the object goes once its
    /// finalizer is removed.
    pub fn is_ending(&self) -> bool {
        self.pool.deleting && self.pool.ledger.guarded && self.pool.releases
    }

    /// Whether an address is within the pool's wanted number.
    pub(crate) fn uses(&self, ip: IpAddr) -> bool {
        let wanted = self.pool.request.as_ref().ok().and_then(|request| request.wanted);
        self.places.get(&ip).is_some_and(|place| wanted.is_none_or(|wanted| *place < wanted))
    }

    /// Whether the object itself names an address, and not only a finished reservation whose ledger
    /// write is still open. For a leaving address, whether the status names the address.
    pub(crate) fn is_recorded(&self, ip: IpAddr) -> bool {
        if self.is_leaving(ip) {
            return self.pool.remembered.get(&ip).is_some_and(|memory| memory.had);
        }
        let made = |progress: &IntentProgress| *progress == IntentProgress::Made(ip);
        let only_made = self.intents.values().any(made) && !self.pool.ledger.created.contains(&ip);
        self.has(ip) && !only_made
    }

    /// The rules for nodes, if the spec is valid.
    pub(crate) fn rules(&self) -> Option<&Match> {
        self.pool.request.as_ref().ok().map(|request| &*request.matching)
    }

    /// Whether an address belongs to the pool's list, ledger or finished reservations.
    pub(crate) fn has(&self, ip: IpAddr) -> bool {
        self.places.contains_key(&ip)
    }

    /// Progress of an intent. An intent of another process or term may have been sent. A read sent
    /// from `shown_from` on shows its effect.
    pub fn progress(&self, intent: &Text, shown_from: Time) -> IntentProgress {
        let found = IntentProgress::Doubtful { until: shown_from };
        self.intents.get(intent).copied().unwrap_or(found)
    }

    /// Whether this process wrote the intent in this term. Other intents may be outdated.
    pub(crate) fn wrote_intent(&self, intent: &Text) -> bool {
        self.intents.contains_key(intent)
    }

    /// Every reservation that may be sent: those in the ledger, in the ledger write in progress,
    /// and wiped from the ledger.
    pub(crate) fn open_intents(&self) -> impl Iterator<Item = &Intent> {
        let unwritten =
            |intent: &&Intent| self.writing.intents.iter().all(|one| one.id != intent.id);
        let wiped = self.wiped().filter(unwritten);
        self.pool.ledger.intents.iter().chain(&self.writing.intents).chain(wiped)
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

    /// The remembered facts about an address.
    pub fn memory(&self, ip: IpAddr) -> Remembered {
        self.remembered.get(&ip).cloned().unwrap_or_default()
    }

    /// Counts times on ineligible nodes anew. While the pool could not be planned, nodes may have
    /// been eligible in between.
    pub(crate) fn count_ineligibility_anew(&mut self) {
        for memory in self.remembered.values_mut() {
            memory.ineligible_since = None;
        }
    }

    /// Notes the answer to a call that moved `ip`. Returns whether the call was for this object,
    /// not for a deleted object of the same name.
    pub(crate) fn move_ended(&mut self, ip: IpAddr) -> bool {
        self.moving.remove(&ip)
    }

    /// Whether a reservation was sent for this object, or is in its ledger.
    pub(crate) fn has_sent(&self, intent: &Text) -> bool {
        self.sent.contains_key(intent) || self.knows_intent(intent)
    }

    /// Notes the start of a call that moves `ip`. The next place of the address is not drift.
    pub(crate) fn departs(&mut self, ip: IpAddr) {
        self.moving.insert(ip);
        if let Some(memory) = self.remembered.get_mut(&ip) {
            memory.machine = None;
            memory.free = false;
        }
    }

    /// Notes the start of a call that takes the delisted `ip` off a machine. On any other machine
    /// the address is no longer the pool's.
    pub(crate) fn leaves(&mut self, ip: IpAddr, machine: Option<MachineId>) {
        if let Some(memory) = self.remembered.get_mut(&ip) {
            memory.machine = memory.machine.take().or(machine);
            memory.free = false;
        }
    }

    /// Notes an assignment of `ip` that took effect, was accepted, or had no answer.
    pub(crate) fn assigned(&mut self, ip: IpAddr, now: Time) {
        let memory = self.remembered.entry(ip).or_default();
        memory.had = true;
        memory.held = true;
        memory.free = false;
        memory.assigned_at = Some(now);
        self.last_assignment = Some(now);
    }
}

impl Pool {
    /// Whether nothing is done for the pool: invalid or paused.
    pub(crate) fn is_idle(&self) -> bool {
        self.request.is_err() || self.paused.is_some()
    }

    /// Whether `other` differs at most in its status, as after our own status writes.
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
