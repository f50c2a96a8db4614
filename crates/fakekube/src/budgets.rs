//! PodDisruptionBudgets: computed fields, and what an eviction does to a budget.

use serde_json::{Value, json};

use crate::object::meta;
use crate::refusal::Refusal;
use crate::workloads::show_counts;

/// Most evictions that wait for the controller of the budgets.
const DISRUPTED: usize = 2000;

/// Adds the fields that a budget shows even when empty.
pub(crate) fn complete(budget: &mut Value) {
    if budget["spec"].is_null() {
        budget["spec"] = json!({});
    }
    let status = &mut budget["status"];
    let shown = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
    show_counts(status, &shown);
    if let Some(status) = status.as_object_mut() {
        status.retain(|_, value| *value != json!({}));
        let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            condition.entry("message").or_insert_with(|| json!(""));
        }
    }
}

/// Whether a budget allows the eviction of a pod that is not ready, without being spent.
pub(crate) fn frees_unready(budget: &Value) -> bool {
    let count = |name: &str| budget["status"][name].as_i64().unwrap_or_default();
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0)
}

/// The budget after the eviction of a pod, or the refusal of the eviction.
pub(crate) fn spend(budget: &Value, pod: &str, at: &str) -> Result<Value, Refusal> {
    let (name, status) = (meta(budget, "name"), &budget["status"]);
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or_default();
    if count("observedGeneration") < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Refusal::disrupts(&why, 10));
    }
    if status["disruptedPods"].as_object().is_some_and(|pods| pods.len() > DISRUPTED) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Refusal::over_budget(name, why));
    }
    let left = count("disruptionsAllowed");
    if left == 0 {
        return Err(Refusal::disrupts(&shortage(name, status), 0));
    }
    let mut spent = budget.clone();
    spent["status"]["disruptionsAllowed"] = json!(left - 1);
    spent["status"]["disruptedPods"][pod] = json!(at);
    if left == 1 {
        exhaust(&mut spent["status"], at);
    }
    Ok(spent)
}

/// Why a budget allows no disruption.
fn shortage(name: &str, status: &Value) -> String {
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let text =
        |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let told = conditions
        .filter(|one| one["type"] == "DisruptionAllowed")
        .find(|one| one["status"] == "False" && !text(one, "message").is_empty())
        .map(|one| (text(one, "reason"), text(one, "message")));
    let (healthy, desired) = (count("currentHealthy"), count("desiredHealthy"));
    match told {
        Some((reason, message)) if reason == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        ),
        _ if healthy <= desired => format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        ),
        Some((reason, message)) => format!(
            "The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"
        ),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// Sets the condition `DisruptionAllowed` to false.
fn exhaust(status: &mut Value, at: &str) {
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
        "message": "", "lastTransitionTime": at,
    });
    if status["observedGeneration"].as_i64().is_some_and(|generation| generation != 0) {
        condition["observedGeneration"] = status["observedGeneration"].clone();
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|one| one["type"] == "DisruptionAllowed") {
        Some(before) => {
            if before["status"] == "False" {
                condition["lastTransitionTime"] = before["lastTransitionTime"].take();
            }
            *before = condition;
        }
        None => conditions.push(condition),
    }
}
