//! How long a lease lasts, and what follows from that for calls to a cloud.

use std::time::Duration;

/// The least time after a renewal in which mutating calls may start.
const LEAST_GUARD: Duration = Duration::from_secs(4);

/// The periods of the election. The defaults are client-go's 15 s / 10 s / 2 s.
///
/// Two clocks may differ in rate by 5 %: the holder trusts its lease for 95 % of its
/// duration only, while everybody else waits for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a lease that is not renewed keeps others out. Written to the Lease in
    /// whole seconds, rounded up.
    pub lease: Duration,
    /// A leader that has not renewed for this long stops being one.
    pub renew_deadline: Duration,
    /// Between two renewals, and between two attempts at anything that failed.
    pub retry_period: Duration,
    /// Kept free at the end of a lease, for a pause between the check and the call.
    pub margin: Duration,
    /// How long a provider may take to apply or to show a call that it has accepted.
    pub settle: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            margin: Duration::from_secs(1),
            settle: Duration::from_secs(5),
        }
    }
}

/// Periods that do not fit together; the text says which flags to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// A renewal would come too late to keep the lease.
    #[error(
        "--leader-elect-renew-deadline ({deadline:?}) must be at most 95 % of \
         --leader-elect-lease-duration ({lease:?}): shorten the deadline or lengthen the lease"
    )]
    DeadlineTooLong {
        /// `--leader-elect-renew-deadline`
        deadline: Duration,
        /// `--leader-elect-lease-duration`
        lease: Duration,
    },
    /// One lost request would cost the leadership.
    #[error(
        "--leader-elect-retry-period ({retry:?}) must be above zero and at most half of \
         --leader-elect-renew-deadline ({deadline:?}): shorten the period or lengthen the deadline"
    )]
    RetryTooLong {
        /// `--leader-elect-retry-period`
        retry: Duration,
        /// `--leader-elect-renew-deadline`
        deadline: Duration,
    },
    /// Calls to a cloud could hardly ever start.
    #[error(
        "a lease of {lease:?} and provider calls of up to {call:?} leave {guard:?} after a renewal in which \
         a call may start, and {LEAST_GUARD:?} are needed: set --leader-elect-lease-duration to at least \
         {least_lease:?}, or lower --provider-timeout"
    )]
    GuardTooShort {
        /// `--leader-elect-lease-duration`
        lease: Duration,
        /// `--provider-timeout`
        call: Duration,
        /// What they leave.
        guard: Duration,
        /// The shortest lease, in whole seconds, that goes with these calls.
        least_lease: Duration,
    },
}

impl Timing {
    /// Refuses periods under which leadership would flap or mutating calls could hardly start.
    ///
    /// # Errors
    ///
    /// Names the flags to change.
    pub fn validate(&self, provider_timeout: Duration) -> Result<(), TimingError> {
        let Self { lease, renew_deadline: deadline, retry_period: retry, margin, settle: _ } =
            *self;
        if deadline > self.trusted() {
            return Err(TimingError::DeadlineTooLong { deadline, lease });
        }
        if retry.is_zero() || retry > deadline / 2 {
            return Err(TimingError::RetryTooLong { retry, deadline });
        }
        let guard = self.guard(provider_timeout);
        if guard < LEAST_GUARD {
            let trusted = LEAST_GUARD + provider_timeout + margin;
            let least_lease =
                Duration::from_secs((trusted + trusted / 19).as_secs_f64().ceil() as u64);
            return Err(TimingError::GuardTooShort {
                lease,
                call: provider_timeout,
                guard,
                least_lease,
            });
        }
        Ok(())
    }

    /// For how long after a renewal was sent a mutating call may start, so that it is over
    /// (`provider_timeout` is its hard deadline) before anybody else may act.
    pub fn guard(&self, provider_timeout: Duration) -> Duration {
        self.trusted().saturating_sub(provider_timeout).saturating_sub(self.margin)
    }

    /// For how long after a renewal was sent its holder trusts the lease.
    pub(super) fn trusted(&self) -> Duration {
        steady(self.lease)
    }

    /// When, after the last renewal of a holder that vanished, the last of its calls has
    /// taken effect.
    pub(super) fn quiet(&self, recorded: Duration) -> Duration {
        steady(recorded).saturating_sub(self.margin) + self.settle
    }

    /// When, after the death of a process, the last of its calls has taken effect. Nothing
    /// is sent after a death, but what was sent just before it may be under way for as long
    /// as a caller would have waited.
    pub(super) fn settled_after_death(&self, provider_timeout: Duration) -> Duration {
        provider_timeout + self.settle
    }

    /// How long a single request to the API server may take.
    pub(super) fn request(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// A follower to whom nothing new has come for this long asks the API server itself.
    pub(super) fn silence(&self) -> Duration {
        self.retry_period * 2
    }
}

/// What is certain to be left of `span` on another clock.
fn steady(span: Duration) -> Duration {
    span - span / 20
}
