//! The world: everything known, with one owner.
//!
//! Observations and outcomes are folded in as they arrive. Each marks the pools that may be
//! concerned, and only marked pools and waiting pools are planned again. *Unknown is not absent*: a
//! fact that was never read, or whose last call has no answer, is `Unknown`, and no action relies
//! on an unknown fact.

mod credentials;
mod fold;
mod observe;
mod observe_pools;
mod policy;
mod settings;
mod work;

pub use settings::{Settings, Source};
pub use work::Work;

pub(crate) use policy::Restrictions;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::addresses::{
    Account, AccountSetup, Claims, Egress, FreeNodes, Orphans, PoolEntry, Reserving, Seat, Unusable,
};
use crate::model::{
    AccountId, Kind, Machine, MachineId, Mark, Node, NodeName, ObjectKey, PodId, Pool, Request,
    Subject, Text,
};
use crate::nodes::{Candidates, ClassId, PodMatch};
use crate::records::Records;
use crate::vips::Vips;

/// Everything known about the cluster, the accounts, DNS and VIPs.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) settings: Settings,
    /// Requests that the administrator's policy withholds.
    pub(crate) restrictions: Restrictions,
    pub(crate) unread: BTreeSet<Source>,
    /// Earliest time of a call that changes a provider. Listings from before do not count.
    pub(crate) open_from: Time,
    /// Kinds for whose objects no action is carried out. Their addresses and records are changed by
    /// others alone, and such a change is no drift.
    pub(crate) hands_off: BTreeSet<&'static Kind>,
    /// Kinds of pools.
    kinds: BTreeSet<&'static Kind>,
    pub(crate) nodes: BTreeMap<NodeName, Node>,
    pub(crate) machines: BTreeMap<Machine, BTreeSet<NodeName>>,
    pub(crate) marked: BTreeMap<IpAddr, BTreeSet<NodeName>>,
    /// Nodes that have a mark with a fixed text.
    pub(crate) said_to_serve: BTreeMap<&'static Mark, BTreeSet<NodeName>>,
    pub(crate) mark_work: BTreeMap<(NodeName, &'static Mark), Work>,
    pub(crate) evictions: BTreeMap<PodId, Work>,
    /// What is known of the machines' own addresses.
    pub(crate) egress: BTreeMap<MachineId, Egress>,
    pub(crate) candidates: Candidates,
    pub(crate) pools: BTreeMap<ObjectKey, PoolEntry>,
    pub(crate) claims: Claims,
    pub(crate) accounts: BTreeMap<AccountId, Account>,
    /// The pools of each account.
    pub(crate) users: BTreeMap<AccountId, BTreeSet<ObjectKey>>,
    /// Pools of each account by the interval at which they want the account to be listed.
    pub(crate) rereads: BTreeMap<AccountId, BTreeSet<(Duration, ObjectKey)>>,
    pub(crate) free_nodes: FreeNodes,
    /// Machines with a reservation under way. Its pool may be gone before the call is over.
    pub(crate) reserving: BTreeMap<Seat, Reserving>,
    pub(crate) orphans: Orphans,
    pub(crate) records: Records,
    pub(crate) vips: Vips,
    pub(crate) dirty: BTreeSet<ObjectKey>,
    /// Pools whose last plan had an address neither active nor unassigned.
    pub(crate) untidy: BTreeSet<ObjectKey>,
    /// Nodes that may have gained room.
    pub(crate) opened: BTreeSet<NodeName>,
    /// Classes whose verdicts may be out of date while no action is due, each with the last pool
    /// planned since.
    pub(crate) stale: BTreeMap<ClassId, Option<ObjectKey>>,
}

