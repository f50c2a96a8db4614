//! Everything known about Clusters, claims, addresses and VIP pools.

mod observe;
mod retain;
mod tally;

pub use tally::Tally;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::action::Task;
use super::model::{
    ClassRef, Cluster, ClusterClass, Holder, Job, ObjectName, PoolId, VipAddress, VipClaim, VipPool,
};
use super::verdict::Awaits;
use crate::Time;
use crate::model::{Kind, ObjectKey, Subject, Text};
use crate::world::{Source, Work, World};

/// A source of observations that VIPs depend on, beside the Clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VipSource {
    /// Claims.
    Claims,
    /// Addresses that claims are bound to.
    Addresses,
    /// VIP pools for all Clusters.
    GlobalPools,
    /// VIP pools in namespaces.
    LocalPools,
    /// Classes of Clusters.
    Classes,
    /// Holders of claims.
    Holders,
}

impl VipSource {
    /// Every source. A source whose kind the API server does not know counts as read, and empty.
    pub const ALL: [Self; 6] = [
        Self::Claims,
        Self::Addresses,
        Self::GlobalPools,
        Self::LocalPools,
        Self::Classes,
        Self::Holders,
    ];
}

/// The VIPs' part of the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vips {
    /// The kind of Clusters, if any kind asks for VIPs.
    pub kind: Option<&'static Kind>,
    pub clusters: BTreeMap<ObjectKey, Cluster>,
    /// Clusters by class.
    by_class: BTreeMap<ClassRef, BTreeSet<ObjectKey>>,
    pub classes: BTreeMap<ClassRef, ClusterClass>,
    pub claims: BTreeMap<ObjectName, VipClaim>,
    addresses: BTreeMap<ObjectName, VipAddress>,
    /// Addresses by claim.
    by_claim: BTreeMap<ObjectName, BTreeSet<Text>>,
    pub pools: BTreeMap<PoolId, VipPool>,
    pub holders: BTreeMap<ObjectName, Holder>,
    /// The state of writes, by Cluster.
    pub(super) works: BTreeMap<ObjectKey, BTreeMap<Task, Work>>,
    /// Claims that were given up for another one, since the last bound claim.
    pub(super) falls: BTreeMap<ObjectKey, BTreeMap<Job, Falls>>,
    /// Clusters that a VIP pool may help, from their last verdicts.
    awaiting: BTreeMap<ObjectKey, Awaits>,
}

/// Claims of a job that were given up for another one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Falls {
    /// Number of such claims.
    pub count: u32,
    /// No further claim is given up before.
    pub not_before: Time,
}

