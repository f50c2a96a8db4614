//! The addresses that a node serves.

use std::net::IpAddr;

use super::doubt::is_on;
use super::view::owner;
use crate::addresses::{Account, Knowledge, PoolEntry};
use crate::model::{Family, Mark, Node};
use crate::world::World;

/// Whether a node serves an address of a pool that uses the mark.
pub(crate) fn serves(world: &World, node: &Node, mark: &'static Mark) -> bool {
    !served(world, node, mark).is_empty()
}

/// The addresses confirmed to be on a node that may keep them, of pools that use the mark.
pub(super) fn served(world: &World, node: &Node, mark: &'static Mark) -> Vec<IpAddr> {
    let mut here = held(world, node, mark);
    here.retain(|ip| is_served(world, node, mark, *ip));
    here
}

/// The addresses of a mark's families that a node's machine holds, may hold, or is about to hold.
pub(super) fn held(world: &World, node: &Node, mark: &'static Mark) -> Vec<IpAddr> {
    let Some(machine) = &node.machine else {
        return Vec::new();
    };
    let of_family = |family: &Family| world.occupants(&machine.cloud, &machine.id, *family);
    mark.families().iter().flat_map(of_family).collect()
}

fn is_served(world: &World, node: &Node, mark: &'static Mark, ip: IpAddr) -> bool {
    let Some((entry, account)) = owned(world, ip) else {
        return false;
    };
    if !entry.pool.request.as_ref().is_ok_and(|request| request.marks.contains(mark)) {
        return false;
    }
    let Some(address) = account.address(ip) else {
        return false;
    };
    let confirmed = address.operation.is_none()
        && matches!(&address.knowledge, Knowledge::Known { sighting, .. }
            if !sighting.busy && is_on(sighting, node));
    confirmed && entry.uses(ip) && may_keep(world, node, entry)
}

fn may_keep(world: &World, node: &Node, entry: &PoolEntry) -> bool {
    entry.class.is_some_and(|class| world.candidates().may_keep(class, &node.name))
}

/// The owner of an address, with its account.
fn owned(world: &World, ip: IpAddr) -> Option<(&PoolEntry, &Account)> {
    let entry = world.pool(owner(world, ip)?)?;
    let request = entry.pool.request.as_ref().ok()?;
    Some((entry, world.account(&request.account)?))
}
