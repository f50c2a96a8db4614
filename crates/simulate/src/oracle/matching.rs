//! An independent reading of `match`, limited to the selectors used by schedules.

use serde_json::Value;

use super::pods::Keeping;
use super::pool::text;
use crate::cluster::TAINT;

/// The requested nodes of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Matching {
    /// The app required to be ready on the node.
    pub app: Option<String>,
    /// The label selector.
    nodes: String,
    /// The tolerated taints.
    tolerates: Tolerated,
    /// The pods that let a cordoned node keep its address. `None`: the taint decides.
    pub keeping: Option<Keeping>,
}

/// The tolerated taints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Tolerated {
    #[default]
    None,
    /// The schedules' taint.
    Own,
    All,
}

/// The relevant properties of a node.
#[derive(Debug, Default)]
pub(super) struct Traits {
    /// Ready, and not being deleted.
    pub well: bool,
    pub labels: Value,
    pub taints: Vec<String>,
    pub cordoned: bool,
}

impl Matching {
    /// Reads an object's `match`. `None` if a selector is invalid.
    pub fn read(spec: &Value) -> Option<Self> {
        let pods = text(&spec["podLabel"]);
        let app = pods.strip_prefix("app=");
        let nodes = text(&spec["nodeLabel"]).to_owned();
        let tolerations = spec["tolerations"].as_array();
        let own = tolerations.is_some_and(|all| all.iter().any(|one| one["key"] == TAINT));
        let tolerates = if own { Tolerated::Own } else { Tolerated::None };
        selects(&nodes, &Value::Null)?;
        selects(pods, &Value::Null)?;
        Some(Self { app: app.map(str::to_owned), nodes, tolerates, keeping: None })
    }

    /// Reads an allocation's spec: a single label selects nodes.
    pub fn of_allocation(spec: &Value) -> Self {
        let labels = spec["nodeSelector"].as_object().into_iter().flatten();
        let nodes: Vec<_> = labels.map(|(key, value)| format!("{key}={}", text(value))).collect();
        let (nodes, keeping) = (nodes.join(","), Some(Keeping::read(&spec["workloadRef"])));
        Self { app: None, nodes, tolerates: Tolerated::All, keeping }
    }

    /// Whether a node matches, without regard to pods.
    pub fn accepts(&self, node: &Traits) -> bool {
        let tolerated = |taint: &String| match self.tolerates {
            Tolerated::None => false,
            Tolerated::Own => taint == TAINT,
            Tolerated::All => true,
        };
        node.well
            && node.taints.iter().all(tolerated)
            && selects(&self.nodes, &node.labels) == Some(true)
    }
}

/// Whether labels match a selector. `None` if the selector is invalid.
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
