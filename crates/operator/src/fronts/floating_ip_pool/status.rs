//! The status of a pool, as a function of its verdict and its stored status.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time as KubeTime};
use pontoon_core::Time;
use pontoon_core::addresses::verdict::{AddressVerdict, Obstacle, Reason, State, Verdict};
use pontoon_core::model::{MachineId, NodeName};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::verdict::{Outlook, Withheld};
use pontoon_providers::VENDORS;

use super::record_status::{self, Bearing};
use crate::api::{
    CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, DNS_NOT_READY, DriftStatus,
    FloatingIPPoolStatus, IpState, IpStatus,
};
use crate::fronts::floating_ip_pool::ObservedPool;
use crate::observe::schema::Schema;

/// The wanted status of a pool.
pub fn pool(
    observed: &ObservedPool,
    verdict: &Verdict,
    records: Option<&RecordVerdict>,
    now: Time,
) -> FloatingIPPoolStatus {
    let before = &observed.status;
    if observed.schema == Schema::Old {
        // The API server would prune every other field, and the write would repeat for ever.
        let error = match is_anothers(verdict.withheld.as_ref()) {
            true => before.error.clone(),
            false => verdict.to_string(),
        };
        return FloatingIPPoolStatus { error, ..before.clone() };
    }
    if is_anothers(verdict.withheld.as_ref()) {
        let conditions = conditions(observed, verdict, records, now);
        return FloatingIPPoolStatus { conditions, ..before.clone() };
    }
    let ips: BTreeMap<_, _> = match &verdict.reason {
        // An object that cannot be planned keeps the last known state of its addresses.
        Reason::Invalid(_) | Reason::NoAccount(_) => before.ips.clone(),
        _ => verdict.addresses.iter().filter_map(|one| address(observed, one)).collect(),
    };
    let active = ips.values().filter(|one| one.state == IpState::Active.as_str()).count();
    let mut assignable: Vec<_> = verdict.available.iter().map(ToString::to_string).collect();
    assignable.sort();
    FloatingIPPoolStatus {
        conditions: conditions(observed, verdict, records, now),
        observed_generation: observed.generation,
        assigned: match verdict.withheld.is_some() && before.assigned.is_empty() {
            // `assigned` is set only by an acting replica. The field stays empty in observe mode,
            // so that addresses that were merely seen are never unassigned later.
            true => String::new(),
            false => format!("{active}/{}", verdict.wanted),
        },
        dns_record: record_status::of_pool(observed, records),
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

/// Whether a predecessor owns the status, or may own the status. A working predecessor writes its
/// own fields, so writing them as well would start a fight.
pub(super) fn is_anothers(withheld: Option<&Withheld>) -> bool {
    withheld.is_some_and(|withheld| withheld.by.is_for_another())
}

/// The status of an address. An unknown address keeps its stored status.
fn address(observed: &ObservedPool, one: &AddressVerdict) -> Option<(String, IpStatus)> {
    let ip = one.ip.to_string();
    let state = match one.state {
        State::Active => IpState::Active,
        State::InProgress => IpState::InProgress,
        State::Error => IpState::Error,
        State::NoMatch => IpState::NoMatch,
        State::Unassigned => IpState::Unassigned,
        State::Disabled | State::Leaving => IpState::Disabled,
        State::Unknown => {
            let said = observed.status.ips.get(&ip).cloned();
            return said.map(|said| (ip, said));
        }
    };
    let machine = one.machine.as_ref();
    let provider = |id: &MachineId| provider_id(&observed.provider, id);
    // `error` is for errors alone, because the predecessor's consumers alert on it.
    let note = one.note.as_ref().map(ToString::to_string).unwrap_or_default();
    let (error, message) = match state {
        IpState::Error => (note, String::new()),
        _ => (String::new(), note),
    };
    let status = IpStatus {
        state: state.to_string(),
        node_name: one.node.as_ref().map(ToString::to_string).unwrap_or_default(),
        provider_id: machine.map(provider).unwrap_or_default(),
        error,
        message,
        last_assignment_time: one.memory.assigned_at.and_then(micro_time),
        ineligible_since: one.memory.ineligible_since.and_then(micro_time),
        drift: one.memory.drift.as_ref().map(|drift| DriftStatus {
            times: drift.times,
            last_found_time: micro_time(drift.at),
            from: drift.from.as_ref().map(provider).unwrap_or_default(),
        }),
    };
    Some((ip, status))
}

/// A machine in the form of `spec.providerID`.
pub fn provider_id(provider: &str, machine: &MachineId) -> String {
    let vendor = VENDORS.iter().find(|vendor| vendor.name == provider);
    let id = pontoon_providers::MachineId(machine.to_string());
    vendor.map(|vendor| (vendor.provider_id)(&id)).unwrap_or_default()
}

fn conditions(
    observed: &ObservedPool,
    verdict: &Verdict,
    records: Option<&RecordVerdict>,
    now: Time,
) -> Vec<Condition> {
    let (outlook, reason, message) = (verdict.outlook(), verdict.word(), verdict.to_string());
    let set =
        Conditions { before: &observed.status.conditions, generation: observed.generation, now };
    let ready = match verdict.is_ready() {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let dns = record_status::condition(observed, records, &set);
    let bearing = record_status::bearing(observed, records, dns.as_ref(), now);
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

/// Builds conditions, based on the stored conditions.
pub(super) struct Conditions<'a> {
    pub before: &'a [Condition],
    pub generation: Option<i64>,
    pub now: Time,
}

impl Conditions<'_> {
    /// `Ready`, `Reconciling` and `Stalled`, for `kubectl wait`, Flux and Argo CD.
    pub fn three(
        &self,
        ready: &str,
        outlook: Outlook,
        reason: &str,
        message: &str,
    ) -> Vec<Condition> {
        let when = |holds: bool| if holds { "True" } else { "False" };
        let (working, stuck) = (outlook == Outlook::Working, outlook == Outlook::Stuck);
        vec![
            self.condition(CONDITION_READY, ready, reason, message),
            self.condition(CONDITION_RECONCILING, when(working), reason, message),
            self.condition(CONDITION_STALLED, when(stuck), reason, message),
        ]
    }

    /// A condition with a transition time that changes only with its status.
    pub fn condition(&self, type_: &str, status: &str, reason: &str, message: &str) -> Condition {
        let same = self.before.iter().find(|one| one.type_ == type_ && one.status == status);
        let now = KubeTime(timestamp(self.now).unwrap_or_default());
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.generation,
            last_transition_time: same.map_or(now, |one| one.last_transition_time.clone()),
        }
    }
}

/// A time in the form of a status.
pub fn micro_time(time: Time) -> Option<MicroTime> {
    timestamp(time).map(MicroTime)
}

/// A time in the form of conditions and events.
pub(super) fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::from_microsecond(time.as_micros()).ok()
}
