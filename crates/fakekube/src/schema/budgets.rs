//! Validation of PodDisruptionBudgets.

use serde_json::Value;

use super::counts::{not_negative, share};
use super::{Cause, names, selectors};

/// Checks the spec, and counts and conditions in the status.
pub(super) fn check(new: &Value, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    let [least, most] = ["minAvailable", "maxUnavailable"].map(|name| &spec[name]);
    if !least.is_null() && !most.is_null() {
        causes.push(both_set(spec));
    }
    share(least, "spec.minAvailable", true, causes);
    share(most, "spec.maxUnavailable", true, causes);
    selectors::check(&spec["selector"], "spec.selector", causes);
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = &spec["unhealthyPodEvictionPolicy"];
    if !policy.is_null() && !policies.iter().any(|known| policy == known) {
        let field = "spec.unhealthyPodEvictionPolicy";
        causes.push(Cause::not_supported(field, policy, &policies.map(str::to_owned)));
    }
    let counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
    not_negative(&new["status"], "status", &counts, causes);
    let conditions: Vec<_> = new["status"]["conditions"].as_array().into_iter().flatten().collect();
    for (index, condition) in conditions.iter().enumerate() {
        let path = format!("status.conditions[{index}]");
        if conditions[..index].iter().any(|other| other["type"] == condition["type"]) {
            causes.push(Cause::duplicate(format!("{path}.type"), &condition["type"]));
        }
        check_condition(condition, &path, causes);
    }
}

fn check_condition(condition: &Value, path: &str, causes: &mut Vec<Cause>) {
    let text = |name: &str| condition[name].as_str().unwrap_or_default();
    for wrong in names::label_key(text("type")) {
        causes.push(Cause::invalid(format!("{path}.type"), &Value::from(text("type")), wrong));
    }
    let statuses = ["False", "True", "Unknown"];
    if !statuses.contains(&text("status")) {
        let (field, given) = (format!("{path}.status"), Value::from(text("status")));
        causes.push(Cause::not_supported(field, &given, &statuses.map(str::to_owned)));
    }
    for name in ["lastTransitionTime", "reason"] {
        if text(name).is_empty() {
            causes.push(Cause::required(format!("{path}.{name}"), ""));
        }
    }
    let reason = text("reason");
    if !reason.is_empty() && !is_reason(reason) {
        let why = names::explained(
            "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
            "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
            &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
        );
        causes.push(Cause::invalid(format!("{path}.reason"), &Value::from(reason), why));
    }
}

fn is_reason(text: &str) -> bool {
    let end = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(end)
        && text.chars().all(|c| end(c) || c == ',' || c == ':')
}

/// The server shows its own type of the spec.
fn both_set(spec: &Value) -> Cause {
    let why = "minAvailable and maxUnavailable cannot be both set";
    let shown = format!(
        "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
        spec["minAvailable"],
        spec["selector"],
        spec["maxUnavailable"],
        spec["unhealthyPodEvictionPolicy"],
    );
    Cause { message: format!("Invalid value: {shown}: {why}"), ..Cause::invalid("spec", spec, why) }
}
