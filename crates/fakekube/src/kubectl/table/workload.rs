//! The rows of Deployments, ReplicaSets, StatefulSets and DaemonSets.

use jiff::Timestamp;
use serde_json::Value;

use super::Row;
use super::age::age_of;
use crate::label_selector;

pub(super) fn deployment_row(object: &Value, now: Timestamp) -> Row {
    let counts = ["updatedReplicas", "availableReplicas"].map(|name| count(object, "status", name));
    let mut cells = vec![name(object), ready(object)];
    cells.extend(counts);
    cells.push(age_of(object, now));
    cells.extend(containers(object));
    cells.push(selector(object));
    cells.into()
}

pub(super) fn replicas_row(object: &Value, now: Timestamp) -> Row {
    let mut cells = vec![
        name(object),
        count(object, "spec", "replicas"),
        count(object, "status", "replicas"),
        count(object, "status", "readyReplicas"),
        age_of(object, now),
    ];
    cells.extend(containers(object));
    cells.push(selector(object));
    cells.into()
}

pub(super) fn stateful_row(object: &Value, now: Timestamp) -> Row {
    let mut cells = vec![name(object), ready(object), age_of(object, now)];
    cells.extend(containers(object));
    cells.into()
}

pub(super) fn daemon_row(object: &Value, now: Timestamp) -> Row {
    let counts = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ];
    let mut cells = vec![name(object)];
    cells.extend(counts.map(|name| count(object, "status", name)));
    cells.push(node_selector(object));
    cells.push(age_of(object, now));
    cells.extend(containers(object));
    cells.push(selector(object));
    cells.into()
}

fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

fn count(object: &Value, part: &str, name: &str) -> Value {
    Value::from(object[part][name].as_i64().unwrap_or_default())
}

/// `1/2`: ready and wanted replicas.
fn ready(object: &Value) -> Value {
    let [ready, wanted] = [("status", "readyReplicas"), ("spec", "replicas")]
        .map(|(part, name)| count(object, part, name));
    Value::from(format!("{ready}/{wanted}"))
}

/// Names and images of the containers.
fn containers(object: &Value) -> [Value; 2] {
    let containers = object["spec"]["template"]["spec"]["containers"].as_array();
    ["name", "image"].map(|field| {
        let texts = containers.into_iter().flatten().map(|one| one[field].as_str());
        Value::from(texts.map(Option::unwrap_or_default).collect::<Vec<_>>().join(","))
    })
}

fn selector(object: &Value) -> Value {
    Value::from(label_selector::text(&object["spec"]["selector"]))
}

fn node_selector(object: &Value) -> Value {
    let labels = object["spec"]["template"]["spec"]["nodeSelector"].as_object();
    let texts: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    Value::from(if texts.is_empty() { "<none>".to_owned() } else { texts.join(",") })
}
