//! Everything that is known, in one place with one owner.
//!
//! Observations and outcomes are folded in as they come; each marks the pools that it can
//! concern, and only those (with the ones that are still waiting for something) are planned
//! again. *Unknown is not absent*: a fact that was never read, or whose last call has no
//! answer, is `Unknown`, and nothing is done on the strength of it.

mod account;
mod candidates;
mod pool;
mod work;

pub use account::{
    Account, AccountSetup, Address, Knowledge, Listing, Operation, PATIENCE, Setback,
};
pub use candidates::{Candidates, ClassId};
pub use pool::{IntentProgress, PoolEntry};

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::model::{
    AccountId, Family, Finding, Machine, Node, NodeName, Pod, PodId, Pool, PoolKey,
};
use pool::Work;

/// Times that the world reckons with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often each account is read again.
    pub resync: Duration,
    /// Hard deadline of a call.
    pub call_deadline: Duration,
    /// How long a cloud may take to show, or to apply, what it accepted.
    pub settle: Duration,
    /// Wait after the first failure.
    pub retry_initial: Duration,
    /// Longest wait between two attempts.
    pub retry_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resync: Duration::from_secs(60),
            call_deadline: Duration::from_secs(5),
            settle: Duration::from_secs(5),
            retry_initial: Duration::from_secs(1),
            retry_max: Duration::from_secs(300),
        }
    }
}

impl Settings {
    /// The wait after `failures` failures: doubling, plus up to a quarter of `jitter`
    /// thousandths.
    pub(crate) fn back_off(&self, failures: u32, jitter: u16) -> Duration {
        let doubled = self.retry_initial.saturating_mul(1 << failures.saturating_sub(1).min(20));
        let step = doubled.min(self.retry_max);
        step + step * u32::from(jitter.min(1000)) / 4000
    }
}

/// A source of observations. Until each has been read whole, nothing is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nodes.
    Nodes,
    /// Pods.
    Pods,
    /// Pools.
    Pools,
}

/// Everything that is known.
#[derive(Debug)]
pub struct World {
    settings: Settings,
    unread: BTreeSet<Source>,
    /// No call that changes a cloud starts before; what was read before does not count.
    open_from: Time,
    nodes: BTreeMap<NodeName, Node>,
    machines: BTreeMap<Machine, NodeName>,
    marked: BTreeMap<IpAddr, BTreeSet<NodeName>>,
    mark_work: BTreeMap<(NodeName, Family), Work>,
    candidates: Candidates,
    pools: BTreeMap<PoolKey, PoolEntry>,
    claims: BTreeMap<IpAddr, BTreeSet<PoolKey>>,
    accounts: BTreeMap<AccountId, Account>,
    dirty: BTreeSet<PoolKey>,
}

