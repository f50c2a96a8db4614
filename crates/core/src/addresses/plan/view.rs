//! The pools of a plan, with the place of each address.

use std::net::IpAddr;
use std::ops::Deref;
use std::time::Duration;

use crate::Time;
use crate::addresses::verdict::Note;
use crate::addresses::{Abilities, Account, IntentProgress, Operation, PoolEntry};
use crate::model::{
    Family, Intent, Machine, MachineId, Node, NodeName, ObjectKey, Remembered, Request, Text,
};
use crate::nodes::{ClassId, Fitness, Unfit};
use crate::world::World;

/// The spec, account and candidate set of a pool.
#[derive(Clone, Copy)]
pub(crate) struct PoolFacts<'w> {
    pub key: &'w ObjectKey,
    pub entry: &'w PoolEntry,
    /// `None` if the spec is invalid, or the account cannot be used.
    pub request: Option<&'w Request>,
    pub account: Option<&'w Account>,
    pub class: Option<ClassId>,
    /// Number of addresses the pool wants.
    pub wanted: usize,
}

/// A pool with its addresses, as seen by a plan.
pub(crate) struct PoolView<'w> {
    facts: PoolFacts<'w>,
    pub addresses: Vec<AddressView<'w>>,
    /// Addresses the pool had and no longer lists.
    pub leaving: Vec<AddressView<'w>>,
    /// Leaving addresses the pool keeps, because it wants more than it lists.
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
    /// Why the address is not moved yet, although useless at its place.
    pub hold: Option<Hold>,
    /// The address leaves a drained node, whose marks are withdrawn first.
    pub unmarking: bool,
}

/// The reason for not moving a useless address yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The node may recover until the end of the grace period.
    Grace(Time),
    /// The address drifted, and the hold-down ends at this time.
    Drift(Time),
}

impl Hold {
    /// End of the hold.
    pub fn until(self) -> Time {
        match self {
            Self::Grace(until) | Self::Drift(until) => until,
        }
    }
}

