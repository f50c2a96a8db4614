//! Signs of life of whoever holds a Lease, judged by change, on our own clock. Times that other
//! machines write into a Lease are never compared with it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::record;
use super::rivalry::{PREDECESSORS_LEASE, US};

/// A Lease without a duration is judged by what client-go takes for one.
const USUAL: Duration = Duration::from_secs(15);

/// A Lease that is not renewed keeps nobody waiting for longer, whatever it says of itself.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pulse {
    spec: Option<LeaseSpec>,
    /// The Lease changed before our eyes since it was last quiet.
    renewed: bool,
    alive_until: Duration,
}

impl Pulse {
    /// `lease` was seen at `now`, after `before`.
    pub fn felt(before: Option<&Self>, lease: &Lease, now: Duration) -> Self {
        // A label is no sign of life.
        let news = before.is_none_or(|before| before.spec != lease.spec);
        let until = now + record::duration(lease).unwrap_or(USUAL).min(LONGEST);
        let (renewed, alive_until) = match before {
            _ if is_free(lease) => (false, Duration::ZERO),
            Some(before) if !news => (before.renewed, before.alive_until),
            Some(_) => (true, until),
            None => (false, until),
        };
        Self { spec: lease.spec.clone(), renewed, alive_until }
    }

    /// Whether the holder may be alive.
    pub fn may_live(&self, now: Duration) -> bool {
        now < self.alive_until
    }

    /// Whether the holder was seen to be alive, and is not quiet yet.
    pub fn lives(&self, now: Duration) -> bool {
        self.renewed && self.may_live(now)
    }

    /// When the holder counts as gone unless the Lease changes.
    pub fn alive_until(&self) -> Duration {
        self.alive_until
    }
}

/// Whether nobody else holds it. Of those of us that hold a predecessor's Lease, our own Lease
/// says who acts.
fn is_free(lease: &Lease) -> bool {
    let theirs = lease.metadata.name.as_deref() == Some(PREDECESSORS_LEASE);
    record::holder(lease).is_none_or(|holder| theirs && holder.starts_with(US))
}
