//! How many addresses a pool lacks.

use super::view::PoolView;
use crate::Time;
use crate::addresses::{Account, IntentProgress, PoolEntry};
use crate::model::Intent;

/// How many reservations of a pool are open at a time: a pool that wants hundreds gets them,
/// but not at the cost of everybody else's rate limit.
const AT_ONCE: usize = 10;

/// How many addresses are to be reserved for a pool now, beyond those that are being.
pub(crate) fn missing(view: &PoolView<'_>) -> usize {
    let open = unmade(view.entry);
    lacks(view, open).min(AT_ONCE.saturating_sub(open))
}

/// How many of them can be reserved: one that cannot be has no claim to a node.
pub(crate) fn reservable(view: &PoolView<'_>) -> usize {
    let region_missing = view.request.is_some_and(|request| request.region.is_none())
        && view.account.is_some_and(needs_region);
    if region_missing { 0 } else { missing(view) }
}

/// How many addresses a pool wants beyond those that it has and `more`. One that is being
/// deleted wants no new ones, whatever keeps it from going.
pub(crate) fn lacks(view: &PoolView<'_>, more: usize) -> usize {
    let wanted = if view.entry.pool.deleting { 0 } else { view.wanted };
    wanted.saturating_sub(view.addresses.len() + view.keeping.len() + more)
}

/// Reservations that are no address of the pool yet.
pub(crate) fn unmade(entry: &PoolEntry) -> usize {
    let made = |intent: &&Intent| {
        let progress = entry.progress(&intent.id, Time::default());
        matches!(progress, IntentProgress::Made(_))
    };
    let intents = &entry.pool.ledger.intents;
    intents.iter().filter(|intent| !made(intent)).count() + entry.wiped().count()
}

/// Whether the account reserves no address without a region.
pub(crate) fn needs_region(account: &Account) -> bool {
    account.abilities().is_some_and(|abilities| abilities.region_required)
}
