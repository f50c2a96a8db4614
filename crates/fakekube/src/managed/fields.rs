//! Sets of paths into an object, as `fieldsV1` writes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A set of paths from a common start. `here` says whether the set contains the start itself,
/// `below` holds the longer paths by their first step. Steps are written as `f:name`,
/// `k:{"key":"value"}` or `v:"value"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(super) here: bool,
    pub(super) below: BTreeMap<String, Fields>,
}

impl Fields {
    /// The set of the start alone.
    pub(super) fn leaf() -> Self {
        Self { here: true, below: BTreeMap::new() }
    }

    /// A single path.
    pub(super) fn path(steps: &[&str]) -> Self {
        let mut fields = Self::leaf();
        for step in steps.iter().rev() {
            let below = fields;
            fields = Self::default();
            fields.put(format!("f:{step}"), below);
        }
        fields
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.here && self.below.is_empty()
    }

    /// Adds a non-empty set below a step.
    pub(super) fn put(&mut self, step: String, fields: Self) {
        if !fields.is_empty() {
            self.below.insert(step, fields);
        }
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.here |= other.here;
        for (step, theirs) in &other.below {
            let joined = match all.below.get(step) {
                Some(ours) => ours.union(theirs),
                None => theirs.clone(),
            };
            all.below.insert(step.clone(), joined);
        }
        all
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut left = Self { here: self.here && !other.here, below: BTreeMap::new() };
        for (step, ours) in &self.below {
            match other.below.get(step) {
                Some(theirs) => left.put(step.clone(), ours.difference(theirs)),
                None => left.put(step.clone(), ours.clone()),
            }
        }
        left
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { here: self.here && other.here, below: BTreeMap::new() };
        for (step, ours) in &self.below {
            if let Some(theirs) = other.below.get(step) {
                both.put(step.clone(), ours.intersection(theirs));
            }
        }
        both
    }

    /// The set without the paths of `other` and everything below them.
    pub(super) fn without(&self, other: &Self) -> Self {
        if other.here {
            return Self::default();
        }
        let mut left = Self { here: self.here, below: BTreeMap::new() };
        for (step, ours) in &self.below {
            match other.below.get(step) {
                Some(theirs) => left.put(step.clone(), ours.without(theirs)),
                None => left.put(step.clone(), ours.clone()),
            }
        }
        left
    }

    /// All paths as messages show them, parents before children.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.add_paths("", &mut paths);
        paths
    }

    fn add_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        let named = |step: &String| format!("{prefix}{}", in_words(step));
        let here = self.below.iter().filter(|(_, fields)| fields.here);
        paths.extend(here.map(|(step, _)| named(step)));
        for (step, fields) in &self.below {
            fields.add_paths(&named(step), paths);
        }
    }

    /// A path with an additional step, as messages show it.
    pub(super) fn step_in_words(path: &str, step: &str) -> String {
        format!("{path}{}", in_words(step))
    }

    /// The set in the format of `fieldsV1`.
    pub(super) fn encode(&self) -> Value {
        let mut object = Map::new();
        if self.here && !self.below.is_empty() {
            object.insert(".".to_owned(), json!({}));
        }
        for (step, fields) in &self.below {
            object.insert(step.clone(), fields.encode());
        }
        Value::Object(object)
    }

    pub(super) fn decode(value: &Value) -> Self {
        let mut fields = Self::default();
        for (step, below) in value.as_object().into_iter().flatten() {
            if step == "." {
                fields.here = true;
                continue;
            }
            let mut below = Self::decode(below);
            below.here |= below.below.is_empty();
            fields.put(step.clone(), below);
        }
        fields
    }
}

/// A step as messages show it.
fn in_words(step: &str) -> String {
    let (kind, rest) = step.split_at(step.len().min(2));
    match kind {
        "k:" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
            let keys: Vec<_> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        "v:" => format!("[={rest}]"),
        _ => format!(".{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_as_they_are_written() {
        let written = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
        });
        let fields = Fields::decode(&written);
        assert_eq!(fields.encode(), written);
        assert_eq!(
            fields.paths(),
            [
                ".metadata.labels",
                ".metadata.labels.a",
                ".spec.ports[port=80,protocol=\"TCP\"]",
                ".spec.ports[port=80,protocol=\"TCP\"].port",
            ]
        );
        let labels = Fields::path(&["metadata", "labels"]);
        assert_eq!(fields.difference(&labels).intersection(&labels), Fields::default());
        assert_eq!(fields.without(&labels).encode(), json!({"f:spec": written["f:spec"]}));
        assert_eq!(fields.difference(&labels).union(&labels), fields);
    }
}
