//! Namespaces. The shared real server has no namespace controller, so the deletion of contents is
//! tested on fakekube alone.

use serde_json::json;

use crate::{both, config_map};

#[tokio::test]
async fn a_namespace_is_labelled_and_active() {
    both("spaces", async |s| {
        let created =
            s.post("/api/v1/namespaces", &json!({"metadata": {"name": "spaces-2"}})).await;
        assert_eq!(created.body["status"]["phase"], "Active");
        let dotted = s.post("/api/v1/namespaces", &json!({"metadata": {"name": "a.b"}})).await;
        assert_eq!(dotted.status, 422);
        let path = "/api/v1/namespaces/spaces-2";
        assert_eq!(s.merge(path, &json!({"metadata": {"labels": {"a": "b"}}})).await.status, 200);
        // Only managed fields change, and the real server counts that as a new version.
        s.compare(false);
        assert_eq!(s.merge(path, &json!({"spec": {"finalizers": ["a.b/c"]}})).await.status, 200);
        assert_eq!(s.merge(path, &json!({"status": {"phase": "Odd"}})).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn the_first_namespaces_are_there_and_stay() {
    both("immortal", async |s| {
        for name in ["default", "kube-system", "kube-public"] {
            let path = format!("/api/v1/namespaces/{name}");
            assert_eq!(s.get(&path).await.status, 200);
            assert_eq!(s.delete(&path).await.status, 403);
        }
        assert_eq!(s.get("/api/v1/namespaces/kube-node-lease").await.status, 200);
        assert_eq!(s.delete("/api/v1/namespaces").await.status, 405);
    })
    .await;
}

#[tokio::test]
async fn nothing_new_comes_into_a_namespace_that_goes() {
    both("going", async |s| {
        let held = json!({"metadata": {"name": "held", "finalizers": ["x.y/z"]}});
        s.post(&s.core("configmaps"), &held).await;
        let going = s.delete("/api/v1/namespaces/going").await;
        assert_eq!(going.body["status"]["phase"], "Terminating");
        assert_eq!(s.post(&s.core("configmaps"), &config_map("a")).await.status, 403);
    })
    .await;
}

#[tokio::test]
async fn a_namespace_goes_when_it_is_finalized() {
    both("finalized", async |s| {
        let held = json!({"metadata": {"name": "held", "finalizers": ["x.y/z"]}});
        s.post(&s.core("configmaps"), &held).await;
        s.delete("/api/v1/namespaces/finalized").await;
        let empty = json!({"metadata": {"name": "finalized"}, "spec": {"finalizers": []}});
        assert_eq!(s.put("/api/v1/namespaces/finalized/finalize", &empty).await.status, 200);
        assert_eq!(s.get("/api/v1/namespaces/finalized").await.status, 404);
    })
    .await;
}
