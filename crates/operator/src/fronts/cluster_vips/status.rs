//! Our condition in the status of a Cluster, which has other writers too.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use pontoon_core::Time;
use pontoon_core::model::Subject;
use pontoon_core::verdict::{Outlook, Withheld};
use pontoon_core::vips::verdict::{VipReason, VipVerdict};
use serde_json::{Value, json};

use super::names::CONDITION;
use crate::fronts::conditions::{Conditions, restraint};
use crate::fronts::observed::{Face, Shared, Verdicts};
use crate::observe::schema::{Generation, Schema};

/// Writes our condition.
const MANAGER: &str = "pontoon-status";

/// Our condition, and where it is.
#[derive(Clone, Debug)]
pub(super) struct ClusterFace {
    /// The stored condition, if any.
    condition: Vec<Condition>,
    generation: Option<i64>,
    served: Option<&'static Generation>,
}

impl ClusterFace {
    pub fn new(metadata: &ObjectMeta, status: &Value, schema: Schema) -> Self {
        let (generation, served) = (metadata.generation, schema.generation());
        let mut face = Self { condition: Vec::new(), generation, served };
        face.condition = face.found_in(status);
        face
    }

    /// Our condition in a status.
    fn found_in(&self, status: &Value) -> Vec<Condition> {
        let Some(path) = self.served.and_then(|served| served.conditions) else {
            return Vec::new();
        };
        let list = path.iter().fold(status, |value, step| &value[*step]);
        let ours = list.as_array().into_iter().flatten().find(|one| one["type"] == CONDITION);
        ours.and_then(|one| serde_json::from_value(one.clone()).ok()).into_iter().collect()
    }

    /// A status with our condition and nothing else.
    fn status(&self, condition: &[Condition]) -> Option<Value> {
        let path = self.served?.conditions?;
        if condition.is_empty() {
            return Some(json!({}));
        }
        let list = serde_json::to_value(condition).ok()?;
        Some(path.iter().rev().fold(list, |value, step| json!({ *step: value })))
    }
}

impl Face for ClusterFace {
    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<Value> {
        let verdict = verdicts.vips.filter(|verdict| !verdict.reason.is_silent())?;
        let set = Conditions { before: &self.condition, generation: self.generation, now };
        let (reason, message) = (verdict.word(), verdict.to_string());
        self.status(&[set.condition(CONDITION, ready(verdict), reason, &message)])
    }

    fn stored(&self) -> Value {
        self.status(&self.condition).unwrap_or_else(|| json!({}))
    }

    fn store(&mut self, status: Value) {
        self.condition = self.found_in(&status);
    }

    fn conditions(&self) -> &[Condition] {
        &self.condition
    }

    fn said(&self, subject: Subject) -> Option<&'static str> {
        let said = self.condition.first().filter(|_| subject == Subject::Vips)?;
        VipReason::LASTING
            .into_iter()
            .find(|word| *word == said.reason)
            .or_else(|| restraint(&said.reason))
    }

    fn warning(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    fn shared(&self) -> Option<Shared> {
        self.served.map(|served| Shared { version: served.version, manager: MANAGER })
    }
}

fn ready(verdict: &VipVerdict) -> &'static str {
    match verdict.outlook() {
        Outlook::Well if verdict.withheld.as_ref().is_some_and(Withheld::is_unsure) => "Unknown",
        Outlook::Well => "True",
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => "False",
    }
}
