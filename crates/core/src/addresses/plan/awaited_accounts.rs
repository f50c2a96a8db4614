//! Accounts that somebody waits for: those are asked again soon, whatever failed before.
//!
//! A pool waits for its account if it lacks an address that could be put in place, or does not
//! know where one is. One that lacks only a node does not: the account could not help it.

use std::collections::BTreeSet;

use super::need::reservable;
use super::view::{AddressView, Place, PoolView};
use crate::model::{AccountId, Family};
use crate::world::World;

/// The accounts that pools wait for.
///
/// Whoever waits is in every plan, so that planning a part finds the same accounts.
pub(crate) fn awaited<'w>(world: &World, views: &[PoolView<'w>]) -> BTreeSet<&'w AccountId> {
    let waiting = views.iter().filter(|view| waits(world, view));
    waiting.filter_map(|view| Some(&view.request?.account)).collect()
}

fn waits(world: &World, view: &PoolView<'_>) -> bool {
    let home = |one: &&AddressView<'_>| matches!(one.place, Place::Home(..));
    let lacks = view.addresses.iter().filter(home).count() < view.wanted;
    lacks
        && !world.leaves_alone(&view.entry.pool)
        && (reservable(view) > 0 || view.addresses.iter().any(is_unheard) || has_room(world, view))
}

/// Whether it is not known where an address is.
fn is_unheard(one: &AddressView<'_>) -> bool {
    matches!(one.place, Place::Unknown | Place::Missing)
}

/// Whether a node is free for an address that has none.
fn has_room(world: &World, view: &PoolView<'_>) -> bool {
    let Some(class) = view.class else { return false };
    let free = |family: Family| world.vacant(class, family).next().is_some();
    view.movable().any(|one| free(Family::of(one.ip)))
}
