//! Addresses that somebody else took from a node that they served.
//!
//! | the address was found                     | so it is                                       |
//! |-------------------------------------------|------------------------------------------------|
//! | on another node that may have it          | left there                                     |
//! | on a machine that may not have it         | left alone for a while, then put back          |
//! | on no machine, for the first time         | put back at once: it serves nobody             |
//! | on no machine, again                      | left alone for a while, then put back          |
//!
//! "A while" doubles each time, so that whoever moves the address is not fought.

use std::time::Duration;

use crate::Time;
use crate::model::{Drift, MachineId, Remembered};

/// How long an address is left alone the first time; doubled each further time.
const FIRST: Duration = Duration::from_secs(10);

/// The longest that it is left alone.
const LONGEST: Duration = Duration::from_secs(300);

/// After so long without it, the next time is the first again.
const QUIET: Duration = Duration::from_secs(600);

/// An address is not on `from` any more, and that was not our doing.
pub(crate) fn found(before: Option<&Drift>, from: MachineId, now: Time) -> Drift {
    let recent = before.filter(|before| now.since(before.at) < QUIET);
    let times = recent.map_or(0, |before| before.times).saturating_add(1);
    Drift { times, at: now, from: Some(from) }
}

/// An address serves again, or need not. How often it was moved is remembered.
pub(crate) fn mend(memory: &mut Remembered) {
    if let Some(drift) = &mut memory.drift {
        drift.from = None;
    }
}

/// A time ahead of us is a clock's mistake: it counts as now, and is remembered as that, or it
/// would be now for as long as it is ahead.
pub(crate) fn not_ahead(memory: &mut Remembered, now: Time) {
    if let Some(drift) = &mut memory.drift {
        drift.at = drift.at.min(now);
    }
}

/// Until when an address is left alone that is on a machine, or was taken `off` one, if that lies
/// ahead.
pub(crate) fn held_until(memory: &Remembered, off: bool, now: Time) -> Option<Time> {
    let drift = memory.drift.as_ref().filter(|drift| drift.from.is_some())?;
    let fights = drift.times.saturating_sub(u32::from(off));
    let until = (fights > 0).then(|| drift.at + hold(fights));
    until.filter(|until| *until > now)
}

/// How long an address, or a name in DNS, is left alone when somebody else changed it for the
/// so many-th time.
pub(crate) fn hold(times: u32) -> Duration {
    let doublings = times.saturating_sub(1).min(10);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}
