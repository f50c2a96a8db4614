//! Conditions under which a plan may call an account.

use super::view::PoolView;
use crate::Time;
use crate::model::{AccountId, ObjectKey};
use crate::world::World;

/// Whether calls that change the account's addresses may start now.
pub(crate) fn may_change(world: &World, account: &AccountId, now: Time) -> bool {
    let heard = world.account(account).and_then(|account| account.listing.last);
    heard.is_some_and(|last| last >= world.open_from()) && is_open(world, account, now)
}

/// Whether any call to the account may start now.
pub(crate) fn is_open(world: &World, account: &AccountId, now: Time) -> bool {
    now >= world.open_from()
        && world.account(account).is_some_and(|account| {
            account.setup.is_ok()
                && !account.is_refused(now)
                && account.closed_until.is_none_or(|until| now >= until)
        })
}

/// Whether a planned call for a pool is made. The machine of a call that is withheld is not kept
/// waiting for it.
pub(crate) fn is_made_for(world: &World, pool: &ObjectKey) -> bool {
    world.pool(pool).is_none_or(|entry| !world.leaves_alone(&entry.pool))
}

/// The first pool whose calls are made, else the first: a pause withholds no write for another pool.
pub(crate) fn attended<'w>(
    world: &World,
    mut pools: impl Iterator<Item = &'w ObjectKey>,
) -> Option<&'w ObjectKey> {
    let first = pools.next()?;
    let mut attended = std::iter::once(first).chain(pools).filter(|key| is_made_for(world, key));
    Some(attended.next().unwrap_or(first))
}

/// Views of pools that can be planned, with their positions. The others have no addresses in their
/// views.
pub(crate) fn plannable<'a, 'w>(
    views: &'a [PoolView<'w>],
) -> impl Iterator<Item = (usize, &'a PoolView<'w>)> {
    views.iter().enumerate().filter(|(_, view)| view.request.is_some())
}
