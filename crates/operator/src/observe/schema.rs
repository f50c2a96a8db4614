//! The definitions of our kinds: whether they exist, and whether they can hold our status. A
//! predecessor's definition would silently prune our conditions.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use pontoon_core::model::{Finding, Kind};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Observation, Selection, Watch};
use crate::fronts::kinds;

/// The command that updates the definitions.
pub const UPGRADE: &str = "pontoon crds | kubectl apply --server-side --force-conflicts -f -";

/// State of a kind's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The definition does not exist.
    Missing,
    /// A predecessor's definition, without conditions.
    Old,
    /// A definition with conditions.
    Current,
}

impl Schema {
    /// The finding on objects of an old definition.
    pub fn finding() -> Finding {
        let message = format!(
            "observing only: the definition of this kind is a predecessor's and has no \
             status.conditions; upgrade it with: {UPGRADE}"
        );
        Finding { reason: "OldDefinition", message: message.into() }
    }

    fn of(definition: &DefinitionView) -> Self {
        let served = definition.spec.versions.iter().filter(|version| version.served);
        let schemas = served.filter_map(|version| version.schema.as_ref());
        let mut roots = schemas.filter_map(|schema| schema.open_api_v3_schema.as_ref());
        let conditions = |root: &Part<Root>| {
            let status = root.properties.as_ref()?.status.as_ref()?;
            status.properties.as_ref()?.conditions.as_ref().map(drop)
        };
        if roots.any(|root| conditions(root).is_some()) { Self::Current } else { Self::Old }
    }
}

/// The parts of a definition that determine its state. The rest of a schema is skipped while
/// decoding, because decoded schemas take many times the space of their text.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "CustomResourceDefinition")]
pub struct DefinitionView {
    /// The name.
    #[serde(default, deserialize_with = "super::pod::lean_metadata")]
    pub metadata: ObjectMeta,
    /// Versions and their schemas.
    #[serde(default)]
    pub spec: Spec,
    /// Whether the kind is served.
    #[serde(default)]
    pub status: Option<Status>,
}

/// The parts of a definition's spec that determine its state.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    versions: Vec<Version>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    served: bool,
    schema: Option<Schemas>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Schemas {
    #[serde(rename = "openAPIV3Schema")]
    open_api_v3_schema: Option<Part<Root>>,
}

/// A part of a schema, with the needed properties.
#[derive(Clone, Debug, Deserialize)]
struct Part<P> {
    properties: Option<P>,
}

#[derive(Clone, Debug, Deserialize)]
struct Root {
    status: Option<Part<StatusFields>>,
}

#[derive(Clone, Debug, Deserialize)]
struct StatusFields {
    conditions: Option<IgnoredAny>,
}

/// The parts of a definition's status that determine its state.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    conditions: Option<Vec<DefinitionCondition>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

/// Watches the definition of a kind by its name. No right to read other definitions is needed.
#[derive(Debug)]
pub struct Definition {
    kind: &'static Kind,
    /// Name of the watch, for people.
    name: &'static str,
    seen: bool,
}

impl Definition {
    /// A watch for each of our kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
            kinds().map(|kind| format!("CustomResourceDefinition of {kind}")).collect()
        });
        kinds().zip(&*NAMES).map(|(kind, name)| Self { kind, name, seen: false })
    }

    /// Selects the definition by its name.
    pub fn selection(&self) -> Selection {
        let fields = Some(format!("metadata.name={}", self.kind.definition()));
        Selection { fields, labels: None }
    }

    /// Whether the server returned the requested definition.
    fn is_it(&self, definition: &DefinitionView) -> bool {
        definition.metadata.name.as_deref() == Some(&self.kind.definition())
    }
}

impl Watch for Definition {
    type Object = DefinitionView;

    fn name(&self) -> &str {
        self.name
    }

    fn restart(&mut self) {
        self.seen = false;
    }

    fn seen(&mut self, definition: DefinitionView) -> Option<Observation> {
        let conditions = definition.status.iter().flat_map(|status| &status.conditions).flatten();
        let established =
            conditions.into_iter().any(|one| one.type_ == "Established" && one.status == "True");
        if !established || !self.is_it(&definition) {
            return None;
        }
        self.seen = true;
        Some(Observation::Schema(self.kind, Schema::of(&definition)))
    }

    fn gone(&mut self, definition: DefinitionView) -> Option<Observation> {
        self.is_it(&definition).then_some(Observation::Schema(self.kind, Schema::Missing))
    }

    fn listed(&mut self) -> Option<Observation> {
        (!self.seen).then_some(Observation::Schema(self.kind, Schema::Missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(definition: &CustomResourceDefinition) -> Vec<Observation> {
        let text = serde_json::to_string(definition).unwrap();
        let decode = || serde_json::from_str::<DefinitionView>(&text).unwrap();
        Definition::all().filter_map(|mut one| one.seen(decode())).collect()
    }

    #[test]
    fn each_of_our_definitions_is_found_by_its_name_and_has_what_we_need() {
        for definition in crate::fronts::crds() {
            let mut served = serde_json::to_value(definition).unwrap();
            let conditions = serde_json::json!([{
                "type": "Established", "status": "True", "reason": "x", "message": "",
                "lastTransitionTime": "2026-11-15T03:35:57Z",
            }]);
            served["status"] = serde_json::json!({
                "conditions": conditions, "storedVersions": [],
                "acceptedNames": {"kind": "x", "plural": "x"},
            });
            let served: CustomResourceDefinition = serde_json::from_value(served).unwrap();
            let kind = served.spec.names.kind.clone();
            let seen = seen(&served);
            assert!(
                matches!(&seen[..], [Observation::Schema(of, Schema::Current)] if of.name == kind),
                "{seen:?}"
            );
        }
    }
}
