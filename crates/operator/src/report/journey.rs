//! Where an address comes from and why it leaves: what is told of a move.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pontoon_core::Time;
use pontoon_core::model::{AccountId, Machine, MachineId, NodeName, PoolKey};
use pontoon_core::verdict::{State, Verdict};
use pontoon_core::world::{Knowledge, World};

use crate::observe::pool::ObservedPool;

/// The node that each address of a pool was last seen on. A node that is gone is still called by
/// its name.
#[derive(Debug, Default)]
pub(super) struct Homes(BTreeMap<IpAddr, (MachineId, NodeName)>);

impl Homes {
    /// The nodes that a pool's status names.
    pub fn recall(observed: &ObservedPool) -> Self {
        let home = |(ip, status): (&String, &crate::api::IpStatus)| {
            let ip: IpAddr = ip.parse().ok()?;
            let machine = observed.pool.remembered.get(&ip)?.machine.clone()?;
            let node = Some(status.node_name.as_str()).filter(|name| !name.is_empty())?;
            Some((ip, (machine, node.into())))
        };
        Self(observed.status.ips.iter().filter_map(home).collect())
    }

    /// Takes in where the addresses of a pool are.
    pub fn see(&mut self, verdict: &Verdict) {
        let there = verdict.addresses.iter().filter(|one| one.state != State::InProgress);
        for one in there {
            if let (Some(machine), Some(node)) = (&one.machine, &one.node) {
                self.0.insert(one.ip, (machine.clone(), node.clone()));
            }
        }
        // An object that cannot be planned has no addresses to speak of.
        if self.0.len() > verdict.addresses.len() && !verdict.addresses.is_empty() {
            let named: BTreeSet<_> = verdict.addresses.iter().map(|one| one.ip).collect();
            self.0.retain(|ip, _| named.contains(ip));
        }
    }

    /// The last name of the node that an address is on.
    fn last_name(&self, ip: IpAddr, machine: &MachineId) -> Option<&NodeName> {
        self.0.get(&ip).filter(|(id, _)| id == machine).map(|(_, node)| node)
    }
}

/// The machine that an address leaves, and what it is called.
pub(super) struct Origin {
    /// Its node, if there is one.
    pub node: Option<NodeName>,
    /// Its node's name, or last name, else its own.
    pub name: String,
    /// It was a node of this cluster.
    was_node: bool,
}

impl Origin {
    /// Where an address is, as far as that is known.
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

    /// Why an address of a pool does not stay there; nothing if it could.
    fn leaves_because(&self, world: &World, pool: &PoolKey) -> Option<String> {
        let Some(node) = &self.node else {
            let gone = if self.was_node { "is gone" } else { "is no node of this cluster" };
            return Some(format!("{} {gone}", self.name));
        };
        let class = world.pool(pool)?.class?;
        let unfit = world.candidates().judge(class, world.node(node)?).err()?;
        Some(unfit.said_of(&self.name))
    }
}

/// An address that is on its way.
pub(super) struct Departure {
    /// When it was sent.
    pub at: Time,
    /// From where.
    pub from: Option<Origin>,
    /// Why.
    why: Option<String>,
}

impl Departure {
    /// An address that was just reserved.
    pub fn of_new(at: Time) -> Self {
        Self { at, from: None, why: None }
    }

    /// An address that a pool is about to put on a node.
    pub fn of(
        world: &World,
        homes: &Homes,
        (account, pool, ip): (&AccountId, &PoolKey, IpAddr),
        at: Time,
    ) -> Self {
        let from = Origin::of(world, homes, account, ip);
        let drift = world.pool(pool).and_then(|entry| entry.memory(ip).drift?.from);
        let why = match drift {
            Some(_) => Some("somebody else had taken it from its node".to_owned()),
            None => from.as_ref().and_then(|from| from.leaves_because(world, pool)),
        };
        Self { at, from, why }
    }

    /// What is told of it once it has arrived.
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
