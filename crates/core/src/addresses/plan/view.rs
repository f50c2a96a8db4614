//! The pools of a plan: what each asks for, and where each of its addresses is.

use std::net::IpAddr;
use std::ops::Deref;
use std::time::Duration;

use crate::Time;
use crate::addresses::verdict::Note;
use crate::addresses::{Abilities, Account, IntentProgress, Operation, PoolEntry};
use crate::model::{
    Family, Intent, Machine, MachineId, NodeName, ObjectKey, Remembered, Request, Text,
};
use crate::nodes::{ClassId, Unfit};
use crate::world::World;

/// What a pool asks for, of whom, and on which nodes.
#[derive(Clone, Copy)]
pub(crate) struct PoolFacts<'w> {
    pub key: &'w ObjectKey,
    pub entry: &'w PoolEntry,
    /// None if the spec is invalid, or the account cannot be used.
    pub request: Option<&'w Request>,
    pub account: Option<&'w Account>,
    pub class: Option<ClassId>,
    /// How many addresses the pool wants.
    pub wanted: usize,
}

/// A pool with its addresses, as a plan sees it.
pub(crate) struct PoolView<'w> {
    facts: PoolFacts<'w>,
    pub addresses: Vec<AddressView<'w>>,
    /// Addresses that the pool had and lists no more.
    pub leaving: Vec<AddressView<'w>>,
    /// Leaving addresses that the pool keeps, because it wants more than it lists.
    pub keeping: Vec<IpAddr>,
}

impl<'w> Deref for PoolView<'w> {
    type Target = PoolFacts<'w>;

    fn deref(&self) -> &PoolFacts<'w> {
        &self.facts
    }
}

/// One address of a pool.
pub(crate) struct AddressView<'w> {
    pub ip: IpAddr,
    pub place: Place<'w>,
    pub memory: Remembered,
    /// It stays where it is until then, though it serves nobody there.
    pub hold: Option<Hold>,
}

/// What keeps an address where it serves nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Its node may recover until then.
    Grace(Time),
    /// Somebody else moved it, and is not fought.
    Drift(Time),
}

impl Hold {
    /// When it ends.
    pub fn until(self) -> Time {
        match self {
            Self::Grace(until) | Self::Drift(until) => until,
        }
    }
}

/// Where an address is.
pub(crate) enum Place<'w> {
    /// Another pool has it.
    Conflict(&'w ObjectKey),
    /// More than the pool wants; the machine that it is on, as far as known.
    Disabled(Option<&'w MachineId>),
    /// Nothing is known of it.
    Unknown,
    /// A listing did not show it.
    Missing,
    /// It does not exist.
    Gone,
    /// The provider has no addresses of this family.
    Unsupported,
    /// The cloud is working on it for somebody else.
    Busy(Option<&'w MachineId>),
    /// A call of ours about it is not over.
    Moving(&'w Operation),
    /// On an eligible node.
    Home(&'w NodeName, &'w MachineId),
    /// On a machine that may not have it.
    Stranded(&'w MachineId, Note),
    /// On no machine.
    Free,
}

impl<'w> Place<'w> {
    /// The machine that it is surely on, or that it is surely on none.
    pub fn holder(&self) -> Option<Option<&'w MachineId>> {
        match self {
            Self::Disabled(holder) => Some(*holder),
            Self::Home(_, machine) | Self::Stranded(machine, _) => Some(Some(machine)),
            Self::Free => Some(None),
            Self::Conflict(_)
            | Self::Unknown
            | Self::Missing
            | Self::Gone
            | Self::Unsupported
            | Self::Busy(_)
            | Self::Moving(_) => None,
        }
    }
}

impl<'w> PoolView<'w> {
    /// A pool with its addresses.
    pub fn new(
        facts: PoolFacts<'w>,
        addresses: Vec<AddressView<'w>>,
        leaving: Vec<AddressView<'w>>,
        keeping: Vec<IpAddr>,
    ) -> Self {
        Self { facts, addresses, leaving, keeping }
    }

    /// Addresses that the pool uses and that may be put on another node now. One that was
    /// just reserved must be written down first: until then its place is what it is
    /// recognised by.
    pub fn movable(&self) -> impl Iterator<Item = &AddressView<'w>> {
        let movable = |one: &&AddressView<'w>| {
            matches!(one.place, Place::Free | Place::Stranded(..))
                && one.hold.is_none()
                && self.entry.is_recorded(one.ip)
        };
        self.addresses.iter().filter(movable)
    }

    /// Whether an assignment for this pool is on its way.
    pub fn is_assigning(&self) -> bool {
        // The first of two calls is a part of the assignment.
        let first = self.abilities().is_some_and(|abilities| !abilities.moves_at_once);
        let sent = |one: &AddressView<'_>| match one.place {
            Place::Moving(Operation::Sent { to }) => to.is_some() || first,
            _ => false,
        };
        let reserving = |intent: &Intent| {
            let progress = self.entry.progress(&intent.id, Time::default());
            intent.target.is_some() && progress == IntentProgress::Sent
        };
        self.addresses.iter().any(sent) || self.entry.pool.ledger.intents.iter().any(reserving)
    }
}

