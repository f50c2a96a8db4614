//! The definitions of the kinds that we watch: whether they exist, which version is served, and
//! whether they can hold what we write. A predecessor's definition would silently prune our
//! conditions.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use pontoon_core::model::{Finding, Kind};
use serde::Deserialize;

use super::{Observation, Selection, Watch};

/// The command that updates the definitions.
pub const UPGRADE: &str = "pontoon crds | kubectl apply --server-side --force-conflicts -f -";

/// State of a kind's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The definition does not exist, or serves no version that we know.
    Missing,
    /// A predecessor's definition, without conditions.
    Old,
    /// A definition of ours, with conditions.
    Current,
    /// Another project's definition, with the version that we use.
    Theirs(&'static Generation),
}

/// A version of a kind that another project defines, and what its objects can hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Generation {
    /// The version.
    pub version: &'static str,
    /// Where the status has a list of conditions that several writers share, if anywhere.
    pub conditions: Option<Path>,
    /// Lists in which an entry can be written without the other entries.
    pub merged: &'static [Path],
}

/// The names of nested fields.
pub type Path = &'static [&'static str];

impl Generation {
    /// A version of which only reads, and writes of whole objects, are wanted.
    pub const fn plain(version: &'static str) -> Self {
        Self { version, conditions: None, merged: &[] }
    }

    /// Whether entries of a list can be written without the other entries.
    pub fn merges(&self, list: Path) -> bool {
        self.merged.contains(&list)
    }

    fn is_served_by(&self, definition: &DefinitionView) -> bool {
        let versions = definition.spec.versions.iter();
        let mut same = versions.filter(|one| one.served && one.name == self.version);
        let is_shared = |root: &Part, path: Path| root.at(path).is_some_and(Part::is_shared);
        same.any(|version| {
            let root = version.root();
            let has = |path: Path| root.is_some_and(|root| is_shared(root, path));
            let conditions = || {
                let status = root.and_then(|root| root.at(&["status"]));
                self.conditions.is_none_or(|path| status.is_some_and(|one| is_shared(one, path)))
            };
            self.merged.iter().all(|list| has(list)) && conditions()
        })
    }
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

    /// The version of a kind that another project defines.
    pub fn generation(self) -> Option<&'static Generation> {
        match self {
            Self::Theirs(generation) => Some(generation),
            Self::Missing | Self::Old | Self::Current => None,
        }
    }

    /// The state of a definition: another project's, if its versions are given.
    fn of(definition: &DefinitionView, theirs: &'static [Generation]) -> Self {
        if !theirs.is_empty() {
            let used = theirs.iter().find(|one| one.is_served_by(definition));
            return used.map_or(Self::Missing, Self::Theirs);
        }
        let served = definition.spec.versions.iter().filter(|version| version.served);
        let mut roots = served.filter_map(Version::root);
        match roots.any(|root| root.at(&["status", "conditions"]).is_some()) {
            true => Self::Current,
            false => Self::Old,
        }
    }
}

/// The states of all definitions.
#[derive(Clone, Debug, Default)]
pub struct Schemas(BTreeMap<&'static Kind, Schema>);

impl Schemas {
    /// Sets the state of a definition.
    pub fn set(&mut self, kind: &'static Kind, schema: Schema) {
        self.0.insert(kind, schema);
    }

    /// The state of a definition; `None` while unknown.
    pub fn get(&self, kind: &Kind) -> Option<Schema> {
        self.0.get(kind).copied()
    }

    /// The version in use of a kind that another project defines.
    pub fn generation(&self, kind: &Kind) -> Option<&'static Generation> {
        self.get(kind).and_then(Schema::generation)
    }
}

/// The parts of a definition that determine its state. The rest of a schema is skipped while
/// decoding, because decoded schemas take many times the space of their text.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "CustomResourceDefinition")]
pub struct DefinitionView {
    /// The name.
    #[serde(default, deserialize_with = "super::metadata::lean_metadata")]
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
    name: String,
    served: bool,
    schema: Option<Versioned>,
}

impl Version {
    fn root(&self) -> Option<&Part> {
        self.schema.as_ref()?.open_api_v3_schema.as_ref()
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Versioned {
    #[serde(rename = "openAPIV3Schema")]
    open_api_v3_schema: Option<Part>,
}

/// A part of a schema: the names of its fields, and how writers share a list.
#[derive(Clone, Debug, Deserialize)]
struct Part {
    #[serde(default)]
    properties: Option<BTreeMap<String, Part>>,
    #[serde(default, rename = "x-kubernetes-list-type")]
    list_type: Option<String>,
}

impl Part {
    fn at(&self, path: &[&str]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        self.properties.as_ref()?.get(*first)?.at(rest)
    }

    /// Whether each entry of a list has a writer of its own.
    fn is_shared(&self) -> bool {
        self.list_type.as_deref() == Some("map")
    }
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
    /// The versions that we know of another project's kind.
    theirs: &'static [Generation],
    /// Name of the watch, for people.
    name: String,
    seen: bool,
}

impl Definition {
    /// A watch for the definition of a kind; another project's, if its versions are given.
    pub fn of(kind: &'static Kind, theirs: &'static [Generation]) -> Self {
        Self { kind, theirs, name: format!("CustomResourceDefinition of {kind}"), seen: false }
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
        &self.name
    }

    fn is_optional(&self) -> bool {
        !self.theirs.is_empty()
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
        Some(Observation::Schema(self.kind, Schema::of(&definition, self.theirs)))
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
    use crate::fronts::FRONTS;

    fn seen(definition: &CustomResourceDefinition) -> Vec<Observation> {
        let text = serde_json::to_string(definition).unwrap();
        let decode = || serde_json::from_str::<DefinitionView>(&text).unwrap();
        let all = FRONTS.iter().map(|front| Definition::of(front.kind(), front.generations()));
        all.filter_map(|mut one| one.seen(decode())).collect()
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
