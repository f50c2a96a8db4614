//! The server's clock.

use fakehttp::Clock;
use jiff::Timestamp;

/// A clock that starts at its first use, so that a server can be made outside a runtime.
#[derive(Debug)]
pub(crate) struct LateClock {
    base: Timestamp,
    started: Option<Clock>,
}

impl LateClock {
    pub(crate) fn starting_at(base: Timestamp) -> Self {
        Self { base, started: None }
    }

    /// The current wall time: the base plus tokio's time since the first use.
    pub(crate) fn now(&mut self) -> Timestamp {
        let clock = self.started.get_or_insert_with(|| Clock::starting_at(self.base));
        clock.wall(clock.now())
    }
}
