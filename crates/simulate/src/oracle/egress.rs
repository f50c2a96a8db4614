//! Egress: no machine is left without an external address because of us (decision 24), at a provider
//! where an address takes the place of a machine's own.

use std::collections::BTreeMap;

use fakecloud::{OperationKind, OperationStatus, State};
use fakekube::Write;
use pontoon::fronts::EGRESS;
use serde_json::Value;

use super::Oracle;
use super::cloud::{SHOWN, Sent};
use super::cluster::Machine;
use super::pool::Pool;
use crate::schedule::Millis;
use crate::vendor::Vendor;
use crate::wire::CloudAction;

/// The ways out of the machines.
#[derive(Debug, Default)]
pub(super) struct Egress {
    exits: BTreeMap<Machine, Exit>,
}

/// The way out of a machine: an external address, reserved or its own.
#[derive(Debug, Default)]
struct Exit {
    open: bool,
    /// The last change by hand of the way out.
    touched: Option<Millis>,
    /// The provider reports that an address has been assigned to the machine, by its last operation.
    said: bool,
    /// Nobody owes the machine an address: a person took it away, or the note could not be written
    /// while the API server failed.
    excused: bool,
    /// The last call about the machine while no node could be noted. Only the leader of that time
    /// knows of it.
    nameless: Option<Millis>,
}

impl Egress {
    /// Compares with the emulator's state.
    fn look(&mut self, state: &State, by_hand: bool, now: Millis) {
        self.exits.retain(|machine, _| state.machine(*machine).is_some());
        for machine in state.machines() {
            let open = state.external(machine.id, 0).is_some();
            let last = state.operations().rev().find(|one| one.kind.machine() == Some(machine.id));
            let exit = self.exits.entry(machine.id).or_default();
            exit.said = last.is_some_and(|one| {
                let attaches = matches!(one.kind, OperationKind::Attach { ip: Some(_), .. });
                one.status == OperationStatus::Completed && attaches
            });
            if exit.open != open {
                exit.open = open;
                exit.excused = !open && (by_hand || exit.excused);
                exit.touched = by_hand.then_some(now).or(exit.touched);
                exit.nameless = exit.nameless.filter(|_| !open);
            }
        }
    }
}

/// Whether a node is noted as owed an address.
pub(super) fn is_noted(node: &Value) -> bool {
    node["metadata"]["annotations"][EGRESS.key].is_string()
}

impl Oracle {
    /// Sets the provider of machines and addresses.
    pub fn set_vendor(&mut self, vendor: Vendor) {
        self.vendor = vendor;
    }

    /// Compares the ways out with the emulator's state.
    pub(super) fn note_exits(&mut self, state: &State, now: Millis) {
        if self.vendor.displaces_own() {
            self.egress.look(state, self.by_hand, now);
        }
    }

    /// Checks a call that removes or restores a machine's own address.
    pub(super) fn check_own(&mut self, sent: &Sent) {
        let Some(machine) = sent.machine else { return };
        let (api, cloud) = (self.decided_floor(sent), self.cloud_floor());
        let may = |pool: &Pool| pool.might_receive(machine, api);
        let lately = self.cloud.addresses.values().any(|one| {
            let touched = one.touched.is_some_and(|time| time >= cloud);
            touched || one.arrived + SHOWN >= self.now()
        });
        let goes = sent.action == CloudAction::DropOwn;
        if goes
            && !lately
            && !self.cluster.lost_lately(api)
            && !self.cluster.pools.values().any(may)
        {
            let text = format!("{}: no address may come to {machine}", sent.agent);
            self.violated("S4", text);
        }
    }

    /// Checks that the node of a machine is noted before a call that may leave the machine without
    /// an address. A note that cannot be written does not hold up a failover.
    pub(super) fn check_noted(&mut self, sent: &Sent) {
        let machine = match sent.action {
            CloudAction::Assign | CloudAction::DropOwn => sent.machine,
            CloudAction::Unassign => sent.ip.and_then(|ip| self.cloud.holder(ip)),
            _ => None,
        };
        let Some(machine) = machine.filter(|_| self.vendor.displaces_own()) else { return };
        let api = self.decided_floor(sent);
        let mut nodes = self.cluster.nodes.values().filter(|node| node.machine == Some(machine));
        let unseen = nodes.clone().all(|node| node.named_since >= api);
        if nodes.clone().next().is_none() {
            self.egress.exits.entry(machine).or_default().nameless = Some(self.now());
            return;
        }
        if nodes.any(|node| node.owed) {
            self.egress.exits.entry(machine).or_default().nameless = None;
            return;
        }
        // An address is taken from where it is, also if a person moved it there a moment ago.
        let moved = sent.ip.is_some_and(|ip| self.cloud.touched_since(ip, self.cloud_floor()));
        if unseen || moved || !self.api_calm.is_over(self.now(), super::API_LAG) {
            self.egress.exits.entry(machine).or_default().excused = true;
            return;
        }
        let text = format!("{}: no note says that {machine} may lose its address", sent.agent);
        self.violated("egress", text);
    }

    /// Checks a write that removes the note of a node: its machine has an external address, and no
    /// call of ours is about to take it away.
    pub(super) fn check_note_removed(&mut self, write: &Write<'_>) {
        let (Some(before), Some(after)) = (write.before, write.after) else { return };
        if write.plural != "nodes" || !is_noted(before) || is_noted(after) {
            return;
        }
        let node = self.cluster.nodes.get(write.key);
        let Some(machine) = node.and_then(|node| node.machine) else { return };
        let Some(exit) = self.egress.exits.get(&machine) else { return };
        let touched = exit.touched.is_some_and(|time| time >= self.cloud_floor());
        if !exit.open && !exit.excused && !touched && !exit.said {
            let text = format!("{} is noted no more, and {machine} has no address", write.key);
            self.violated("egress", text);
        }
    }

    /// Machines of nodes without an external address, and nodes that are still noted.
    pub(super) fn without_egress(&self) -> Vec<String> {
        let works = self.cluster.pools.values().any(|pool| pool.is_served());
        if !self.vendor.displaces_own() || !works {
            return vec![];
        }
        let mut wrong = Vec::new();
        for (name, node) in &self.cluster.nodes {
            let exit = node.machine.and_then(|machine| self.egress.exits.get(&machine));
            let Some(exit) = exit else { continue };
            let forgotten = exit.nameless.is_some_and(|call| call < self.cluster.leader_since);
            if !exit.open && !exit.excused && !forgotten {
                wrong.push(format!("{name} has no external address"));
            }
            if node.owed {
                wrong.push(format!("{name} is still noted as owed an address"));
            }
        }
        wrong
    }
}
