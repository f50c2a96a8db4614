//! Which nodes an object asks for, read on its own: the forms of selectors that schedules use.

use serde_json::Value;

use super::cluster::text;
use crate::cluster::TAINT;

/// What an object asks of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Matching {
    /// The app that must be ready there.
    pub app: Option<String>,
    /// A selector of labels.
    nodes: String,
    /// Whether the taint does not matter that only schedules know.
    tolerates: bool,
}

/// What a node is like.
#[derive(Debug, Default)]
pub(super) struct Traits {
    /// Ready, and not about to go.
    pub well: bool,
    pub labels: Value,
    pub taints: Vec<String>,
}

impl Matching {
    /// Reads what an object says; none if that is no selector.
    pub fn read(spec: &Value) -> Option<Self> {
        let pods = text(&spec["podLabel"]);
        let app = pods.strip_prefix("app=");
        let nodes = text(&spec["nodeLabel"]).to_owned();
        let tolerations = spec["tolerations"].as_array();
        let tolerates = tolerations.is_some_and(|all| all.iter().any(|one| one["key"] == TAINT));
        selects(&nodes, &Value::Null)?;
        selects(pods, &Value::Null)?;
        Some(Self { app: app.map(str::to_owned), nodes, tolerates })
    }

    /// Whether a node is one of those, its pods aside.
    pub fn accepts(&self, node: &Traits) -> bool {
        let tolerated = |taint: &String| self.tolerates && taint == TAINT;
        node.well
            && node.taints.iter().all(tolerated)
            && selects(&self.nodes, &node.labels) == Some(true)
    }
}

/// Whether labels fit a selector; none if it is none.
fn selects(selector: &str, labels: &Value) -> Option<bool> {
    let listed = |rest: &str| {
        let inner = rest.strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>())
    };
    if selector.is_empty() {
        return Some(true);
    }
    if let Some((key, rest)) = selector.split_once(" notin ") {
        let values = listed(rest)?;
        return Some(!values.iter().any(|value| labels[key] == value.as_str()));
    }
    if let Some((key, rest)) = selector.split_once(" in ") {
        let values = listed(rest)?;
        return Some(values.iter().any(|value| labels[key] == value.as_str()));
    }
    let (key, value) = selector.split_once('=')?;
    Some(labels[key] == value)
}
