//! Observations of Clusters, claims, addresses, VIP pools, classes and holders.
//!
//! A version older than the known version of the same object is ignored. A change that planning
//! does not read touches no Cluster.

use super::super::action::Task;
use super::super::model::{
    ClassRef, Cluster, ClusterClass, Holder, Job, ObjectName, PoolId, VipAddress, VipClaim, VipPool,
};
use super::Vips;
use crate::action::FailureKind;
use crate::model::ObjectKey;
use crate::world::{Work, World};

impl World {
    /// Observes a Cluster that appeared or changed.
    pub fn set_cluster(&mut self, cluster: Cluster) {
        let key = cluster.key.clone();
        if let Some(known) = self.vips.clusters.get_mut(&key).filter(|one| one.uid == cluster.uid) {
            if cluster.version < known.version {
                return;
            }
            let newer = cluster.version > known.version;
            known.version = cluster.version;
            if *known == cluster {
                if newer && self.vips.read_anew(&key, Task::writes_cluster) {
                    self.dirty.insert(key);
                }
                return;
            }
            if known.class == cluster.class {
                *known = cluster;
                self.vips.read_anew(&key, Task::writes_cluster);
                self.dirty.insert(key);
                return;
            }
        }
        let other = self.vips.clusters.get(&key).is_none_or(|known| known.uid != cluster.uid);
        if other {
            self.leave_cluster(&key);
        } else {
            self.vips.leave_class(&key);
            self.vips.read_anew(&key, Task::writes_cluster);
        }
        if let Some(class) = &cluster.class {
            self.vips.by_class.entry(class.clone()).or_default().insert(key.clone());
        }
        self.vips.clusters.insert(key.clone(), cluster);
        self.dirty.insert(key);
    }

    /// Removes a Cluster that is gone.
    pub fn remove_cluster(&mut self, key: &ObjectKey) {
        if self.vips.clusters.contains_key(key) {
            self.leave_cluster(key);
            self.vips.clusters.remove(key);
        }
    }

    /// Ends everything about a Cluster, and replans the Clusters whose claims may have its name.
    fn leave_cluster(&mut self, key: &ObjectKey) {
        self.vips.leave_class(key);
        self.vips.forget(key, |_| true);
        self.vips.falls.remove(key);
        self.vips.awaiting.remove(key);
        let names =
            Job::all().map(|job| ObjectName::new(key.namespace.clone(), job.claim(&key.name)));
        let sharing: Vec<_> = names.flat_map(|name| self.vips.keys_of(&name)).collect();
        self.dirty.extend(sharing);
    }

    /// Observes a claim that appeared or changed.
    pub fn set_vip_claim(&mut self, mut claim: VipClaim) {
        if let Some(known) = self.vips.claims.get_mut(&claim.name)
            && known.uid == claim.uid
        {
            let (seen, before) = (claim.version, known.version);
            if seen < before {
                return;
            }
            known.version = seen;
            // The time of our own request is more precise than the API server's full second.
            claim.created_at = known.created_at;
            if *known == claim {
                if seen > before {
                    self.retry_claim(&claim.name, false);
                }
                return;
            }
        }
        if claim.is_bound() {
            for (job, key) in self.vips.jobs_of(&claim.name) {
                if let Some(jobs) = self.vips.falls.get_mut(&key) {
                    jobs.remove(&job);
                }
            }
        }
        let name = claim.name.clone();
        self.vips.claims.insert(name.clone(), claim);
        self.retry_claim(&name, true);
    }

    /// Removes a claim that is gone.
    pub fn remove_vip_claim(&mut self, name: &ObjectName) {
        if self.vips.claims.remove(name).is_some() {
            self.retry_claim(name, true);
            self.vips.forget_gone(name);
        }
    }

    /// Replans the Clusters of a claim, and lets a write that waits for a newer version start.
    fn retry_claim(&mut self, name: &ObjectName, changed: bool) {
        for (job, key) in self.vips.jobs_of(name) {
            let waited = self.vips.read_anew(&key, |task| task == Task::Claim(job));
            if waited || changed {
                self.dirty.insert(key);
            }
        }
    }

    /// Observes an address that appeared or changed.
    pub fn set_vip_address(&mut self, address: VipAddress) {
        if let Some(known) = self.vips.addresses.get_mut(&address.name) {
            if address.version < known.version {
                return;
            }
            known.version = address.version;
            if *known == address {
                return;
            }
        }
        self.remove_vip_address(&address.name);
        let claim = ObjectName::new(address.name.namespace.clone(), address.claim.clone());
        self.vips.by_claim.entry(claim.clone()).or_default().insert(address.name.name.clone());
        self.vips.addresses.insert(address.name.clone(), address);
        self.dirty.extend(self.vips.keys_of(&claim));
    }

