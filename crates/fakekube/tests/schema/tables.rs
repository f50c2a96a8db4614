//! Tables: both servers give the same columns and cells.

use fakekube::kubectl::table;
use fakekube::registry::{Kind, Registry};
use http::Method;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use crate::{ask, ask_as, install, ours, path_of, real};

const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Creates an object, then sets its status.
async fn create(client: &Client, kind: &Kind, mut object: Value) {
    let status = object.as_object_mut().unwrap().remove("status");
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    let path = path_of(kind);
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let (code, answer) = ask(client, Method::POST, &path, &object).await;
    assert_eq!(code, 201, "{answer}");
    if let Some(status) = status {
        let path = format!("{path}/{name}/status");
        let (code, answer) = ask(client, Method::PATCH, &path, &json!({"status": status})).await;
        assert_eq!(code, 200, "{answer}");
    }
}

/// Compares both servers' Tables of a kind's objects.
async fn compare(client: &Client, kind: &Kind) {
    for include in ["Metadata", "None", "Object"] {
        let (objects, theirs) = objects_and_table(client, kind, include).await;
        let now = Timestamp::now();
        let ours = table::render(kind, &objects, theirs["metadata"].clone(), include, now);
        let [theirs, ours] = [theirs, ours].map(with_masked_ages);
        assert_eq!(theirs["columnDefinitions"], ours["columnDefinitions"], "{}", kind.kind);
        assert_eq!(theirs, ours, "{}", kind.kind);
    }
}

/// A kind's objects, and the real server's Table of the same objects. Repeats if the objects
/// changed meanwhile: other tests of this binary create definitions.
async fn objects_and_table(client: &Client, kind: &Kind, include: &str) -> (Vec<Value>, Value) {
    let path = path_of(kind);
    let table = format!("{path}?includeObject={include}");
    loop {
        let objects = objects(client, kind, &path).await;
        let accept = [("accept", ACCEPT)];
        let (_, theirs) = ask_as(client, Method::GET, &table, &Value::Null, &accept).await;
        if self::objects(client, kind, &path).await == objects {
            return (objects, theirs);
        }
    }
}

async fn objects(client: &Client, kind: &Kind, path: &str) -> Vec<Value> {
    let (_, list) = ask(client, Method::GET, path, &Value::Null).await;
    let mut objects = list["items"].as_array().unwrap().clone();
    for object in &mut objects {
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.kind);
    }
    objects
}

/// Masks ages, which may differ by a second.
fn with_masked_ages(mut table: Value) -> Value {
    for row in table["rows"].as_array_mut().unwrap() {
        for cell in row["cells"].as_array_mut().unwrap() {
            let age = cell.as_str().and_then(|text| text.strip_suffix('s'));
            let in_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == 'm');
            if age.is_some_and(|text| !text.is_empty() && in_digits(text)) {
                *cell = json!("few");
            }
        }
    }
    table
}

fn nodes() -> Vec<Value> {
    let ready = |status: &str| json!([{"type": "Ready", "status": status}]);
    vec![
        json!({"metadata": {"name": "table-a", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
            "status": {"conditions": ready("True"),
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "192.0.2.1"}],
                "nodeInfo": {"kubeletVersion": "v1.30.0", "osImage": "Debian", "kernelVersion": "6.1", "containerRuntimeVersion": "containerd://2", "architecture": "amd64",
                    "bootID": "", "machineID": "", "systemUUID": "", "kubeProxyVersion": "", "operatingSystem": "linux"}}}),
        json!({"metadata": {"name": "table-b"}, "spec": {"unschedulable": true}, "status": {"conditions": ready("Unknown")}}),
        json!({"metadata": {"name": "table-c"}}),
    ]
}

