//! OpenAPI v3: the schemas of the built-in kinds, as the server itself uses them.
//!
//! The data was dumped from the real server with `examples/dump_openapi.rs`, which explains how to
//! repeat the dump.

pub(crate) mod data;
mod fields;
mod path;
pub(crate) mod types;

use serde_json::Value;

pub use fields::prune;

use crate::registry::Kind;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

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
