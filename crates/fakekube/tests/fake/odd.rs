//! Malformed requests get an answer. A lost answer would mean a panic.

use fakekube::FakeKube;
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

use crate::client;

const WAYS: [&str; 3] = [
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
];

/// The object with each of its parts in turn replaced by odd values.
fn spoiled(object: &Value) -> Vec<Value> {
    let odd =
        [json!(null), json!(1), json!("x"), json!([]), json!([1]), json!({}), json!({"a": {}})];
    let mut all = odd.to_vec();
    if let Value::Object(fields) = object {
        for (name, value) in fields {
            for spoiled in spoiled(value) {
                let mut copy = object.clone();
                copy[name] = spoiled;
                all.push(copy);
            }
        }
    }
    if let Value::Array(items) = object {
        for value in items.first().map(spoiled).unwrap_or_default() {
            all.push(json!([value]));
        }
    }
    all
}

fn samples() -> Vec<(&'static str, &'static str, Value)> {
    let meta = json!({"name": "a", "labels": {"l": "v"}, "finalizers": ["a.b/c"], "ownerReferences": [{"name": "o"}]});
    let of = |mut object: Value| {
        object["metadata"] = meta.clone();
        object
    };
    vec![
        (
            "/api/v1/nodes",
            "/api/v1/nodes/a",
            of(json!({"spec": {"podCIDR": "x", "taints": [{"key": "k"}]},
            "status": {"conditions": [{"type": "Ready"}], "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
                "nodeInfo": {"machineID": "m"}}})),
        ),
        (
            "/api/v1/namespaces/default/pods",
            "/api/v1/namespaces/default/pods/a",
            of(json!({"spec": {
            "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1}],
                "readinessProbe": {"httpGet": {"port": 1}}, "resources": {"limits": {"cpu": "1"}}}],
            "tolerations": [{"key": "k"}], "volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            "status": {"conditions": [{"type": "Ready"}]}})),
        ),
        (
            "/api/v1/namespaces",
            "/api/v1/namespaces/a",
            of(json!({"spec": {"finalizers": ["x"]}, "status": {"phase": "x"}})),
        ),
        (
            "/api/v1/namespaces/default/secrets",
            "/api/v1/namespaces/default/secrets/a",
            of(json!({"stringData": {"a": "b"}, "data": {"c": "ZA=="}})),
        ),
        (
            "/api/v1/namespaces/default/events",
            "/api/v1/namespaces/default/events/a",
            of(json!({"involvedObject": {"name": "x"}, "source": {"component": "c"}})),
        ),
        (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            "/apis/events.k8s.io/v1/namespaces/default/events/a",
            of(json!({"regarding": {"name": "x"}, "series": {"count": 1}})),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
            of(json!({"spec": {"holderIdentity": "h"}})),
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.x.example",
            definition(),
        ),
    ]
}

fn definition() -> Value {
    let spec = json!({"group": "x.example", "scope": "Namespaced", "names": {"plural": "as", "kind": "A"},
        "conversion": {"strategy": "None"},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "N", "type": "string", "jsonPath": ".a"}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}]});
    json!({
        "metadata": {"name": "as.x.example"},
        "spec": spec,
        "status": {"conditions": [], "acceptedNames": {}},
    })
}

async fn answered(client: &kube::Client, method: &str, path: &str, way: &str, body: &Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", way);
    let request = request.body(Body::from(body.to_string().into_bytes())).unwrap();
    assert!(client.send(request).await.is_ok(), "{method} {path} {way}: {body}");
}

#[tokio::test(start_paused = true)]
async fn odd_objects_are_answered() {
    for (all, one, sample) in samples() {
        let fake = FakeKube::new(1);
        let client = client(&fake);
        for object in spoiled(&sample) {
            answered(&client, "POST", all, "application/json", &object).await;
            let table = Request::get(all)
                .header("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
                .body(Body::empty())
                .unwrap();
            assert!(client.send(table).await.is_ok(), "{all}: {object}");
            answered(&client, "DELETE", one, "application/json", &object).await;
            let free = json!({"metadata": {"finalizers": null}});
            answered(&client, "PATCH", one, WAYS[0], &free).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn odd_configurations_are_answered() {
    for (all, one, sample) in samples() {
        let fake = FakeKube::new(1);
        fake.track_managers();
        let client = client(&fake);
        let (version, kind) = match all.rsplit('/').next() {
            Some("nodes") => ("v1", "Node"),
            Some("pods") => ("v1", "Pod"),
            Some("namespaces") => ("v1", "Namespace"),
            Some("secrets") => ("v1", "Secret"),
            Some("customresourcedefinitions") => {
                ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            }
            _ => continue,
        };
        for mut object in spoiled(&sample).into_iter().filter(Value::is_object) {
            object["apiVersion"] = json!(version);
            object["kind"] = json!(kind);
            for path in [one.to_owned(), format!("{one}/status")] {
                let path = format!("{path}?fieldManager=kubectl&force=true");
                answered(&client, "PATCH", &path, "application/apply-patch+yaml", &object).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn odd_changes_are_answered() {
    for (all, one, sample) in samples() {
        let fake = FakeKube::new(1);
        let client = client(&fake);
        for object in spoiled(&sample) {
            answered(&client, "POST", all, "application/json", &sample).await;
            for path in [one.to_owned(), format!("{one}/status"), format!("{one}/finalize")] {
                answered(&client, "PUT", &path, "application/json", &object).await;
                for way in WAYS {
                    answered(&client, "PATCH", &path, way, &object).await;
                }
                let root = json!([{"op": "replace", "path": "", "value": object}]);
                answered(&client, "PATCH", &path, WAYS[2], &root).await;
            }
        }
    }
}