impl World {
    /// A world that knows nothing. A subject is planned only after the objects of every kind that
    /// may ask for the subject have been read whole; addresses and records only after the nodes
    /// too, VIPs only after every [`VipSource`](crate::vips::VipSource).
    pub fn new(settings: Settings, kinds: &[&'static Kind]) -> Self {
        let objects = kinds.iter().map(|kind| Source::Objects(kind));
        let (vips, of_vips) = Vips::new(kinds);
        Self {
            settings,
            restrictions: Restrictions::default(),
            unread: objects.chain([Source::Nodes]).chain(of_vips).collect(),
            open_from: Time::default(),
            kinds: kinds
                .iter()
                .copied()
                .filter(|one| one.may_ask_for(Subject::Addresses))
                .collect(),
            hands_off: BTreeSet::new(),
            nodes: BTreeMap::new(),
            machines: BTreeMap::new(),
            marked: BTreeMap::new(),
            said_to_serve: BTreeMap::new(),
            mark_work: BTreeMap::new(),
            evictions: BTreeMap::new(),
            egress: BTreeMap::new(),
            candidates: Candidates::default(),
            pools: BTreeMap::new(),
            claims: Claims::default(),
            accounts: BTreeMap::new(),
            users: BTreeMap::new(),
            rereads: BTreeMap::new(),
            free_nodes: FreeNodes::default(),
            reserving: BTreeMap::new(),
            orphans: Orphans::default(),
            records: Records::default(),
            vips,
            dirty: BTreeSet::new(),
            untidy: BTreeSet::new(),
            opened: BTreeSet::new(),
            stale: BTreeMap::new(),
        }
    }

    /// Intervals, deadlines and back-offs.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether every source that addresses depend on has been read whole.
    pub fn is_read(&self) -> bool {
        self.is_read_for(Subject::Addresses)
    }

    /// Whether every source that a subject depends on has been read whole.
    pub(crate) fn is_read_for(&self, subject: Subject) -> bool {
        !self.unread.iter().any(|source| match source {
            Source::Nodes => subject != Subject::Vips,
            Source::Vips(_) => subject == Subject::Vips,
            Source::Objects(kind) => kind.may_ask_for(subject),
            Source::Pods => false,
        })
    }

    /// Earliest time of a call that changes a provider.
    pub fn open_from(&self) -> Time {
        self.open_from
    }

    /// Time from which a read shows the effect of every call of the leaders before this term.
    pub(crate) fn shown_from(&self) -> Time {
        self.open_from + self.settings.settle
    }

    /// Observes that a source has been read whole.
    pub fn source_read(&mut self, source: Source) {
        match source {
            Source::Pods => self.pods_read(PodMatch::every_pod()),
            Source::Nodes | Source::Objects(_) | Source::Vips(_) => {
                self.unread.remove(&source);
            }
        }
        let of_vips = match source {
            Source::Vips(_) => true,
            Source::Objects(kind) => kind.may_ask_for(Subject::Vips),
            Source::Nodes | Source::Pods => false,
        };
        if of_vips && self.knows_vips() {
            self.dirty.extend(self.vips.everyone());
        }
        if !of_vips && self.is_read() {
            self.look_again();
        }
    }

    /// Sets the kinds for which we do not act. Replans every object, since every verdict may change.
    pub fn set_hands_off(&mut self, kinds: BTreeSet<&'static Kind>) {
        self.hands_off = kinds;
        self.look_again();
        self.dirty.extend(self.vips.everyone());
    }

    /// Whether we do not act for a pool. Moves of its addresses by others are then no drift.
    pub(crate) fn leaves_alone(&self, pool: &Pool) -> bool {
        self.hands_off.contains(pool.key.kind) || pool.paused.is_some()
    }

    /// Whether other pools come before a pool: its calls are withheld, and theirs are made. In observe
    /// mode no call is made, and only paused pools come last.
    pub(crate) fn comes_last(&self, pool: &Pool) -> bool {
        let observes = self.kinds.is_subset(&self.hands_off);
        pool.paused.is_some() || (self.leaves_alone(pool) && !observes)
    }

    fn look_again(&mut self) {
        self.dirty.extend(self.pools.keys().cloned());
        self.dirty.extend(self.records.entries.keys().cloned());
    }

    /// Starts a term of leadership: forgets the state of the providers, and keeps the memory of the
    /// objects. No call changes a provider before `open_from`.
    pub fn take_over(&mut self, open_from: Time) {
        self.open_from = open_from;
        self.mark_work.clear();
        self.evictions.clear();
        self.egress_term_begins();
        // Calls of an earlier term have no outcome. Addresses that such calls reserved are
        // recognised by the intents in the ledgers.
        self.reserving.clear();
        self.orphans.term_begins(self.shown_from());
        for account in self.accounts.values_mut() {
            account.begin_term(open_from);
        }
        for entry in self.pools.values_mut() {
            let mut fresh = PoolEntry::new(entry.pool.clone(), entry.class);
            fresh.recall(entry);
            *entry = fresh;
        }
        self.claims = Claims::default();
        let keys: Vec<_> = self.pools.keys().cloned().collect();
        for key in &keys {
            self.reclaim(key);
        }
        self.reoccupy_all();
        self.dirty.extend(keys);
        self.take_over_records();
        self.take_over_vips();
    }

    /// Sets up an account. Called once, before any pool names the account.
    pub fn set_account(&mut self, id: AccountId, setup: Result<AccountSetup, Unusable>) {
        self.accounts.insert(id, Account::new(setup));
        self.reoccupy_all();
    }

    /// An account.
    pub fn account(&self, id: &AccountId) -> Option<&Account> {
        self.accounts.get(id)
    }

    /// Every account.
    pub fn accounts(&self) -> impl Iterator<Item = (&AccountId, &Account)> {
        self.accounts.iter()
    }

    /// Accounts named by a pool.
    pub(crate) fn accounts_in_use(&self) -> impl Iterator<Item = (&AccountId, &Account)> {
        self.users.keys().filter_map(|id| Some((id, self.accounts.get(id)?)))
    }

    /// The pools of an account.
    pub(crate) fn users_of(&self, id: &AccountId) -> impl Iterator<Item = &PoolEntry> {
        self.users.get(id).into_iter().flatten().filter_map(|key| self.pools.get(key))
    }

    /// Whether a pool of an account has an IPv6 address, or a pool with an invalid spec, whose account
    /// is unknown.
    pub(crate) fn asks_for_v6(&self, id: &AccountId) -> bool {
        let users = self.users.get(id);
        let uses = |pool: &ObjectKey| users.is_some_and(|users| users.contains(pool));
        let invalid =
            |pool: &ObjectKey| self.pool(pool).is_some_and(|one| one.pool.request.is_err());
        self.claims.of_v6().any(|pool| uses(pool) || invalid(pool))
    }

    /// Interval of routine listings of an account: the shortest that one of its pools asks for.
    pub(crate) fn reread(&self, id: &AccountId) -> Duration {
        let shortest = self.rereads.get(id).and_then(BTreeSet::first);
        shortest.map_or(self.settings.resync, |(interval, _)| *interval)
    }

    /// A node.
    pub fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// Every node.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The node on a machine; a ready node, if several nodes name the machine.
    pub fn node_on(&self, machine: &Machine) -> Option<&NodeName> {
        let names = self.machines.get(machine)?;
        if names.len() == 1 {
            return names.first();
        }
        let lifeless =
            |name: &NodeName| self.nodes.get(name).is_none_or(|node| node.deleting || !node.ready);
        names.iter().min_by_key(|name| (lifeless(name), *name))
    }

    /// Every node that names a machine.
    pub(crate) fn nodes_on(&self, cloud: &Text, id: &MachineId) -> impl Iterator<Item = &NodeName> {
        let machine = Machine { cloud: cloud.clone(), id: id.clone() };
        self.machines.get(&machine).into_iter().flatten()
    }

    /// The identifier of a machine, if a node runs on the machine.
    pub(crate) fn machine_of(&self, cloud: &Text, id: &MachineId) -> Option<&MachineId> {
        let machine = Machine { cloud: cloud.clone(), id: id.clone() };
        self.machines.get_key_value(&machine).map(|(machine, _)| &machine.id)
    }

    /// The pools that use a mark.
    pub fn users(&self, mark: &'static Mark) -> impl Iterator<Item = &ObjectKey> {
        let asks = move |request: &Request| {
            request.marks.contains(mark) || request.evicts.is_some_and(|evicts| evicts.note == mark)
        };
        let uses = move |entry: &&PoolEntry| entry.pool.request.as_ref().is_ok_and(asks);
        self.pools.values().filter(uses).map(|entry| &entry.pool.key)
    }

    /// Nodes that have a mark with a fixed text.
    pub(crate) fn said_to_serve(&self, mark: &'static Mark) -> impl Iterator<Item = &NodeName> {
        self.said_to_serve.get(mark).into_iter().flatten()
    }

    /// Nodes whose mark names `ip`.
    pub fn marked(&self, ip: IpAddr) -> impl Iterator<Item = &NodeName> {
        self.marked.get(&ip).into_iter().flatten()
    }

    /// Candidate sets.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// A pool.
    pub fn pool(&self, key: &ObjectKey) -> Option<&PoolEntry> {
        self.pools.get(key)
    }

    /// Every pool.
    pub fn pools(&self) -> impl Iterator<Item = (&ObjectKey, &PoolEntry)> {
        self.pools.iter()
    }

    /// Pools that claim `ip`.
    pub fn claimants(&self, ip: IpAddr) -> impl Iterator<Item = &ObjectKey> {
        self.claims.of(ip)
    }

    /// Addresses that a pool claims.
    pub(crate) fn claimed_by(&self, pool: &ObjectKey) -> impl Iterator<Item = IpAddr> {
        self.claims.by(pool)
    }

    /// Whether any pool claims `ip`.
    pub(crate) fn is_claimed(&self, ip: IpAddr) -> bool {
        self.claims.any(ip)
    }

    /// Takes the objects that were touched since the last call.
    pub fn take_dirty(&mut self) -> BTreeSet<ObjectKey> {
        std::mem::take(&mut self.dirty)
    }

    /// Pools whose last plan had an address neither active nor unassigned.
    pub(crate) fn untidy(&self) -> impl Iterator<Item = &ObjectKey> {
        self.untidy.iter()
    }

    /// Remembers whether a plan had an address of the pool neither active nor unassigned.
    pub(crate) fn set_untidy(&mut self, key: &ObjectKey, untidy: bool) {
        if untidy {
            self.untidy.insert(key.clone());
        } else {
            self.untidy.remove(key);
        }
    }

    /// Takes the nodes that may have gained room, or become eligible, since the last call.
    pub(crate) fn take_opened(&mut self) -> BTreeSet<NodeName> {
        std::mem::take(&mut self.opened)
    }

    /// Takes up to `limit` pools whose verdict may be out of date while no action is due.
    pub(crate) fn take_stale(&mut self, limit: usize) -> BTreeSet<ObjectKey> {
        let mut taken = BTreeSet::new();
        while let Some((class, last)) = self.stale.pop_first() {
            let left = limit - taken.len();
            let next = self.candidates.pools_after(class, last.as_ref()).take(left);
            let next: Vec<ObjectKey> = next.cloned().collect();
            let last = next.last().cloned();
            taken.extend(next);
            if taken.len() >= limit {
                self.stale.insert(class, last);
                break;
            }
        }
        taken
    }

    /// Pools of accounts whose listings have failed for so long by `now` that even fully assigned
    /// pools must report the failure. Returned once per outage.
    pub(crate) fn take_unheard(&mut self, now: Time) -> BTreeSet<ObjectKey> {
        let mut unheard = BTreeSet::new();
        for (id, users) in &self.users {
            let silence = self.accounts.get_mut(id).and_then(|one| one.listing.silence.as_mut());
            if let Some(silence) = silence.filter(|one| !one.told && one.told_from <= now) {
                silence.told = true;
                unheard.extend(users.iter().cloned());
            }
        }
        unheard
    }

    /// Whether some verdicts may be out of date.
    pub(crate) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }
}
