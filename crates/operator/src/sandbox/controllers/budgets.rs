//! Disruption budgets: how many pods are healthy, and how many may be evicted now.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use serde_json::{Map, Value, json};

use super::steps::Step;
use super::{Controllers, count, is_alive, is_healthy, key, stays};
use crate::sandbox::objects::Pod;
use crate::sandbox::workload::now;

impl Controllers {
    /// The step that brings the status of a budget up to date.
    pub(super) fn count_budget(&self, budget: &PodDisruptionBudget) -> Option<Step> {
        let spec = budget.spec.as_ref()?;
        let selector = Selector::try_from(spec.selector.clone()?).ok()?;
        let namespace = budget.namespace().unwrap_or_default();
        let covered = |pod: &&Pod| {
            pod.namespace().as_deref() == Some(&namespace) && selector.matches(pod.labels())
        };
        let pods: Vec<_> = self.pods.values().filter(covered).collect();
        let seen = budget.status.clone().unwrap_or_default();
        // An eviction notes its pod until the deletion of the pod is seen.
        let noted = seen.disrupted_pods.clone().unwrap_or_default();
        let waits =
            |name: &String| pods.iter().any(|pod| pod.name_any() == *name && stays(&pod.metadata));
        let is_counted = |pod: &&&Pod| is_healthy(pod) && !noted.contains_key(&pod.name_any());
        let healthy = count(pods.iter().filter(is_counted));
        let expected = count(pods.iter().filter(|pod| is_alive(pod)));
        let desired = match (&spec.min_available, &spec.max_unavailable) {
            (Some(least), _) => share(least, expected),
            (None, Some(most)) => (expected - share(most, expected)).max(0),
            (None, None) => expected,
        };
        let wanted = PodDisruptionBudgetStatus {
            observed_generation: budget.metadata.generation,
            expected_pods: expected,
            current_healthy: healthy,
            desired_healthy: desired,
            disruptions_allowed: (healthy - desired).max(0),
            disrupted_pods: Some(noted.clone().into_iter().filter(|one| waits(&one.0)).collect()),
            ..seen.clone()
        };
        (!is_same(&seen, &wanted)).then(|| {
            let version = budget.resource_version().unwrap_or_default();
            Step::TellBudget(key(budget), version, patch(&seen, &wanted))
        })
    }
}

fn is_same(seen: &PodDisruptionBudgetStatus, wanted: &PodDisruptionBudgetStatus) -> bool {
    let noted = |one: &PodDisruptionBudgetStatus| one.disrupted_pods.clone().unwrap_or_default();
    let counts = |one: &PodDisruptionBudgetStatus| {
        let healthy = (one.current_healthy, one.desired_healthy);
        (one.observed_generation, one.expected_pods, healthy, one.disruptions_allowed)
    };
    counts(seen) == counts(wanted) && noted(seen) == noted(wanted)
}

/// The merge patch of a status. Notes that are over are removed by name.
fn patch(seen: &PodDisruptionBudgetStatus, wanted: &PodDisruptionBudgetStatus) -> Value {
    let kept = wanted.disrupted_pods.clone().unwrap_or_default();
    let noted = seen.disrupted_pods.clone().unwrap_or_default();
    let over: Map<_, _> = noted
        .into_keys()
        .filter(|name| !kept.contains_key(name))
        .map(|name| (name, Value::Null))
        .collect();
    let (status, reason) = match wanted.disruptions_allowed > 0 {
        true => ("True", "SufficientPods"),
        false => ("False", "InsufficientPods"),
    };
    let before = seen.conditions.iter().flatten();
    let before =
        before.clone().find(|one| one.type_ == "DisruptionAllowed" && one.status == status);
    let since = before.map_or_else(|| json!(now()), |one| json!(one.last_transition_time));
    json!({
        "observedGeneration": wanted.observed_generation, "expectedPods": wanted.expected_pods,
        "currentHealthy": wanted.current_healthy, "desiredHealthy": wanted.desired_healthy,
        "disruptionsAllowed": wanted.disruptions_allowed, "disruptedPods": over,
        "conditions": [{
            "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
            "lastTransitionTime": since, "observedGeneration": wanted.observed_generation,
        }],
    })
}

/// A number of pods, or a percentage of them, rounded up.
fn share(given: &IntOrString, of: i32) -> i32 {
    match given {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent: i32 = text.trim_end_matches('%').parse().unwrap_or(100);
            (of * percent + 99) / 100
        }
    }
}
