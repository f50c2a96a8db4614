//! Defaults and computed fields of pods.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::strategy::times;

/// Fills in the defaults of a pod's spec.
pub(crate) fn default(pod: &mut Value) {
    let Some(spec) = pod["spec"].as_object_mut() else {
        return;
    };
    set(spec, "restartPolicy", json!("Always"));
    set(spec, "terminationGracePeriodSeconds", json!(30));
    set(spec, "dnsPolicy", json!("ClusterFirst"));
    set(spec, "securityContext", json!({}));
    set(spec, "schedulerName", json!("default-scheduler"));
    set(spec, "enableServiceLinks", json!(true));
    // The following values come from admission.
    set(spec, "priority", json!(0));
    set(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    tolerate(spec);
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        set(spec, "serviceAccount", account);
    }
    let on_host = spec.get("hostNetwork") == Some(&json!(true));
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            default_container(container, on_host);
        }
    }
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten() {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
                set(source, "defaultMode", json!(420));
            }
        }
    }
}

fn default_container(container: &mut Map<String, Value>, on_host: bool) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let tag = image.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let floating = tag.is_none_or(|tag| tag == "latest") && !image.contains('@');
    let policy = if floating { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", json!(policy));
    set(container, "terminationMessagePath", json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", json!("File"));
    set(container, "resources", json!({}));
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        set(port, "protocol", json!("TCP"));
        if let (true, Some(number)) = (on_host, port.get("containerPort").cloned()) {
            set(port, "hostPort", number);
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
            default_probe(probe);
        }
    }
}

fn default_probe(probe: &mut Map<String, Value>) {
    set(probe, "timeoutSeconds", json!(1));
    set(probe, "periodSeconds", json!(10));
    set(probe, "successThreshold", json!(1));
    set(probe, "failureThreshold", json!(3));
    if let Some(get) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
        set(get, "path", json!("/"));
        set(get, "scheme", json!("HTTP"));
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

fn set(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let slot = fields.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = value;
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

    #[test]
    fn the_pull_policy_follows_the_tag() {
        for (image, policy) in [
            ("i", "Always"),
            ("r:5000/i", "Always"),
            ("i:latest", "Always"),
            ("i:1", "IfNotPresent"),
        ] {
            let mut pod = json!({"spec": {"containers": [{"image": image}]}});
            default(&mut pod);
            assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], policy, "{image}");
        }
    }
}
