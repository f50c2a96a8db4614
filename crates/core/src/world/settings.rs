//! Intervals, deadlines and back-offs, and the sources of observations.

use std::time::Duration;

use crate::Time;
use crate::model::{Kind, Mark};
use crate::vips::VipSource;
use crate::vips::model::VipSettings;

/// The length up to which a slow back-off doubles.
const DOUBLES_UP_TO: Duration = Duration::from_secs(5);

/// Number of failures from which a slow back-off stays the same.
const MOST_STEPS: u32 = 200;

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
        with_jitter(step, jitter)
    }

    /// The back-off after `failures` failures whose end nothing else shows: doubling at first, then an
    /// eighth longer each time. The wait outlives its cause by a few seconds, or by an eighth of the
    /// time for which the cause lasted.
    pub(crate) fn slow_back_off(&self, failures: u32, jitter: u16) -> Duration {
        let mut step = self.retry_initial;
        for _ in 1..failures.min(MOST_STEPS) {
            let longer =
                if step < DOUBLES_UP_TO { step.min(DOUBLES_UP_TO - step) } else { step / 8 };
            step = step.saturating_add(longer).min(self.retry_max);
        }
        with_jitter(step, jitter)
    }

    /// The back-off after `failures` failures that each cost a machine its own address: doubling, to
    /// three times the longest back-off.
    pub(crate) fn displacing_back_off(&self, failures: u32, jitter: u16) -> Duration {
        let doubled = DOUBLES_UP_TO.saturating_mul(1 << failures.saturating_sub(1).min(20));
        with_jitter(doubled.min(self.retry_max.saturating_mul(3)), jitter)
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

fn with_jitter(step: Duration, jitter: u16) -> Duration {
    step.saturating_add((step / 4000).saturating_mul(u32::from(jitter.min(1000))))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The back-offs of a series of failures until `lasted`, and the sum of the back-offs.
    fn waits(settings: &Settings, lasted: Duration) -> (Vec<Duration>, Duration) {
        let (mut all, mut sum) = (vec![], Duration::ZERO);
        while sum < lasted {
            let next = settings.slow_back_off(1 + u32::try_from(all.len()).unwrap_or(u32::MAX), 0);
            all.push(next);
            sum += next;
        }
        (all, sum)
    }

    #[test]
    fn a_wait_outlives_its_cause_by_a_few_seconds_or_by_an_eighth() {
        let settings = Settings::default();
        for lasted in [1, 10, 25, 60, 240, 1_200].map(Duration::from_secs) {
            let (_, over) = waits(&settings, lasted);
            let late = over - lasted;
            assert!(late <= Duration::from_secs(5) + lasted / 8, "{late:?} after {lasted:?}");
        }
    }

    #[test]
    fn a_lasting_failure_costs_few_calls_and_ends_at_the_longest_wait() {
        let settings = Settings::default();
        let (all, _) = waits(&settings, Duration::from_secs(3_600));
        assert!(all.len() <= 45, "{} calls in an hour", all.len());
        assert_eq!(all.last(), Some(&settings.retry_max));
    }

    #[test]
    fn no_wait_is_shorter_than_the_first_or_longer_than_the_longest() {
        let (retry_initial, retry_max) = (Duration::from_secs(10), Duration::from_secs(20));
        let settings = Settings { retry_initial, retry_max, ..Settings::default() };
        for failures in [0, 1, 2, 10, u32::MAX] {
            let wait = settings.slow_back_off(failures, 0);
            assert!((retry_initial..=retry_max).contains(&wait), "{wait:?}");
        }
    }
}
