//! Origin and cause of a move, for events.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pontoon_core::Time;
use pontoon_core::addresses::Knowledge;
use pontoon_core::addresses::verdict::{State, Verdict};
use pontoon_core::model::{AccountId, Machine, MachineId, NodeName, ObjectKey};
use pontoon_core::world::World;

use super::move_cause::MoveCause;

/// The node on which each address of a pool was last seen. A node that is gone keeps its name.
#[derive(Debug, Default)]
pub(super) struct Homes(pub BTreeMap<IpAddr, (MachineId, NodeName)>);

impl Homes {
    /// Updates the nodes from a verdict.
    pub fn see(&mut self, verdict: &Verdict) {
        let there = verdict.addresses.iter().filter(|one| one.state != State::InProgress);
        for one in there {
            if let (Some(machine), Some(node)) = (&one.machine, &one.node) {
                self.0.insert(one.ip, (machine.clone(), node.clone()));
            }
        }
        // A verdict on an invalid object lists no addresses, which does not mean that they are
        // gone.
        if self.0.len() > verdict.addresses.len() && !verdict.addresses.is_empty() {
            let named: BTreeSet<_> = verdict.addresses.iter().map(|one| one.ip).collect();
            self.0.retain(|ip, _| named.contains(ip));
        }
    }

    /// The last known name of the node that holds an address.
    fn last_name(&self, ip: IpAddr, machine: &MachineId) -> Option<&NodeName> {
        self.0.get(&ip).filter(|(id, _)| id == machine).map(|(_, node)| node)
    }
}

/// The machine that an address leaves.
pub(super) struct Origin {
    /// The machine's node, if the node still exists.
    pub node: Option<NodeName>,
    /// The node's name or last known name, else the machine's ID.
    pub name: String,
    /// Whether the machine was a node of this cluster.
    was_node: bool,
}

impl Origin {
    /// The machine that holds an address, if known.
    pub fn of(world: &World, homes: &Homes, account: &AccountId, ip: IpAddr) -> Option<Self> {
        let account = world.account(account)?;
        let Knowledge::Known { sighting, .. } = &account.address(ip)?.knowledge else {
            return None;
        };
        let machine = Machine { cloud: account.cloud()?.clone(), id: sighting.holder.clone()? };
        let node = world.node_on(&machine).cloned();
        let name = node.as_ref().or_else(|| homes.last_name(ip, &machine.id));
        let was_node = name.is_some();
        let name = name.map_or_else(|| format!("machine {}", machine.id), ToString::to_string);
        Some(Self { node, name, was_node })
    }

    /// Why an address of a pool leaves the machine; `None` if the node is eligible.
    fn leaves_because(&self, world: &World, pool: &ObjectKey) -> Option<(MoveCause, String)> {
        let Some(node) = &self.node else {
            let (cause, gone) = match self.was_node {
                true => (MoveCause::NodeGone, "is gone"),
                false => (MoveCause::NoNode, "is no node of this cluster"),
            };
            return Some((cause, format!("{} {gone}", self.name)));
        };
        let class = world.pool(pool)?.class?;
        let unfit = world.candidates().judge(class, world.node(node)?).unfit()?;
        Some((MoveCause::of(&unfit), unfit.said_of(&self.name)))
    }
}

/// An address in the course of a move.
pub(super) struct Departure {
    /// When the call was sent.
    pub at: Time,
    /// The machine that held the address before.
    pub from: Option<Origin>,
    /// The cause of the move.
    pub cause: MoveCause,
    /// The cause in words.
    why: Option<String>,
    /// Whether the address is only on its way off its machine, and a second call follows.
    pub halfway: bool,
}

impl Departure {
    /// The departure of a newly reserved address.
    pub fn of_new(at: Time) -> Self {
        Self { at, from: None, cause: MoveCause::Unassigned, why: None, halfway: false }
    }

    /// The departure of an address that a pool is about to assign.
    pub fn of(
        world: &World,
        homes: &Homes,
        (account, pool, ip): (&AccountId, &ObjectKey, IpAddr),
        at: Time,
    ) -> Self {
        let from = Origin::of(world, homes, account, ip);
        let drift = world.pool(pool).and_then(|entry| entry.memory(ip).drift?.from);
        let left = match drift {
            Some(_) => {
                Some((MoveCause::Drift, "somebody else had taken it from its node".to_owned()))
            }
            None => from.as_ref().and_then(|from| from.leaves_because(world, pool)),
        };
        let unsaid = if from.is_some() { MoveCause::Other } else { MoveCause::Unassigned };
        let (cause, why) = left.map_or((unsaid, None), |(cause, why)| (cause, Some(why)));
        Self { at, from, cause, why, halfway: false }
    }

    /// The note of the event for the arrival.
    pub fn told(&self, ip: IpAddr, node: &NodeName, took_ms: u64) -> String {
        let moved = match &self.from {
            Some(from) => format!("{ip} moved {} → {node} in {took_ms} ms", from.name),
            None => format!("{ip} assigned to {node} in {took_ms} ms"),
        };
        match &self.why {
            Some(why) => format!("{moved}: {why}"),
            None => moved,
        }
    }
}