impl Vips {
    /// The VIPs' part of a world with these kinds, and the sources to read.
    pub fn new(kinds: &[&'static Kind]) -> (Self, Vec<Source>) {
        let kind = kinds.iter().copied().find(|kind| kind.may_ask_for(Subject::Vips));
        let sources = kind.into_iter().flat_map(|_| VipSource::ALL).map(Source::Vips);
        (Self { kind, ..Self::default() }, sources.collect())
    }

    /// The key of a Cluster.
    pub fn key(&self, namespace: &Text, name: &str) -> Option<ObjectKey> {
        Some(ObjectKey { kind: self.kind?, namespace: namespace.clone(), name: name.into() })
    }

    /// The Clusters that a claim of this name may belong to.
    fn keys_of(&self, claim: &ObjectName) -> Vec<ObjectKey> {
        let clusters = Job::of_claim(&claim.name);
        clusters.filter_map(|(_, name)| self.key(&claim.namespace, name)).collect()
    }

    /// The existing Cluster with this UID, among those that a claim of this name may belong to.
    pub fn living(&self, claim: &ObjectName, uid: &Text) -> Option<&Cluster> {
        let keys = self.keys_of(claim);
        let mut clusters = keys.iter().filter_map(|key| self.clusters.get(key));
        clusters.find(|cluster| cluster.uid == *uid)
    }

    /// The address that a claim is bound to; `None` if the claim is unbound, or if the address is
    /// not there, being deleted, unreadable or bound to another claim.
    pub fn address(&self, claim: &VipClaim) -> Option<IpAddr> {
        let name = ObjectName::new(claim.name.namespace.clone(), claim.bound.clone()?);
        let address = self.addresses.get(&name)?;
        address.ip.filter(|_| address.claim == claim.name.name && !address.deleting)
    }

    /// Whether an address names the claim, which is about to be bound or is bound.
    pub fn is_being_bound(&self, claim: &ObjectName) -> bool {
        self.by_claim.contains_key(claim)
    }

    /// The state of a write, if any was tried.
    pub fn work(&self, key: &ObjectKey, task: Task) -> Option<&Work> {
        self.works.get(key)?.get(&task)
    }

    /// The writes for a Cluster that are under way.
    pub fn begun(&self, key: &ObjectKey) -> BTreeSet<Task> {
        let works = self.works.get(key).into_iter().flatten();
        works.filter(|(_, work)| work.in_flight).map(|(task, _)| *task).collect()
    }

    /// Claims of a job that were given up for another one.
    pub fn falls(&self, key: &ObjectKey, job: Job) -> Falls {
        self.falls.get(key).and_then(|jobs| jobs.get(&job)).copied().unwrap_or_default()
    }

    /// Every Cluster, and every Cluster that a claim or holder may belong to.
    pub fn everyone(&self) -> BTreeSet<ObjectKey> {
        let tied = self.claims.keys().chain(self.holders.keys());
        let tied = tied.flat_map(|name| self.keys_of(name));
        self.clusters.keys().cloned().chain(tied).collect()
    }
}

impl World {
    /// A Cluster.
    pub fn cluster(&self, key: &ObjectKey) -> Option<&Cluster> {
        self.vips.clusters.get(key)
    }

    /// Every Cluster.
    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.vips.clusters.values()
    }

    /// Whether a write of a Cluster for its VIPs is under way, so that its version is about to change.
    pub fn is_writing_cluster(&self, key: &ObjectKey) -> bool {
        self.vips.begun(key).into_iter().any(Task::writes_cluster)
    }

    /// A claim.
    pub fn vip_claim(&self, name: &ObjectName) -> Option<&VipClaim> {
        self.vips.claims.get(name)
    }

    /// Every VIP pool.
    pub fn vip_pools(&self) -> impl Iterator<Item = &VipPool> {
        self.vips.pools.values()
    }

    /// Whether every source that VIPs depend on has been read whole.
    pub fn knows_vips(&self) -> bool {
        self.vips.kind.is_some() && self.is_read_for(Subject::Vips)
    }

    /// Remembers whether a VIP pool may help a Cluster, from its verdict.
    pub(crate) fn remember_awaiting(&mut self, key: &ObjectKey, awaits: Option<Awaits>) {
        match awaits.filter(|_| self.vips.clusters.contains_key(key)) {
            Some(awaits) => drop(self.vips.awaiting.insert(key.clone(), awaits)),
            None => drop(self.vips.awaiting.remove(key)),
        }
    }

    /// Replaces times of creation in the future, which are clock errors, by `now`. Unchanged, such a
    /// time would keep a claim of a full VIP pool from the next VIP pool.
    pub(crate) fn created_not_ahead(&mut self, key: &ObjectKey, now: Time) {
        for job in Job::all() {
            let name = ObjectName::new(key.namespace.clone(), job.claim(&key.name));
            if let Some(claim) = self.vips.claims.get_mut(&name) {
                claim.created_at = claim.created_at.min(now);
            }
        }
    }

    /// Forgets the writes of an earlier term.
    pub(crate) fn take_over_vips(&mut self) {
        self.vips.works.clear();
        self.vips.falls.clear();
        self.dirty.extend(self.vips.everyone());
    }
}
