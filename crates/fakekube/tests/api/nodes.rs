//! Nodes and their status.

use serde_json::{Value, json};

use crate::both;
use crate::server::{STRATEGIC, Server};

async fn create(s: &Server) -> String {
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": s.namespace(), "labels": {"zone": s.namespace()}},
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": "digitalocean://1"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        },
    });
    assert_eq!(s.post("/api/v1/nodes", &node).await.status, 201);
    format!("/api/v1/nodes/{}", s.namespace())
}

#[tokio::test]
async fn the_status_of_a_node_is_written_apart() {
    both("node-status", async |s| {
        let path = create(s).await;
        let status = format!("{path}/status");
        let patch = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]},
            "spec": {"unschedulable": true}, "metadata": {"labels": {"new": "label"}}});
        let patched = s.patch(&status, STRATEGIC, &patch).await;
        assert!(patched.body["spec"].get("unschedulable").is_none());
        assert_eq!(s.get(&status).await.status, 200);
        let merged = s.merge(&path, &json!({"status": {"phase": "Odd"}})).await;
        assert!(merged.body["status"].get("phase").is_none());
        for method in ["POST", "DELETE"] {
            assert_eq!(s.ask(method, &status, &[], "").await.status, 405);
        }
    })
    .await;
}

#[tokio::test]
async fn a_put_of_the_status_keeps_the_spec() {
    both("node-put-status", async |s| {
        let path = create(s).await;
        let mut node: Value = s.get(&path).await.body;
        node["status"]["conditions"][0]["status"] = json!("Unknown");
        node["spec"]["unschedulable"] = json!(true);
        node["metadata"].as_object_mut().unwrap().remove("managedFields");
        let status = format!("{path}/status");
        let put = s.put(&status, &node).await;
        assert_eq!(put.body["status"]["conditions"][0]["status"], "Unknown");
        assert_eq!(s.put(&status, &node).await.status, 409);
        let bare = json!({"metadata": {"name": s.namespace()}, "status": {"conditions": []}});
        assert_eq!(s.put(&status, &bare).await.status, 200);
        let none = json!({"metadata": {"name": "no-such-node"}});
        assert_eq!(s.put("/api/v1/nodes/no-such-node/status", &none).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_node_is_cordoned_and_tainted() {
    both("cordon", async |s| {
        let path = create(s).await;
        for spec in [
            json!({"unschedulable": true}),
            json!({"taints": [{"key": "a", "value": "", "effect": "NoSchedule"}]}),
            json!({"unschedulable": false}),
            json!({"unschedulable": null, "taints": null}),
        ] {
            let answer = s.patch(&path, STRATEGIC, &json!({"spec": spec})).await;
            assert_eq!(answer.status, 200);
        }
        for taint in [json!({"key": "a"}), json!({"key": "a", "effect": "Odd"})] {
            let patch = json!({"spec": {"taints": [taint]}});
            assert_eq!(s.patch(&path, STRATEGIC, &patch).await.status, 422);
        }
        assert_eq!(s.merge(&path, &json!({"spec": {"providerID": "other"}})).await.status, 422);
        assert_eq!(s.merge(&path, &json!({"spec": {"podCIDR": "10.9.0.0/24"}})).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn a_node_put_without_status_keeps_it() {
    both("node-put", async |s| {
        let path = create(s).await;
        let bare = json!({"metadata": {"name": s.namespace()},
            "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "digitalocean://1"}});
        let put = s.put(&path, &bare).await;
        assert_eq!(put.body["status"]["conditions"][0]["type"], "Ready");
        assert!(put.body["metadata"].get("labels").is_none());
        assert_eq!(s.delete(&path).await.body["status"], "Success");
    })
    .await;
}
