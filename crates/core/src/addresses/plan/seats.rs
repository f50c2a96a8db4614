//! Seats: the room for one address of a family on one machine, and the seats a plan may use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::attempts::{intended, is_in_doubt};
use super::bipartite::Group;
use super::occupancy::occupants;
use super::recognise::may_arrive;
use super::view::PoolView;
use crate::Time;
use crate::addresses::verdict::Obstacle;
use crate::addresses::{Account, Seat, Setback};
use crate::model::{Family, Intent, MachineId, NodeName, ObjectKey, Text};
use crate::plan::Draft;
use crate::world::World;

/// Number of node names listed in a status.
pub(crate) const NAMES: usize = 100;

/// The seats given away by a plan so far.
#[derive(Default)]
pub(crate) struct Seats {
    /// Seats used by a reservation now or soon, with its pool and intent.
    reserved: BTreeMap<Seat, (ObjectKey, Text)>,
    /// Seats with a new address in this plan.
    taken: BTreeSet<Seat>,
    /// Seats of attempts that cannot be made now. Other addresses take such a seat only as a last
    /// resort.
    left_last: BTreeSet<Seat>,
}

/// The order of free seats: by rank, then by the number of addresses on the machine.
type Order = (Rank, usize);

/// The rank of a free seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    First,
    /// An attempt failed on the machine.
    Suspect,
    /// Another attempt waits for the seat.
    Last,
}

/// The free nodes of a group.
pub(crate) struct Free {
    /// The first [`NAMES`] by name.
    pub names: Vec<NodeName>,
    /// Number of all, from a kept count: a group may have thousands of nodes, and every event causes
    /// a plan.
    pub count: usize,
}

/// The next node for an address that failed elsewhere.
pub(crate) enum Next {
    Node(NodeName, MachineId),
    /// A node has room, but the back-off of the address there ends at this time.
    At(Time),
    NoRoom,
}

impl Seats {
    /// Starts with the seats of reservations in flight.
    pub fn new(world: &World, draft: &mut Draft) -> Self {
        let mut reserved = BTreeMap::new();
        for (seat, holder, until) in world.reserving(draft.now) {
            if !has_room_for_both(world, seat) {
                reserved.insert(seat.clone(), holder.clone());
                draft.wake_at(until);
            }
        }
        Self { reserved, ..Self::default() }
    }

    /// Whether a seat has neither an address nor a reservation in this plan.
    pub fn is_free(&self, seat: &Seat) -> bool {
        !self.taken.contains(seat) && !self.reserved.contains_key(seat)
    }

    /// Whether a seat is free, and no attempt waits for it.
    pub fn is_untouched(&self, seat: &Seat) -> bool {
        self.is_free(seat) && !self.left_last.contains(seat)
    }

    /// Gives the seat to an address or a reservation.
    pub fn take(&mut self, seat: Seat) {
        self.taken.insert(seat);
    }

    /// Gives a seat on the machine to an address or a reservation of a pool.
    pub fn take_on(&mut self, view: &PoolView<'_>, family: Family, machine: MachineId) {
        if let Some(cloud) = view.cloud() {
            self.take((cloud.clone(), machine, family));
        }
    }

    /// Notes that an attempt waits for the seat.
    pub fn leave_last(&mut self, seat: Seat) {
        self.left_last.insert(seat);
    }

    /// Leaves the seats of reservations without a pending address to other addresses as a last
    /// resort.
    pub fn leave_targets_last(&mut self, world: &World, view: &PoolView<'_>, draft: &Draft) {
        let is_over = |intent: &&Intent| !may_arrive(world, view, intent, draft);
        let over = view.entry.open_intents().filter(is_over);
        self.left_last.extend(over.filter_map(|intent| seat_of(view, intent)));
    }

    /// Keeps the seats of reservations with a pending address from other addresses, unless the machine
    /// has room for both.
    pub fn keep_arriving(&mut self, world: &World, view: &PoolView<'_>, draft: &Draft) {
        let roomy = |intent: &Intent| {
            seat_of(view, intent).is_some_and(|seat| has_room_for_both(world, &seat))
        };
        self.keep_targets(view, |one| may_arrive(world, view, one, draft) && !roomy(one));
    }

    /// Keeps the seats of failed attempts that may still take effect.
    pub fn keep_doubtful(&mut self, world: &World, view: &PoolView<'_>) {
        let doubtful = view.movable().filter(|one| is_in_doubt(world, view, one.ip));
        for one in doubtful {
            if let Some((_, machine)) = intended(world, view, one) {
                self.take_on(view, Family::of(one.ip), machine.clone());
            }
        }
    }

    /// Keeps the seats of the selected reservations, unless an address has the seat. Older pools
    /// come first.
    pub fn keep_targets(&mut self, view: &PoolView<'_>, such: impl Fn(&Intent) -> bool) {
        for intent in view.entry.open_intents().filter(|intent| such(intent)) {
            if let Some(seat) = seat_of(view, intent).filter(|seat| !self.taken.contains(seat)) {
                let holder = (view.key.clone(), intent.id.clone());
                self.reserved.entry(seat).or_insert(holder);
            }
        }
    }

    /// Whether the machine of `intent` has neither an address nor another reservation in this plan.
    pub fn is_reserved_for(&self, view: &PoolView<'_>, intent: &Intent) -> bool {
        let Some(seat) = seat_of(view, intent) else {
            return true;
        };
        let holder = self.reserved.get(&seat);
        !self.taken.contains(&seat)
            && holder.is_none_or(|(pool, id)| pool == view.key && *id == intent.id)
    }

