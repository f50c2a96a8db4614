//! Conditions under which a plan may call an account.

use super::view::PoolView;
use crate::Time;
use crate::model::AccountId;
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

/// Views of pools that can be planned, with their positions. The others have no addresses in their
/// views.
pub(crate) fn plannable<'a, 'w>(
    views: &'a [PoolView<'w>],
) -> impl Iterator<Item = (usize, &'a PoolView<'w>)> {
    views.iter().enumerate().filter(|(_, view)| view.request.is_some())
}
