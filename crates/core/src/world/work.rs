//! The state of a call that is retried.

use std::time::Duration;

use super::Settings;
use crate::Time;
use crate::action::{Failure, FailureKind};

/// Longest back-off of a failed write to Kubernetes, jitter aside.
const MINUTE: Duration = Duration::from_secs(60);

/// Time after a failure in which a call that waits for this one goes ahead without its success.
const RECENT_FAILURE: Duration = Duration::from_secs(10);

/// A call that is retried until success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The call is under way.
    pub in_flight: bool,
    /// Number of failures since the last success.
    pub failures: u32,
    /// Earliest time of the next attempt.
    pub not_before: Time,
    /// The last failure.
    pub failure: Option<Failure>,
    /// Time of the last failure.
    pub(crate) failed_at: Time,
    /// End of the time in which an attempt without an answer may still take effect, or the effect of
    /// an outdated one may show.
    pub(crate) unanswered_until: Time,
}

impl Work {
    /// Whether an attempt may start now.
    pub fn may_start(&self, now: Time) -> bool {
        !self.in_flight && now >= self.not_before
    }

    /// Whether the last attempt failed recently, and the next one is not due yet.
    pub(crate) fn failed_lately(&self, now: Time) -> bool {
        let until = self.not_before.min(self.failed_at + RECENT_FAILURE);
        self.failures > 0 && !self.in_flight && now < until
    }

    /// Notes a failure, and backs off.
    pub(crate) fn failed(&mut self, failure: Failure, now: Time, jitter: u16, settings: &Settings) {
        self.repeats(now, jitter, settings);
        (self.failure, self.failed_at) = (Some(failure), now);
    }

    /// Notes a failure, and backs off more slowly than [`failed`](Self::failed): only the next attempt
    /// shows whether the cause is gone, so a long wait would outlive the cause.
    pub(crate) fn failed_slowly(
        &mut self,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        self.failed(failure, now, jitter, settings);
        self.not_before = now + settings.slow_back_off(self.failures, jitter);
    }

    /// Notes an attempt without a result, and backs off. The next attempt shows the result.
    pub(crate) fn repeats(&mut self, now: Time, jitter: u16, settings: &Settings) {
        self.in_flight = false;
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + settings.back_off(self.failures, jitter);
    }

    /// Notes a failed write to Kubernetes. The back-off is at most a minute, so that a granted
    /// right takes effect soon.
    pub(crate) fn unwritten(
        &mut self,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        if failure.kind == FailureKind::NoAnswer {
            self.unanswered_until = now + settings.settle;
        }
        self.failed(failure, now, jitter, settings);
        self.not_before = now + settings.back_off_within(self.failures, MINUTE, jitter);
    }

    /// The last failure, if the same call would be refused again.
    pub(crate) fn refusal(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|failure| failure.kind.is_refusal())
    }
}
