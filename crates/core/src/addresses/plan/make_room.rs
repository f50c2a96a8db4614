//! Unassigns useless addresses from full nodes that another pool needs. Without this, two pools
//! that changed places would wait for each other forever.
//!
//! Room is made only for a pool without any free node, and only for the number of addresses it
//! lacks. Surplus addresses go first, then addresses on nodes ineligible for their pool. Addresses
//! already leaving, or about to find a node, are waited for. An address whose machine does not let
//! go is tried after all others, and nobody waits for it. A pool whose calls are withheld, because it is
//! paused or left to another controller, gets no room and makes no room.
//! A pool that is being deleted makes room only by releasing addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use super::bipartite::Group;
use super::drift;
use super::occupancy::{Lack, last, occupants};
use super::release;
use super::steps::unassign;
use super::view::{Place, PoolView, grace_ends, owner};
use crate::Time;
use crate::action::Removal;
use crate::addresses::{Knowledge, PoolEntry};
use crate::model::{Family, Machine, NodeName, ObjectKey, Request};
use crate::nodes::ClassId;
use crate::plan::Draft;
use crate::world::World;

/// The use of an address on a node.
#[derive(Clone, Copy)]
enum Occupant<'w> {
    /// Serves, must not be touched, or is not known well enough.
    Stays,
    /// An unassignment is in progress.
    Leaves,
    /// Beyond the wanted number of its pool.
    Surplus(&'w PoolEntry, &'w Request),
    /// On a node ineligible for its pool.
    Stranded(&'w PoolEntry, &'w Request),
}

/// The addresses of other pools to unassign. All surplus addresses go before any stranded one,
/// because a stranded address may get the seat of a surplus one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Useless {
    Surplus,
    Stranded,
}

/// An address that may leave its node.
#[derive(Clone, Copy)]
struct InTheWay<'w> {
    node: &'w NodeName,
    machine: &'w Machine,
    ip: IpAddr,
    what: Occupant<'w>,
    /// The unassignment was refused, or failed many times in a row.
    stuck: bool,
}

/// Addresses that may leave, found once per plan. Only pools with an address out of place are
/// searched, so the cost does not grow with the number of nodes.
pub(crate) struct Crowds<'w> {
    world: &'w World,
    all: Vec<InTheWay<'w>>,
    by_group: BTreeMap<Group, Rc<[InTheWay<'w>]>>,
    /// Addresses of this plan's pools under a hold, and its end.
    held: BTreeMap<IpAddr, Time>,
}

impl<'w> Crowds<'w> {
    /// Searches the pools of this plan, and the pools with an address out of place in their last
    /// plan.
    pub fn new(world: &'w World, views: &[PoolView<'w>]) -> Self {
        let mut all = Vec::new();
        for view in views {
            let misplaced =
                view.addresses.iter().filter(|one| !matches!(one.place, Place::Home(..)));
            for ip in misplaced.map(|one| one.ip).chain(view.entry.leaving()) {
                all.extend(in_the_way(world, view.entry, ip));
            }
        }
        let planned: BTreeSet<&ObjectKey> = views.iter().map(|view| view.key).collect();
        let others = world.untidy().filter(|key| !planned.contains(key));
        for entry in others.filter_map(|key| world.pool(key)) {
            for ip in entry.addresses().iter().copied().chain(entry.leaving()) {
                all.extend(in_the_way(world, entry, ip));
            }
        }
        all.sort_by_key(|one| (one.node, one.ip));
        all.dedup_by_key(|one| (one.node, one.ip));
        let addresses = views.iter().flat_map(|view| &view.addresses);
        let held = addresses.filter_map(|one| Some((one.ip, one.hold?.until())));
        Self { world, all, by_group: BTreeMap::new(), held: held.collect() }
    }

    /// Addresses in the way on full nodes of a group, ordered by node.
    fn of(&mut self, (class, family): Group) -> Rc<[InTheWay<'w>]> {
        let (world, all) = (self.world, &self.all);
        let group = self.by_group.entry((class, family)).or_insert_with(|| {
            let concerned = |one: &&InTheWay<'w>| {
                Family::of(one.ip) == family
                    && world.candidates().is_eligible(class, one.node)
                    && !world.is_vacant(class, family, one.node)
            };
            all.iter().filter(concerned).copied().collect()
        });
        Rc::clone(group)
    }

    /// Addresses in the way on nodes a pool could use. Empty for a pool whose calls are withheld.
    fn around(&mut self, view: &PoolView<'_>, family: Family) -> Rc<[InTheWay<'w>]> {
        match view.class.filter(|_| !self.world.comes_last(&view.entry.pool)) {
            Some(class) => self.of((class, family)),
            None => Rc::new([]),
        }
    }
}

