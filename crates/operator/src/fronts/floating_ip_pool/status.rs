//! The status of a pool, as a function of its verdict and its stored status.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::addresses::verdict::{AddressVerdict, Obstacle, Reason, State, Verdict};
use pontoon_core::model::{MachineId, NodeName, Subject};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::verdict::Outlook;
use pontoon_providers::address_vendors;

use super::types::{DriftStatus, FloatingIPPoolStatus, IpState, IpStatus};
use crate::api::{
    CONDITION_DNS, CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, DNS_NOT_READY,
};
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
    let ips: BTreeMap<_, _> = match &verdict.reason {
        // An object that cannot be planned keeps the last known state of its addresses.
        Reason::Invalid(_) | Reason::NoAccount(_) => before.ips.clone(),
        _ => verdict.addresses.iter().filter_map(|one| address(face, one)).collect(),
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

/// The status of an address. An unknown address keeps its stored status.
fn address(face: &PoolFace, one: &AddressVerdict) -> Option<(String, IpStatus)> {
    let ip = one.ip.to_string();
    let state = match one.state {
        State::Active => IpState::Active,
        State::InProgress => IpState::InProgress,
        State::Error => IpState::Error,
        State::NoMatch => IpState::NoMatch,
        State::Unassigned => IpState::Unassigned,
        State::Disabled | State::Leaving => IpState::Disabled,
        State::Unknown => {
            let said = face.status.ips.get(&ip).cloned();
            return said.map(|said| (ip, said));
        }
    };
    // `error` is for errors alone, because the predecessor's consumers alert on it.
    let note = one.note.as_ref().map(ToString::to_string).unwrap_or_default();
    let (error, message) = match state {
        IpState::Error => (note, String::new()),
        _ => (String::new(), note),
    };
    let status = IpStatus {
        state: state.to_string(),
        node_name: one.node.as_ref().map(ToString::to_string).unwrap_or_default(),
        provider_id: provider_id(&face.provider, one),
        error,
        message,
        last_assignment_time: one.memory.assigned_at.and_then(micro_time),
        ineligible_since: one.memory.ineligible_since.and_then(micro_time),
        drift: one.memory.drift.as_ref().map(|drift| DriftStatus {
            times: drift.times,
            last_found_time: micro_time(drift.at),
            from: drift.from.as_ref().map(|id| shown(&face.provider, id)).unwrap_or_default(),
        }),
    };
    Some((ip, status))
}

/// The provider ID of an address's node, or its machine in that form if no node names it: the
/// status is read back after a restart, and must name the machine then too.
pub fn provider_id(provider: &str, one: &AddressVerdict) -> String {
    let named = one.provider_id.as_ref().map(ToString::to_string);
    let machine = || one.machine.as_ref().map(|machine| shown(provider, machine));
    named.or_else(machine).unwrap_or_default()
}

/// A machine in the form of a provider ID.
fn shown(provider: &str, machine: &MachineId) -> String {
    let vendor = address_vendors().find(|(vendor, _)| vendor.name == provider);
    let id = pontoon_providers::MachineId(machine.to_string());
    vendor.map(|(_, machines)| (machines.shown)(&id)).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use pontoon_core::model::Remembered;

    use super::*;

    #[test]
    fn a_node_is_shown_as_it_names_itself_and_a_machine_without_one_as_the_provider_does() {
        let mut one = AddressVerdict {
            ip: [192, 0, 2, 1].into(),
            state: State::NoMatch,
            node: None,
            machine: Some("7".into()),
            provider_id: None,
            note: None,
            memory: Remembered::default(),
        };
        assert_eq!(provider_id("digitalocean", &one), "digitalocean://7");
        one.provider_id = Some("digitalocean://007".into());
        assert_eq!(provider_id("digitalocean", &one), "digitalocean://007");
        (one.provider_id, one.machine) = (None, None);
        assert_eq!(provider_id("digitalocean", &one), "");
    }
}
