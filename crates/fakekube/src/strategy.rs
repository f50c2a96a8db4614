//! Differences between kinds in writes.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::copy;
use crate::registry::Kind;
use crate::{budgets, crd, events, pods, workloads};

/// Kinds with special rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Pod,
    Node,
    Namespace,
    Secret,
    ServiceAccount,
    Lease,
    Event,
    NewEvent,
    Definition,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Budget,
    /// A built-in kind without special rules.
    Plain,
    Custom,
}

impl Special {
    pub(crate) fn of(kind: &Kind) -> Self {
        if !kind.built_in() {
            return Self::Custom;
        }
        match (kind.group.as_str(), kind.plural.as_str()) {
            ("", "pods") => Self::Pod,
            ("", "nodes") => Self::Node,
            ("", "namespaces") => Self::Namespace,
            ("", "secrets") => Self::Secret,
            ("", "serviceaccounts") => Self::ServiceAccount,
            ("", "events") => Self::Event,
            ("coordination.k8s.io", _) => Self::Lease,
            ("events.k8s.io", _) => Self::NewEvent,
            ("apiextensions.k8s.io", _) => Self::Definition,
            ("apps", "deployments") => Self::Deployment,
            ("apps", "replicasets") => Self::ReplicaSet,
            ("apps", "statefulsets") => Self::StatefulSet,
            ("apps", "daemonsets") => Self::DaemonSet,
            ("policy", _) => Self::Budget,
            _ => Self::Plain,
        }
    }

    /// Whether PUT may omit the resource version.
    pub(crate) fn unconditional(self) -> bool {
        !matches!(self, Self::Lease | Self::Definition | Self::Budget | Self::Custom)
    }

    /// Whether objects have a template of pods.
    pub(crate) fn is_workload(self) -> bool {
        matches!(self, Self::Deployment | Self::ReplicaSet | Self::StatefulSet | Self::DaemonSet)
    }

    /// Whether PUT creates a missing object.
    pub(crate) fn creates_on_update(self) -> bool {
        matches!(self, Self::Lease | Self::Event | Self::NewEvent)
    }

    /// Whether DELETE answers with the object.
    pub(crate) fn returns_deleted(self) -> bool {
        matches!(self, Self::Pod | Self::ServiceAccount)
    }

    /// Whether `metadata.generation` counts changes.
    pub(crate) fn counts_generations(self) -> bool {
        matches!(self, Self::Pod | Self::Definition | Self::Budget | Self::Custom)
            || self.is_workload()
    }

    /// Whether a status update also changes labels and other metadata.
    pub(crate) fn status_takes_metadata(self) -> bool {
        !matches!(self, Self::Custom | Self::Definition)
    }
}

/// Completes an object that is about to be created.
pub(crate) fn on_create(kind: &Kind, object: &mut Value, now: Timestamp) {
    match Special::of(kind) {
        Special::Pod => {
            pods::default(object);
            object["status"] = json!({"phase": "Pending", "qosClass": pods::class(object)});
            if let Some(conditions) = pods::unscheduled(object, now) {
                object["status"]["conditions"] = conditions;
            }
        }
        Special::Namespace => {
            label_namespace(object);
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        Special::Definition => {
            crd::default(object);
            crd::reset_status(object);
        }
        Special::Budget => object["status"] = json!({}),
        Special::Custom if kind.status_subresource => {
            if let Some(fields) = object.as_object_mut() {
                fields.remove("status");
            }
        }
        special if special.is_workload() => workloads::on_create(special, object),
        _ => {}
    }
    complete(kind, object);
}

/// Adds the fields that the server adds on every decode.
pub(crate) fn complete(kind: &Kind, object: &mut Value) {
    match Special::of(kind) {
        Special::Node => complete_node(object),
        Special::Secret => complete_secret(object),
        Special::Event => events::complete_core(object),
        Special::NewEvent => events::complete_new(object),
        Special::Lease if !object["spec"].is_object() => object["spec"] = json!({}),
        Special::Pod => pods::complete_status(object),
        Special::Budget => budgets::complete(object),
        special if special.is_workload() => workloads::complete(special, object),
        _ => {}
    }
}

/// Restores the fields that an update must not change.
pub(crate) fn on_update(kind: &Kind, object: &mut Value, old: &Value, status_only: bool) {
    if status_only {
        if let Special::Custom = Special::of(kind) {
            let status = object.get("status").cloned();
            *object = old.clone();
            if let (Some(status), Some(fields)) = (status, object.as_object_mut()) {
                fields.insert("status".to_owned(), status);
            } else if let Some(fields) = object.as_object_mut() {
                fields.remove("status");
            }
        } else {
            copy(object, old, "spec");
        }
        if Special::of(kind) == Special::Pod {
            let class = old["status"]["qosClass"].clone();
            object["status"]["qosClass"] = class;
        }
    } else if kind.status_subresource {
        copy(object, old, "status");
    }
    match Special::of(kind) {
        Special::Pod if !status_only => pods::default(object),
        Special::Namespace => {
            label_namespace(object);
            copy(object, old, "spec");
        }
        Special::Definition => crd::default(object),
        special if special.is_workload() => {
            workloads::on_update(special, object, old, status_only);
        }
        _ => {}
    }
    complete(kind, object);
}

fn label_namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if name.as_str().is_some_and(|name| !name.is_empty()) {
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    }
}

/// Adds the fields that a node always shows.
fn complete_node(node: &mut Value) {
    if let Some(cidr) = node["spec"]["podCIDR"].as_str().map(str::to_owned)
        && node["spec"]["podCIDRs"][0] != json!(cidr)
    {
        node["spec"]["podCIDRs"] = json!([cidr]);
    }
    if !node["spec"].is_object() {
        node["spec"] = json!({});
    }
    let status = &mut node["status"];
    let port = status["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_i64().unwrap_or_default();
    status["daemonEndpoints"]["kubeletEndpoint"]["Port"] = json!(port);
    for field in [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ] {
        if !status["nodeInfo"][field].is_string() {
            status["nodeInfo"][field] = json!("");
        }
    }
    times(status, &["lastHeartbeatTime", "lastTransitionTime"]);
}

/// Adds the given times, as null, to conditions without them. Removes an empty list of conditions.
pub(crate) fn times(status: &mut Value, names: &[&str]) {
    let Some(fields) = status.as_object_mut() else {
        return;
    };
    let conditions = fields.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        for name in names {
            condition.entry(*name).or_insert(Value::Null);
        }
    }
    if fields.get("conditions").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        fields.remove("conditions");
    }
}

/// Moves `stringData` into `data`, and defaults the type.
fn complete_secret(secret: &mut Value) {
    use base64::Engine;
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(plain)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        for (key, text) in plain {
            let text = text.as_str().unwrap_or_default();
            data[key] = json!(base64::engine::general_purpose::STANDARD.encode(text));
        }
    }
    fields.entry("type").or_insert_with(|| json!("Opaque"));
}
