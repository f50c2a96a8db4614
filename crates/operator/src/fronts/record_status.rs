//! DNS in the statuses of both kinds.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::model::{Family, Held};
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::{Outlook, Withheld};

use super::status::{Conditions, is_anothers};
use crate::api::{
    CONDITION_DNS, CONDITION_READY, CONDITION_STALLED, DNS_NOT_READY, DnsRecordStatus,
    NodeDNSRecordSetStatus,
};
use crate::fronts::floating_ip_pool::ObservedPool;
use crate::fronts::node_dns_record_set::ObservedRecordSet;
use crate::observe::schema::Schema;

/// The wanted status of a record set.
pub fn record_set(
    observed: &ObservedRecordSet,
    verdict: &RecordVerdict,
    now: Time,
) -> NodeDNSRecordSetStatus {
    let before = &observed.status;
    let message = remarked(verdict, observed.remark.as_deref());
    if observed.schema == Schema::Old {
        // The API server would prune every other field, and the write would repeat for ever.
        let error = match is_anothers(verdict.withheld.as_ref()) {
            true => before.error.clone(),
            false => message,
        };
        return NodeDNSRecordSetStatus { error, ..before.clone() };
    }
    let set = Conditions { before: &before.conditions, generation: observed.generation, now };
    let (outlook, reason) = (verdict.outlook(), verdict.word());
    if is_anothers(verdict.withheld.as_ref()) {
        let conditions = set.three(ready(verdict), outlook, reason, &message);
        return NodeDNSRecordSetStatus { conditions, ..before.clone() };
    }
    NodeDNSRecordSetStatus {
        conditions: set.three(ready(verdict), outlook, reason, &message),
        observed_generation: observed.generation,
        state: state(outlook).to_owned(),
        error: if is_wrong(&verdict.reason) { message } else { String::new() },
        dns_record: held(verdict.held.as_ref()),
    }
}

/// The DNS condition of a pool with a record. Before the first read, the stored condition stays.
pub(super) fn condition(
    observed: &ObservedPool,
    verdict: Option<&RecordVerdict>,
    set: &Conditions<'_>,
) -> Option<Condition> {
    observed.records.as_ref()?;
    match verdict.filter(|verdict| verdict.reason != RecordReason::Reading) {
        Some(verdict) => {
            let reason = verdict.word();
            let message = remarked(verdict, observed.remark.as_deref());
            Some(set.condition(CONDITION_DNS, ready(verdict), reason, &message))
        }
        None => set.before.iter().find(|one| one.type_ == CONDITION_DNS).cloned(),
    }
}

/// Effect of a pool's record on its `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearing {
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
pub(super) fn bearing(
    observed: &ObservedPool,
    verdict: Option<&RecordVerdict>,
    dns: Option<&Condition>,
    now: Time,
) -> Bearing {
    let Some(dns) = dns else { return Bearing::None };
    let Some(verdict) = verdict.filter(|verdict| verdict.reason != RecordReason::Reading) else {
        return said_before(&observed.status.conditions);
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
fn remarked(verdict: &RecordVerdict, remark: Option<&str>) -> String {
    match remark {
        Some(remark) => format!("{verdict}; {remark}"),
        None => verdict.to_string(),
    }
}

/// The record of a pool, for its status.
pub(super) fn of_pool(
    observed: &ObservedPool,
    verdict: Option<&RecordVerdict>,
) -> Option<DnsRecordStatus> {
    observed.records.as_ref()?;
    match verdict {
        Some(verdict) => held(verdict.held.as_ref()),
        None => observed.status.dns_record.clone(),
    }
}

fn ready(verdict: &RecordVerdict) -> &'static str {
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

/// The predecessor's word for the state.
fn state(outlook: Outlook) -> &'static str {
    match outlook {
        Outlook::Well => "active",
        Outlook::Working | Outlook::Waiting => "in-progress",
        Outlook::Stuck => "error",
    }
}

fn is_wrong(reason: &RecordReason) -> bool {
    let failed = matches!(reason, RecordReason::Failed(..) | RecordReason::Throttled(_));
    failed || reason.outlook() == Outlook::Stuck
}

fn held(held: Option<&Held>) -> Option<DnsRecordStatus> {
    let Held { site, families } = held?;
    let kind = |family: &Family| match family {
        Family::V4 => "A".to_owned(),
        Family::V6 => "AAAA".to_owned(),
    };
    Some(DnsRecordStatus {
        provider: site.account.to_string(),
        zone: site.zone.to_string(),
        name: site.name.to_string(),
        types: families.iter().map(kind).collect(),
    })
}