/// The place of an address.
pub(crate) enum Place<'w> {
    /// Another pool owns the address.
    Conflict(&'w ObjectKey),
    /// Beyond the wanted number of the pool, or no longer listed. Holds the machine, if any.
    Disabled(Option<&'w MachineId>),
    /// Not read yet.
    Unknown,
    /// Absent from a listing.
    Missing,
    /// Deleted at the provider.
    Gone,
    /// The provider has no addresses of this family.
    Unsupported,
    /// The provider is working on the address for another client.
    Busy(Option<&'w MachineId>),
    /// A call of ours about the address is not finished.
    Moving(&'w Operation),
    /// On a node that may keep it.
    Home(&'w Node, &'w MachineId),
    /// On a machine without a node that may keep it.
    Stranded(&'w MachineId, Note),
    /// On no machine.
    Free,
}

impl<'w> Place<'w> {
    /// The confirmed holder: `Some(None)` for no machine, `None` if unknown.
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
    /// Creates a view from its parts.
    pub fn new(
        facts: PoolFacts<'w>,
        addresses: Vec<AddressView<'w>>,
        leaving: Vec<AddressView<'w>>,
        keeping: Vec<IpAddr>,
    ) -> Self {
        Self { facts, addresses, leaving, keeping }
    }

    /// Addresses in use that may be assigned to another node now. An address just reserved stays
    /// until the ledger records it: before, its place is the proof of its origin.
    pub fn movable(&self) -> impl Iterator<Item = &AddressView<'w>> {
        let movable = |one: &&AddressView<'w>| {
            matches!(one.place, Place::Free | Place::Stranded(..))
                && one.hold.is_none()
                && !one.unmarking
                && self.entry.is_recorded(one.ip)
        };
        self.addresses.iter().filter(movable)
    }

    /// Whether an assignment for this pool is in flight.
    pub fn is_assigning(&self) -> bool {
        // Where a move takes two calls, the unassignment is part of the assignment.
        let first = self.abilities().is_some_and(|abilities| !abilities.moves_at_once);
        let sent = |one: &AddressView<'_>| match one.place {
            Place::Moving(Operation::Sent { to }) => to.is_some() || first,
            _ => false,
        };
        let reserving = |intent: &Intent| {
            let progress = self.entry.progress(&intent.id, Time::default());
            intent.target.is_some() && progress == IntentProgress::Sent
        };
        self.addresses.iter().any(sent)
            || self.is_sending()
            || self.entry.open_intents().any(reserving)
    }

    /// Whether a call for this pool that assigns an address has no answer yet. The address may have
    /// left the list since, or be another pool's.
    pub fn is_sending(&self) -> bool {
        let sent = |ip| {
            let address = self.account.and_then(|account| account.address(ip));
            let operation = address.and_then(|one| one.operation.as_ref());
            matches!(operation, Some(Operation::Sent { to: Some(_) }))
        };
        self.entry.moving().any(sent)
    }
}

impl<'w> PoolFacts<'w> {
    /// The family of new addresses: IPv6 if all addresses of the pool are IPv6, or the provider has
    /// no IPv4. Otherwise IPv4.
    pub fn family(&self) -> Family {
        let all = self.entry.addresses();
        let v6 = !all.is_empty() && all.iter().all(|ip| ip.is_ipv6());
        let only_v6 = self.abilities().is_some_and(|abilities| !abilities.families.v4);
        if v6 || only_v6 { Family::V6 } else { Family::V4 }
    }

    /// Whether the call that reserves an address also assigns it.
    pub fn places_new(&self) -> bool {
        self.abilities().is_some_and(|abilities| abilities.places_new.has(self.family()))
    }

    /// Capabilities of the pool's provider.
    pub fn abilities(&self) -> Option<&'w Abilities> {
        self.account?.abilities()
    }

    /// The cloud of the pool's account.
    pub fn cloud(&self) -> Option<&'w Text> {
        self.account?.cloud()
    }

    /// Whether an eligible node runs on the machine, with room for an address. `except` does not
    /// count as an occupant.
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
        self.node_on(world, machine).is_some_and(|node| self.judge(world, node).is_eligible())
    }

    /// Whether a node that may keep its address runs on a machine.
    pub fn may_keep(&self, world: &World, machine: &MachineId) -> bool {
        self.node_on(world, machine).is_some_and(|node| self.keeps(world, node))
    }

    /// The node on a machine of the pool's cloud. Of several nodes with the same machine, one that
    /// may keep its address is preferred.
    pub fn node_on(&self, world: &'w World, machine: &MachineId) -> Option<&'w NodeName> {
        let other = || {
            let cloud = self.cloud()?.clone();
            world.node_on(&Machine { cloud, id: machine.clone() })
        };
        self.keeper_on(world, machine).or_else(other)
    }

    /// A node on a machine that may keep its address.
    pub fn keeper_on(&self, world: &'w World, machine: &MachineId) -> Option<&'w NodeName> {
        world.nodes_on(self.cloud()?, machine).find(|name| self.keeps(world, name))
    }

    /// Whether a node may keep its address: eligible, or holding.
    pub fn keeps(&self, world: &World, name: &NodeName) -> bool {
        self.class.is_some_and(|class| world.candidates().may_keep(class, name))
    }

    /// The judgement on a node.
    pub fn judge(&self, world: &World, name: &NodeName) -> Fitness {
        let Some(class) = self.class else {
            return Fitness::Unfit(Unfit::Labels);
        };
        if world.candidates().is_eligible(class, name) {
            return Fitness::Eligible;
        }
        match world.node(name) {
            Some(node) => world.candidates().judge(class, node),
            None => Fitness::Unfit(Unfit::Deleting),
        }
    }
}

/// End of the grace period of an ineligible node, if in the future. A node that is being deleted or
/// was drained has no grace period.
pub(crate) fn grace_ends(
    grace: Duration,
    unfit: &Unfit,
    memory: &Remembered,
    now: Time,
) -> Option<Time> {
    let since = memory.ineligible_since.filter(|since| *since <= now).unwrap_or(now);
    let recovers = !matches!(unfit, Unfit::Deleting | Unfit::Cordoned);
    Some(since + grace).filter(|ends| *ends > now && recovers)
}

/// The owner of an address: the pool that already had the address on a node, then the oldest pool,
/// then the smallest UID. A pool that no longer lists the address comes after all pools that do.
pub(crate) fn owner(world: &World, ip: IpAddr) -> Option<&ObjectKey> {
    let mut claimants = world.claimants(ip);
    let (first, second) = (claimants.next()?, claimants.next());
    if second.is_none() {
        return Some(first);
    }
    let rank = |key: &ObjectKey| {
        let entry = world.pool(key)?;
        let held = entry.memory(ip).held;
        Some((entry.gives_way(ip), !held, entry.pool.created_at, entry.pool.uid.clone()))
    };
    world.claimants(ip).min_by_key(|key| rank(key))
}
