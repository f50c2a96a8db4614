//! Drained nodes lose their addresses, also while no other node can take them. A node with a lasting
//! failure of an address cannot take it.
//!
//! A node is drained when it is cordoned and runs no pod that keeps the address there: whoever
//! drains a node is about to take it away, and an address left on it would go with the machine.

use super::attempts::is_in_doubt;
use super::placement::Placement;
use super::steps::unassign;
use super::view::{AddressView, Place, PoolView};
use crate::action::{Action, AddressAction, Removal};
use crate::addresses::Setback;
use crate::addresses::verdict::Note;
use crate::model::{Family, Machine, MachineId, NodeName};
use crate::nodes::Unfit;
use crate::plan::Draft;
use crate::world::World;

/// Unassigns the addresses on drained nodes for which this plan has no other node.
pub(crate) fn plan(world: &World, view: &PoolView<'_>, placement: &Placement, draft: &mut Draft) {
    let (Some(request), Some(cloud)) = (view.request, view.cloud()) else { return };
    for one in view.movable() {
        let Some(machine) = drained(one) else { continue };
        let moves = |action: &Action| match action {
            Action::Address(
                AddressAction::Assign { ip, .. } | AddressAction::Unassign { ip, .. },
            ) => *ip == one.ip,
            _ => false,
        };
        if !has_prospect(world, view, one, placement) && !draft.plans(moves) {
            let machine = Machine { cloud: cloud.clone(), id: machine.clone() };
            unassign(world, &machine, (view.entry, request), (one.ip, Removal::Drained), draft);
        }
    }
}

/// Whether another node may have an address, is about to be tried again, or may take the address.
fn has_prospect(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
    placement: &Placement,
) -> bool {
    let fails = |node: &NodeName| {
        let machine = world.node(node).and_then(|node| node.machine.as_ref());
        let account = view.account.zip(machine);
        let pair = account.and_then(|(account, machine)| account.setbacks.of(one.ip, &machine.id));
        pair.is_some_and(Setback::is_lasting)
    };
    let mut free = placement.free(view, Family::of(one.ip)).iter();
    placement.is_retrying(one.ip)
        || is_in_doubt(world, view, one.ip)
        || free.any(|node| !fails(node))
}

/// The machine of an address on a drained node.
fn drained<'w>(one: &AddressView<'w>) -> Option<&'w MachineId> {
    match &one.place {
        Place::Stranded(machine, Note::Unfit(Unfit::Cordoned)) => Some(machine),
        _ => None,
    }
}
