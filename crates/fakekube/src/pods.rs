//! Defaults and computed fields of pods.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::pod_spec::{self, set};
use crate::strategy::times;

/// Fills in the defaults of a pod's spec.
pub(crate) fn default(pod: &mut Value) {
    let Some(spec) = pod["spec"].as_object_mut() else {
        return;
    };
    pod_spec::default(spec);
    set(spec, "enableServiceLinks", json!(true));
    pod_spec::containers(spec).for_each(request_limits);
    if spec.get("hostNetwork") == Some(&json!(true)) {
        pod_spec::containers(spec).for_each(open_on_host);
    }
    // The following values come from admission.
    set(spec, "priority", json!(0));
    set(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    tolerate(spec);
}

/// Requests what is limited and not requested.
fn request_limits(container: &mut Map<String, Value>) {
    let Some(resources) = container.get_mut("resources") else { return };
    let limits = resources["limits"].as_object().cloned().unwrap_or_default();
    for (name, limit) in limits {
        if resources["requests"][&name].is_null() {
            resources["requests"][&name] = limit;
        }
    }
}

/// Opens the ports of a container on its host, too.
fn open_on_host(container: &mut Map<String, Value>) {
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            set(port, "hostPort", number);
        }
    }
}

/// Adds the default tolerations: five minutes on a node that is not ready or unreachable.
fn tolerate(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            let name = toleration["key"].as_str().unwrap_or_default();
            let effect = toleration["effect"].as_str().unwrap_or_default();
            (name == key || name.is_empty()) && matches!(effect, "" | "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

/// Removes the fields that admission added to a pod.
pub(crate) fn without_admission(pod: &mut Value) {
    let Some(spec) = pod["spec"].as_object_mut() else {
        return;
    };
    spec.remove("priority");
    spec.remove("preemptionPolicy");
    let mut usual = Map::new();
    tolerate(&mut usual);
    if spec.get("tolerations") == usual.get("tolerations") {
        spec.remove("tolerations");
    }
}

/// The quality of service class, from the containers' requests and limits.
pub(crate) fn class(pod: &Value) -> &'static str {
    let containers = pod["spec"]["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |container: &Value, what: &str, resource: &str| {
        container["resources"][what].get(resource).cloned()
    };
    let mut any = false;
    let mut all = true;
    for container in containers {
        for resource in ["cpu", "memory"] {
            let limit = of(container, "limits", resource);
            let request = of(container, "requests", resource);
            any |= limit.is_some() || request.is_some();
            all &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// The conditions of a new pod that waits for its scheduling gates.
pub(crate) fn unscheduled(pod: &Value, now: Timestamp) -> Option<Value> {
    let gates = pod["spec"]["schedulingGates"].as_array()?;
    if gates.is_empty() {
        return None;
    }
    Some(json!([{
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": null,
        "lastTransitionTime": fakehttp::seconds(now),
    }]))
}

/// Adds the fields that a pod's status shows even when empty.
pub(crate) fn complete_status(pod: &mut Value) {
    if let Some(status) = pod.get_mut("status") {
        times(status, &["lastProbeTime", "lastTransitionTime"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pods_class_follows_its_containers() {
        let pod = |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
        let guaranteed = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
        assert_eq!(class(&pod(json!({}))), "BestEffort");
        assert_eq!(class(&pod(json!({"requests": {"cpu": "1"}}))), "Burstable");
        assert_eq!(class(&pod(guaranteed)), "Guaranteed");
    }
}
