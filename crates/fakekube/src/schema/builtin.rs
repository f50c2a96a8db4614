//! Validation of built-in kinds: the subset of the real server's checks that clients and tests
//! meet.

use serde_json::Value;

use super::metadata::{self, Naming};
use super::{Cause, budgets, names, workloads};
use crate::registry::Kind;

/// Violations of an object of a built-in kind. With an old object, checks an update.
///
/// Checked are: name, labels, annotations, owners and finalizers of every kind; the containers of a
/// Pod and changes of its spec; selector, template, strategy and counts of a workload; selector,
/// counts and conditions of a PodDisruptionBudget; the taints of a Node; the keys of a ConfigMap and a Secret, and the
/// type of a Secret; the times of a Lease; names, scope and versions of a CustomResourceDefinition.
/// All other fields are accepted unchecked.
#[must_use]
pub fn builtin_validate(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let naming = match kind.kind.as_str() {
        "Namespace" | "StatefulSet" => Naming::Label,
        "PodDisruptionBudget" => Naming::Segment,
        _ => Naming::Subdomain,
    };
    let mut causes = metadata::check(new, old, naming);
    match kind.kind.as_str() {
        "ConfigMap" => data_keys(new, &["data", "binaryData"], &mut causes),
        "Secret" => {
            data_keys(new, &["data"], &mut causes);
            secret_type(new, old, &mut causes);
        }
        "Node" => taints(new, &mut causes),
        "Pod" => pod(new, old, &mut causes),
        "Lease" => lease(new, &mut causes),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            workloads::check(&kind.kind, new, old, &mut causes);
        }
        "PodDisruptionBudget" => budgets::check(new, &mut causes),
        "CustomResourceDefinition" => definition(new, &mut causes),
        _ => {}
    }
    causes
}

fn data_keys(new: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    for field in fields {
        for key in new[field].as_object().into_iter().flatten().map(|(key, _)| key) {
            for wrong in names::data_key(key) {
                causes.push(Cause::invalid(
                    format!("{field}[{key}]"),
                    &Value::from(key.as_str()),
                    wrong,
                ));
            }
        }
    }
}

fn secret_type(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if old.is_some_and(|old| old["type"] != new["type"]) {
        causes.push(Cause::invalid("type", &new["type"], "field is immutable"));
    }
}

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

fn taints(new: &Value, causes: &mut Vec<Cause>) {
    let taints: Vec<_> = new["spec"]["taints"].as_array().into_iter().flatten().collect();
    for (index, taint) in taints.iter().enumerate() {
        let path = format!("metadata.taints[{index}]");
        for wrong in names::label_key(taint["key"].as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(format!("{path}.key"), &taint["key"], wrong));
        }
        for wrong in names::label_value(taint["value"].as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(format!("{path}.value"), &taint["value"], wrong));
        }
        let effect = taint["effect"].as_str().unwrap_or_default();
        if effect.is_empty() {
            causes.push(Cause::required(format!("{path}.effect"), ""));
        } else if !EFFECTS.contains(&effect) {
            let known = EFFECTS.map(str::to_owned);
            causes.push(Cause::not_supported(format!("{path}.effect"), &taint["effect"], &known));
        }
        let same =
            |other: &&&Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
        if taints[..index].iter().any(|other| same(&other)) {
            causes.push(Cause::duplicate(path, taint));
        }
    }
}

fn pod(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    containers(&new["spec"], "spec", causes);
    if let Some(old) = old.filter(|old| old["spec"]["nodeName"] != new["spec"]["nodeName"]) {
        let bound = old["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
        if bound {
            let detail = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
            causes.push(Cause::forbidden("spec", detail));
        }
    }
}

/// Checks the containers in the spec of a pod or a template.
pub(super) fn containers(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let containers: Vec<_> = spec["containers"].as_array().into_iter().flatten().collect();
    if containers.is_empty() {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    for (index, container) in containers.iter().enumerate() {
        let path = format!("{path}.containers[{index}]");
        match container["name"].as_str().unwrap_or_default() {
            "" => causes.push(Cause::required(format!("{path}.name"), "")),
            name => {
                for wrong in names::dns1123_label(name) {
                    causes.push(Cause::invalid(format!("{path}.name"), &container["name"], wrong));
                }
                let twice =
                    containers[..index].iter().any(|other| other["name"] == container["name"]);
                if twice {
                    causes.push(Cause::duplicate(format!("{path}.name"), &container["name"]));
                }
            }
        }
        if container["image"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.image"), ""));
        }
    }
}

fn lease(new: &Value, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    let positive = "must be greater than 0";
    if spec["leaseDurationSeconds"].as_i64().is_some_and(|seconds| seconds <= 0) {
        let value = &spec["leaseDurationSeconds"];
        causes.push(Cause::invalid("spec.leaseDurationSeconds", value, positive));
    }
    if spec["leaseTransitions"].as_i64().is_some_and(|count| count < 0) {
        let detail = "must be greater than or equal to 0";
        causes.push(Cause::invalid("spec.leaseTransitions", &spec["leaseTransitions"], detail));
    }
}

fn definition(new: &Value, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    let names = &spec["names"];
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (of(&spec["group"]), of(&names["plural"]));
    let name = format!("{plural}.{group}");
    if new["metadata"]["name"] != name.as_str() {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &new["metadata"]["name"], detail));
    }
    let scopes = ["Cluster", "Namespaced"].map(str::to_owned);
    match of(&spec["scope"]) {
        scope if scope.is_empty() => causes.push(Cause::required("spec.scope", "")),
        scope if !scopes.contains(&scope) => {
            causes.push(Cause::not_supported("spec.scope", &spec["scope"], &scopes));
        }
        _ => {}
    }
    for (field, value) in [("spec.group", &spec["group"]), ("spec.names.plural", &names["plural"])]
    {
        if of(value).is_empty() {
            causes.push(Cause::required(field, ""));
        }
    }
    let versions: Vec<_> = spec["versions"].as_array().into_iter().flatten().collect();
    if versions.iter().filter(|version| version["storage"] == Value::Bool(true)).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], detail));
    }
    for (index, version) in versions.iter().enumerate() {
        if version["schema"]["openAPIV3Schema"].is_null() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(field, ""));
        }
    }
}
