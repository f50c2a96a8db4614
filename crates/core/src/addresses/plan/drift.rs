//! Drift: addresses taken by another client from a node that may keep them.
//!
//! | place of the address               | action                                 |
//! |------------------------------------|----------------------------------------|
//! | another eligible node              | none                                   |
//! | a machine without an eligible node | hold-down, then moved back             |
//! | no machine, for the first time     | assigned again at once, because unused |
//! | no machine, again                  | hold-down, then assigned again         |
//!
//! The hold-down doubles each time, to avoid a fight with the other client.

use std::time::Duration;

use crate::Time;
use crate::model::{Drift, MachineId, Remembered};

/// Length of the first hold-down.
const FIRST: Duration = Duration::from_secs(10);

/// Maximum length of a hold-down.
const LONGEST: Duration = Duration::from_secs(300);

/// After this time without drift, the count starts again.
const QUIET: Duration = Duration::from_secs(600);

/// Notes that an address left `from`, not by a call of ours.
pub(crate) fn found(before: Option<&Drift>, from: MachineId, now: Time) -> Drift {
    let recent = before.filter(|before| now.since(before.at) < QUIET);
    let times = recent.map_or(0, |before| before.times).saturating_add(1);
    Drift { times, at: now, from: Some(from) }
}

/// Ends the drift of an address that serves again or is not needed. The count stays.
pub(crate) fn clear(memory: &mut Remembered) {
    if let Some(drift) = &mut memory.drift {
        drift.from = None;
    }
}

/// Replaces a time in the future, which is a clock error, by `now`. Unchanged, the stored time
/// would delay the end of the hold-down.
pub(crate) fn not_ahead(memory: &mut Remembered, now: Time) {
    if let Some(drift) = &mut memory.drift {
        drift.at = drift.at.min(now);
    }
}

/// End of the hold-down of an address, if in the future. `off` says whether the address was found
/// unassigned.
pub(crate) fn held_until(memory: &Remembered, off: bool, now: Time) -> Option<Time> {
    let drift = memory.drift.as_ref().filter(|drift| drift.from.is_some())?;
    let fights = drift.times.saturating_sub(u32::from(off));
    let until = (fights > 0).then(|| drift.at + hold(fights));
    until.filter(|until| *until > now)
}

/// Length of the hold-down of an address, or of a name in DNS, for this number of changes.
pub(crate) fn hold(times: u32) -> Duration {
    let doublings = times.saturating_sub(1).min(10);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}