/// The nodes on the machine of an address, unless the address stays there.
fn in_the_way<'w>(world: &'w World, entry: &PoolEntry, ip: IpAddr) -> Vec<InTheWay<'w>> {
    let request = entry.pool.request.as_ref().ok();
    let account = request.and_then(|request| world.account(&request.account));
    let Some((account, cloud)) = account.and_then(|account| Some((account, account.cloud()?)))
    else {
        return Vec::new();
    };
    let machines = account.address(ip).into_iter().flat_map(|address| address.machines());
    let nodes = machines.flatten().flat_map(|machine| world.nodes_on(cloud, machine));
    let here = |node: &'w NodeName| {
        let machine = world.node(node)?.machine.as_ref()?;
        let what = occupant(world, node, ip);
        let stuck = account.setbacks.is_stuck(ip, &machine.id);
        (!matches!(what, Occupant::Stays)).then_some(InTheWay { node, machine, ip, what, stuck })
    };
    nodes.filter_map(here).collect()
}

/// How many of `short` addresses lack room even after the addresses already leaving are gone.
pub(crate) fn left_short(
    crowds: &mut Crowds<'_>,
    view: &PoolView<'_>,
    family: Family,
    short: usize,
    draft: &mut Draft,
) -> usize {
    let leaves = |one: &&InTheWay<'_>| {
        let off = matches!(one.what, Occupant::Leaves) || draft.moves(one.ip);
        off && !one.stuck && frees(crowds.world, one.machine, family, one.ip)
    };
    let around = crowds.around(view, family);
    let coming: BTreeSet<_> = around.iter().filter(leaves).map(|one| one.node).collect();
    if !coming.is_empty() {
        draft.contest(view.key);
    }
    short.saturating_sub(coming.len())
}

/// Unassigns up to `short` addresses of other pools from nodes this pool could use. Returns the
/// number still lacking.
pub(crate) fn displace(
    crowds: &mut Crowds<'_>,
    view: &PoolView<'_>,
    family: Family,
    short: usize,
    which: Useless,
    draft: &mut Draft,
) -> usize {
    let world = crowds.world;
    let mut looked_at = None;
    let mut lack = Lack::of(short);
    let around = crowds.around(view, family);
    for one in last(&around, |one| one.stuck) {
        if lack.addresses == 0 {
            break;
        }
        let (entry, request) = match (one.what, which) {
            (Occupant::Surplus(entry, request), Useless::Surplus)
            | (Occupant::Stranded(entry, request), Useless::Stranded) => (entry, request),
            _ => continue,
        };
        let other = entry.pool.key != *view.key;
        // One address per node is enough.
        if looked_at == Some(one.node) || !other || !frees(world, one.machine, family, one.ip) {
            continue;
        }
        looked_at = Some(one.node);
        draft.contest(view.key);
        // The status of a pool outside this plan dates from its last plan.
        let remembered = || held_until(world, one.node, entry, request, one.ip, draft.now);
        let held = crowds.held.get(&one.ip).copied().or_else(remembered);
        if held.is_some() {
            draft.wake_at(held);
        } else if !is_on_its_way(crowds, entry, one.ip, draft) {
            if !lack.spend(!one.stuck) {
                break;
            }
            if !one.stuck {
                draft.make_room(view.key);
            }
            let for_whom = view.key.clone();
            let why = match entry.is_leaving(one.ip) {
                true => Removal::Yields(for_whom),
                false => Removal::MakesRoom(for_whom),
            };
            unassign(world, one.machine, (entry, request), (one.ip, why), draft);
        }
    }
    lack.addresses
}

