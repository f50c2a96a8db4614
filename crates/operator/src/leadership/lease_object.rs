//! Reading and writing of the Lease object, field by field as client-go does.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use pontoon_core::Time;

use crate::api::own;

/// The holder of the Lease; `None` if the field is empty or missing.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|name| !name.is_empty())
}

/// The part of a Lease that a renewal changes. Labels and annotations are no sign of life. Of a Lease
/// without a readable time of its renewal the version counts too, because the time may have changed.
pub(super) fn sign_of_life(lease: &Lease) -> (Option<LeaseSpec>, Option<String>) {
    let timed = lease.spec.as_ref().is_some_and(|spec| spec.renew_time.is_some());
    (lease.spec.clone(), lease.metadata.resource_version.clone().filter(|_| !timed))
}

/// Time for which the holder keeps other replicas out without renewing.
pub(super) fn duration(lease: &Lease) -> Option<Duration> {
    let seconds = lease.spec.as_ref()?.lease_duration_seconds?;
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// A Lease that does not exist yet, held by `identity`.
pub(super) fn fresh(name: &str, identity: &str, lasts: Duration, now: Time) -> Lease {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let spec = LeaseSpec { lease_transitions: Some(0), ..held(identity, lasts, now) };
    Lease { metadata, spec: Some(spec) }
}

/// `seen`, acquired or renewed by `identity`. UID and resourceVersion stay, so the server refuses
/// the write if the Lease has changed since.
pub(super) fn claimed(seen: &Lease, identity: &str, lasts: Duration, now: Time) -> Lease {
    let before = seen.spec.clone().unwrap_or_default();
    let renewal = holder(seen) == Some(identity);
    let spec =
        LeaseSpec {
            acquire_time: before.acquire_time.filter(|_| renewal).or_else(|| Some(micro_time(now))),
            lease_transitions: Some(
                before.lease_transitions.unwrap_or(0).saturating_add(if renewal { 0 } else { 1 }),
            ),
            strategy: before.strategy,
            preferred_holder: before.preferred_holder.filter(|_| renewal),
            ..held(identity, lasts, now)
        };
    let mut metadata = seen.metadata.clone();
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(SETTLE_ANNOTATION);
    }
    Lease { metadata, spec: Some(spec) }
}

/// On a Lease that was released while a call was not settled: the seconds that the successor waits
/// before changing anything at a provider.
const SETTLE_ANNOTATION: &str = own!("settle-seconds");

/// Time that the successor of a releasing holder must wait.
pub(super) fn settle(lease: &Lease) -> Option<Duration> {
    let seconds = lease.metadata.annotations.as_ref()?.get(SETTLE_ANNOTATION)?.parse().ok()?;
    // Any writer of the Lease can set the annotation, so the wait is limited to an hour.
    Some(Duration::from_secs(seconds).min(Duration::from_secs(3600)))
}

/// `seen`, released: any replica may take the Lease at once. `settle` is set if a call of ours
/// may take effect for this long, or reads may not show its effect.
pub(super) fn released(seen: &Lease, settle: Option<Duration>, now: Time) -> Lease {
    let before = seen.spec.clone().unwrap_or_default();
    let spec = LeaseSpec {
        lease_transitions: before.lease_transitions,
        strategy: before.strategy,
        ..held("", Duration::from_secs(1), now)
    };
    let mut metadata = seen.metadata.clone();
    if let Some(settle) = settle {
        let seconds = settle.as_secs() + u64::from(settle.subsec_nanos() > 0);
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(SETTLE_ANNOTATION.to_owned(), seconds.to_string());
    }
    Lease { metadata, spec: Some(spec) }
}

fn held(identity: &str, lasts: Duration, now: Time) -> LeaseSpec {
    let seconds = lasts.as_secs() + u64::from(lasts.subsec_nanos() > 0);
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
        acquire_time: Some(micro_time(now)),
        renew_time: Some(micro_time(now)),
        ..LeaseSpec::default()
    }
}

fn micro_time(time: Time) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(time.as_micros()).unwrap_or(Timestamp::UNIX_EPOCH))
}
