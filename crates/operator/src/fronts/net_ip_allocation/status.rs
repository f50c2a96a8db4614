//! The status of an allocation, as a function of its verdict and its stored status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use pontoon_core::Time;
use pontoon_core::addresses::verdict::{Evicting, Reason, Verdict};
use pontoon_core::model::Subject;

use super::types::NetIPAllocationStatus;
use crate::api::CONDITION_READY;
use crate::fronts::address_status::{self, IpState};
use crate::fronts::conditions::{Conditions, is_anothers, micro_time, restraint, said};
use crate::fronts::observed::{StatusOf, Verdicts};
use crate::observe::schema::Schema;

/// Pods are being evicted from nodes without an address.
const CONDITION_EVICTING: &str = "Evicting";

/// The status of an allocation, and what it depends on beside the verdict.
#[derive(Clone, Debug)]
pub struct AllocationFace {
    /// The stored status.
    pub status: NetIPAllocationStatus,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The provider in the spec.
    pub provider: String,
    /// Whether the spec names its workload in the deprecated way.
    pub deprecated: bool,
    /// State of the stored definition.
    pub schema: Schema,
}

impl AllocationFace {
    /// The face of an object with known metadata only.
    pub fn bare(metadata: &ObjectMeta, schema: Schema) -> Self {
        Self {
            status: NetIPAllocationStatus::default(),
            generation: metadata.generation,
            provider: String::new(),
            deprecated: false,
            schema,
        }
    }
}

impl StatusOf for AllocationFace {
    type Status = NetIPAllocationStatus;

    fn status(&self) -> &NetIPAllocationStatus {
        &self.status
    }

    fn status_mut(&mut self) -> &mut NetIPAllocationStatus {
        &mut self.status
    }

    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<NetIPAllocationStatus> {
        let verdict = verdicts.addresses.filter(|verdict| verdict.reason != Reason::Reading)?;
        // The predecessor's definition has no status: nothing of it would be stored.
        (self.schema != Schema::Old).then(|| allocation(self, verdict, now))
    }

    fn conditions(&self) -> &[Condition] {
        &self.status.conditions
    }

    fn said(&self, subject: Subject) -> Option<&'static str> {
        let said = said(&self.status.conditions, CONDITION_READY)?;
        match subject {
            Subject::Addresses if said == Reason::AllAssigned.word() => {
                Some(Reason::AllAssigned.word())
            }
            Subject::Addresses => restraint(said),
            Subject::Records | Subject::Vips => None,
        }
    }

    fn warning(&self) -> Option<(&'static str, &'static str)> {
        let old = "spec.deploymentRef is deprecated: name the Deployment in spec.workloadRef, with \
                   kind: Deployment";
        self.deprecated.then_some(("DeprecatedField", old))
    }
}

fn allocation(face: &AllocationFace, verdict: &Verdict, now: Time) -> NetIPAllocationStatus {
    let before = &face.status;
    let conditions = conditions(face, verdict, now);
    if is_anothers(verdict.withheld.as_ref()) {
        return NetIPAllocationStatus { conditions, ..before.clone() };
    }
    let ips = match &verdict.reason {
        // An object that cannot be planned keeps the last known state of its addresses.
        Reason::Invalid(_) | Reason::NoAccount(_) => before.ips.clone(),
        _ => address_status::since(
            address_status::of_all(&face.provider, &before.ips, verdict),
            &before.ips,
            now,
        ),
    };
    let attached = ips.values().filter(|one| one.state == IpState::Active.as_str()).count();
    let unusable = verdict.unusable.iter();
    NetIPAllocationStatus {
        conditions,
        observed_generation: face.generation,
        attached: match verdict.withheld.is_some() && before.attached.is_empty() {
            // Set only by an acting replica, so that addresses that were merely seen are never
            // unassigned later.
            true => String::new(),
            false => format!("{attached}/{}", verdict.wanted),
        },
        ips,
        last_assignment_time: verdict.last_assignment.and_then(micro_time),
        unusable_nodes: unusable.map(|(node, why)| (node.to_string(), why.to_string())).collect(),
    }
}

fn conditions(face: &AllocationFace, verdict: &Verdict, now: Time) -> Vec<Condition> {
    let set = Conditions { before: &face.status.conditions, generation: face.generation, now };
    let ready = match verdict.is_ready() {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let (reason, message) = (verdict.word(), verdict.to_string());
    let mut conditions = set.three(ready, verdict.outlook(), reason, &message);
    conditions.extend(evicting(&set, &verdict.evicting));
    conditions
}

/// The evictions from nodes without an address; absent without evictions.
fn evicting(set: &Conditions<'_>, evicting: &[Evicting]) -> Option<Condition> {
    let first = evicting.first()?;
    let pods: usize = evicting.iter().map(|one| one.pods).sum();
    let nodes: Vec<_> = evicting.iter().map(|one| one.node.to_string()).collect();
    let refused = evicting.iter().find_map(|one| one.failure.as_ref());
    let noun = if pods == 1 { "pod" } else { "pods" };
    let mut message = format!("{pods} {noun} to be evicted from {}", nodes.join(", "));
    let reason = match refused {
        Some(failure) => {
            message = format!("{message}; {failure}");
            "EvictionRefused"
        }
        None => "AddressLeft",
    };
    (first.pods > 0).then(|| set.condition(CONDITION_EVICTING, "True", reason, &message))
}
