//! DELETE.

use serde_json::json;

use crate::{both, config_map, with_meta};

#[tokio::test]
async fn what_is_deleted_is_gone() {
    both("gone", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        assert_eq!(s.delete(&path).await.body["status"], "Success");
        assert_eq!(s.delete(&path).await.status, 404);
        assert_eq!(s.get(&path).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    both("finalizers", async |s| {
        let held = with_meta(config_map("a"), "finalizers", json!(["x.y/z"]));
        s.post(&s.core("configmaps"), &held).await;
        let path = s.core("configmaps/a");
        for _ in 0..2 {
            let answer = s.delete(&path).await;
            assert!(answer.body["metadata"]["deletionTimestamp"].is_string());
        }
        let more = json!({"metadata": {"finalizers": ["x.y/z", "a.b/c"]}});
        assert_eq!(s.merge(&path, &more).await.status, 422);
        assert_eq!(s.merge(&path, &json!({"data": {"still": "here"}})).await.status, 200);
        assert_eq!(s.merge(&path, &json!({"metadata": {"finalizers": null}})).await.status, 200);
        assert_eq!(s.get(&path).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn preconditions_are_kept() {
    both("preconditions", async |s| {
        let created = s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        let with = |key: &str, value: &str| json!({"preconditions": {key: value}});
        assert_eq!(s.delete_with(&path, &with("uid", "x")).await.status, 409);
        assert_eq!(s.delete_with(&path, &with("resourceVersion", "1")).await.status, 409);
        let fitting =
            json!({"preconditions": {"uid": created.uid(), "resourceVersion": created.version()}});
        assert_eq!(s.delete_with(&path, &fitting).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_dry_delete_deletes_nothing() {
    both("dry-delete", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        assert_eq!(s.delete(&format!("{path}?dryRun=All")).await.status, 200);
        assert_eq!(s.delete_with(&path, &json!({"dryRun": ["All"]})).await.status, 200);
        assert_eq!(s.get(&path).await.status, 200);
        assert_eq!(s.delete_with(&path, &json!({"dryRun": ["Odd"]})).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn propagation_policies_are_known() {
    both("policies", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        assert_eq!(s.delete_with(&path, &json!({"propagationPolicy": "Odd"})).await.status, 422);
        let background =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        assert_eq!(s.delete_with(&path, &background).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    both("collections", async |s| {
        for (name, label) in [("a", "x"), ("b", "x"), ("c", "y")] {
            let object = with_meta(config_map(name), "labels", json!({"l": label}));
            s.post(&s.core("configmaps"), &object).await;
        }
        let deleted = s.delete(&s.core("configmaps?labelSelector=l%3Dx")).await;
        assert_eq!(deleted.names(), ["a", "b"]);
        let left = s.get(&s.core("configmaps")).await;
        assert_eq!(left.names(), ["c"]);
        assert_eq!(s.delete(&s.core("configmaps")).await.names(), ["c"]);
        assert!(s.delete(&s.core("configmaps")).await.names().is_empty());
    })
    .await;
}
