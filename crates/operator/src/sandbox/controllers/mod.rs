//! The controllers of Deployments, ReplicaSets and disruption budgets, and the scheduler: as much as
//! a workload needs to come back after its pods were evicted.
//!
//! Each step is a function of the objects that were seen. Its answer counts as seen at once, so that
//! no step is taken twice.

mod budgets;
mod deployments;
mod scheduler;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Client, ResourceExt};

use super::objects::{Deployment, Node, Pod, ReplicaSet};
use steps::Step;

/// Namespace and name of an object.
pub type Key = (String, String);

/// The key of an object.
pub fn key<K: ResourceExt>(object: &K) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// An object that a controller works on.
#[derive(Clone, Debug)]
pub enum Object {
    Node(Node),
    Pod(Pod),
    Deployment(Deployment),
    ReplicaSet(ReplicaSet),
    Budget(PodDisruptionBudget),
}

/// What became of an object.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object was created or changed.
    Seen(Object),
    /// The object was deleted.
    Gone(Object),
}

/// The objects that the controllers have seen.
#[derive(Default)]
pub struct Controllers {
    nodes: BTreeMap<String, Node>,
    pods: BTreeMap<Key, Pod>,
    /// The pods without a node.
    homeless: BTreeSet<Key>,
    deployments: BTreeMap<Key, Deployment>,
    sets: BTreeMap<Key, ReplicaSet>,
    budgets: BTreeMap<Key, PodDisruptionBudget>,
    /// The UIDs of deleted owners, whose dependents go too.
    gone: BTreeSet<String>,
}

impl Controllers {
    /// Takes in a change.
    pub fn take(&mut self, change: Change) {
        match change {
            Change::Seen(object) => self.see(object),
            Change::Gone(object) => self.lose(&object),
        }
    }

    /// Takes in an object that was created or changed.
    fn see(&mut self, object: Object) {
        match object {
            Object::Node(node) => newer(&mut self.nodes, node.name_any(), node),
            Object::Pod(pod) => {
                let key = key(&pod);
                newer(&mut self.pods, key.clone(), pod);
                if self.pods.get(&key).is_some_and(|pod| pod.spec.node_name.is_empty()) {
                    self.homeless.insert(key);
                } else {
                    self.homeless.remove(&key);
                }
            }
            Object::Deployment(one) => newer(&mut self.deployments, key(&one), one),
            Object::ReplicaSet(one) => newer(&mut self.sets, key(&one), one),
            Object::Budget(one) => newer(&mut self.budgets, key(&one), one),
        }
    }

    /// Takes in that an object is gone.
    fn lose(&mut self, object: &Object) {
        match object {
            Object::Node(node) => drop(self.nodes.remove(&node.name_any())),
            Object::Pod(pod) => {
                self.homeless.remove(&key(pod));
                self.pods.remove(&key(pod));
            }
            Object::Deployment(one) => {
                self.gone.extend(one.uid());
                self.deployments.remove(&key(one));
            }
            Object::ReplicaSet(one) => {
                self.gone.extend(one.uid());
                self.sets.remove(&key(one));
            }
            Object::Budget(one) => drop(self.budgets.remove(&key(one))),
        }
    }

    /// Takes all steps that are to be taken now. After a failed step, which means that another
    /// writer was faster, the next change leads to a new attempt.
    pub async fn work(&mut self, client: &Client) {
        while let Some(step) = self.next() {
            match step.take(client).await {
                Ok(change) => self.take(change),
                Err(_) => return,
            }
        }
    }

    fn next(&self) -> Option<Step> {
        let deployed = || self.deployments.values().find_map(|one| self.deploy(one));
        let replicated = || self.sets.values().find_map(|one| self.replicate(one));
        deployed()
            .or_else(|| self.collect())
            .or_else(replicated)
            .or_else(|| self.schedule())
            .or_else(|| self.budgets.values().find_map(|one| self.count_budget(one)))
    }

    /// The ReplicaSets of a Deployment that are not being deleted.
    fn sets_of<'a>(&'a self, owner: &'a Deployment) -> impl Iterator<Item = &'a ReplicaSet> {
        let uid = owner.uid().unwrap_or_default();
        self.sets.values().filter(move |one| is_owned(&one.metadata, &uid) && stays(&one.metadata))
    }

    /// The pods of a ReplicaSet that count: not being deleted, and not at their end.
    fn pods_of<'a>(&'a self, owner: &'a ReplicaSet) -> impl Iterator<Item = &'a Pod> {
        let uid = owner.uid().unwrap_or_default();
        self.pods.values().filter(move |one| is_owned(&one.metadata, &uid) && is_alive(one))
    }

    /// Deletes an object whose owner is gone.
    fn collect(&self) -> Option<Step> {
        if self.gone.is_empty() {
            return None;
        }
        let is_orphan = |metadata: &ObjectMeta| {
            stays(metadata) && self.gone.iter().any(|uid| is_owned(metadata, uid))
        };
        let set = self.sets.values().find(|one| is_orphan(&one.metadata));
        let pod = || self.pods.values().find(|one| is_orphan(&one.metadata));
        set.map(|one| Step::DeleteSet(Box::new(one.clone())))
            .or_else(|| pod().map(|one| Step::DeletePod(Box::new(one.clone()))))
    }
}

/// Stores an object, unless a newer version of it was seen.
fn newer<I: Ord, K: ResourceExt>(all: &mut BTreeMap<I, K>, index: I, object: K) {
    let version = |one: &K| one.resource_version()?.parse::<u64>().ok();
    if all.get(&index).is_none_or(|known| version(known) <= version(&object)) {
        all.insert(index, object);
    }
}

fn is_owned(metadata: &ObjectMeta, uid: &str) -> bool {
    let owners = metadata.owner_references.iter().flatten();
    owners.filter(|owner| owner.controller == Some(true)).any(|owner| owner.uid == uid)
}

fn stays(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_none()
}

/// Whether a pod runs or is to run.
fn is_alive(pod: &Pod) -> bool {
    let over = matches!(pod.status.phase.as_deref(), Some("Succeeded" | "Failed"));
    stays(&pod.metadata) && !over
}

/// Whether a pod counts as healthy.
fn is_healthy(pod: &Pod) -> bool {
    is_alive(pod) && pod.status.are_ready()
}

fn count<T>(all: impl Iterator<Item = T>) -> i32 {
    i32::try_from(all.count()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
