//! The effect of earlier attempts to assign an address on the next one.

use std::net::IpAddr;

use super::view::{AddressView, PoolView};
use crate::Time;
use crate::addresses::PATIENCE;
use crate::model::{MachineId, NodeName};
use crate::world::World;

/// Whether an address is refused by a node, waits for a back-off, or may already be on a node.
pub(crate) fn is_set_back(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
    now: Time,
) -> bool {
    view.account.is_some_and(|account| account.setbacks.burden(one.ip, now))
        || is_in_doubt(world, view, one.ip)
}

/// Whether an address may be on an eligible node despite a failed call. Until a listing shows the
/// place, no other node gets the address: a move could take it from a serving node.
pub(crate) fn is_in_doubt(world: &World, view: &PoolView<'_>, ip: IpAddr) -> bool {
    let Some(account) = view.account else { return false };
    account.setbacks.doubts(ip, account.listing.last).any(|machine| view.may_keep(world, machine))
}

/// The node of the last failed attempt, if still eligible.
pub(crate) fn intended<'w>(
    world: &'w World,
    view: &PoolView<'w>,
    one: &AddressView<'_>,
) -> Option<(&'w NodeName, &'w MachineId)> {
    let account = view.account?;
    let tried = account.address(one.ip)?.intended.as_ref();
    // A drifted address returns to its former node, unless an attempt there failed.
    let from = one.memory.drift.as_ref().and_then(|drift| drift.from.as_ref());
    let from = from.and_then(|from| world.machine_of(view.cloud()?, from));
    // Another node may help against trouble with this node, but not against an outage.
    let failures = |machine| account.setbacks.of(one.ip, machine).map_or(0, |pair| pair.failures);
    let tried = tried.filter(|tried| failures(tried) < PATIENCE || account.is_silent());
    let machine = tried.or(from.filter(|from| failures(from) == 0))?;
    let node = view.node_on(world, machine)?;
    view.judge(world, node).is_eligible().then_some((node, machine))
}