    /// The first `enough` free nodes of a group, in order of preference.
    pub fn search(
        &self,
        world: &World,
        view: &PoolView<'_>,
        (class, family): Group,
        enough: usize,
    ) -> Vec<(NodeName, MachineId)> {
        let mut sorted: BTreeMap<Order, Vec<(NodeName, MachineId)>> = BTreeMap::new();
        for name in world.vacant(class, family) {
            if sorted.get(&(Rank::First, 0)).is_some_and(|first| first.len() >= enough) {
                break;
            }
            let Some(machine) = world.node(name).and_then(|node| node.machine.as_ref()) else {
                continue;
            };
            let seat = (machine.cloud.clone(), machine.id.clone(), family);
            if self.is_free(&seat) {
                let equals = sorted.entry(self.order(world, view, name, &seat)).or_default();
                equals.push((name.clone(), machine.id.clone()));
            }
        }
        sorted.into_values().flatten().take(enough).collect()
    }

    /// The nodes of a group without any use or waiting attempt.
    pub fn unspoken_for(&self, world: &World, cloud: &Text, (class, family): Group) -> Free {
        let seats = self.taken.iter().chain(&self.left_last).chain(self.reserved.keys());
        let seats = seats.filter(|(one, _, of)| one == cloud && *of == family);
        let nodes = seats.flat_map(|(_, machine, _)| world.nodes_on(cloud, machine));
        let spoken_for: BTreeSet<_> =
            nodes.filter(|node| world.is_vacant(class, family, node)).collect();
        let vacant = world.candidates().vacant_count(class, family);
        debug_assert_eq!(vacant, world.vacant(class, family).count());
        let names = world.vacant(class, family).filter(|node| !spoken_for.contains(node));
        Free {
            names: names.take(NAMES).cloned().collect(),
            count: vacant.saturating_sub(spoken_for.len()),
        }
    }

    fn order(&self, world: &World, view: &PoolView<'_>, name: &NodeName, seat: &Seat) -> Order {
        let suspect = |account: &Account| account.setbacks.is_suspect(&seat.1);
        let rank = if self.left_last.contains(seat) {
            Rank::Last
        } else if view.account.is_some_and(suspect) {
            Rank::Suspect
        } else {
            Rank::First
        };
        // A machine for a single address has room only if it has none.
        let single = world.capacity(&seat.0) == 1;
        (rank, if single { 0 } else { occupants(world, name, seat.2).count() })
    }

    /// Nodes of a group with a stranger.
    pub fn foreign(&self, world: &World, (class, family): Group) -> Vec<(NodeName, Obstacle)> {
        let mut nodes = Vec::new();
        for name in world.foreign(class, family).take(NAMES) {
            // A stranger on the target of a reservation may be the reserved address.
            let machine = world.node(name).and_then(|node| node.machine.clone());
            let seat = machine.map(|machine| (machine.cloud, machine.id, family));
            if seat.is_some_and(|seat| self.reserved.contains_key(&seat)) {
                continue;
            }
            if let Some(ip) = occupants(world, name, family).find(|ip| !world.is_claimed(*ip)) {
                nodes.push((name.clone(), Obstacle::HoldsOther(ip)));
            }
        }
        nodes
    }

    /// The next node for an address that failed elsewhere, and whether every node with room refused
    /// the address before. Machines with the fewest lasting failures of this address come first.
    pub fn next_for(
        &self,
        world: &World,
        view: &PoolView<'_>,
        ip: IpAddr,
        now: Time,
    ) -> (Next, bool) {
        let (Some(account), Some(class)) = (view.account, view.class) else {
            return (Next::NoRoom, true);
        };
        let setbacks = &account.setbacks;
        let mut later: Option<Time> = None;
        let mut refused = true;
        let mut best: Option<((u32, Order), &NodeName, &MachineId)> = None;
        for name in world.vacant(class, Family::of(ip)) {
            let Some(machine) = world.node(name).and_then(|node| node.machine.as_ref()) else {
                continue;
            };
            let seat = (machine.cloud.clone(), machine.id.clone(), Family::of(ip));
            if !self.is_free(&seat) {
                continue;
            }
            refused &= setbacks.of(ip, &machine.id).is_some_and(Setback::is_refusal);
            let mut next = setbacks.next(ip, &machine.id);
            if now >= next && account.displaces_own() {
                next = next.max(setbacks.yields_until(ip, &machine.id, now));
            }
            if now < next {
                later = Some(later.map_or(next, |time| time.min(next)));
                continue;
            }
            let own = setbacks.of(ip, &machine.id).filter(|pair| pair.is_lasting());
            let failures = own.map_or(0, |pair| pair.failures);
            let rank = (failures, self.order(world, view, name, &seat));
            if best.as_ref().is_none_or(|(than, ..)| rank < *than) {
                best = Some((rank, name, &machine.id));
            }
            if rank == (0, (Rank::First, 0)) {
                break;
            }
        }
        let next = match (best, later) {
            (Some((_, name, machine)), _) => Next::Node(name.clone(), machine.clone()),
            (None, Some(time)) => Next::At(time),
            (None, None) => Next::NoRoom,
        };
        (next, refused)
    }
}

/// Whether a machine has room for a reservation and for another address.
fn has_room_for_both(world: &World, (cloud, machine, family): &Seat) -> bool {
    let capacity = world.capacity(cloud);
    capacity > 1 && world.occupants(cloud, machine, *family).len() + 1 < capacity
}

/// The seat of a reservation's target machine.
fn seat_of(view: &PoolView<'_>, intent: &Intent) -> Option<Seat> {
    Some((view.cloud()?.clone(), intent.target.clone()?, intent.family))
}
