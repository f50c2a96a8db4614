//! Addresses that serve nobody where they are make room for those that would: two pools that
//! changed places would else wait for each other for ever.
//!
//! Only when a pool finds no node at all, and never more than it is short of. Addresses that
//! nobody wants go first, then those whose own pool may not use the node. What leaves by
//! itself, or will as soon as there is room for it, is waited for. Nothing makes room for a
//! paused pool, and what is a paused pool's stays.

use std::net::IpAddr;

use super::room::occupants;
use super::standing::{PoolView, grace_ends, owner};
use super::{Draft, drift, may_change};
use crate::Time;
use crate::action::Action;
use crate::model::{Family, Machine, NodeName, Request};
use crate::world::{ClassId, Knowledge, PoolEntry, World};

/// On how many nodes of a pool it is looked for such addresses.
const LOOKED_AT: usize = 2_000;

/// What an address on a node is there for.
enum Occupant<'w> {
    /// It serves, or nobody may touch it, or it is not known well enough.
    Stays,
    /// It is on its way off.
    Leaves,
    /// Its pool does not need it.
    Surplus(&'w PoolEntry, &'w Request),
    /// Its pool may not use the node.
    Stranded(&'w PoolEntry, &'w Request),
}

/// Which useless addresses make room: those that nobody wants go first, for all pools, so that
/// none is taken off its node that gets another by that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Useless {
    Surplus,
    Stranded,
}

/// How many of `short` addresses a pool lacks room for once what leaves its nodes has left.
pub(super) fn left_short(
    world: &World,
    view: &PoolView<'_>,
    family: Family,
    short: usize,
    draft: &mut Draft,
) -> usize {
    let room_comes = |(name, machine): &(&NodeName, &Machine)| {
        let leaves = |ip| {
            let off = matches!(occupant(world, name, ip), Occupant::Leaves);
            (off || draft.plans(|action| moves(action, ip))) && frees(world, machine, family, ip)
        };
        occupants(world, name, family).any(leaves)
    };
    let coming = full_nodes(world, view, family).filter(room_comes).count();
    if coming > 0 {
        draft.contest(view.key);
    }
    short.saturating_sub(coming)
}

/// Takes up to `short` such addresses of other pools off nodes that this pool could use.
/// Returns how many it is still short of.
pub(super) fn displace(
    world: &World,
    view: &PoolView<'_>,
    family: Family,
    mut short: usize,
    which: Useless,
    draft: &mut Draft,
) -> usize {
    for (name, machine) in full_nodes(world, view, family) {
        if short == 0 {
            break;
        }
        let useless = occupants(world, name, family).find_map(|ip| {
            let (entry, request) = match (occupant(world, name, ip), which) {
                (Occupant::Surplus(entry, request), Useless::Surplus)
                | (Occupant::Stranded(entry, request), Useless::Stranded) => (entry, request),
                _ => return None,
            };
            let other = entry.pool.key != *view.key;
            (other && frees(world, machine, family, ip)).then_some((ip, entry, request))
        });
        let Some((ip, entry, request)) = useless else { continue };
        draft.contest(view.key);
        let held = held_until(world, name, entry, request, ip, draft.now);
        if held.is_some() {
            draft.wake_at(held);
        } else if !is_on_its_way(world, entry, ip, draft) {
            short -= 1;
            draft.make_room(view.key);
            unassign(world, machine, entry, request, ip, draft);
        }
    }
    short
}

/// Until when an address stays on a node that its pool may not use, if it does.
fn held_until(
    world: &World,
    name: &NodeName,
    entry: &PoolEntry,
    request: &Request,
    ip: IpAddr,
    now: Time,
) -> Option<Time> {
    let unfit = world.candidates().judge(entry.class?, world.node(name)?).err()?;
    let (used, memory) = (entry.uses(ip), entry.memory(ip));
    let grace = || grace_ends(request.grace, &unfit, &memory, now);
    drift::held_until(&memory, now).or_else(grace).filter(|_| used)
}

