//! Events of nodes, of users' pools, and of people at the provider.

use std::time::Duration;

use serde_json::json;

use super::Player;
use super::allocations::{cordoned, uncordoned};
use crate::cluster::TAINT;
use crate::schedule::{HandEvent, NodeEvent, PoolEvent};
use crate::vendor::Vendor;

impl Player<'_> {
    pub(super) async fn node(&mut self, node: usize, what: NodeEvent, begins: bool) {
        let node = node % self.cluster.nodes();
        match what {
            NodeEvent::NotReady => self.cluster.node_ready(node, !begins).await,
            NodeEvent::Cordoned => {
                let spec = if begins { cordoned() } else { uncordoned() };
                self.cluster.patch_node(node, &json!({"spec": spec})).await;
            }
            NodeEvent::Tainted => {
                let taint = json!([{"key": TAINT, "value": "on", "effect": "NoSchedule"}]);
                let taints = if begins { taint } else { json!(null) };
                self.cluster.patch_node(node, &json!({"spec": {"taints": taints}})).await;
            }
            NodeEvent::Unlabelled => {
                let role = if begins { json!(null) } else { json!("edge") };
                let patch = json!({"metadata": {"labels": {"role": role}}});
                self.cluster.patch_node(node, &patch).await;
            }
            NodeEvent::PodFails(app) => self.cluster.pod_ready(node, app, !begins).await,
            NodeEvent::PodReplaced(app) => {
                if begins {
                    let app = app % crate::cluster::APPS;
                    self.cluster.end_pod(node, app).await;
                    self.cluster.run_pod(node, app).await;
                }
            }
            NodeEvent::Gone => {
                if begins {
                    self.cluster.leave(node).await;
                } else {
                    self.replace_machine(node).await;
                }
            }
            NodeEvent::Removed => {
                if begins {
                    self.cluster.leave(node).await;
                    self.destroy(node);
                }
            }
            NodeEvent::Twin | NodeEvent::Renamed | NodeEvent::Nameless => {
                self.identity(node, what, begins).await;
            }
            NodeEvent::MachineGone => {
                if begins {
                    self.destroy(node);
                    self.cluster.node_ready(node, false).await;
                } else {
                    self.replace_machine(node).await;
                }
            }
        }
    }

    /// A machine gets a second node, a node with another name, or a node that names no machine.
    async fn identity(&mut self, node: usize, what: NodeEvent, begins: bool) {
        match what {
            NodeEvent::Twin if begins => self.cluster.twin(node, false).await,
            NodeEvent::Twin => self.cluster.end_twin(node).await,
            NodeEvent::Renamed if begins => {
                self.cluster.twin(node, true).await;
                self.cluster.node_ready(node, false).await;
            }
            NodeEvent::Renamed => {
                self.cluster.node_ready(node, true).await;
                self.cluster.end_twin(node).await;
            }
            NodeEvent::Nameless if begins => {
                self.cluster.leave(node).await;
                self.destroy(node);
                self.cluster.join_nameless(node).await;
            }
            NodeEvent::Nameless => self.cluster.name_machine(node).await,
            _ => {}
        }
    }

    fn destroy(&self, node: usize) {
        let machine = self.cluster.machine(node);
        self.by_hand(|| _ = self.stage.cloud.destroy_machine(machine));
    }

    async fn replace_machine(&mut self, node: usize) {
        self.cluster.leave(node).await;
        self.destroy(node);
        self.cluster.join(node).await;
    }

    pub(super) async fn pool(&mut self, event: usize, pool: usize, what: PoolEvent, begins: bool) {
        let Some(pool) = pool.checked_rem(self.cluster.pools()) else { return };
        match (what, begins) {
            (PoolEvent::Wants(count), true) => {
                let patch = json!({"spec": {"desiredIPs": count}});
                self.cluster.patch_pool(pool, &patch).await;
            }
            (PoolEvent::Unlisted, true) => self.cluster.unlist(pool).await,
            (PoolEvent::Deleted, true) => self.cluster.delete_pool(pool).await,
            (PoolEvent::Unlisted | PoolEvent::Deleted, false) | (PoolEvent::Reverted, true) => {
                self.cluster.apply_pool(pool).await;
            }
            (PoolEvent::Replaced, true) => self.cluster.replace_pool(pool).await,
            (PoolEvent::Paused | PoolEvent::Grace(_) | PoolEvent::Releases(_), _) => {
                self.pool_way(pool, what, begins).await;
            }
            (
                PoolEvent::Mistyped(_)
                | PoolEvent::LedgerSpoiled
                | PoolEvent::Rematched(_)
                | PoolEvent::Adopts(_),
                _,
            ) => self.edit(event, pool, what, begins).await,
            (_, false) => {}
        }
    }

    pub(super) fn by_hand(&self, act: impl FnOnce()) {
        self.stage.shared.oracle().by_hand(true);
        act();
        self.stage.shared.oracle().by_hand(false);
    }

    /// All addresses except the strangers of a crowded account.
    pub(super) fn own_addresses(&self) -> Vec<std::net::IpAddr> {
        let all = self.stage.cloud.addresses();
        let own = all.iter().filter(|one| !one.ip.to_string().starts_with("10."));
        own.map(|one| one.ip).collect()
    }

    pub(super) fn hand(&self, what: HandEvent) {
        let cloud = &self.stage.cloud;
        let own = self.own_addresses();
        let address = |index: u8| usize::from(index).checked_rem(own.len()).map(|index| own[index]);
        let machine = |node: u8| self.cluster.machine(usize::from(node) % self.cluster.nodes());
        let while_busy = Duration::from_secs(20);
        self.by_hand(|| match what {
            HandEvent::Moves(ip, node) => {
                if let Some(ip) = address(ip) {
                    cloud.human_moves(ip, Some(machine(node)));
                }
            }
            HandEvent::MovesLast(pool, node) => {
                let pool = usize::from(pool).checked_rem(self.cluster.pools());
                if let Some(ip) = pool.and_then(|pool| self.cluster.last_listed(pool)) {
                    cloud.human_moves(ip, Some(machine(node)));
                }
            }
            HandEvent::Frees(ip) => {
                if let Some(ip) = address(ip) {
                    cloud.human_moves(ip, None);
                }
            }
            HandEvent::Deletes(ip) => {
                if let Some(ip) = address(ip) {
                    // An address in use cannot be deleted at every provider.
                    if self.schedule.setting.vendor != Vendor::DigitalOcean {
                        cloud.human_moves(ip, None);
                    }
                    cloud.human_deletes(ip);
                }
            }
            HandEvent::Reserves(node) => self.stranger(node.map(machine)),
            HandEvent::ReservesSix => self.stranger_six(),
            HandEvent::Busies(ip) => {
                if let Some(ip) = address(ip) {
                    cloud.busy_address(ip, while_busy);
                }
            }
            HandEvent::BusiesMachine(node) => {
                cloud.busy_machine(machine(node), "snapshot", while_busy);
            }
        });
    }

    /// A person reserves an address.
    fn stranger(&self, machine: Option<u64>) {
        let cloud = &self.stage.cloud;
        let used = |last| cloud.look(|state| state.address(stranger_address(last)).is_some());
        let Some(ip) = (1..=254).find(|last| !used(*last)).map(stranger_address) else { return };
        let free = |machine: &u64| {
            cloud.look(|state| {
                state.machine(*machine).is_some() && state.held_by(*machine).next().is_none()
            })
        };
        match machine.filter(free) {
            Some(machine) => cloud.reserve_on(ip, machine),
            None => cloud.reserve(ip, self.cluster.region()),
        };
    }
}

/// The address that somebody reserves as number `last`.
fn stranger_address(last: u8) -> std::net::IpAddr {
    std::net::Ipv4Addr::new(198, 18, 0, last).into()
}