    /// Removes an address that is gone.
    pub fn remove_vip_address(&mut self, name: &ObjectName) {
        let Some(address) = self.vips.addresses.remove(name) else { return };
        let claim = ObjectName::new(name.namespace.clone(), address.claim);
        if let Some(addresses) = self.vips.by_claim.get_mut(&claim) {
            addresses.remove(&name.name);
            if addresses.is_empty() {
                self.vips.by_claim.remove(&claim);
            }
        }
        self.dirty.extend(self.vips.keys_of(&claim));
    }

    /// Observes a VIP pool that appeared or changed. Clusters that have their VIPs are not touched.
    pub fn set_vip_pool(&mut self, pool: VipPool) {
        let known = self.vips.pools.get(&pool.id);
        if known.is_some_and(|known| pool.version < known.version) {
            return;
        }
        let same = known.is_some_and(|known| known.plans_like(&pool));
        let only_room = known.is_some_and(|known| known.selects_like(&pool));
        self.vips.pools.insert(pool.id.clone(), pool);
        if !same {
            self.touch_awaiting(only_room);
        }
    }

    /// Removes a VIP pool that is gone.
    pub fn remove_vip_pool(&mut self, id: &PoolId) {
        if self.vips.pools.remove(id).is_some() {
            self.touch_awaiting(false);
        }
    }

    /// Replans the Clusters that a changed VIP pool may help.
    fn touch_awaiting(&mut self, only_room: bool) {
        let helped = self.vips.awaiting.iter().filter(|(_, awaits)| !only_room || awaits.room);
        self.dirty.extend(helped.map(|(key, _)| key.clone()));
    }

    /// Observes a class that appeared or changed.
    pub fn set_cluster_class(&mut self, class: ClusterClass) {
        if self.vips.classes.get(&class.name) != Some(&class) {
            self.touch_class(&class.name);
            self.vips.classes.insert(class.name.clone(), class);
        }
    }

    /// Removes a class that is gone.
    pub fn remove_cluster_class(&mut self, name: &ClassRef) {
        if self.vips.classes.remove(name).is_some() {
            self.touch_class(name);
        }
    }

    fn touch_class(&mut self, name: &ClassRef) {
        self.dirty.extend(self.vips.by_class.get(name).into_iter().flatten().cloned());
    }

    /// Observes a holder that appeared or changed.
    pub fn set_vip_holder(&mut self, holder: Holder) {
        let known = self.vips.holders.get(&holder.name).filter(|known| known.uid == holder.uid);
        if known.is_none_or(|known| known.version <= holder.version && *known != holder) {
            let name = holder.name.clone();
            self.vips.holders.insert(name.clone(), holder);
            self.retry_holder(&name);
        }
    }

    /// Removes a holder that is gone.
    pub fn remove_vip_holder(&mut self, name: &ObjectName) {
        if self.vips.holders.remove(name).is_some() {
            self.retry_holder(name);
            self.vips.forget_gone(name);
        }
    }

    fn retry_holder(&mut self, name: &ObjectName) {
        for (job, key) in self.vips.jobs_of(name) {
            self.vips.read_anew(&key, |task| task == Task::Holder(job));
            self.dirty.insert(key);
        }
    }
}

impl Vips {
    /// The jobs, with their Clusters, that a claim of this name may belong to.
    fn jobs_of(&self, claim: &ObjectName) -> Vec<(Job, ObjectKey)> {
        let jobs = Job::of_claim(&claim.name);
        jobs.filter_map(|(job, name)| Some((job, self.key(&claim.namespace, name)?))).collect()
    }

    /// Ends the waits of writes that were refused because their object had changed: a newer version
    /// has been read. Returns whether any write waited.
    fn read_anew(&mut self, key: &ObjectKey, concerned: impl Fn(Task) -> bool) -> bool {
        let Some(works) = self.works.get_mut(key) else { return false };
        let conflicts = |work: &Work| {
            let kind = work.failure.as_ref().map(|failure| failure.kind);
            !work.in_flight && kind == Some(FailureKind::Conflict)
        };
        let before = works.len();
        works.retain(|task, work| !(concerned(*task) && conflicts(work)));
        works.len() < before
    }

    /// Forgets the writes for a Cluster that is gone, once its claim or holder is gone too.
    fn forget_gone(&mut self, name: &ObjectName) {
        for (job, key) in self.jobs_of(name) {
            if !self.clusters.contains_key(&key) {
                self.forget(&key, |task| [Task::Claim(job), Task::Holder(job)].contains(&task));
            }
        }
    }

    /// Forgets the failures of writes. A write that is under way stays known until its outcome.
    fn forget(&mut self, key: &ObjectKey, concerned: impl Fn(Task) -> bool) {
        if let Some(works) = self.works.get_mut(key) {
            works.retain(|task, work| work.in_flight || !concerned(*task));
            if works.is_empty() {
                self.works.remove(key);
            }
        }
    }

    fn leave_class(&mut self, key: &ObjectKey) {
        let class = self.clusters.get(key).and_then(|cluster| cluster.class.clone());
        if let Some(class) = class
            && let Some(keys) = self.by_class.get_mut(&class)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.by_class.remove(&class);
            }
        }
    }
}
