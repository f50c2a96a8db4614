//! The server's clock: tokio's, so that a paused runtime pauses the server too, and a wall time
//! derived from tokio's clock.

use jiff::Timestamp;
use tokio::time::Instant;

/// Start of a server's wall clock unless [`crate::FakeKube::starting_at`] sets another: a fixed
/// moment, so that two runs with the same seed show the same times.
pub const DEFAULT_BASE: Timestamp = Timestamp::constant(1_790_000_000, 0);

/// Turns tokio instants into wall times. Starts at its first use, so that a clock can be made
/// outside a runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Option<Instant>,
    base: Timestamp,
}

impl Clock {
    pub(crate) fn starting_at(base: Timestamp) -> Self {
        Self { started: None, base }
    }

    /// The current wall time: the base plus tokio's time since the first use.
    pub(crate) fn now(&mut self) -> Timestamp {
        let now = Instant::now();
        let passed = now.saturating_duration_since(*self.started.get_or_insert(now));
        self.base.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}

/// `2026-09-21T14:13:20Z`, in whole seconds, the form of times in metadata.
pub(crate) fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(Timestamp::MIN).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wall_time_follows_the_paused_clock() {
        let mut clock = Clock::starting_at(DEFAULT_BASE);
        assert_eq!(clock.now(), DEFAULT_BASE);
        tokio::time::advance(Duration::from_millis(90_500)).await;
        assert_eq!(clock.now().as_millisecond(), DEFAULT_BASE.as_millisecond() + 90_500);
        assert_eq!(seconds(clock.now()), "2026-09-21T14:14:50Z");
    }
}
