//! PUT.

use serde_json::json;

use crate::{both, config_map, with_meta};

#[tokio::test]
async fn a_write_to_an_old_version_is_a_conflict() {
    both("conflicts", async |s| {
        let created = s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        let mut object = with_meta(config_map("a"), "resourceVersion", created.version());
        object["data"]["k"] = json!("w");
        assert_eq!(s.put(&path, &object).await.status, 200);
        assert_eq!(s.put(&path, &object).await.status, 409);
        let odd = with_meta(config_map("a"), "resourceVersion", "abc");
        assert_eq!(s.put(&path, &odd).await.status, 500);
    })
    .await;
}

#[tokio::test]
async fn an_update_may_leave_the_version_out() {
    both("unconditional", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let labelled = with_meta(config_map("a"), "labels", json!({"x": "y"}));
        assert_eq!(s.put(&s.core("configmaps/a"), &labelled).await.status, 200);
        let nothing = json!({"metadata": {"name": "a"}});
        assert!(s.put(&s.core("configmaps/a"), &nothing).await.body.get("data").is_none());
    })
    .await;
}

#[tokio::test]
async fn an_update_that_changes_nothing_keeps_the_version() {
    both("no-change", async |s| {
        let created = s.post(&s.core("configmaps"), &config_map("a")).await;
        let again = s.put(&s.core("configmaps/a"), &config_map("a")).await;
        assert_eq!(again.version(), created.version());
    })
    .await;
}

#[tokio::test]
async fn name_namespace_and_uid_must_fit() {
    both("misfits", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        assert_eq!(s.put(&path, &config_map("b")).await.status, 400);
        assert_eq!(s.put(&path, &config_map("")).await.status, 400);
        let elsewhere = with_meta(config_map("a"), "namespace", "other");
        assert_eq!(s.put(&path, &elsewhere).await.status, 400);
        let labels = with_meta(config_map("a"), "labels", json!({"a b": "c"}));
        assert_eq!(s.put(&path, &labels).await.status, 422);
        let other = with_meta(config_map("a"), "uid", "other");
        assert_eq!(s.put(&path, &other).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_cannot_be_updated() {
    both("no-update", async |s| {
        let path = s.core("configmaps/none");
        assert_eq!(s.put(&path, &config_map("none")).await.status, 404);
        let versioned = with_meta(config_map("none"), "resourceVersion", "5");
        assert_eq!(s.put(&path, &versioned).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn an_update_cannot_change_what_the_server_sets() {
    both("kept-meta", async |s| {
        let created = s.post(&s.core("configmaps"), &config_map("a")).await;
        let object = with_meta(config_map("a"), "creationTimestamp", "2020-01-01T00:00:00Z");
        let object = with_meta(object, "generation", 9);
        let updated = s.put(&s.core("configmaps/a"), &object).await;
        assert_eq!(updated.version(), created.version());
        let time = "creationTimestamp";
        assert_eq!(updated.body["metadata"][time], created.body["metadata"][time]);
    })
    .await;
}

#[tokio::test]
async fn a_dry_update_changes_nothing() {
    both("dry-update", async |s| {
        let created = s.post(&s.core("configmaps"), &config_map("a")).await;
        let labelled = with_meta(config_map("a"), "labels", json!({"x": "y"}));
        let answer = s.put(&s.core("configmaps/a?dryRun=All"), &labelled).await;
        assert_eq!(answer.body["metadata"]["labels"]["x"], "y");
        assert_eq!(s.get(&s.core("configmaps/a")).await.version(), created.version());
    })
    .await;
}
