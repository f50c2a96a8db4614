//! Defaults and computed fields of Deployments, ReplicaSets, StatefulSets and DaemonSets.

use serde_json::{Value, json};

use crate::pod_spec::{self, set};
use crate::strategy::{Special, times};

/// The annotation in which a DaemonSet counts the changes of its template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Completes a new workload: defaults, and an empty status.
pub(crate) fn on_create(special: Special, object: &mut Value) {
    default(special, object);
    object["status"] = json!({});
    if special == Special::DaemonSet {
        number_template(object, template_generation(object).max(1));
    }
}

/// Completes a changed workload. A change of its status alone changes neither spec nor labels.
pub(crate) fn on_update(special: Special, object: &mut Value, old: &Value, status_only: bool) {
    if !status_only {
        default(special, object);
    } else if special == Special::Deployment {
        crate::object::copy(&mut object["metadata"], &old["metadata"], "labels");
    }
    if special == Special::DaemonSet {
        let changed = object["spec"]["template"] != old["spec"]["template"];
        number_template(object, template_generation(old) + i64::from(changed));
    }
}

fn template_generation(object: &Value) -> i64 {
    let count = object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str();
    count.and_then(|count| count.parse().ok()).unwrap_or_default()
}

/// Removes the count of the template's changes, which metadata-only answers lack.
pub(crate) fn forget_template_generation(metadata: &mut Value) {
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove(TEMPLATE_GENERATION);
        if annotations.is_empty() {
            metadata.as_object_mut().map(|fields| fields.remove("annotations"));
        }
    }
}

fn number_template(object: &mut Value, count: i64) {
    object["metadata"]["annotations"][TEMPLATE_GENERATION] = json!(count.to_string());
}

fn default(special: Special, object: &mut Value) {
    let spec = &mut object["spec"];
    fill(&mut spec["template"], "metadata", json!({}));
    fill(&mut spec["template"], "spec", json!({}));
    if let Some(pod) = spec["template"]["spec"].as_object_mut() {
        pod_spec::default(pod);
    }
    if special != Special::DaemonSet {
        fill(spec, "replicas", json!(1));
    }
    if special != Special::ReplicaSet {
        fill(spec, "revisionHistoryLimit", json!(10));
    }
    match special {
        Special::Deployment => {
            fill(spec, "progressDeadlineSeconds", json!(600));
            let usual = [("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))];
            default_strategy(&mut spec["strategy"], usual);
        }
        Special::DaemonSet => {
            let usual = [("maxUnavailable", json!(1)), ("maxSurge", json!(0))];
            default_strategy(&mut spec["updateStrategy"], usual);
        }
        Special::StatefulSet => default_stateful(spec),
        _ => {}
    }
}

/// Fills in a strategy: `RollingUpdate`, with the given parameters.
fn default_strategy(strategy: &mut Value, usual: [(&str, Value); 2]) {
    fill_text(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        for (name, value) in usual {
            fill(&mut strategy["rollingUpdate"], name, value);
        }
    }
}

fn default_stateful(spec: &mut Value) {
    fill_text(spec, "podManagementPolicy", "OrderedReady");
    fill_text(spec, "serviceName", "");
    let strategy = &mut spec["updateStrategy"];
    if strategy["type"].as_str().is_none_or(str::is_empty) {
        fill(strategy, "rollingUpdate", json!({}));
    }
    fill_text(strategy, "type", "RollingUpdate");
    let rolls = strategy["type"] == "RollingUpdate";
    let rolling = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut);
    if let Some(rolling) = rolling.filter(|_| rolls) {
        set(rolling, "partition", json!(0));
        // The server drops the field: its feature is off by default.
        rolling.remove("maxUnavailable");
    }
    for when in ["whenDeleted", "whenScaled"] {
        fill_text(&mut spec["persistentVolumeClaimRetentionPolicy"], when, "Retain");
    }
    let claims = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
    for claim in claims.into_iter().flatten() {
        claim["apiVersion"] = json!("v1");
        claim["kind"] = json!("PersistentVolumeClaim");
        fill(&mut claim["spec"], "resources", json!({}));
        fill_text(&mut claim["spec"], "volumeMode", "Filesystem");
        fill_text(&mut claim["status"], "phase", "Pending");
    }
}

/// Sets a field that is missing or null. The types of all values were checked before.
fn fill(object: &mut Value, name: &str, value: Value) {
    if object[name].is_null() {
        object[name] = value;
    }
}

/// Sets a text that is missing or empty.
fn fill_text(object: &mut Value, name: &str, text: &str) {
    if object[name].as_str().is_none_or(str::is_empty) {
        object[name] = json!(text);
    }
}

/// Adds the fields that a workload shows even when empty, and removes those that it omits.
pub(crate) fn complete(special: Special, object: &mut Value) {
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.retain(|name, value| match name.as_str() {
            "minReadySeconds" => *value != json!(0),
            "paused" => *value != json!(false),
            _ => true,
        });
    }
    let (shown, dates): (&[&str], &[&str]) = match special {
        Special::Deployment => (&[], &["lastUpdateTime", "lastTransitionTime"]),
        Special::ReplicaSet => (&["replicas"], &["lastTransitionTime"]),
        Special::StatefulSet => (&["replicas", "availableReplicas"], &["lastTransitionTime"]),
        _ => (
            &[
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
            ],
            &["lastTransitionTime"],
        ),
    };
    if object["status"].is_null() {
        object["status"] = json!({});
    }
    show_counts(&mut object["status"], shown);
    times(&mut object["status"], dates);
}

/// Shows the given counts of a status, also 0. Removes all other counts that are 0, except those
/// behind a pointer, and empty texts.
pub(crate) fn show_counts(status: &mut Value, shown: &[&str]) {
    let pointers = ["collisionCount", "terminatingReplicas"];
    if let Some(status) = status.as_object_mut() {
        status.retain(|name, value| {
            pointers.contains(&name.as_str()) || (*value != json!(0) && *value != json!(""))
        });
    }
    for name in shown {
        fill(status, name, json!(0));
    }
}
