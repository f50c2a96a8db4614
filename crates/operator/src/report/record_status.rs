//! What the statuses of both kinds say of DNS.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::model::{Family, Held};
use pontoon_core::record_verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::Outlook;

use super::status::{Conditions, is_anothers};
use crate::api::{CONDITION_DNS, DnsRecordStatus, NodeDNSRecordSetStatus};
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
    let message = verdict.to_string();
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
            let (reason, message) = (verdict.word(), verdict.to_string());
            Some(set.condition(CONDITION_DNS, ready(verdict), reason, &message))
        }
        None => set.before.iter().find(|one| one.type_ == CONDITION_DNS).cloned(),
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
    match verdict.outlook() {
        Outlook::Well => "True",
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
