//! How each address of a pool stands: where it is, whether it may stay, whether it may go.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use super::drift;
use super::leaving::keeping;
use crate::Time;
use crate::matching::Unfit;
use crate::model::{
    Drift, Family, Intent, Machine, MachineId, NodeName, PoolKey, Remembered, Request, Text,
};
use crate::verdict::Note;
use crate::world::{Account, ClassId, IntentProgress, Knowledge, Operation, PoolEntry, World};

/// A pool, seen for planning.
pub(super) struct PoolView<'w> {
    pub key: &'w PoolKey,
    pub entry: &'w PoolEntry,
    /// What it asks for; none if that cannot be understood, or its account not be used.
    pub request: Option<&'w Request>,
    pub account: Option<&'w Account>,
    pub class: Option<ClassId>,
    /// How many addresses it wants.
    pub wanted: usize,
    pub addresses: Vec<Standing<'w>>,
    /// Addresses that it had and names no more.
    pub leaving: Vec<Standing<'w>>,
    /// Those of them that it keeps, because more are wanted than it names.
    pub keeping: Vec<IpAddr>,
}

/// One address of a pool.
pub(super) struct Standing<'w> {
    pub ip: IpAddr,
    pub place: Place<'w>,
    pub memory: Remembered,
    /// It stays where it is until then, though it serves nobody there.
    pub hold: Option<Hold>,
}

/// What keeps an address where it serves nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
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
pub(super) enum Place<'w> {
    /// Another pool has it.
    Conflict(&'w PoolKey),
    /// More than the pool wants; the machine that it is on, as far as known.
    Disabled(Option<&'w MachineId>),
    /// Nothing is known of it.
    Unknown,
    /// A listing did not show it.
    Missing,
    /// It does not exist.
    Gone,
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
    fn holder(&self) -> Option<Option<&'w MachineId>> {
        match self {
            Self::Disabled(holder) => Some(*holder),
            Self::Home(_, machine) | Self::Stranded(machine, _) => Some(Some(machine)),
            Self::Free => Some(None),
            Self::Conflict(_)
            | Self::Unknown
            | Self::Missing
            | Self::Gone
            | Self::Busy(_)
            | Self::Moving(_) => None,
        }
    }
}

/// Looks at every pool in scope. Older pools come first: they choose first. What a paused
/// one would take is not kept from those that are served.
pub(super) fn survey<'w>(
    world: &'w World,
    scope: &BTreeSet<PoolKey>,
    now: Time,
) -> Vec<PoolView<'w>> {
    let entries = scope.iter().filter_map(|key| world.pool(key));
    let mut views: Vec<_> = entries.map(|entry| view(world, entry, now)).collect();
    views.sort_by_cached_key(|view| seniority(view.entry));
    views
}

/// The order in which pools choose.
pub(super) type Seniority = (bool, Time, PoolKey);

/// Where a pool stands in that order: those that are served first, then older ones.
pub(super) fn seniority(entry: &PoolEntry) -> Seniority {
    (entry.pool.paused.is_some(), entry.pool.created_at, entry.pool.key.clone())
}

fn view<'w>(world: &'w World, entry: &'w PoolEntry, now: Time) -> PoolView<'w> {
    let key = &entry.pool.key;
    let request = entry.pool.request.as_ref().ok();
    let account = request.and_then(|request| world.account(&request.account));
    let request = request.filter(|_| account.is_some_and(|account| account.setup.is_ok()));
    let addresses = entry.addresses();
    // One that is about to go wants nothing any more.
    let all = if entry.is_ending() { Some(0) } else { request.and_then(|request| request.wanted) };
    let wanted = all.unwrap_or(addresses.len());
    let mut view = PoolView {
        key,
        entry,
        request,
        account,
        class: entry.class,
        wanted,
        addresses: vec![],
        leaving: vec![],
        keeping: vec![],
    };
    if request.is_some() {
        let stand = |(index, ip): (usize, &IpAddr)| view.stand(world, *ip, index < wanted, now);
        view.addresses = addresses.iter().enumerate().map(stand).collect();
        let leaving = entry.leaving().filter(|_| !entry.is_ending());
        view.leaving = leaving.map(|ip| view.leave(world, ip)).collect();
        view.keeping = keeping(world, &view);
    }
    view
}

