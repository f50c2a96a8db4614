//! The request budget of a token: a long sliding window, and a shorter window against bursts.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Request limits of a token. Refused requests do not count.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimit {
    /// Requests in `window`.
    pub limit: u32,
    /// The long window.
    #[serde(rename = "window_ms", with = "fakehttp::millis")]
    pub window: Duration,
    /// Requests in `burst_window`.
    pub burst: u32,
    /// The short window.
    #[serde(rename = "burst_window_ms", with = "fakehttp::millis")]
    pub burst_window: Duration,
}

impl Default for RateLimit {
    /// 5,000 an hour, 250 a minute.
    fn default() -> Self {
        Self {
            limit: 5_000,
            window: Duration::from_secs(3_600),
            burst: 250,
            burst_window: Duration::from_secs(60),
        }
    }
}

/// The state of a token's budget after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// The long window.
    pub(crate) window: Duration,
    /// Time at which the oldest request leaves the long window.
    pub(crate) reset: Instant,
    pub(crate) refused: Option<Refused>,
}

/// The exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The long window is full until `reset`.
    Window,
    /// The short window is full for the given time.
    Burst(Duration),
}

/// The counted requests of a token.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    hits: VecDeque<Instant>,
}

impl Meter {
    /// Counts a request, if the budget allows it.
    pub(crate) fn take(&mut self, limit: &RateLimit, now: Instant) -> Usage {
        while self.hits.front().is_some_and(|at| *at + limit.window <= now) {
            self.hits.pop_front();
        }
        let refused = self.refusal(limit, now);
        if refused.is_none() {
            self.hits.push_back(now);
        }
        let used = u32::try_from(self.hits.len()).unwrap_or(u32::MAX);
        Usage {
            limit: limit.limit,
            remaining: limit.limit.saturating_sub(used),
            window: limit.window,
            reset: self.hits.front().copied().unwrap_or(now) + limit.window,
            refused,
        }
    }

    fn refusal(&self, limit: &RateLimit, now: Instant) -> Option<Refused> {
        if self.hits.len() >= limit.limit as usize {
            return Some(Refused::Window);
        }
        let burst_start = self.hits.partition_point(|at| *at + limit.burst_window <= now);
        let recent = self.hits.len() - burst_start;
        if recent < limit.burst as usize {
            return None;
        }
        let leaves = self.hits.get(burst_start).copied().unwrap_or(now) + limit.burst_window;
        Some(Refused::Burst(leaves.saturating_duration_since(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit {
        limit: 3,
        window: Duration::from_secs(100),
        burst: 2,
        burst_window: Duration::from_secs(10),
    };

    #[tokio::test(start_paused = true)]
    async fn bursts_and_the_window_are_both_limited_and_slide() {
        let mut meter = Meter::default();
        let start = Instant::now();
        assert_eq!(meter.take(&LIMIT, start).remaining, 2);
        assert_eq!(meter.take(&LIMIT, start).remaining, 1);
        let third = meter.take(&LIMIT, start + Duration::from_secs(4));
        assert_eq!(third.refused, Some(Refused::Burst(Duration::from_secs(6))));
        assert_eq!(third.remaining, 1);
        let later = meter.take(&LIMIT, start + Duration::from_secs(10));
        assert_eq!((later.refused, later.remaining), (None, 0));
        let full = meter.take(&LIMIT, start + Duration::from_secs(50));
        assert_eq!(full.refused, Some(Refused::Window));
        assert_eq!(full.reset, start + LIMIT.window);
        assert_eq!(meter.take(&LIMIT, start + LIMIT.window).refused, None);
    }
}