impl<'w> PoolFacts<'w> {
    /// The family of new addresses: IPv4 where the provider has it, unless the pool has addresses
    /// and all are IPv6.
    pub fn family(&self) -> Family {
        let all = self.entry.addresses();
        let v6 = !all.is_empty() && all.iter().all(|ip| ip.is_ipv6());
        let only_v6 = self.abilities().is_some_and(|abilities| !abilities.families.v4);
        if v6 || only_v6 { Family::V6 } else { Family::V4 }
    }

    /// Whether new addresses can be put on a machine by the call that reserves them.
    pub fn places_new(&self) -> bool {
        self.abilities().is_some_and(|abilities| abilities.places_new.has(self.family()))
    }

    /// What the pool's provider can do.
    pub fn abilities(&self) -> Option<&'w Abilities> {
        self.account?.abilities()
    }

    /// The cloud that the pool's account is in.
    pub fn cloud(&self) -> Option<&'w Text> {
        self.account?.cloud()
    }

    /// Whether a node's machine is eligible and has room, `except` aside.
    pub fn may_take(
        &self,
        world: &World,
        machine: &MachineId,
        family: Family,
        except: Option<IpAddr>,
    ) -> bool {
        let Some(cloud) = self.cloud() else {
            return false;
        };
        self.is_eligible(world, machine) && world.has_room(cloud, machine, family, except)
    }

    /// Whether an eligible node runs on a machine.
    pub fn is_eligible(&self, world: &World, machine: &MachineId) -> bool {
        self.node_on(world, machine).is_some_and(|node| self.judge(world, node).is_ok())
    }

    /// The node that runs on a machine of this pool's cloud; if several say so, one that this pool
    /// may use.
    pub fn node_on(&self, world: &'w World, machine: &MachineId) -> Option<&'w NodeName> {
        let cloud = self.cloud()?;
        let eligible = |name: &&NodeName| self.judge(world, name).is_ok();
        world
            .nodes_on(cloud, machine)
            .find(eligible)
            .or_else(|| world.node_on(&Machine { cloud: cloud.clone(), id: machine.clone() }))
    }

    /// Judges a node for this pool.
    pub fn judge(&self, world: &World, name: &NodeName) -> Result<(), Unfit> {
        let Some(class) = self.class else {
            return Err(Unfit::Labels);
        };
        if world.candidates().is_eligible(class, name) {
            return Ok(());
        }
        let node = world.node(name).ok_or(Unfit::Deleting)?;
        world.candidates().judge(class, node)
    }
}

/// Until when a node that is not eligible keeps its address, if that lies ahead. One that is
/// being deleted does not recover.
pub(crate) fn grace_ends(
    grace: Duration,
    unfit: &Unfit,
    memory: &Remembered,
    now: Time,
) -> Option<Time> {
    let since = memory.ineligible_since.filter(|since| *since <= now).unwrap_or(now);
    Some(since + grace).filter(|ends| *ends > now && *unfit != Unfit::Deleting)
}

/// The pool that an address belongs to: the one that has it, else the older, else the one
/// with the smaller UID. One that names it no more has it only if nobody else names it.
pub(crate) fn owner(world: &World, ip: IpAddr) -> Option<&ObjectKey> {
    let mut claimants = world.claimants(ip);
    let (first, second) = (claimants.next()?, claimants.next());
    if second.is_none() {
        return Some(first);
    }
    let rank = |key: &ObjectKey| {
        let entry = world.pool(key)?;
        let held = entry.memory(ip).held;
        Some((entry.is_leaving(ip), !held, entry.pool.created_at, entry.pool.uid.clone()))
    };
    world.claimants(ip).min_by_key(|key| rank(key))
}