impl<'w> PoolView<'w> {
    /// Addresses that the pool uses and that may be put on another node now. One that was
    /// just reserved must be written down first: until then its place is what it is
    /// recognised by.
    pub fn movable(&self) -> impl Iterator<Item = &Standing<'w>> {
        let movable = |one: &&Standing<'w>| {
            matches!(one.place, Place::Free | Place::Stranded(..))
                && one.hold.is_none()
                && self.entry.is_recorded(one.ip)
        };
        self.addresses.iter().filter(movable)
    }

    /// Whether an assignment for this pool is on its way.
    pub fn is_assigning(&self) -> bool {
        let sent = |one: &Standing<'_>| match one.place {
            Place::Moving(Operation::Sent { to }) => to.is_some(),
            _ => false,
        };
        let reserving = |intent: &Intent| {
            let progress = self.entry.progress(&intent.id, Time::default());
            intent.target.is_some() && progress == IntentProgress::Sent
        };
        self.addresses.iter().any(sent) || self.entry.pool.ledger.intents.iter().any(reserving)
    }

    /// The family of new addresses: IPv4, unless the pool has addresses and all are IPv6.
    pub fn family(&self) -> Family {
        let all = self.entry.addresses();
        let v6 = !all.is_empty() && all.iter().all(|ip| ip.is_ipv6());
        if v6 { Family::V6 } else { Family::V4 }
    }

    /// Whether new addresses can be put on a machine by the call that reserves them.
    pub fn places_new(&self) -> bool {
        let setup = self.account.and_then(|account| account.setup.as_ref().ok());
        self.family() == Family::V4 || setup.is_some_and(|setup| setup.places_new_v6)
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

    fn stand(&self, world: &'w World, ip: IpAddr, used: bool, now: Time) -> Standing<'w> {
        let place = self.place(world, ip, used);
        let mut memory = self.entry.memory(ip);
        drift::not_ahead(&mut memory, now);
        if let Some(holder) = place.holder() {
            let ours = !world.leaves_alone(&self.entry.pool);
            let judged = used && ours;
            let left = memory.machine.take().filter(|left| judged && Some(left) != holder);
            // From a node that may not have it anybody may take it.
            if let Some(from) = left.filter(|from| self.is_eligible(world, from)) {
                memory.drift = Some(drift::found(memory.drift.as_ref(), from, now));
            }
            // In observe mode a pool acquires no address.
            memory.had |= ours;
            memory.machine = holder.cloned();
        }
        match &place {
            Place::Conflict(_) | Place::Gone => memory = Remembered::default(),
            Place::Home(..) => {
                memory.held = true;
                memory.ineligible_since = None;
                drift::mend(&mut memory);
            }
            // Until it has arrived, it is without a node for as long as before.
            Place::Moving(_) => {
                memory.had = true;
                memory.held = true;
                memory.machine = None;
            }
            Place::Stranded(..) => {
                memory.held = true;
                // A time ahead of us is a clock's mistake: it counts as now.
                let since = memory.ineligible_since.filter(|since| *since <= now);
                memory.ineligible_since = Some(since.unwrap_or(now));
            }
            Place::Free => memory.ineligible_since = None,
            Place::Disabled(_) => {
                memory.ineligible_since = None;
                drift::mend(&mut memory);
            }
            Place::Unknown | Place::Missing | Place::Busy(_) => {}
        }
        let hold = self.hold(world, &place, &memory, now);
        Standing { ip, place, memory, hold }
    }

    fn hold(
        &self,
        world: &World,
        place: &Place<'_>,
        memory: &Remembered,
        now: Time,
    ) -> Option<Hold> {
        match (place, &memory.drift) {
            (Place::Free | Place::Stranded(..), Some(Drift { from: Some(from), .. })) => {
                // Once its node is lost, it is a failover like any other.
                let until = drift::held_until(memory, matches!(place, Place::Free), now);
                until.filter(|_| self.is_eligible(world, from)).map(Hold::Drift)
            }
            (Place::Stranded(_, Note::Unfit(unfit)), _) => {
                grace_ends(self.request?.grace, unfit, memory, now).map(Hold::Grace)
            }
            _ => None,
        }
    }

    /// How an address stands that the pool names no more. What is remembered of it stays as
    /// it was: where it was then tells whether somebody else has it now.
    fn leave(&self, world: &'w World, ip: IpAddr) -> Standing<'w> {
        let (place, memory) = (self.place(world, ip, false), self.entry.memory(ip));
        Standing { ip, place, memory, hold: None }
    }

    fn place(&self, world: &'w World, ip: IpAddr, used: bool) -> Place<'w> {
        let owner = owner(world, ip);
        if let Some(owner) = owner.filter(|owner| *owner != self.key) {
            return Place::Conflict(owner);
        }
        let Some(address) = self.account.and_then(|account| account.address(ip)) else {
            return Place::Unknown;
        };
        if let Some(operation) = &address.operation {
            return Place::Moving(operation);
        }
        let sighting = match &address.knowledge {
            Knowledge::Unknown => return Place::Unknown,
            Knowledge::Missing => return Place::Missing,
            Knowledge::Gone => return Place::Gone,
            Knowledge::Known { sighting, .. } => sighting,
        };
        if sighting.busy {
            return Place::Busy(sighting.holder.as_ref());
        }
        if !used {
            return Place::Disabled(sighting.holder.as_ref());
        }
        match &sighting.holder {
            Some(machine) => self.on_machine(world, machine),
            None => Place::Free,
        }
    }

    fn on_machine(&self, world: &'w World, machine: &'w MachineId) -> Place<'w> {
        let Some(name) = self.node_on(world, machine) else {
            return Place::Stranded(machine, Note::NoNode);
        };
        match self.judge(world, name) {
            Ok(()) => Place::Home(name, machine),
            Err(unfit) => Place::Stranded(machine, Note::Unfit(unfit)),
        }
    }

    /// Whether a machine is a node that may have an address.
    fn is_eligible(&self, world: &World, machine: &MachineId) -> bool {
        self.node_on(world, machine).is_some_and(|node| self.judge(world, node).is_ok())
    }

    /// The node that runs on a machine of this pool's cloud.
    pub fn node_on(&self, world: &'w World, machine: &MachineId) -> Option<&'w NodeName> {
        world.node_on(&Machine { cloud: self.cloud()?.clone(), id: machine.clone() })
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
pub(super) fn grace_ends(
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
pub(super) fn owner(world: &World, ip: IpAddr) -> Option<&PoolKey> {
    let mut claimants = world.claimants(ip);
    let (first, second) = (claimants.next()?, claimants.next());
    if second.is_none() {
        return Some(first);
    }
    let rank = |key: &PoolKey| {
        let entry = world.pool(key)?;
        let held = entry.memory(ip).held;
        Some((entry.is_leaving(ip), !held, entry.pool.created_at, entry.pool.uid.clone()))
    };
    world.claimants(ip).min_by_key(|key| rank(key))
}
