//! Validation of PodDisruptionBudgets.

use serde_json::Value;

use super::counts::{not_negative, share};
use super::{Cause, selectors};

/// Checks the spec and the counts in the status.
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
