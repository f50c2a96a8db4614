//! Pods, and the workloads that they belong to: an independent reading of the rules for which pods
//! keep an address on a cordoned node.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cluster::is_ready;
use super::pool::text;
use crate::cluster::NAMESPACE;

/// All pods, and the owners of ReplicaSets.
#[derive(Debug, Default)]
pub(super) struct Pods {
    all: BTreeMap<String, Pod>,
    sets: BTreeMap<String, Owner>,
}

/// A pod.
#[derive(Debug)]
pub(super) struct Pod {
    pub node: String,
    app: String,
    ready: bool,
    /// Runs or starts, and is not being deleted.
    alive: bool,
    /// The controller.
    owner: Option<Owner>,
}

/// The kind and name of a controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub kind: String,
    pub name: String,
}

/// The pods that let a cordoned node keep its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keeping {
    /// Those of a workload.
    Workload(Owner),
    /// All that can be evicted.
    Evictable,
    /// All with a label `app` that can be evicted.
    Apps,
}

impl Keeping {
    /// Reads a `workloadRef`.
    pub fn read(workload: &Value) -> Self {
        let owner =
            Owner { kind: text(&workload["kind"]).into(), name: text(&workload["name"]).into() };
        match owner.kind.as_str() {
            "" => Self::Apps,
            "DaemonSet" => Self::Evictable,
            _ => Self::Workload(owner),
        }
    }
}

impl Pods {
    /// Applies a write of a pod or a ReplicaSet.
    pub fn wrote(&mut self, plural: &str, key: String, object: Option<&Value>) {
        match (plural, object) {
            ("pods", Some(pod)) => drop(self.all.insert(key, read(pod))),
            ("pods", None) => drop(self.all.remove(&key)),
            (_, Some(set)) => {
                let name = text(&set["metadata"]["name"]).to_owned();
                self.sets.extend(controller(set).map(|owner| (name, owner)));
            }
            (_, None) => {}
        }
    }

    /// A pod by its name.
    pub fn get(&self, name: &str) -> Option<&Pod> {
        self.all.get(&format!("{NAMESPACE}/{name}"))
    }

    /// Whether a ready pod of an app runs on a node.
    pub fn runs(&self, app: &str, node: &str) -> bool {
        self.all.values().any(|pod| pod.ready && pod.node == node && pod.app == app)
    }

    /// Whether pods on a cordoned node keep its address.
    pub fn keep(&self, keeping: &Keeping, node: &str) -> bool {
        let here = |pod: &&Pod| pod.alive && pod.node == node;
        self.all.values().filter(here).any(|pod| match keeping {
            Keeping::Workload(workload) => self.is_of(pod, workload),
            Keeping::Evictable => pod.is_evictable(),
            Keeping::Apps => pod.is_evictable() && !pod.app.is_empty(),
        })
    }

    /// Whether a pod belongs to a workload.
    pub fn is_of(&self, pod: &Pod, workload: &Owner) -> bool {
        let parent = |owner: &Owner| {
            let set = self.sets.get(&owner.name).filter(|_| owner.kind == "ReplicaSet");
            set.unwrap_or(owner) == workload
        };
        pod.owner.as_ref().map_or(pod.app == workload.name, parent)
    }
}

impl Pod {
    /// Whether a drain would evict the pod.
    pub fn is_evictable(&self) -> bool {
        let stays = |owner: &Owner| ["DaemonSet", "Node"].contains(&owner.kind.as_str());
        !self.owner.as_ref().is_some_and(stays)
    }
}

fn read(pod: &Value) -> Pod {
    let leaving = pod["metadata"]["deletionTimestamp"].is_string();
    let over = ["Succeeded", "Failed"].contains(&text(&pod["status"]["phase"]));
    Pod {
        node: text(&pod["spec"]["nodeName"]).to_owned(),
        app: text(&pod["metadata"]["labels"]["app"]).to_owned(),
        ready: is_ready(pod) && !leaving,
        alive: !leaving && !over,
        owner: controller(pod),
    }
}

fn controller(object: &Value) -> Option<Owner> {
    let all = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owner = all.into_iter().find(|one| one["controller"] == true)?;
    Some(Owner { kind: text(&owner["kind"]).to_owned(), name: text(&owner["name"]).to_owned() })
}
