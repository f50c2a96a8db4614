//! The occupants of full nodes, and surplus addresses among them.

use std::net::IpAddr;

use super::steps::unassign;
use super::view::{AddressView, Place, PoolView, owner};
use crate::action::Removal;
use crate::addresses::verdict::Obstacle;
use crate::model::{Family, Machine, NodeName};
use crate::plan::Draft;
use crate::world::World;

/// Number of nodes searched for obstacles if no node is free.
const MOST_NODES_SEARCHED: usize = 100;

/// Number of nodes named in a message.
const MOST_NODES_NAMED: usize = 3;

/// Unassigns up to `short` surplus addresses of a pool from full nodes. An address whose machine does
/// not let go is tried after the others, and does not count. Returns the number of addresses still
/// lacking room.
pub(crate) fn take_off(
    world: &World,
    view: &PoolView<'_>,
    family: Family,
    short: usize,
    draft: &mut Draft,
) -> usize {
    let (Some(account), Some(request), Some(cloud)) = (view.account, view.request, view.cloud())
    else {
        return short;
    };
    let stuck = |one: &AddressView<'_>| match one.place {
        Place::Disabled(Some(machine)) => account.setbacks.is_stuck(one.ip, machine),
        _ => false,
    };
    let mut lack = Lack::of(short);
    for one in last(&view.addresses, stuck) {
        let Place::Disabled(Some(machine)) = one.place else {
            continue;
        };
        if Family::of(one.ip) != family {
            continue;
        }
        let needed = view.may_take(world, machine, family, Some(one.ip))
            && !world.has_room(cloud, machine, family, None);
        if !needed || !view.entry.is_recorded(one.ip) {
            continue;
        }
        let counts = !stuck(one);
        if !lack.spend(counts) {
            continue;
        }
        if counts && draft.now >= account.setbacks.next_off(one.ip, machine) {
            draft.make_room(view.key);
        }
        let machine = Machine { cloud: cloud.clone(), id: machine.clone() };
        let what = (one.ip, Removal::MakesRoom(view.key.clone()));
        unassign(world, &machine, (view.entry, request), what, draft);
    }
    lack.addresses
}

/// The addresses that lack room. An address whose machine does not let go makes room when it has left.
pub(crate) struct Lack {
    /// Number of addresses that still lack room.
    pub addresses: usize,
    /// Number of unassignments that may be tried although their machines do not let go.
    tries: usize,
}

impl Lack {
    pub fn of(addresses: usize) -> Self {
        Self { addresses, tries: addresses }
    }

    /// Whether another address may be unassigned. `counts` says whether the address seems to come off.
    pub fn spend(&mut self, counts: bool) -> bool {
        let left = if counts { self.addresses } else { self.tries.min(self.addresses) };
        if left > 0 {
            *(if counts { &mut self.addresses } else { &mut self.tries }) -= 1;
        }
        left > 0
    }
}

/// The items, those of a sort after all others.
pub(crate) fn last<T>(items: &[T], of: impl Fn(&T) -> bool + Copy) -> impl Iterator<Item = &T> {
    let before = items.iter().filter(move |item| !of(item));
    before.chain(items.iter().filter(move |item| of(item)))
}

/// Occupants of the first eligible nodes that are not the pool's own.
pub(crate) fn blockers(world: &World, view: &PoolView<'_>) -> Vec<(NodeName, Obstacle)> {
    let Some(class) = view.class else {
        return Vec::new();
    };
    let held = |name: &NodeName| {
        let ip = occupants(world, name, view.family()).next()?;
        match owner(world, ip) {
            Some(owner) if owner == view.key => None,
            Some(owner) => Some((name.clone(), Obstacle::HoldsOf(ip, owner.clone()))),
            None => Some((name.clone(), Obstacle::HoldsOther(ip))),
        }
    };
    world
        .candidates()
        .eligible(class)
        .take(MOST_NODES_SEARCHED)
        .filter_map(held)
        .take(MOST_NODES_NAMED)
        .collect()
}

pub(crate) fn occupants(
    world: &World,
    name: &NodeName,
    family: Family,
) -> impl Iterator<Item = IpAddr> {
    let machine = world.node(name).and_then(|node| node.machine.as_ref());
    let held = machine.map(|machine| world.occupants(&machine.cloud, &machine.id, family));
    held.into_iter().flatten()
}
