//! The number of addresses a pool lacks.

use super::view::PoolView;
use crate::addresses::{Account, PoolEntry};

/// Maximum number of open reservations per pool, so that a large pool does not use up the rate
/// limit of the account.
const AT_ONCE: usize = 10;

/// Number of addresses to reserve now, beyond the open reservations.
pub(crate) fn missing(view: &PoolView<'_>) -> usize {
    let open = unmade(view.entry);
    lacks(view, open).min(AT_ONCE.saturating_sub(open))
}

/// The part of `missing` that can be reserved. The rest has no claim to a node.
pub(crate) fn reservable(view: &PoolView<'_>) -> usize {
    let region_missing = view.request.is_some_and(|request| request.region.is_none())
        && view.account.is_some_and(needs_region);
    if region_missing { 0 } else { missing(view) }
}

/// Number of addresses the pool wants beyond its own and `more`. A pool being deleted wants no new
/// ones.
pub(crate) fn lacks(view: &PoolView<'_>, more: usize) -> usize {
    let wanted = if view.entry.pool.deleting { 0 } else { view.wanted };
    wanted.saturating_sub(view.addresses.len() + view.keeping.len() + more)
}

/// Number of reservations without a known address.
pub(crate) fn unmade(entry: &PoolEntry) -> usize {
    let intents = &entry.pool.ledger.intents;
    intents.iter().filter(|intent| !entry.is_made(intent)).count() + entry.wiped().count()
}

/// Whether reservations in the account need a region.
pub(crate) fn needs_region(account: &Account) -> bool {
    account.abilities().is_some_and(|abilities| abilities.region_required)
}
