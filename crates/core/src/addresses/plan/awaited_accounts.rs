//! Accounts awaited by a pool. Awaited accounts are listed again soon, despite failures.
//!
//! A pool awaits its account if a missing address could be assigned or reserved, if the place of an
//! address is unknown, or if a delisted address waits for a listing. A pool that lacks only a node does
//! not: a listing could not help.

use std::collections::BTreeSet;

use super::need::reservable;
use super::view::{AddressView, Place, PoolView};
use crate::model::{AccountId, Family};
use crate::world::World;

/// The accounts awaited by pools.
///
/// Every waiting pool is part of every plan, so a partial plan finds the same accounts.
pub(crate) fn awaited<'w>(world: &World, views: &[PoolView<'w>]) -> BTreeSet<&'w AccountId> {
    let waiting = views.iter().filter(|view| waits(world, view));
    waiting.filter_map(|view| Some(&view.request?.account)).collect()
}

fn waits(world: &World, view: &PoolView<'_>) -> bool {
    let home = |one: &&AddressView<'_>| matches!(one.place, Place::Home(..));
    let lacks = view.addresses.iter().filter(home).count() < view.wanted;
    let helps =
        || reservable(view) > 0 || view.addresses.iter().any(is_unheard) || has_room(world, view);
    !world.leaves_alone(&view.entry.pool) && ((lacks && helps()) || cannot_leave(view))
}

/// Whether a delisted address waits for a listing.
fn cannot_leave(view: &PoolView<'_>) -> bool {
    let Some(account) = view.account else { return false };
    let stays = |one: &AddressView<'_>| {
        let held = matches!(one.place, Place::Disabled(Some(_)));
        is_unheard(one) || (held && !account.may_leave(one.ip))
    };
    view.leaving.iter().any(stays)
}

/// Whether the place of an address is unknown.
fn is_unheard(one: &AddressView<'_>) -> bool {
    matches!(one.place, Place::Unknown | Place::Missing)
}

/// Whether a node is free for an unplaced address.
fn has_room(world: &World, view: &PoolView<'_>) -> bool {
    let Some(class) = view.class else { return false };
    let free = |family: Family| world.vacant(class, family).next().is_some();
    view.movable().any(|one| free(Family::of(one.ip)))
}
