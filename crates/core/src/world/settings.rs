//! Intervals, deadlines and back-offs, and the sources of observations.

use std::time::Duration;

use crate::Time;
use crate::model::{Kind, Mark};
use crate::vips::VipSource;
use crate::vips::model::VipSettings;

/// Intervals, deadlines and back-offs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Interval between routine listings of an account.
    pub resync: Duration,
    /// Interval between routine reads of records, one set at a time for all names.
    pub record_resync: Duration,
    /// Hard deadline of a call.
    pub call_deadline: Duration,
    /// How long a provider may take to show or apply an accepted change.
    pub settle: Duration,
    /// Back-off after the first failure.
    pub retry_initial: Duration,
    /// Longest back-off.
    pub retry_max: Duration,
    /// The mark of nodes whose machine may lack its own address because of us; `None` marks none.
    pub egress: Option<&'static Mark>,
    /// Settings for VIPs.
    pub vips: VipSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resync: Duration::from_secs(60),
            record_resync: Duration::from_secs(120),
            call_deadline: Duration::from_secs(5),
            settle: Duration::from_secs(5),
            retry_initial: Duration::from_secs(1),
            retry_max: Duration::from_secs(300),
            egress: None,
            vips: VipSettings::default(),
        }
    }
}

impl Settings {
    /// The back-off after `failures` failures: doubling, plus up to a quarter by `jitter`
    /// thousandths.
    pub(crate) fn back_off(&self, failures: u32, jitter: u16) -> Duration {
        self.back_off_within(failures, self.retry_max, jitter)
    }

    /// The same back-off, at most `most`, jitter aside.
    pub(crate) fn back_off_within(&self, failures: u32, most: Duration, jitter: u16) -> Duration {
        let doubled = self.retry_initial.saturating_mul(1 << failures.saturating_sub(1).min(20));
        let step = doubled.min(self.retry_max).min(most.max(self.retry_initial));
        step.saturating_add((step / 4000).saturating_mul(u32::from(jitter.min(1000))))
    }

    /// How long a call without an answer may still take effect.
    pub(crate) fn doubt(&self) -> Duration {
        self.call_deadline.saturating_add(self.settle)
    }

    /// The end of the time in which a call may still take effect that began at `sent_at` and has no
    /// answer at `now`. A call of several requests may have begun long ago; its last request was sent
    /// within the deadline.
    pub(crate) fn doubted_until(&self, sent_at: Time, now: Time) -> Time {
        (sent_at + self.doubt()).max(now + self.settle)
    }
}

/// A source of observations that is read whole before planning relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nodes.
    Nodes,
    /// All pods.
    Pods,
    /// Objects of a kind.
    Objects(&'static Kind),
    /// Objects that VIPs depend on.
    Vips(VipSource),
}
