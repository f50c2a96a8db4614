//! Server-side apply: merging, ownership and conflicts.

use serde_json::{Value, json};

use crate::both;
use crate::server::Server;

fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

#[tokio::test]
async fn what_is_applied_is_made_merged_and_taken_back() {
    both("apply-map", async |s| {
        s.with_managers();
        let path = s.core("configmaps/a");
        assert_eq!(s.apply(&path, "one", &map(&json!({"k": "v", "x": "y"}))).await.status, 201);
        assert_eq!(s.apply(&path, "one", &map(&json!({"k": "v", "x": "y"}))).await.status, 200);
        assert_eq!(s.apply(&path, "two", &map(&json!({"k": "v", "z": "w"}))).await.status, 200);
        let less = s.apply(&path, "one", &map(&json!({"k": "v"}))).await;
        assert_eq!(less.body["data"], json!({"k": "v", "z": "w"}));
        let less = s.apply(&path, "one", &map(&json!({"z": "w"}))).await;
        assert_eq!(less.body["data"], json!({"k": "v", "z": "w"}));
        assert_eq!(s.apply(&path, "two", &map(&json!({}))).await.body["data"], json!({"z": "w"}));
    })
    .await;
}

#[tokio::test]
async fn who_owns_a_field_is_asked_before_it_is_changed() {
    both("apply-conflicts", async |s| {
        s.with_managers();
        let path = s.core("configmaps/a");
        s.apply(&path, "one", &map(&json!({"k": "v", "x": "y"}))).await;
        let other = map(&json!({"k": "w"}));
        assert_eq!(s.apply(&path, "two", &other).await.status, 409);
        let both_fields = map(&json!({"k": "w", "x": "z"}));
        assert_eq!(s.apply(&path, "two", &both_fields).await.status, 409);
        assert_eq!(s.apply(&format!("{path}?force=true"), "two", &other).await.status, 200);
        assert_eq!(s.apply(&path, "one", &map(&json!({"k": "v"}))).await.status, 409);
        // An update takes ownership of its changes, and later applies conflict.
        s.merge(&format!("{path}?fieldManager=three"), &json!({"data": {"k": "u"}})).await;
        assert_eq!(s.apply(&path, "two", &other).await.status, 409);
        let reset = json!({"metadata": {"managedFields": [{}]}});
        s.merge(&path, &reset).await;
        assert_eq!(s.apply(&path, "two", &other).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_applied_is_refused() {
    both("apply-refused", async |s| {
        let path = s.core("configmaps/a");
        let good = map(&json!({"k": "v"}));
        assert_eq!(s.patch(&path, crate::server::APPLY, &good).await.status, 422);
        let mut odd = good.clone();
        odd["odd"] = json!(1);
        assert_eq!(s.apply(&path, "one", &odd).await.status, 500);
        odd["odder"] = json!(1);
        s.compare(false);
        assert_eq!(s.apply(&path, "one", &odd).await.status, 500);
        s.compare(true);
        let mut other = good.clone();
        other["kind"] = json!("Secret");
        assert_eq!(s.apply(&path, "one", &other).await.status, 400);
        let mut managed = good.clone();
        managed["metadata"]["managedFields"] = json!([]);
        assert_eq!(s.apply(&path, "one", &managed).await.status, 400);
        let other = s.core("configmaps/b");
        assert_eq!(s.apply(&other, "one", &good).await.status, 400);
        let dry = s.apply(&format!("{path}?dryRun=All"), "one", &good).await;
        assert_eq!(dry.status, 201);
        assert_eq!(s.get(&path).await.status, 404);
    })
    .await;
}

/// Creates a node with the scenario's name; returns its path.
async fn node(s: &Server) -> String {
    let name = s.namespace();
    s.post("/api/v1/nodes", &json!({"metadata": {"name": name, "labels": {"l": "v"}}})).await;
    format!("/api/v1/nodes/{name}")
}

#[tokio::test]
async fn lists_are_merged_by_their_keys_and_a_status_has_managers_of_its_own() {
    both("apply-node", async |s| {
        s.with_managers();
        let path = node(s).await;
        let name = s.namespace();
        let object = |field: &str, value: Value| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, field: value})
        };
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        let status = format!("{path}/status");
        let of = |all: Value| object("status", json!({"conditions": all}));
        let first = of(json!([condition("A", "True"), condition("B", "True")]));
        assert_eq!(s.apply(&status, "one", &first).await.status, 200);
        assert_eq!(s.apply(&status, "two", &of(json!([condition("C", "True")]))).await.status, 200);
        assert_eq!(s.apply(&status, "two", &of(json!([condition("A", "False")]))).await.status, 409);
        let fewer = s.apply(&status, "one", &of(json!([condition("B", "True")]))).await;
        assert_eq!(fewer.body["status"]["conditions"].as_array().unwrap().len(), 2);
        let taint = json!({"key": "k", "effect": "NoSchedule"});
        let tainted = object("spec", json!({"taints": [taint]}));
        assert_eq!(s.apply(&path, "one", &tainted).await.status, 200);
        let annotated = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "annotations": {"example.com/a": "b"}, "finalizers": ["example.com/f"]}});
        assert_eq!(s.apply(&path, "two", &annotated).await.status, 200);
        let plain = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        assert_eq!(s.apply(&path, "two", &plain).await.status, 200);
        assert_eq!(s.delete(&path).await.status, 200);
    })
    .await;
}
