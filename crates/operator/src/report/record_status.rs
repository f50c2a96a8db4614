//! What the statuses of both kinds say of DNS.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::model::{Family, Held};
use pontoon_core::record_verdict::{RecordReason, RecordVerdict};
use pontoon_core::restraint::Withheld;
use pontoon_core::verdict::Outlook;

use super::status::{Conditions, is_anothers};
use crate::api::{
    CONDITION_DNS, CONDITION_READY, CONDITION_STALLED, DNS_NOT_READY, DnsRecordStatus,
    NodeDNSRecordSetStatus,
};
use crate::observe::pool::ObservedPool;
use crate::observe::record_set::ObservedRecordSet;
use crate::observe::schema::Schema;

/// The status that a record set should have.
pub fn record_set(
    observed: &ObservedRecordSet,
    verdict: &RecordVerdict,
    now: Time,
) -> NodeDNSRecordSetStatus {
    let before = &observed.status;
    let message = remarked(verdict, observed.remark.as_deref());
    if observed.schema == Schema::Old {
        // Whatever else we wrote would be pruned, and written again for ever.
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

/// The condition of a pool that asks for a record. What is not known yet is as it was said.
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

/// What a pool's record means for its `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearing {
    /// Nothing: it is as it should be, or not known, or a consequence of the addresses.
    None,
    /// It is being worked on.
    Working,
    /// It has been wrong for long, and is tried again.
    Failing,
    /// It is wrong until somebody acts.
    Stuck,
}

/// For so long a record may fail before its pool is not ready: a hiccup of DNS is none of the
/// addresses.
const LASTING: Duration = Duration::from_secs(300);

/// What a pool's record, of which `dns` is the condition, means for its `Ready`.
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

/// What is not known yet is as it was said: a restart writes nothing.
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

/// What a verdict says, and what there is to say of the name itself.
fn remarked(verdict: &RecordVerdict, remark: Option<&str>) -> String {
    match remark {
        Some(remark) => format!("{verdict}; {remark}"),
        None => verdict.to_string(),
    }
}

/// The record that a pool has.
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
        // What a host refused or failed at is known.
        Outlook::Working if matches!(verdict.reason, RecordReason::Failed(..)) => "False",
        Outlook::Working if verdict.listed.is_none() => "Unknown",
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => "False",
    }
}

/// As the predecessor names it.
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
