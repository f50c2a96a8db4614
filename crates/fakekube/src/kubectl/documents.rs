//! OpenAPI v3: the documents that kubectl reads for `explain`, `apply`, `diff` and validation.
//!
//! In: the registry. Out: JSON.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::custom;
use crate::openapi::data;
use crate::registry::Registry;

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

/// 512 bits in upper-case hexadecimal, the format of the server's hashes.
fn hash(registry: &Registry, group: &str, version: &str) -> String {
    let mut text = data::COMPRESSED.len().to_string();
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
        assert!(document(&registry, "batch", "v1").is_none());
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
}