impl World {
    /// A world in which nothing is known.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            unread: [Source::Nodes, Source::Pods, Source::Pools].into(),
            open_from: Time::default(),
            nodes: BTreeMap::new(),
            machines: BTreeMap::new(),
            marked: BTreeMap::new(),
            mark_work: BTreeMap::new(),
            candidates: Candidates::default(),
            pools: BTreeMap::new(),
            claims: BTreeMap::new(),
            accounts: BTreeMap::new(),
            dirty: BTreeSet::new(),
        }
    }

    /// The times that this world reckons with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether every source has been read whole.
    pub fn is_read(&self) -> bool {
        self.unread.is_empty()
    }

    /// From when on calls that change a cloud may start.
    pub fn open_from(&self) -> Time {
        self.open_from
    }

    /// A source has been read whole.
    pub fn source_read(&mut self, source: Source) {
        self.unread.remove(&source);
        if self.is_read() {
            self.dirty.extend(self.pools.keys().cloned());
        }
    }

    /// A term of leadership begins: nothing that was known of the clouds counts any more,
    /// what the objects remember does. Nothing is changed at a cloud before `open_from`.
    pub fn take_over(&mut self, open_from: Time) {
        self.open_from = open_from;
        self.mark_work.clear();
        for account in self.accounts.values_mut() {
            *account = Account::new(account.setup.clone());
        }
        for entry in self.pools.values_mut() {
            *entry = PoolEntry::new(entry.pool.clone(), entry.class);
        }
        self.reclaim_all();
        self.dirty.extend(self.pools.keys().cloned());
    }

    /// The account that pools name. Given once, before any pool that names it.
    pub fn set_account(&mut self, id: AccountId, setup: Result<AccountSetup, Finding>) {
        self.accounts.insert(id, Account::new(setup));
    }

    /// An account.
    pub fn account(&self, id: &AccountId) -> Option<&Account> {
        self.accounts.get(id)
    }

    /// Every account.
    pub fn accounts(&self) -> impl Iterator<Item = (&AccountId, &Account)> {
        self.accounts.iter()
    }

    /// A node.
    pub fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// Every node.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The node that runs on a machine.
    pub fn node_on(&self, machine: &Machine) -> Option<&NodeName> {
        self.machines.get(machine)
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
    pub fn pool(&self, key: &PoolKey) -> Option<&PoolEntry> {
        self.pools.get(key)
    }

    /// Every pool.
    pub fn pools(&self) -> impl Iterator<Item = (&PoolKey, &PoolEntry)> {
        self.pools.iter()
    }

    /// Pools that have `ip`, by their own account.
    pub fn claimants(&self, ip: IpAddr) -> impl Iterator<Item = &PoolKey> {
        self.claims.get(&ip).into_iter().flatten()
    }

    /// The pools that something happened to since the last call.
    pub fn take_dirty(&mut self) -> BTreeSet<PoolKey> {
        std::mem::take(&mut self.dirty)
    }

    /// A node appeared or changed. A node that differs in nothing that planning reads
    /// touches no pool.
    pub fn set_node(&mut self, node: Node) {
        if let Some(before) = self.nodes.get(&node.name) {
            if before.uid == node.uid && node.version < before.version {
                return;
            }
            if (Node { version: node.version, ..before.clone() }) == node {
                self.nodes.insert(node.name.clone(), node);
                return;
            }
            let before = before.clone();
            self.unlink(&before);
        }
        if let Some(machine) = &node.machine {
            self.machines.insert(machine.clone(), node.name.clone());
            self.touch_machine(machine);
        }
        for ip in marked_addresses(&node) {
            self.marked.entry(ip).or_default().insert(node.name.clone());
            self.touch_address(ip);
        }
        let changed = self.candidates.node_set(&node);
        self.nodes.insert(node.name.clone(), node);
        self.touch_classes(changed);
    }

    /// A node is gone.
    pub fn remove_node(&mut self, name: &NodeName) {
        if let Some(node) = self.nodes.remove(name) {
            self.unlink(&node);
            let changed = self.candidates.node_removed(name);
            self.touch_classes(changed);
            self.mark_work.retain(|(node, _), _| node != name);
        }
    }

    /// Only these nodes exist: a watch that starts again has listed them all.
    pub fn retain_nodes(&mut self, names: &BTreeSet<NodeName>) {
        let gone: Vec<_> =
            self.nodes.keys().filter(|name| !names.contains(*name)).cloned().collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// A pod is ready on a node.
    pub fn set_pod(&mut self, pod: &Pod) {
        let changed = self.candidates.pod_set(pod, &self.nodes);
        self.touch_classes(changed);
    }

    /// A pod is gone, or no longer ready.
    pub fn remove_pod(&mut self, pod: &PodId) {
        let changed = self.candidates.pod_removed(pod, &self.nodes);
        self.touch_classes(changed);
    }

    /// Only these pods are ready: a watch that starts again has listed them all.
    pub fn retain_pods(&mut self, ids: &BTreeSet<PodId>) {
        let gone: Vec<_> =
            self.candidates.pod_ids().filter(|id| !ids.contains(*id)).cloned().collect();
        for id in gone {
            self.remove_pod(&id);
        }
    }

    /// A pool appeared or changed. An older version than the one that we know, or wrote
    /// ourselves, is not news.
    pub fn set_pool(&mut self, pool: Pool) {
        let key = pool.key.clone();
        let same = self.pools.get(&key).filter(|entry| entry.pool.uid == pool.uid);
        if same.is_some_and(|entry| entry.pool.version > pool.version) {
            return;
        }
        if same.is_some_and(|entry| entry.pool.differs_only_in_memory(&pool)) {
            if let Some(entry) = self.pools.get_mut(&key) {
                entry.pool = pool;
            }
            return;
        }
        let class = self.class_for(&pool);
        let (old_class, entry) = match self.pools.remove(&key) {
            Some(mut entry) if entry.pool.uid == pool.uid => {
                let old = std::mem::replace(&mut entry.class, class);
                entry.observe(pool);
                (old, entry)
            }
            Some(entry) => (entry.class, PoolEntry::new(pool, class)),
            None => (None, PoolEntry::new(pool, class)),
        };
        if let Some(old) = old_class.filter(|old| Some(*old) != class) {
            self.candidates.leave(old, &key);
        }
        self.pools.insert(key.clone(), entry);
        self.reclaim(&key);
        self.dirty.insert(key);
    }

    /// A pool's object has this version after a write of ours that planning does not read.
    pub fn wrote_pool(&mut self, key: &PoolKey, uid: &str, version: u64) {
        if let Some(entry) = self.pools.get_mut(key)
            && *entry.pool.uid == *uid
        {
            entry.pool.version = entry.pool.version.max(version);
        }
    }

    /// A pool is gone. Its addresses, its nodes' marks stay as they are.
    pub fn remove_pool(&mut self, key: &PoolKey) {
        if let Some(entry) = self.pools.remove(key) {
            if let Some(class) = entry.class {
                self.candidates.leave(class, key);
            }
            self.reclaim(key);
            self.dirty.insert(key.clone());
        }
    }

    /// Only these pools of `kind` exist: a watch that starts again has listed them all.
    pub fn retain_pools(&mut self, kind: &str, keys: &BTreeSet<PoolKey>) {
        let gone = |key: &&PoolKey| key.kind == kind && !keys.contains(*key);
        let gone: Vec<_> = self.pools.keys().filter(gone).cloned().collect();
        for key in gone {
            self.remove_pool(&key);
        }
    }

    fn class_for(&mut self, pool: &Pool) -> Option<ClassId> {
        let request = pool.request.as_ref().ok()?;
        let setup = self.accounts.get(&request.account)?.setup.as_ref().ok()?;
        let cloud = setup.cloud.clone();
        Some(self.candidates.join(&cloud, &request.matching, &pool.key, &self.nodes))
    }

    /// Brings `claims` in line with what a pool has now.
    fn reclaim(&mut self, key: &PoolKey) {
        let addresses = self.pools.get(key).map(PoolEntry::addresses).unwrap_or_default();
        let mut others = BTreeSet::new();
        self.claims.retain(|ip, claimants| {
            if claimants.contains(key) && !addresses.contains(ip) {
                claimants.remove(key);
                others.extend(claimants.iter().cloned());
            }
            !claimants.is_empty()
        });
        let request = self.pools.get(key).and_then(|entry| entry.pool.request.as_ref().ok());
        let mut account = request.and_then(|request| self.accounts.get_mut(&request.account));
        for ip in addresses {
            if let Some(account) = &mut account {
                account.track(ip);
            }
            let claimants = self.claims.entry(ip).or_default();
            if claimants.insert(key.clone()) {
                others.extend(claimants.iter().cloned());
            }
        }
        self.dirty.extend(others);
    }

    fn reclaim_all(&mut self) {
        self.claims.clear();
        for (key, entry) in &self.pools {
            for ip in entry.addresses() {
                self.claims.entry(ip).or_default().insert(key.clone());
            }
        }
    }

    fn unlink(&mut self, node: &Node) {
        for ip in marked_addresses(node) {
            if let Some(nodes) = self.marked.get_mut(&ip) {
                nodes.remove(&node.name);
                if nodes.is_empty() {
                    self.marked.remove(&ip);
                }
            }
            self.touch_address(ip);
        }
        if let Some(machine) = &node.machine {
            if self.machines.get(machine) == Some(&node.name) {
                self.machines.remove(machine);
            }
            self.touch_machine(machine);
        }
    }

    fn touch_classes(&mut self, classes: impl IntoIterator<Item = ClassId>) {
        for class in classes {
            self.dirty.extend(self.candidates.pools(class).cloned());
        }
    }

    fn touch_address(&mut self, ip: IpAddr) {
        if let Some(claimants) = self.claims.get(&ip) {
            self.dirty.extend(claimants.iter().cloned());
        }
    }

    fn touch_machine(&mut self, machine: &Machine) {
        let here = self.accounts.values().filter(|account| {
            account.setup.as_ref().is_ok_and(|setup| setup.cloud == machine.cloud)
        });
        let addresses: Vec<_> = here
            .flat_map(|account| Family::ALL.map(|family| account.occupants(&machine.id, family)))
            .flatten()
            .collect();
        for ip in addresses {
            self.touch_address(ip);
        }
    }
}

/// The addresses that a node's marks name.
pub(crate) fn marked_addresses(node: &Node) -> Vec<IpAddr> {
    let marks = Family::ALL.into_iter().filter_map(|family| node.marks.get(family));
    marks.flat_map(|mark| mark.split(',')).filter_map(|ip| ip.trim().parse().ok()).collect()
}
