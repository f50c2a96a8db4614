//! A pool in the world: the object as last seen, and the progress of its reservations, releases and
//! moves.

mod ledger;

pub use ledger::IntentProgress;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::Time;
use crate::model::{Intent, Ledger, MachineId, Pool, Remembered, Text};
use crate::nodes::{ClassId, Match};
use crate::world::Work;

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
    /// The ledger of the last write.
    last_write: Option<Ledger>,
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
    /// Addresses that were leaving when the object became invalid.
    left: BTreeSet<IpAddr>,
    /// The pool's addresses in order. `places` holds the index of each.
    addresses: Vec<IpAddr>,
    places: BTreeMap<IpAddr, usize>,
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
            last_write: None,
            ledger_work: Work::default(),
            ledger_in_doubt: false,
            creation: Work::default(),
            release: Work::default(),
            moving: BTreeSet::new(),
            listed_unread: BTreeSet::new(),
            leaving_unread: BTreeSet::new(),
            left: BTreeSet::new(),
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
        self.left.clone_from(&earlier.left);
        self.recall_reservations(earlier);
        for (ip, memory) in &earlier.remembered {
            if let Some(known) = self.remembered.get_mut(ip) {
                known.assigned_at = known.assigned_at.max(memory.assigned_at);
            }
        }
    }

    /// Updates the object. The version of `pool` must not be older than the known one.
    pub(crate) fn observe(&mut self, mut pool: Pool) {
        // An object that cannot be decoded keeps the addresses it listed before.
        if pool.request.is_err() && pool.named.is_none() {
            pool.named = Some(self.named().collect());
        }
        if pool.ledger_stripped {
            self.recall_created(&mut pool.ledger);
        }
        if pool.request.is_ok() {
            self.left.clear();
        } else if self.pool.request.is_ok() {
            self.left = self.leaving().collect();
        }
        // A changed spec resets the back-offs.
        if self.pool.request != pool.request {
            self.creation = Work::default();
            self.ledger_work = Work { in_flight: self.ledger_work.in_flight, ..Work::default() };
        }
        self.written_to(pool.version);
        self.pool = pool;
        if self.shows_last_write() {
            self.forget_settled();
        }
        self.forget_intents();
        self.recount();
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

    /// Whether the pool gives way to every pool that lists an address: the address is leaving, or was
    /// when the object became invalid, and the user has not listed it again.
    pub(crate) fn gives_way(&self, ip: IpAddr) -> bool {
        let left = || self.left.contains(&ip) && !self.named().any(|named| named == ip);
        self.is_leaving(ip) || left()
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

    /// Addresses being moved by a call for this object, also those that left its list meanwhile.
    pub(crate) fn moving(&self) -> impl Iterator<Item = IpAddr> {
        self.moving.iter().copied()
    }

    /// Notes the answer to a call that moved `ip`. Returns whether the call was for this object,
    /// not for a deleted object of the same name.
    pub(crate) fn move_ended(&mut self, ip: IpAddr) -> bool {
        self.moving.remove(&ip)
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