fn pods() -> Vec<Value> {
    let spec = json!({"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}], "nodeName": "table-a"});
    let running = json!({"running": {"startedAt": "2024-01-01T00:00:00Z"}});
    let container = |name: &str, ready: bool, state: Value| json!({"name": name, "ready": ready, "restartCount": 0, "state": state, "image": "i", "imageID": "i"});
    let mut crashed = container("b", false, json!({"waiting": {"reason": "CrashLoopBackOff"}}));
    crashed["restartCount"] = json!(4);
    crashed["lastState"] =
        json!({"terminated": {"exitCode": 1, "finishedAt": "2024-01-01T00:00:00Z"}});
    let ended = |code: i64| json!({"terminated": {"exitCode": code, "reason": if code == 0 { "Completed" } else { "" }}});
    let with = |name: &str, phase: &str, statuses: Value| {
        json!({"metadata": {"name": name}, "spec": spec, "status": {"phase": phase, "containerStatuses": statuses,
            "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]}})
    };
    vec![
        json!({"metadata": {"name": "pending"}, "spec": spec}),
        with(
            "running",
            "Running",
            json!([container("a", true, running.clone()), container("b", true, running.clone())]),
        ),
        with("crashing", "Running", json!([container("a", true, running), crashed])),
        with(
            "done",
            "Succeeded",
            json!([container("a", false, ended(0)), container("b", false, ended(0))]),
        ),
        with(
            "failed",
            "Failed",
            json!([container("a", false, ended(3)), container("b", false, ended(0))]),
        ),
        json!({"metadata": {"name": "initializing"},
            "spec": {"containers": spec["containers"], "initContainers": [{"name": "i", "image": "i"}], "readinessGates": [{"conditionType": "x.y/z"}]},
            "status": {"phase": "Pending", "initContainerStatuses": [container("i", false, json!({"waiting": {"reason": "PodInitializing"}}))]}}),
    ]
}

fn events() -> Vec<Value> {
    let about =
        json!({"kind": "Node", "name": "table-a", "namespace": "default", "fieldPath": "spec.x"});
    vec![
        json!({"metadata": {"name": "old"}, "involvedObject": about, "reason": "Moved", "message": " moved \n", "type": "Normal",
            "source": {"component": "c", "host": "h"}, "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-02-01T00:00:00Z", "count": 3}),
        json!({"metadata": {"name": "new"}, "involvedObject": about, "reason": "Moved", "message": "moved", "type": "Warning",
            "eventTime": "2024-01-01T00:00:00.000000Z", "reportingComponent": "r", "reportingInstance": "i", "action": "Move",
            "series": {"count": 5, "lastObservedTime": "2024-03-01T00:00:00.000000Z"}}),
        json!({"metadata": {"name": "bare"}, "involvedObject": {"kind": "Node", "namespace": "default"}}),
    ]
}

#[tokio::test]
async fn built_in_kinds_are_printed_alike() {
    let Some(client) = real().await else { return };
    let registry = Registry::new();
    let of = |plural: &str, objects: Vec<Value>| (registry.get("", "v1", plural).unwrap(), objects);
    let lease = registry.get("coordination.k8s.io", "v1", "leases").unwrap();
    for (kind, objects) in [
        of("nodes", nodes()),
        of("pods", pods()),
        of("events", events()),
        of(
            "configmaps",
            vec![
                json!({"metadata": {"name": "c"}, "data": {"a": "b"}, "binaryData": {"c": "ZA=="}}),
            ],
        ),
        of("secrets", vec![json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})]),
        of("serviceaccounts", vec![json!({"metadata": {"name": "s"}})]),
        of("namespaces", Vec::new()),
        (
            lease,
            vec![
                json!({"metadata": {"name": "held"}, "spec": {"holderIdentity": "me"}}),
                json!({"metadata": {"name": "free"}}),
            ],
        ),
    ] {
        for object in objects {
            create(&client, kind, object).await;
        }
        compare(&client, kind).await;
    }
    compare(&client, registry.get("events.k8s.io", "v1", "events").unwrap()).await;
    compare(
        &client,
        registry.get("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap(),
    )
    .await;
}

/// A workload with two containers, and one whose status was reported.
fn workloads(reported: &Value) -> Vec<Value> {
    let containers = json!([{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]);
    let spec = |selector: Value| {
        json!({"selector": selector, "template": {
            "metadata": {"labels": {"app": "web", "tier": "b"}}, "spec": {"containers": containers}}})
    };
    let some = spec(json!({"matchLabels": {"app": "web"}}));
    let mut many = spec(json!({"matchLabels": {"tier": "b"}, "matchExpressions": [
        {"key": "app", "operator": "In", "values": ["web", "db"]}, {"key": "none", "operator": "DoesNotExist"}]}));
    many["template"]["spec"]["nodeSelector"] = json!({"pool": "edge", "a": "b"});
    vec![
        json!({"metadata": {"name": "fresh", "annotations": {"a": "b"}}, "spec": some}),
        json!({"metadata": {"name": "reported"}, "spec": many, "status": reported}),
    ]
}

#[tokio::test]
async fn workloads_and_budgets_are_printed_alike() {
    let Some(client) = real().await else { return };
    let registry = Registry::new();
    let replicas = json!({"replicas": 3, "readyReplicas": 2, "availableReplicas": 1});
    let mut updated = replicas.clone();
    updated["updatedReplicas"] = json!(2);
    let scheduled = json!({"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
        "updatedNumberScheduled": 2, "numberAvailable": 1, "numberMisscheduled": 0});
    for (plural, reported) in [
        ("deployments", &updated),
        ("replicasets", &replicas),
        ("statefulsets", &updated),
        ("daemonsets", &scheduled),
    ] {
        let kind = registry.get("apps", "v1", plural).unwrap();
        for object in workloads(reported) {
            create(&client, kind, object).await;
        }
        compare(&client, kind).await;
    }
    let kind = registry.get("policy", "v1", "poddisruptionbudgets").unwrap();
    let counts = json!({"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3});
    for object in [
        json!({"metadata": {"name": "bare"}}),
        json!({"metadata": {"name": "least"}, "spec": {"minAvailable": "50%"}, "status": counts}),
        json!({"metadata": {"name": "most"}, "spec": {"maxUnavailable": 1}}),
    ] {
        create(&client, kind, object).await;
    }
    compare(&client, kind).await;
}

#[tokio::test]
async fn custom_kinds_are_printed_alike() {
    let Some(client) = real().await else { return };
    let mut registry = Registry::new();
    for definition in ours() {
        install(&client, &definition).await;
        registry.install(&definition).unwrap();
    }
    let kind = registry.get("flipop.digitalocean.com", "v1alpha1", "floatingippools").unwrap();
    let condition = json!({"type": "Ready", "status": "True", "reason": "R", "message": "all well", "lastTransitionTime": "2024-01-01T00:00:00Z"});
    let spec = json!({"provider": "digitalocean", "ips": ["192.0.2.1", "192.0.2.2"]});
    create(
        &client,
        kind,
        json!({"metadata": {"name": "reported"}, "spec": spec, "status": {
        "conditions": [condition], "ips": {"192.0.2.1": {"state": "active"}}}}),
    )
    .await;
    create(&client, kind, json!({"metadata": {"name": "fresh"}, "spec": spec})).await;
    compare(&client, kind).await;

    // A kind without columns has a column for its age.
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "bares.test.example"},
        "spec": {"group": "test.example", "scope": "Namespaced", "names": {"kind": "Bare", "plural": "bares", "singular": "bare", "listKind": "BareList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    install(&client, &definition).await;
    registry.install(&definition).unwrap();
    let kind = registry.get("test.example", "v1", "bares").unwrap();
    create(&client, kind, json!({"metadata": {"name": "one"}})).await;
    compare(&client, kind).await;
}
