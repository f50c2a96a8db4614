//! PATCH.

use serde_json::{Value, json};

use crate::server::{JSON_PATCH, MERGE, STRATEGIC, Server};
use crate::{both, config_map};

async fn with_map(s: &Server) -> String {
    s.post(&s.core("configmaps"), &config_map("a")).await;
    s.core("configmaps/a")
}

#[tokio::test]
async fn a_merge_patch_merges() {
    both("merge", async |s| {
        let path = with_map(s).await;
        let patch = json!({"data": {"k": null, "x": "y"}, "metadata": {"labels": {"a": "b"}}});
        assert_eq!(s.merge(&path, &patch).await.body["data"], json!({"x": "y"}));
        assert_eq!(s.merge(&path, &patch).await.status, 200);
        assert_eq!(s.merge(&s.core("configmaps/none"), &patch).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_patch_may_name_the_version_it_is_for() {
    both("versioned-patch", async |s| {
        let path = with_map(s).await;
        let version = s.get(&path).await.version();
        let patch = json!({"metadata": {"resourceVersion": version}, "data": {"k": "w"}});
        assert_eq!(s.merge(&path, &patch).await.status, 200);
        let again = json!({"metadata": {"resourceVersion": version}, "data": {"k": "z"}});
        assert_eq!(s.merge(&path, &again).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn a_patch_cannot_change_who_an_object_is() {
    both("identity", async |s| {
        let path = with_map(s).await;
        assert_eq!(s.merge(&path, &json!({"metadata": {"uid": "1"}})).await.status, 422);
        assert_eq!(s.merge(&path, &json!({"metadata": {"name": "b"}})).await.status, 400);
        assert_eq!(s.merge(&path, &json!({"metadata": {"namespace": "b"}})).await.status, 400);
    })
    .await;
}

#[tokio::test]
async fn a_patch_must_be_one() {
    both("bad-patches", async |s| {
        let path = with_map(s).await;
        for (way, body) in [
            (MERGE, "{bad"),
            (MERGE, "[]"),
            (MERGE, "\"x\""),
            (STRATEGIC, "{bad"),
            (JSON_PATCH, "{bad"),
            (JSON_PATCH, "{}"),
        ] {
            let answer = s.ask("PATCH", &path, &[("content-type", way)], body).await;
            assert_eq!(answer.status, 400, "{way} {body}");
        }
    })
    .await;
}

#[tokio::test]
async fn other_types_of_patches_are_refused() {
    both("patch-types", async |s| {
        let path = with_map(s).await;
        for way in ["application/json", "text/plain"] {
            assert_eq!(s.patch(&path, way, &json!({})).await.status, 415);
        }
    })
    .await;
}

#[tokio::test]
async fn json_patches_do_their_operations() {
    both("json-patch", async |s| {
        let path = with_map(s).await;
        let operations = json!([
            {"op": "test", "path": "/data/k", "value": "v"},
            {"op": "add", "path": "/data/q", "value": "1"},
            {"op": "copy", "from": "/data/q", "path": "/data/r"},
            {"op": "move", "from": "/data/q", "path": "/data/s"},
            {"op": "replace", "path": "/data/new", "value": "2"},
            {"op": "remove", "path": "/data/k"},
        ]);
        let answer = s.patch(&path, JSON_PATCH, &operations).await;
        assert_eq!(answer.body["data"], json!({"new": "2", "r": "1", "s": "1"}));
    })
    .await;
}

#[tokio::test]
async fn json_patches_that_do_not_fit_change_nothing() {
    both("json-misfits", async |s| {
        let path = with_map(s).await;
        for operation in [
            json!({"op": "test", "path": "/data/k", "value": "z"}),
            json!({"op": "test", "path": "/data/none", "value": "z"}),
            json!({"op": "remove", "path": "/data/none"}),
            json!({"op": "add", "path": "/nope/none", "value": 1}),
            json!({"op": "bogus", "path": "/data/k"}),
            json!({"op": "move", "from": "/data/none", "path": "/data/k"}),
        ] {
            let both = json!([{"op": "add", "path": "/data/x", "value": "1"}, operation]);
            assert_eq!(s.patch(&path, JSON_PATCH, &both).await.status, 422, "{operation}");
        }
        assert_eq!(s.get(&path).await.body["data"], json!({"k": "v"}));
    })
    .await;
}

#[tokio::test]
async fn strategic_patches_know_directives() {
    both("strategic", async |s| {
        let path = with_map(s).await;
        for patch in [
            json!({"data": {"x": "y"}}),
            json!({"data": {"$patch": "replace", "k2": "v"}}),
            json!({"data": {"$patch": "delete"}}),
            json!({"metadata": {"finalizers": ["a.b/c"]}}),
            json!({"metadata": {"finalizers": ["a.b/d"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}}),
        ] {
            assert_eq!(s.patch(&path, STRATEGIC, &patch).await.status, 200, "{patch}");
        }
    })
    .await;
}

async fn node(s: &Server) -> String {
    let node = json!({
        "metadata": {"name": s.namespace()},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Disk", "status": "False"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        },
    });
    assert_eq!(s.post("/api/v1/nodes", &node).await.status, 201);
    format!("/api/v1/nodes/{}", s.namespace())
}

#[tokio::test]
async fn strategic_patches_merge_lists_by_their_keys() {
    both("strategic-lists", async |s| {
        let path = node(s).await;
        let status = format!("{path}/status");
        let conditions = |list: Value| json!({"status": {"conditions": list}});
        let order = json!([{"type": "New"}, {"type": "Ready"}]);
        for patch in [
            conditions(json!([{"type": "Ready", "status": "False"}])),
            conditions(json!([{"type": "New", "status": "True"}])),
            conditions(json!([{"type": "Disk", "$patch": "delete"}])),
            json!({"status": {"$setElementOrder/conditions": order}}),
            json!({"status": {"addresses": [{"type": "ExternalIP", "address": "198.51.100.1"}]}}),
            conditions(json!([{"$patch": "replace"}, {"type": "Only", "status": "True"}])),
        ] {
            assert_eq!(s.patch(&status, STRATEGIC, &patch).await.status, 200, "{patch}");
        }
        let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
        for list in [json!([taint("a")]), json!([taint("b")]), json!(null)] {
            let patch = json!({"spec": {"taints": list}});
            assert_eq!(s.patch(&path, STRATEGIC, &patch).await.status, 200);
        }
    })
    .await;
}

#[tokio::test]
async fn unknown_fields_in_patches_are_warned_of() {
    both("patch-unknown", async |s| {
        let path = with_map(s).await;
        for way in [MERGE, STRATEGIC] {
            assert_eq!(s.patch(&path, way, &json!({"odd": 1})).await.status, 200);
        }
        let strict = format!("{path}?fieldValidation=Strict");
        assert_eq!(s.patch(&strict, STRATEGIC, &json!({"odd": 1})).await.status, 422);
        // The real server shows its managed fields here.
        s.compare(false);
        let answer = s.merge(&strict, &json!({"odd": 1})).await;
        assert_eq!(answer.status, 422);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.starts_with(" \"\" is invalid: patch: Invalid value: \"{"), "{message}");
        assert!(message.ends_with("strict decoding error: unknown field \"odd\""), "{message}");
    })
    .await;
}

#[tokio::test]
async fn options_of_patches_are_checked() {
    both("patch-options", async |s| {
        let path = with_map(s).await;
        for query in ["force=true", "dryRun=Odd", "fieldValidation=Odd"] {
            let answer = s.merge(&format!("{path}?{query}"), &json!({})).await;
            assert_eq!(answer.status, 422, "{query}");
        }
        let dry = s.merge(&format!("{path}?dryRun=All"), &json!({"data": {"k": "w"}})).await;
        assert_eq!(dry.body["data"]["k"], "w");
        assert_eq!(s.get(&path).await.body["data"]["k"], "v");
    })
    .await;
}
