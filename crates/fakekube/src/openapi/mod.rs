//! OpenAPI v3: the documents that kubectl reads for `explain`, `apply`, `diff` and validation, and
//! the schemas that the server itself uses.
//!
//! In: the registry. Out: JSON. The data of the built-in kinds was dumped from the real server with
//! `examples/dump_openapi.rs`, which explains how to repeat the dump.

mod custom;
mod data;
mod fields;
pub(crate) mod types;

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

pub use fields::prune;

use crate::registry::{Kind, Registry};

/// Treatment of a list or map in a strategic merge patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeStrategy {
    /// `merge`, `replace`, `retainKeys`, or two of them separated by a comma.
    pub patch_strategy: String,
    /// The key field of a list's items. `None` for maps and lists of plain values.
    pub merge_key: Option<String>,
}

impl MergeStrategy {
    /// Whether the strategy is or contains `merge`.
    #[must_use]
    pub fn merges(&self) -> bool {
        self.patch_strategy.split(',').any(|strategy| strategy == "merge")
    }

    /// Whether the strategy is or contains `retainKeys`.
    #[must_use]
    pub fn retains_keys(&self) -> bool {
        self.patch_strategy.split(',').any(|strategy| strategy == "retainKeys")
    }
}

/// The index at `/openapi/v3`: for each group and version the address of its document. Clients
/// cache documents by address, so each address holds a hash of the document's content.
#[must_use]
pub fn paths(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in registry.versions(group) {
            let name = data::name(group, version);
            let url = format!("/openapi/v3/{name}?hash={}", hash(registry, group, version));
            paths.insert(name, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// The document at `/openapi/v3/apis/{group}/{version}`, or `/openapi/v3/api/v1` for the core
/// group; `None` if the version is not served.
#[must_use]
pub fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let built_in = registry.of(group, version).any(|kind| kind.built_in());
    if built_in {
        return data::document(&data::name(group, version)).cloned();
    }
    custom::document(registry.of(group, version).map(|kind| &**kind))
}

/// The strategy for a field of a built-in kind at a path, such as `["spec", "taints"]`. The path
/// skips list items: `["spec", "containers", "ports"]` is the ports of any container. `None` for
/// fields that are replaced, and for custom kinds.
#[must_use]
pub fn merge_strategy(kind: &Kind, path: &[&str]) -> Option<MergeStrategy> {
    if !kind.built_in() {
        return None;
    }
    let mut schema = data::schema(kind)?;
    for (index, name) in path.iter().enumerate() {
        schema = schema.field(name)?;
        if index + 1 < path.len() {
            schema = schema.items().unwrap_or(schema);
        }
    }
    let text = |key: &str| schema.node[key].as_str().map(str::to_owned);
    let patch_strategy = text("x-kubernetes-patch-strategy")?;
    Some(MergeStrategy { patch_strategy, merge_key: text("x-kubernetes-patch-merge-key") })
}

/// The schema of a built-in kind, and the schemas for its references.
pub(crate) fn schemas(kind: &Kind) -> Option<(&'static Value, &'static Value)> {
    let schema = data::schema(kind)?;
    Some((schema.node, schema.all))
}

/// The schemas of the core group, including the common metadata types.
pub(crate) fn core_schemas() -> Option<&'static Value> {
    Some(data::core_schema("Node")?.all)
}

/// The server's description of a field of a built-in kind. For a custom kind, the description of a
/// field of the common `metadata`.
pub(crate) fn description(kind: &Kind, path: &[&str]) -> Option<String> {
    if !kind.built_in() {
        return core_description("Node", path);
    }
    described(data::schema(kind)?, path)
}

/// The server's description of a field of a kind in the core group.
pub(crate) fn core_description(kind: &str, path: &[&str]) -> Option<String> {
    described(data::core_schema(kind)?, path)
}

fn described(mut schema: data::Schema, path: &[&str]) -> Option<String> {
    for name in path {
        schema = schema.field(name)?;
    }
    schema.node["description"].as_str().map(str::to_owned)
}

/// 512 bits in upper-case hexadecimal, the format of the server's hashes.
fn hash(registry: &Registry, group: &str, version: &str) -> String {
    let mut text = data::bytes().len().to_string();
    for kind in registry.of(group, version) {
        let names = [&kind.kind, &kind.list_kind, &kind.plural, &kind.group, &kind.version];
        let _ = write!(text, "{names:?} {} {}", kind.namespaced, kind.status_subresource);
        if let Some(schema) = &kind.schema {
            text.push_str(&schema.to_string());
        }
    }
    (0..8_u64).map(|lane| format!("{:016X}", fnv(lane, text.as_bytes()))).collect()
}

/// FNV-1a, with a different start for each lane.
fn fnv(lane: u64, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ lane.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        let mut registry = Registry::new();
        let version = json!({
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": true}}}}}},
        });
        registry
            .install(&json!({"spec": {
                "group": "a-b.example", "scope": "Cluster", "versions": [version],
                "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            }}))
            .unwrap();
        registry
    }

    #[test]
    fn every_served_group_has_a_document_that_names_its_kinds() {
        let registry = registry();
        for kind in registry.kinds() {
            let document = document(&registry, &kind.group, &kind.version).unwrap();
            let wanted = json!({"group": kind.group, "kind": kind.kind, "version": kind.version});
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let found = schemas
                .values()
                .any(|schema| schema["x-kubernetes-group-version-kind"] == json!([wanted.clone()]));
            assert!(found, "{}", kind.kind);
        }
        assert!(document(&registry, "apps", "v1").is_none());
    }

    #[test]
    fn a_custom_kinds_document_holds_no_name_of_the_template() {
        let text = document(&registry(), "a-b.example", "v1").unwrap().to_string();
        assert!(!text.to_lowercase().contains("template"), "{text}");
        assert!(!text.contains("v7") && !text.contains("/status"));
        assert!(text.contains("\"/apis/a-b.example/v1/things/{name}\""));
        assert!(text.contains("\"example.a-b.v1.ThingList\""));
    }

    #[test]
    fn an_address_changes_with_the_schema() {
        let (one, mut other) = (registry(), registry());
        other
            .install(&json!({"spec": {
                "group": "a-b.example", "scope": "Cluster",
                "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
                "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            }}))
            .unwrap();
        let [one, other] = [one, other].map(|registry| paths(&registry));
        assert_eq!(one["paths"]["api/v1"], other["paths"]["api/v1"]);
        assert_ne!(one["paths"]["apis/a-b.example/v1"], other["paths"]["apis/a-b.example/v1"]);
    }

    #[test]
    fn lists_of_built_in_kinds_know_how_they_are_merged() {
        let registry = Registry::new();
        let strategy = |plural: &str, path: &[&str]| {
            merge_strategy(registry.get("", "v1", plural).unwrap(), path)
        };
        let by = |key: &str| {
            Some(MergeStrategy {
                patch_strategy: "merge".to_owned(),
                merge_key: Some(key.to_owned()),
            })
        };
        assert_eq!(strategy("pods", &["spec", "containers"]), by("name"));
        assert_eq!(strategy("pods", &["spec", "containers", "ports"]), by("containerPort"));
        assert_eq!(strategy("nodes", &["status", "conditions"]), by("type"));
        assert_eq!(strategy("nodes", &["spec", "taints"]), None);
        assert!(strategy("nodes", &["metadata", "finalizers"]).unwrap().merges());
        assert_eq!(strategy("nodes", &["metadata", "labels"]), None);
    }

    #[test]
    fn unknown_fields_of_built_in_kinds_are_found() {
        let registry = Registry::new();
        let mut node = json!({
            "apiVersion": "v1", "kind": "Node", "odd": 1,
            "metadata": {"name": "n", "labels": {"any": "x"}, "typo": 1},
            "spec": {"taints": [{"key": "k", "effekt": "NoSchedule"}]},
        });

        let unknown = prune(registry.get("", "v1", "nodes").unwrap(), &mut node);

        assert_eq!(unknown, ["metadata.typo", "odd", "spec.taints[0].effekt"]);
        assert_eq!(node["metadata"], json!({"name": "n", "labels": {"any": "x"}}));
    }
}
