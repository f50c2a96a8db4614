//! Durations of the lease, and their consequences for calls to a provider.

use std::time::Duration;

/// Shortest allowed time after a renewal in which mutating calls may start.
const LEAST_GUARD: Duration = Duration::from_secs(4);

/// The longest duration of a Lease that counts: a leader that vanishes is replaced no sooner.
pub const LONGEST_LEASE: Duration = Duration::from_secs(3600);

/// The periods of the election. The defaults are client-go's 15 s / 10 s / 2 s.
///
/// Two clocks may differ in rate by 5 %: the holder trusts its lease for 95 % of its duration only,
/// while all other replicas wait for the full duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a lease without a renewal keeps other replicas out. Written to the Lease in whole
    /// seconds, rounded up.
    pub lease: Duration,
    /// A leader without a successful renewal for this long steps down.
    pub renew_deadline: Duration,
    /// Time between two renewals, and between two attempts after a failure.
    pub retry_period: Duration,
    /// Reserved at the end of a lease, for a pause between the check and the call.
    pub margin: Duration,
    /// How long a provider may take to apply or to show an accepted call.
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

/// Periods that do not fit together; the message names the flags to change.
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
    /// A single lost request would end the leadership.
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
    /// Calls to a provider could hardly ever start.
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
        /// The time left for starting calls.
        guard: Duration,
        /// The shortest lease, in whole seconds, that fits the calls.
        least_lease: Duration,
    },
}

impl Timing {
    /// Refuses periods under which leadership would flap or mutating calls could hardly start.
    ///
    /// # Errors
    ///
    /// The error names the flags to change.
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

    /// Time after sending a renewal in which a mutating call may start and still end
    /// (`provider_timeout` is its hard deadline) before another replica may act.
    pub fn guard(&self, provider_timeout: Duration) -> Duration {
        self.trusted().saturating_sub(provider_timeout).saturating_sub(self.margin)
    }

    /// Time after sending a renewal for which the holder trusts the lease.
    pub(super) fn trusted(&self) -> Duration {
        steady(self.lease)
    }

    /// Time after the last renewal of a vanished holder by which its last call has taken effect.
    pub(super) fn quiet(&self, recorded: Duration) -> Duration {
        steady(recorded).saturating_sub(self.margin) + self.settle
    }

    /// Time after the death of a process by which its last call has taken effect. A call sent just
    /// before the death may be under way for as long as its caller would have waited.
    pub(super) fn settled_after_death(&self, provider_timeout: Duration) -> Duration {
        provider_timeout + self.settle
    }

    /// Deadline of a single request to the API server.
    pub(super) fn request(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// Silence of the watch after which a follower reads the Lease from the API server.
    pub(super) fn silence(&self) -> Duration {
        self.retry_period * 2
    }
}

/// A time on our clock within which no more than `span` passes on another clock.
fn steady(span: Duration) -> Duration {
    span - span / 20
}
