//! A call that is repeated until it succeeds.

use std::time::Duration;

use super::Settings;
use crate::Time;
use crate::action::Failure;

/// A write to Kubernetes that failed is tried again after this at the latest.
const MINUTE: Duration = Duration::from_secs(60);
/// Something that is tried until it works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// It is under way.
    pub in_flight: bool,
    /// How often it failed since it last worked.
    pub failures: u32,
    /// The next attempt is not made before.
    pub not_before: Time,
    /// The last failure.
    pub failure: Option<Failure>,
}

impl Work {
    /// Whether it may be tried now.
    pub fn may_start(&self, now: Time) -> bool {
        !self.in_flight && now >= self.not_before
    }

    /// It failed.
    pub(crate) fn failed(&mut self, failure: Failure, now: Time, jitter: u16, settings: &Settings) {
        self.in_flight = false;
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + settings.back_off(self.failures, jitter);
        self.failure = Some(failure);
    }

    /// A write to Kubernetes failed. It is tried again within a minute: whoever grants the
    /// right that was missing waits for it.
    pub(crate) fn unwritten(
        &mut self,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        self.failed(failure, now, jitter, settings);
        self.not_before = now + settings.back_off_within(self.failures, MINUTE, jitter);
    }

    /// The last failure, if the same would be refused again.
    pub(crate) fn refusal(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|failure| failure.kind.is_refusal())
    }
}