/// End of the hold of an address on a node ineligible for its pool.
fn held_until(
    world: &World,
    name: &NodeName,
    entry: &PoolEntry,
    request: &Request,
    ip: IpAddr,
    now: Time,
) -> Option<Time> {
    let unfit = world.candidates().judge(entry.class?, world.node(name)?).unfit()?;
    let (used, memory) = (entry.uses(ip), entry.memory(ip));
    let grace = || grace_ends(request.grace, &unfit, &memory, now);
    drift::held_until(&memory, false, now).or_else(grace).filter(|_| used)
}

/// Whether a machine has room without this address.
fn frees(world: &World, machine: &Machine, family: Family, ip: IpAddr) -> bool {
    world.has_room(&machine.cloud, &machine.id, family, Some(ip))
}

/// Whether an address leaves without our help: moved by this plan, or about to get a node.
fn is_on_its_way(crowds: &mut Crowds<'_>, entry: &PoolEntry, ip: IpAddr, draft: &Draft) -> bool {
    if draft.moves(ip) || (entry.uses(ip) && draft.has_room_made(&entry.pool.key)) {
        return true;
    }
    let group = entry.class.filter(|_| entry.uses(ip)).map(|class| (class, Family::of(ip)));
    let around = group.map(|group| crowds.of(group));
    let leaves = |one: &InTheWay<'_>| matches!(one.what, Occupant::Leaves) && !one.stuck;
    around.is_some_and(|around| around.iter().any(leaves))
}

fn occupant<'w>(world: &'w World, name: &NodeName, ip: IpAddr) -> Occupant<'w> {
    let Some(entry) = owner(world, ip).and_then(|key| world.pool(key)) else {
        return Occupant::Stays;
    };
    let (Ok(request), Some(class)) = (&entry.pool.request, entry.class) else {
        return Occupant::Stays;
    };
    if world.comes_last(&entry.pool) || !world.candidates().knows_pods(class) {
        return Occupant::Stays;
    }
    let Some(account) = world.account(&request.account) else { return Occupant::Stays };
    let Some(address) = account.address(ip) else { return Occupant::Stays };
    match (&address.operation, &address.knowledge) {
        (Some(operation), _) if operation.to().is_none() => Occupant::Leaves,
        (None, Knowledge::Known { sighting, .. }) if !sighting.busy && entry.is_recorded(ip) => {
            let memory = entry.memory(ip);
            let moved = |holder| entry.is_leaving(ip) && memory.is_moved_to(holder);
            let moved = sighting.holder.as_ref().is_some_and(moved);
            let unseen = entry.is_leaving(ip) && !account.may_leave(ip);
            if moved || unseen || release::outlives(world, entry, request, ip) {
                // No longer the pool's: somebody moved the delisted address, perhaps since the last
                // listing, or the pool is being deleted and leaves the address where it is.
                Occupant::Stays
            } else if !entry.uses(ip) {
                Occupant::Surplus(entry, request)
            } else if is_usable(world, class, name) {
                Occupant::Stays
            } else {
                Occupant::Stranded(entry, request)
            }
        }
        _ => Occupant::Stays,
    }
}

/// Whether a node may keep its address, or another node on the same machine.
fn is_usable(world: &World, class: ClassId, name: &NodeName) -> bool {
    let machine = world.node(name).and_then(|node| node.machine.as_ref());
    let mut nodes = machine.into_iter().flat_map(|one| world.nodes_on(&one.cloud, &one.id));
    nodes.any(|name| world.candidates().may_keep(class, name))
}

/// Whether an eligible node of a class holds an address that is useless there.
pub(crate) fn is_displaceable(
    world: &World,
    class: ClassId,
    family: Family,
    name: &NodeName,
) -> bool {
    let useless =
        |ip| matches!(occupant(world, name, ip), Occupant::Surplus(..) | Occupant::Stranded(..));
    world.candidates().is_eligible(class, name) && occupants(world, name, family).any(useless)
}
