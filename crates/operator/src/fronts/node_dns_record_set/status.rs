//! The status of a record set, as a function of its verdict and its stored status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::model::Subject;
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::Outlook;

use super::types::NodeDNSRecordSetStatus;
use crate::api::CONDITION_READY;
use crate::fronts::conditions::{Conditions, is_anothers};
use crate::fronts::dns_record::{ready, remarked, said, status_of};
use crate::fronts::observed::{StatusOf, Verdicts};
use crate::observe::schema::Schema;

/// The status of a record set, and what it depends on beside the verdict.
#[derive(Clone, Debug)]
pub struct RecordSetFace {
    /// The stored status.
    pub status: NodeDNSRecordSetStatus,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// A remark on the record's name.
    pub remark: Option<String>,
    /// State of the stored definition.
    pub schema: Schema,
}

impl StatusOf for RecordSetFace {
    type Status = NodeDNSRecordSetStatus;

    fn status(&self) -> &NodeDNSRecordSetStatus {
        &self.status
    }

    fn status_mut(&mut self) -> &mut NodeDNSRecordSetStatus {
        &mut self.status
    }

    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<NodeDNSRecordSetStatus> {
        let verdict = verdicts.records.filter(|one| one.reason != RecordReason::Reading)?;
        Some(record_set(self, verdict, now))
    }

    fn conditions(&self) -> &[Condition] {
        &self.status.conditions
    }

    fn said(&self, subject: Subject) -> Option<&'static str> {
        match subject {
            Subject::Addresses | Subject::Vips => None,
            Subject::Records => said(&self.status.conditions, CONDITION_READY),
        }
    }
}

fn record_set(face: &RecordSetFace, verdict: &RecordVerdict, now: Time) -> NodeDNSRecordSetStatus {
    let before = &face.status;
    let message = remarked(verdict, face.remark.as_deref());
    if face.schema == Schema::Old {
        // The API server would prune every other field, and the write would repeat for ever.
        let error = match is_anothers(verdict.withheld.as_ref()) {
            true => before.error.clone(),
            false => message,
        };
        return NodeDNSRecordSetStatus { error, ..before.clone() };
    }
    let set = Conditions { before: &before.conditions, generation: face.generation, now };
    let (outlook, reason) = (verdict.outlook(), verdict.word());
    if is_anothers(verdict.withheld.as_ref()) {
        let conditions = set.three(ready(verdict), outlook, reason, &message);
        return NodeDNSRecordSetStatus { conditions, ..before.clone() };
    }
    NodeDNSRecordSetStatus {
        conditions: set.three(ready(verdict), outlook, reason, &message),
        observed_generation: face.generation,
        state: state(outlook).to_owned(),
        error: if is_wrong(&verdict.reason) { message } else { String::new() },
        dns_record: status_of(verdict.held.as_ref()),
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
