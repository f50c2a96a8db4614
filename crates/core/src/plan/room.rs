//! Nodes that have no room: who is in the way, and which of them can be asked to leave.

use std::net::IpAddr;

use super::{Draft, may_change};
use super::standing::{Place, PoolView, Standing, owner};
use crate::action::Action;
use crate::model::{Family, NodeName, Request};
use crate::verdict::Obstacle;
use crate::world::{ClassId, Knowledge, Operation, PoolEntry, World};

/// Of how many nodes it is asked what they hold, when none is free.
const LOOKED_AT: usize = 100;

/// On how many it is looked for addresses that serve nobody there.
const DISPLACED_FROM: usize = 2_000;

/// How many of them a message names.
const NAMED: usize = 3;

/// Takes up to `short` surplus addresses off nodes that are full, less those that are on
/// their way off already.
pub(super) fn take_off(
    world: &World,
    view: &PoolView<'_>,
    family: Family,
    short: usize,
    draft: &mut Draft,
) {
    let (Some(account), Some(request), Some(cloud)) = (view.account, view.request, view.cloud())
    else {
        return;
    };
    let of_family = || view.addresses.iter().filter(|one| Family::of(one.ip) == family);
    let leaves = |one: &&Standing<'_>| match one.place {
        Place::Moving(operation) => Operation::to(operation).is_none(),
        _ => false,
    };
    let mut short = short.saturating_sub(of_family().filter(leaves).count());
    for one in of_family() {
        let Place::Disabled(Some(machine)) = one.place else {
            continue;
        };
        let needed = view.may_take(world, machine, family, Some(one.ip))
            && !world.has_room(cloud, machine, family, None);
        if short == 0 || !needed || !view.entry.is_recorded(one.ip) {
            continue;
        }
        short -= 1;
        match account.setbacks.get(machine).filter(|setback| draft.now < setback.not_before) {
            Some(setback) => draft.wake_at(setback.not_before),
            None => {
                let (account, pool) = (request.account.clone(), view.key.clone());
                draft.act(Action::Unassign { account, pool, ip: one.ip });
            }
        }
    }
    displace(world, view, family, short, draft);
}

/// What an address on a node is there for.
enum Occupant<'w> {
    /// It serves, or nobody may touch it, or it is not known well enough.
    Stays,
    /// It is on its way off.
    Leaves,
    /// It serves nobody there: its pool may not use the node, or not need the address.
    Useless(&'w PoolEntry, &'w Request),
}

/// Takes up to `short` addresses of other pools off nodes where they serve nobody and this
/// pool could: two pools that changed places would else wait for each other for ever.
fn displace(
    world: &World,
    view: &PoolView<'_>,
    family: Family,
    mut short: usize,
    draft: &mut Draft,
) {
    let Some(class) = view.class else {
        return;
    };
    for name in world.candidates().eligible(class).take(DISPLACED_FROM) {
        for ip in occupants(world, name, family) {
            if short == 0 {
                return;
            }
            match occupant(world, name, ip) {
                Occupant::Stays => {}
                Occupant::Leaves => short -= 1,
                Occupant::Useless(entry, request) => {
                    let key = &entry.pool.key;
                    // It leaves by itself as soon as there is room for it.
                    let leaves = draft.plans(|action| moves(action, ip))
                        || draft.has_room_made(key)
                        || is_room_made(world, entry, family);
                    if !leaves && may_change(world, &request.account, draft.now) {
                        short -= 1;
                        draft.make_room(view.key);
                        let (account, pool) = (request.account.clone(), key.clone());
                        draft.act(Action::Unassign { account, pool, ip });
                    }
                }
            }
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
    let Some(address) = world.account(&request.account).and_then(|one| one.address(ip)) else {
        return Occupant::Stays;
    };
    match (&address.operation, &address.knowledge) {
        (Some(operation), _) if operation.to().is_none() => Occupant::Leaves,
        (None, Knowledge::Known { sighting, .. })
            if !sighting.busy
                && entry.is_recorded(ip)
                && !(entry.uses(ip) && world.candidates().is_eligible(class, name)) =>
        {
            Occupant::Useless(entry, request)
        }
        _ => Occupant::Stays,
    }
}

/// Whether an address is on its way off a node that this pool may use.
fn is_room_made(world: &World, entry: &PoolEntry, family: Family) -> bool {
    let leaves = |name: &NodeName| {
        let mut held = occupants(world, name, family);
        held.any(|ip| matches!(occupant(world, name, ip), Occupant::Leaves))
    };
    let class = entry.class.into_iter();
    let mut nodes = class.flat_map(|class| world.candidates().eligible(class)).take(LOOKED_AT);
    nodes.any(leaves)
}

/// Whether a node of a class holds an address that serves nobody there.
pub(super) fn is_displaceable(
    world: &World,
    class: ClassId,
    family: Family,
    name: &NodeName,
) -> bool {
    let useless = |ip| matches!(occupant(world, name, ip), Occupant::Useless(..));
    world.candidates().is_eligible(class, name) && occupants(world, name, family).any(useless)
}

/// What the first eligible nodes of a pool hold that is not this pool's.
pub(super) fn blockers(world: &World, view: &PoolView<'_>) -> Vec<(NodeName, Obstacle)> {
    let Some(class) = view.class else {
        return Vec::new();
    };
    let held = |name: &NodeName| {
        let ip = occupants(world, name, Family::V4).next()?;
        match owner(world, ip) {
            Some(owner) if owner == view.key => None,
            Some(owner) => Some((name.clone(), Obstacle::HoldsOf(ip, owner.clone()))),
            None => Some((name.clone(), Obstacle::HoldsOther(ip))),
        }
    };
    world.candidates().eligible(class).take(LOOKED_AT).filter_map(held).take(NAMED).collect()
}

pub(super) fn occupants(
    world: &World,
    name: &NodeName,
    family: Family,
) -> impl Iterator<Item = IpAddr> {
    let machine = world.node(name).and_then(|node| node.machine.as_ref());
    let held = machine.map(|machine| world.occupants(&machine.cloud, &machine.id, family));
    held.into_iter().flatten()
}
