//! The time between two assignments of a pool.

use std::time::Duration;

use super::view::PoolView;
use crate::Time;
use crate::plan::Draft;

/// Limits a pool with a cool-off to one assignment at a time.
pub(crate) fn pace(view: &PoolView<'_>, draft: &mut Draft) {
    let Some(cool_off) = view.request.map(|one| one.cool_off).filter(|one| !one.is_zero()) else {
        return;
    };
    let waits = view.is_assigning() || cool_off_ends(view, cool_off, draft.now).is_some();
    draft.allow(view.key, usize::from(!waits));
}

/// End of a pool's cool-off, if in the future.
pub(crate) fn cool_off_ends(view: &PoolView<'_>, cool_off: Duration, now: Time) -> Option<Time> {
    // A time in the future is a clock error, and counts as now.
    let last = view.entry.last_assignment?.min(now);
    Some(last + cool_off).filter(|ends| *ends > now)
}
