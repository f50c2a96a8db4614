//! Evictions: only pods of an allocation's workload, only from a node that lost its last address,
//! only noted, and never where the user disabled them.

use bytes::Bytes;
use serde_json::Value;

use super::Oracle;
use super::cluster::Node;
use super::front::Front;
use super::pods::Owner;
use super::pool::{Pool, text};
use crate::schedule::Millis;

/// The workload whose pods an allocation evicts, over time.
#[derive(Debug, Default)]
pub(super) struct Evicting {
    now: Option<Owner>,
    /// Former workloads, with the time of the change.
    past: Vec<(Owner, Millis)>,
}

impl Evicting {
    /// Reads an allocation's spec.
    pub fn read(&mut self, spec: &Value, time: Millis) {
        let workload = &spec["workloadRef"];
        let (kind, name) = (text(&workload["kind"]), text(&workload["name"]));
        let evicts =
            spec["eviction"] != "Disabled" && ["Deployment", "StatefulSet"].contains(&kind);
        let now = evicts.then(|| Owner { kind: kind.to_owned(), name: name.to_owned() });
        if now != self.now {
            self.past.extend(std::mem::replace(&mut self.now, now).map(|one| (one, time)));
        }
    }

    /// The workloads at some time since `floor`.
    pub fn lately(&self, floor: Millis) -> impl Iterator<Item = &Owner> {
        let past = self.past.iter().filter(move |(_, until)| *until >= floor);
        self.now.iter().chain(past.map(|(one, _)| one))
    }
}

impl Oracle {
    /// Checks the eviction of a pod before the send.
    pub(super) fn check_eviction(&mut self, process: &str, path: &str, body: &Bytes) {
        let name = path.trim_matches('/').rsplit('/').nth(1).unwrap_or_default();
        let text = |why: &str| format!("{process} evicts {name}: {why}");
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if !body["deleteOptions"]["preconditions"]["uid"].is_string() {
            return self.violated("evict", text("another pod of the same name would be evicted"));
        }
        // The pod may be gone by now.
        let Some(pod) = self.cluster.pods.get(name) else { return };
        if !pod.is_evictable() {
            return self.violated("evict", text("it is of a DaemonSet or of its node"));
        }
        let api = self.api_floor();
        let of_pool = |pool: &Pool| {
            let wants = pool.evicting.lately(api).any(|one| self.cluster.pods.is_of(pod, one));
            wants && !pool.ways.is_surely_paused(api)
        };
        let lost = self
            .cluster
            .lost_workloads
            .iter()
            .any(|(one, until)| *until >= api && self.cluster.pods.is_of(pod, one));
        if !lost && !self.cluster.pools.values().any(of_pool) {
            return self.violated("evict", text("no allocation asks for that"));
        }
        let Some(node) = self.cluster.nodes.get(&pod.node) else { return };
        if !node.evicting && node.evicted.is_none_or(|time| time < api) {
            return self.violated("evict", text("its node is not noted"));
        }
        let Some(machine) = node.machine else { return };
        let allocations =
            self.cluster.pools.values().filter(|pool| pool.front == Front::Allocation);
        let mut held = allocations.flat_map(|pool| pool.listed.iter().copied());
        let kept = held.find(|ip| {
            let (now, cloud) = (self.now(), self.cloud_floor());
            let listed = |pool: &Pool| pool.listed_since.get(ip).is_some_and(|time| *time < api);
            self.cloud.holder(*ip) == Some(machine)
                && self.cluster.claimants(*ip).any(listed)
                && !self.cloud.touched_since(*ip, cloud)
                && !self.cloud.is_unknown_arrival(*ip, process, now)
        });
        if let Some(ip) = kept {
            self.violated("evict", text(&format!("{ip} is on {}", pod_node(&self.cluster, name))));
        }
    }

    /// Nodes that are still noted although every allocation is served. While the address is on the
    /// node, which may recover, nothing is evicted.
    pub(super) fn unevicted(&self) -> Vec<String> {
        let mut allocations = self.allocations().peekable();
        if allocations.peek().is_none() || !allocations.all(Pool::is_served) {
            return vec![];
        }
        let holds = |node: &Node| {
            let its = self.allocations().flat_map(|pool| pool.listed.iter());
            node.machine
                .is_some_and(|one| its.into_iter().any(|ip| self.cloud.holder(*ip) == Some(one)))
        };
        let noted = self.cluster.nodes.iter();
        let noted = noted.filter(|(_, node)| node.evicting && !holds(node));
        noted.map(|(name, _)| format!("pods are still to be evicted from {name}")).collect()
    }

    /// The allocations.
    pub(super) fn allocations(&self) -> impl Iterator<Item = &Pool> {
        self.cluster.pools.values().filter(|pool| pool.front == Front::Allocation)
    }
}

fn pod_node(cluster: &super::cluster::Cluster, pod: &str) -> String {
    cluster.pods.get(pod).map(|pod| pod.node.clone()).unwrap_or_default()
}
