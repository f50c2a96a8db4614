//! Signs of life of a Lease's holder, judged by changes of the Lease on our own clock. Times that
//! other machines write into a Lease are never used.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::competition::US;
use super::{LEASE, lease_object};

/// Duration of a Lease without a duration: client-go's default.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// Longest duration that a Lease can claim for itself, unless the user says more.
pub(super) const LONGEST_DURATION: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pulse {
    sign: (Option<LeaseSpec>, Option<String>),
    /// Whether the Lease changed while watched, since it was last quiet.
    renewed: bool,
    alive_until: Duration,
}

impl Pulse {
    /// The pulse after a sighting of `lease` at `now`; `before` is the pulse before. The Lease can
    /// claim a duration of at most `longest`.
    pub fn felt(before: Option<&Self>, lease: &Lease, longest: Duration, now: Duration) -> Self {
        let sign = lease_object::sign_of_life(lease);
        let news = before.is_none_or(|before| before.sign != sign);
        let lasts = lease_object::duration(lease).unwrap_or(DEFAULT_DURATION);
        let until = now + lasts.min(longest);
        let (renewed, alive_until) = match before {
            _ if is_free(lease) => (false, Duration::ZERO),
            Some(before) if !news => (before.renewed, before.alive_until),
            Some(_) => (true, until),
            None => (false, until),
        };
        Self { sign, renewed, alive_until }
    }

    /// Whether the holder may be alive.
    pub fn may_live(&self, now: Duration) -> bool {
        now < self.alive_until
    }

    /// Whether a renewal was seen, and the duration since has not passed.
    pub fn lives(&self, now: Duration) -> bool {
        self.renewed && self.may_live(now)
    }

    /// Time at which the holder counts as gone unless the Lease changes.
    pub fn alive_until(&self) -> Duration {
        self.alive_until
    }
}

/// Whether no other controller holds the Lease. A predecessor's Lease held by a Pontoon counts as
/// free: our own Lease says which replica acts.
fn is_free(lease: &Lease) -> bool {
    let theirs = lease.metadata.name.as_deref() != Some(LEASE);
    lease_object::holder(lease).is_none_or(|holder| theirs && holder.starts_with(US))
}
