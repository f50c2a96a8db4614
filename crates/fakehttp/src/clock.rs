//! The emulators' clock: tokio's, so that a paused runtime pauses an emulator too, and a wall time
//! derived from tokio's clock.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use tokio::time::Instant;

/// Start of an emulator's wall clock unless a test sets another: a fixed moment, so that two runs
/// with the same seed show the same times.
pub const DEFAULT_BASE: Timestamp = Timestamp::constant(1_790_000_000, 0);

/// Turns tokio instants into the wall times of bodies and `Date` headers.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    base: Timestamp,
}

impl Clock {
    /// A clock whose current wall time is `base`.
    #[must_use]
    pub fn starting_at(base: Timestamp) -> Self {
        Self { started: Instant::now(), base }
    }

    /// The wall time at the clock's start.
    #[must_use]
    pub fn base(&self) -> Timestamp {
        self.base
    }

    /// The current instant of tokio's clock; follows a paused runtime.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// The wall time of an instant: the base plus tokio's time since the start. Instants before the
    /// start give the base.
    #[must_use]
    pub fn wall(&self, at: Instant) -> Timestamp {
        let passed = at.saturating_duration_since(self.started);
        self.base.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The wall time of an instant in whole epoch seconds, rounded up so as never to be too early.
    #[must_use]
    pub fn epoch_rounded_up(&self, at: Instant) -> i64 {
        let wall = self.wall(at);
        wall.as_second() + i64::from(wall.subsec_nanosecond() > 0)
    }
}

/// `2026-09-21T14:13:20Z`, in whole seconds, the usual format of times in bodies.
#[must_use]
pub fn seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(Timestamp::MIN).to_string()
}

/// `Mon, 21 Sep 2026 14:13:20 GMT`, the format of `Date` headers.
#[must_use]
pub fn http_date(at: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap_or_default()
}

/// Whole seconds of a duration, rounded up, for `retry-after`.
#[must_use]
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wall_time_follows_the_paused_clock() {
        let clock = Clock::starting_at(DEFAULT_BASE);
        tokio::time::advance(Duration::from_millis(90_500)).await;
        assert_eq!(
            clock.wall(clock.now()).as_millisecond(),
            DEFAULT_BASE.as_millisecond() + 90_500
        );
        assert_eq!(clock.epoch_rounded_up(clock.now()), DEFAULT_BASE.as_second() + 91);
    }

    #[test]
    fn times_print_as_servers_print_them() {
        assert_eq!(seconds(DEFAULT_BASE), "2026-09-21T14:13:20Z");
        assert_eq!(http_date(DEFAULT_BASE), "Mon, 21 Sep 2026 14:13:20 GMT");
    }
}
