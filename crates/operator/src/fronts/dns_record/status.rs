//! Records in the statuses of objects.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::model::{Family, Held};
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::{Outlook, Withheld};

use super::types::DnsRecordStatus;
use crate::api::{CONDITION_DNS, CONDITION_READY, CONDITION_STALLED, DNS_NOT_READY};
use crate::fronts::conditions::{self, Conditions};

/// The condition of a record. Before the first read, the stored condition stays.
pub(in crate::fronts) fn condition(
    verdict: Option<&RecordVerdict>,
    remark: Option<&str>,
    set: &Conditions<'_>,
) -> Option<Condition> {
    match verdict.filter(|verdict| verdict.reason != RecordReason::Reading) {
        Some(verdict) => {
            let (reason, message) = (verdict.word(), remarked(verdict, remark));
            Some(set.condition(CONDITION_DNS, ready(verdict), reason, &message))
        }
        None => set.before.iter().find(|one| one.type_ == CONDITION_DNS).cloned(),
    }
}

/// The reason in the stored status, which a new leader does not report again.
pub(in crate::fronts) fn said(conditions: &[Condition], type_: &str) -> Option<&'static str> {
    let said = conditions::said(conditions, type_)?;
    let current = RecordReason::Current.word();
    if said == current { Some(current) } else { conditions::restraint(said) }
}

/// Effect of a pool's record on its `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fronts) enum Bearing {
    /// No effect: the record is fine, unknown, or waits for the addresses.
    None,
    /// The record is being changed.
    Working,
    /// The record has failed for long, and is retried.
    Failing,
    /// The record stays wrong until a person acts.
    Stuck,
}

/// How long a record may fail before its pool is not ready. A short DNS failure does not concern
/// the addresses.
const LASTING: Duration = Duration::from_secs(300);

/// The effect of a pool's record, with the condition `dns`, on the pool's `Ready`.
pub(in crate::fronts) fn bearing(
    before: &[Condition],
    verdict: Option<&RecordVerdict>,
    dns: Option<&Condition>,
    now: Time,
) -> Bearing {
    let Some(dns) = dns else { return Bearing::None };
    let Some(verdict) = verdict.filter(|verdict| verdict.reason != RecordReason::Reading) else {
        return said_before(before);
    };
    let since = Time::from_micros(dns.last_transition_time.0.as_microsecond());
    let lasts = dns.status == "False" && now.since(since) >= LASTING;
    match (verdict.outlook(), &verdict.reason) {
        (Outlook::Stuck, _) => Bearing::Stuck,
        (Outlook::Working, RecordReason::Failed(..)) if lasts => Bearing::Failing,
        (Outlook::Working, _) => Bearing::Working,
        (Outlook::Well | Outlook::Waiting, _) => Bearing::None,
    }
}

/// The effect according to the stored conditions. Before the first read nothing changes, so that a
/// restart writes nothing.
fn said_before(conditions: &[Condition]) -> Bearing {
    let of = |type_: &str| conditions.iter().find(|one| one.type_ == type_);
    if of(CONDITION_READY).is_none_or(|ready| ready.reason != DNS_NOT_READY) {
        return Bearing::None;
    }
    match of(CONDITION_STALLED).is_some_and(|stalled| stalled.status == "True") {
        true => Bearing::Stuck,
        false => Bearing::Failing,
    }
}

/// The verdict's message, followed by the remark on the name.
pub(in crate::fronts) fn remarked(verdict: &RecordVerdict, remark: Option<&str>) -> String {
    match remark {
        Some(remark) => format!("{verdict}; {remark}"),
        None => verdict.to_string(),
    }
}

/// The status of the condition of a record.
pub(in crate::fronts) fn ready(verdict: &RecordVerdict) -> &'static str {
    let unsure = verdict.withheld.as_ref().is_some_and(Withheld::is_unsure);
    match verdict.outlook() {
        Outlook::Well if unsure => "Unknown",
        Outlook::Well => "True",
        // A failed call makes the condition `False`, even before the first read.
        Outlook::Working if matches!(verdict.reason, RecordReason::Failed(..)) => "False",
        Outlook::Working if verdict.listed.is_none() => "Unknown",
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => "False",
    }
}

/// The records that an object has, for its status.
pub(in crate::fronts) fn status_of(held: Option<&Held>) -> Option<DnsRecordStatus> {
    let Held { site, families } = held?;
    let kind = |family: &Family| family.record_type().to_owned();
    Some(DnsRecordStatus {
        provider: site.account.to_string(),
        zone: site.zone.to_string(),
        name: site.name.to_string(),
        types: families.iter().map(kind).collect(),
    })
}