/// The first nodes of a pool that have no room, with their machines; none if nothing makes
/// room for it.
fn full_nodes<'w>(
    world: &'w World,
    view: &PoolView<'_>,
    family: Family,
) -> impl Iterator<Item = (&'w NodeName, &'w Machine)> {
    let class = view.class.filter(|_| view.entry.pool.paused.is_none());
    let full = move |class| {
        let on = |name| Some((name, world.node(name)?.machine.as_ref()?));
        let full = move |(name, _): &(&NodeName, &Machine)| !world.is_vacant(class, family, name);
        world.candidates().eligible(class).filter_map(on).filter(full).take(LOOKED_AT)
    };
    class.into_iter().flat_map(full)
}

/// Whether a machine has room once this address is off it.
fn frees(world: &World, machine: &Machine, family: Family, ip: IpAddr) -> bool {
    world.has_room(&machine.cloud, &machine.id, family, Some(ip))
}

/// Whether an address leaves by itself: it is moved in this plan, or room is made for it.
fn is_on_its_way(world: &World, entry: &PoolEntry, ip: IpAddr, draft: &Draft) -> bool {
    let key = &entry.pool.key;
    let leaves = |name: &NodeName| {
        let mut held = occupants(world, name, Family::of(ip));
        held.any(|ip| matches!(occupant(world, name, ip), Occupant::Leaves))
    };
    let mut nodes = entry.class.into_iter().flat_map(|class| world.candidates().eligible(class));
    draft.plans(|action| moves(action, ip))
        || (entry.uses(ip) && (draft.has_room_made(key) || nodes.any(leaves)))
}

/// Takes an address off its machine, if it may be done now.
pub(super) fn unassign(
    world: &World,
    machine: &Machine,
    entry: &PoolEntry,
    request: &Request,
    ip: IpAddr,
    draft: &mut Draft,
) {
    if !may_change(world, &request.account, draft.now) {
        return;
    }
    let account = world.account(&request.account);
    let setback = account.and_then(|account| account.setbacks.get(&machine.id));
    match setback.filter(|setback| draft.now < setback.not_before) {
        Some(setback) => draft.wake_at(setback.not_before),
        None => {
            let (account, pool) = (request.account.clone(), entry.pool.key.clone());
            draft.act(Action::Unassign { account, pool, ip });
        }
    }
}

fn moves(action: &Action, moved: IpAddr) -> bool {
    matches!(action, Action::Assign { ip, .. } | Action::Unassign { ip, .. } if *ip == moved)
}

fn occupant<'w>(world: &'w World, name: &NodeName, ip: IpAddr) -> Occupant<'w> {
    let Some(entry) = owner(world, ip).and_then(|key| world.pool(key)) else {
        return Occupant::Stays;
    };
    let (Ok(request), Some(class)) = (&entry.pool.request, entry.class) else {
        return Occupant::Stays;
    };
    if entry.pool.paused.is_some() {
        return Occupant::Stays;
    }
    let Some(address) = world.account(&request.account).and_then(|one| one.address(ip)) else {
        return Occupant::Stays;
    };
    match (&address.operation, &address.knowledge) {
        (Some(operation), _) if operation.to().is_none() => Occupant::Leaves,
        (None, Knowledge::Known { sighting, .. }) if !sighting.busy && entry.is_recorded(ip) => {
            if !entry.uses(ip) {
                Occupant::Surplus(entry, request)
            } else if world.candidates().is_eligible(class, name) {
                Occupant::Stays
            } else {
                Occupant::Stranded(entry, request)
            }
        }
        _ => Occupant::Stays,
    }
}

/// Whether a node of a class holds an address that serves nobody there.
pub(super) fn is_displaceable(
    world: &World,
    class: ClassId,
    family: Family,
    name: &NodeName,
) -> bool {
    let useless =
        |ip| matches!(occupant(world, name, ip), Occupant::Surplus(..) | Occupant::Stranded(..));
    world.candidates().is_eligible(class, name) && occupants(world, name, family).any(useless)
}
