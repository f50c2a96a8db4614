//! Measures recovery: the time from the end of all faults until everything is right, and stays so.

use super::{Manner, Player, on_a_runtime};
use crate::oracle::Violation;
use crate::schedule::{Millis, Schedule};

/// The interval of looks.
const LOOK_INTERVAL: Millis = 100;

/// The time for which everything must stay right: two routine listings.
const STAYS: Millis = 130_000;

/// The time after which recovery counts as failed.
const LIMIT: Millis = 20 * 60_000;

/// The result of a measurement.
#[derive(Debug)]
pub struct Recovery {
    /// The time from the end of faults until everything was right and stayed so.
    pub took: Millis,
    /// The conditions that became right last.
    pub last: Vec<String>,
    /// The first violation, if any.
    pub violation: Option<Violation>,
    /// The trace, if requested.
    pub story: Vec<String>,
}

/// Runs a schedule until everything is right again.
///
/// # Errors
/// A description, if the run cannot be set up.
pub fn recover(schedule: &Schedule, manner: &Manner) -> Result<Recovery, String> {
    on_a_runtime(schedule, manner, async |mut player| {
        player.endure().await;
        let (took, last) = player.watch_recovery().await;
        let over = player.over();
        Recovery { took, last, violation: over.violation, story: over.story }
    })
}

impl Player<'_> {
    /// Looks again and again. Returns when something was wrong for the last time, and what.
    async fn watch_recovery(&mut self) -> (Millis, Vec<String>) {
        let (mut at, mut right_from) = (self.healed, self.healed);
        let (mut last, mut told) = (vec![], vec![]);
        while at < right_from + STAYS && at < self.healed + LIMIT && !self.broken() {
            let wrong = self.stage.shared.oracle().unsettled();
            if wrong != told {
                self.stage.shared.tell(|| format!("-- left to do: {}", wrong.join("; ")));
                told.clone_from(&wrong);
            }
            at += LOOK_INTERVAL;
            if !wrong.is_empty() {
                (right_from, last) = (at, wrong);
            }
            self.wait_until(at).await;
        }
        (right_from - self.healed, last)
    }
}
