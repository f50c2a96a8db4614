//! The label of nodes that serve an address of an allocation, and addresses on drained nodes.

use std::net::IpAddr;

use bytes::Bytes;
use pontoon::fronts::net_ip_allocation::READY_LABEL;
use serde_json::Value;

use super::Oracle;
use super::cloud::SHOWN;
use super::cluster::{Machine, Node};
use super::front::Front;
use super::pool::Pool;

impl Oracle {
    /// Checks a write of the label: nobody says that a node serves before the provider has
    /// confirmed an address there, and the label stays while an address is in place.
    pub(super) fn check_label(&mut self, process: &str, path: &str, body: &Bytes) {
        let patch: Value = serde_json::from_slice(body).unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let set = patch["metadata"]["labels"][READY_LABEL].is_string();
        let machine = self.cluster.nodes.get(name).and_then(|node| node.machine);
        let Some(machine) = machine else { return };
        let (api, now) = (self.api_floor(), self.now());
        let quiet = self.cloud_floor().min(now.saturating_sub(SHOWN));
        let all: Vec<IpAddr> = self.allocations().flat_map(|pool| pool.listed.clone()).collect();
        let on_it = |ip: &&IpAddr| self.cloud.holder(**ip) == Some(machine);
        let moved = |ip: &IpAddr| {
            let arrived = self.cloud.addresses.get(ip).map_or(now, |one| one.arrived);
            arrived >= quiet || self.cloud.touched_since(*ip, quiet)
        };
        if set && !all.iter().any(|ip| on_it(&ip)) {
            if !all.iter().any(moved) && !self.cluster.lost_lately(api) {
                let text = format!("{process} says that {name} serves, and {name} has no address");
                self.violated("label", text);
            }
            return;
        }
        let surely = |ip: &&IpAddr| {
            let keeps = |pool: &Pool| {
                pool.front == Front::Allocation
                    && pool.surely_uses(machine, api)
                    && self.cluster.surely_keeps(pool, name, machine, api)
                    && pool.surely_wants(**ip, api)
            };
            on_it(ip) && !moved(ip) && self.cluster.claimants(**ip).all(keeps)
        };
        if let Some(ip) = all.iter().find(surely).filter(|_| !set) {
            let text = format!("{process} says that {name} does not serve, and {name} has {ip}");
            self.violated("label", text);
        }
    }

    /// Nodes with a wrong label, once every allocation is served.
    pub(super) fn mislabelled(&self) -> Vec<String> {
        let mut allocations = self.allocations().peekable();
        if allocations.peek().is_none() || !allocations.all(Pool::is_served) {
            return vec![];
        }
        let wrong = |(name, node): (&String, &Node)| {
            let here = self.cloud.held_by(node.machine?);
            let mut said = Vec::new();
            for ip in here {
                let says = |pool: &Pool| {
                    let keeps = self.cluster.may_use(pool, name, node) && pool.uses(ip);
                    pool.front == Front::Allocation && keeps
                };
                let claimants: Vec<&Pool> = self.cluster.claimants(ip).collect();
                let all = claimants.iter().filter(|pool| says(pool)).count();
                // Of several claimants the owner decides.
                if all > 0 && all < claimants.len() {
                    return None;
                }
                said.push(all > 0);
            }
            let serves = said.contains(&true);
            (serves != node.labelled)
                .then(|| format!("{name} serves: {serves}, and the label says: {}", node.labelled))
        };
        self.cluster.nodes.iter().filter_map(wrong).collect()
    }

    /// Addresses on drained nodes that could be moved.
    pub(super) fn on_drained(&self, pool: &Pool) -> Vec<String> {
        let drained = |machine: Machine| {
            let mut nodes = self
                .cluster
                .nodes
                .iter()
                .filter(|(_, node)| node.machine == Some(machine))
                .peekable();
            nodes.peek().is_some()
                && nodes.all(|(name, node)| self.cluster.is_drained(pool, name, node))
        };
        let alone = |ip: &&IpAddr| self.cluster.claimants(**ip).count() == 1;
        let left = pool.listed.iter().filter(alone);
        let left = left.filter(|ip| self.is_movable(**ip));
        let left = left.filter(|ip| self.cloud.holder(**ip).is_some_and(drained));
        left.map(|ip| format!("{ip} is on a drained node")).collect()
    }
}
