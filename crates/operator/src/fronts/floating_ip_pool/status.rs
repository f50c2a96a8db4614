//! The status of a pool, as a function of its verdict and its stored status.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::addresses::verdict::{Obstacle, Reason, Verdict};
use pontoon_core::model::{NodeName, Subject};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::verdict::Outlook;

use super::types::FloatingIPPoolStatus;
use crate::api::{
    CONDITION_DNS, CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, DNS_NOT_READY,
};
use crate::fronts::address_status::{self, IpState};
use crate::fronts::conditions::{Conditions, is_anothers, micro_time, restraint, said};
use crate::fronts::dns_record::{self, Bearing, DnsRecordStatus};
use crate::fronts::observed::{StatusOf, Verdicts};
use crate::observe::schema::Schema;

/// The status of a pool, and what it depends on beside the verdicts.
#[derive(Clone, Debug)]
pub struct PoolFace {
    /// The stored status.
    pub status: FloatingIPPoolStatus,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The provider in the spec.
    pub provider: String,
    /// Whether the spec asks for a DNS record.
    pub has_record: bool,
    /// A remark on the record's name.
    pub remark: Option<String>,
    /// State of the stored definition.
    pub schema: Schema,
}

impl StatusOf for PoolFace {
    type Status = FloatingIPPoolStatus;

    fn status(&self) -> &FloatingIPPoolStatus {
        &self.status
    }

    fn status_mut(&mut self) -> &mut FloatingIPPoolStatus {
        &mut self.status
    }

    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<FloatingIPPoolStatus> {
        let verdict = verdicts.addresses.filter(|verdict| verdict.reason != Reason::Reading)?;
        Some(pool(self, verdict, verdicts.records, now))
    }

    fn conditions(&self) -> &[Condition] {
        &self.status.conditions
    }

    fn said(&self, subject: Subject) -> Option<&'static str> {
        match subject {
            Subject::Addresses => {
                let said = said(&self.status.conditions, CONDITION_READY)?;
                // The addresses are in place, in spite of the DNS record.
                let well = [Reason::AllAssigned.word(), DNS_NOT_READY].contains(&said);
                if well { Some(Reason::AllAssigned.word()) } else { restraint(said) }
            }
            Subject::Records => dns_record::said(&self.status.conditions, CONDITION_DNS),
            Subject::Vips => None,
        }
    }
}

fn pool(
    face: &PoolFace,
    verdict: &Verdict,
    records: Option<&RecordVerdict>,
    now: Time,
) -> FloatingIPPoolStatus {
    let before = &face.status;
    if face.schema == Schema::Old {
        // The API server would prune every other field, and the write would repeat for ever.
        let error = match is_anothers(verdict.withheld.as_ref()) {
            true => before.error.clone(),
            false => verdict.to_string(),
        };
        return FloatingIPPoolStatus { error, ..before.clone() };
    }
    if is_anothers(verdict.withheld.as_ref()) {
        let conditions = conditions(face, verdict, records, now);
        return FloatingIPPoolStatus { conditions, ..before.clone() };
    }
    let ips = match &verdict.reason {
        // An object that cannot be planned keeps the last known state of its addresses.
        Reason::Invalid(_) | Reason::NoAccount(_) => before.ips.clone(),
        _ => address_status::of_all(&face.provider, &before.ips, verdict),
    };
    let active = ips.values().filter(|one| one.state == IpState::Active.as_str()).count();
    let mut assignable: Vec<_> = verdict.available.iter().map(ToString::to_string).collect();
    assignable.sort();
    FloatingIPPoolStatus {
        conditions: conditions(face, verdict, records, now),
        observed_generation: face.generation,
        assigned: match verdict.withheld.is_some() && before.assigned.is_empty() {
            // `assigned` is set only by an acting replica. The field stays empty in observe mode,
            // so that addresses that were merely seen are never unassigned later.
            true => String::new(),
            false => format!("{active}/{}", verdict.wanted),
        },
        dns_record: dns_record(face, records),
        created_ips: verdict.created.iter().map(ToString::to_string).collect(),
        kept_ips: verdict.kept.iter().map(ToString::to_string).collect(),
        last_assignment_time: verdict.last_assignment.and_then(micro_time),
        // Free nodes are unknown while the holders of the addresses are unknown.
        assignable_nodes: if verdict.is_heard() {
            assignable
        } else {
            before.assignable_nodes.clone()
        },
        node_errors: verdict.unusable.iter().map(|(node, _)| node.to_string()).collect(),
        unusable_nodes: reasons(verdict),
        error: error(verdict),
        ips,
    }
}

/// The record of a pool. Before the first verdict, the stored record stays.
fn dns_record(face: &PoolFace, verdict: Option<&RecordVerdict>) -> Option<DnsRecordStatus> {
    match verdict.filter(|_| face.has_record) {
        Some(verdict) => dns_record::status_of(verdict.held.as_ref()),
        None => face.status.dns_record.clone().filter(|_| face.has_record),
    }
}

/// Why nodes cannot take an address.
fn reasons(verdict: &Verdict) -> BTreeMap<String, String> {
    let one = |(node, why): &(NodeName, Obstacle)| (node.to_string(), why.to_string());
    verdict.unusable.iter().map(one).collect()
}

/// The error of the pool as a whole. As in the predecessor, a failing reservation counts, because
/// the predecessor's consumers look here.
fn error(verdict: &Verdict) -> String {
    if verdict.outlook() == Outlook::Stuck {
        return verdict.to_string();
    }
    let failed = verdict.creation_error.as_ref();
    failed.map(|error| format!("reserving an address failed: {error}")).unwrap_or_default()
}

fn conditions(
    face: &PoolFace,
    verdict: &Verdict,
    records: Option<&RecordVerdict>,
    now: Time,
) -> Vec<Condition> {
    let (outlook, reason, message) = (verdict.outlook(), verdict.word(), verdict.to_string());
    let set = Conditions { before: &face.status.conditions, generation: face.generation, now };
    let ready = match verdict.is_ready() {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let remark = face.remark.as_deref();
    let dns = face.has_record.then(|| dns_record::condition(records, remark, &set)).flatten();
    let bearing = dns_record::bearing(&face.status.conditions, records, dns.as_ref(), now);
    let mut conditions = match (ready, bearing, &dns) {
        ("True", Bearing::Working, Some(dns)) => {
            // The addresses are in place, and the pool stays ready while DNS follows.
            vec![
                set.condition(CONDITION_READY, ready, reason, &message),
                set.condition(CONDITION_RECONCILING, "True", &dns.reason, &dns.message),
                set.condition(CONDITION_STALLED, "False", reason, &message),
            ]
        }
        ("True", Bearing::Failing | Bearing::Stuck, Some(dns)) => {
            let reason = verdict.withheld.as_ref().map_or(DNS_NOT_READY, |_| reason);
            let message = format!("{message}; DNS: {}", dns.message);
            let outlook = match bearing {
                Bearing::Stuck => Outlook::Stuck,
                _ => Outlook::Working,
            };
            set.three("False", outlook, reason, &message)
        }
        _ => set.three(ready, outlook, reason, &message),
    };
    conditions.extend(dns);
    conditions
}
