//! Defaults of a pod's spec, in a pod and in the template of a workload.

use serde_json::{Map, Value, json};

/// Fills in the defaults that pods and templates share.
pub(crate) fn default(spec: &mut Map<String, Value>) {
    set(spec, "restartPolicy", json!("Always"));
    set(spec, "terminationGracePeriodSeconds", json!(30));
    set(spec, "dnsPolicy", json!("ClusterFirst"));
    set(spec, "securityContext", json!({}));
    set(spec, "schedulerName", json!("default-scheduler"));
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        set(spec, "serviceAccount", account);
    }
    containers(spec).for_each(default_container);
    items(spec, "volumes").for_each(default_volume);
}

/// The containers of a spec, in both lists.
pub(crate) fn containers(
    spec: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    let lists = spec
        .iter_mut()
        .filter(|(name, _)| matches!(name.as_str(), "containers" | "initContainers"));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut)
}

/// Sets a field that is missing or null.
pub(crate) fn set(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let slot = fields.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = value;
    }
}

fn items<'a>(
    fields: &'a mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    let items = fields.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The object at a path below some fields.
fn part<'a>(
    fields: &'a mut Map<String, Value>,
    path: &[&str],
) -> Option<&'a mut Map<String, Value>> {
    path.iter().try_fold(fields, |fields, name| fields.get_mut(*name)?.as_object_mut())
}

fn default_container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let tag = image.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let floating = tag.is_none_or(|tag| tag == "latest") && !image.contains('@');
    let policy = if floating { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", json!(policy));
    set(container, "terminationMessagePath", json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", json!("File"));
    set(container, "resources", json!({}));
    items(container, "ports").for_each(|port| set(port, "protocol", json!("TCP")));
    for variable in items(container, "env") {
        if let Some(field) = part(variable, &["valueFrom", "fieldRef"]) {
            set(field, "apiVersion", json!("v1"));
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = part(container, &[probe]) {
            default_probe(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(hook) = part(container, &["lifecycle", hook]) {
            default_request(hook);
        }
    }
}

fn default_probe(probe: &mut Map<String, Value>) {
    set(probe, "timeoutSeconds", json!(1));
    set(probe, "periodSeconds", json!(10));
    set(probe, "successThreshold", json!(1));
    set(probe, "failureThreshold", json!(3));
    default_request(probe);
    if let Some(call) = part(probe, &["grpc"]) {
        set(call, "service", json!(""));
    }
}

fn default_request(handler: &mut Map<String, Value>) {
    if let Some(get) = part(handler, &["httpGet"]) {
        set(get, "path", json!("/"));
        set(get, "scheme", json!("HTTP"));
    }
}

fn default_volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|field| field == "name") {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["configMap", "secret", "projected", "downwardAPI"] {
        if let Some(source) = part(volume, &[source]) {
            set(source, "defaultMode", json!(420));
        }
    }
    if let Some(path) = part(volume, &["hostPath"]) {
        set(path, "type", json!(""));
    }
    if let Some(source) = part(volume, &["downwardAPI"]) {
        default_downward(source);
    }
    let projected = part(volume, &["projected"]);
    for source in projected.into_iter().flat_map(|projected| items(projected, "sources")) {
        if let Some(downward) = part(source, &["downwardAPI"]) {
            default_downward(downward);
        }
        if let Some(token) = part(source, &["serviceAccountToken"]) {
            set(token, "expirationSeconds", json!(3600));
        }
    }
}

fn default_downward(source: &mut Map<String, Value>) {
    for file in items(source, "items") {
        if let Some(field) = part(file, &["fieldRef"]) {
            set(field, "apiVersion", json!("v1"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_tag() {
        for (image, policy) in [
            ("i", "Always"),
            ("r:5000/i", "Always"),
            ("i:latest", "Always"),
            ("i:1", "IfNotPresent"),
        ] {
            let mut container = Map::from_iter([("image".to_owned(), json!(image))]);
            default_container(&mut container);
            assert_eq!(container["imagePullPolicy"], policy, "{image}");
        }
    }
}
