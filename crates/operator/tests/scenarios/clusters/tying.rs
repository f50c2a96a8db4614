//! Whose claim it is: legacy claims, stale owners, a Cluster that comes again.

use control_plane::Generation;
use serde_json::{Value, json};

use super::on_both_generations;
use super::stage::{ADDRESS, CLAIM, CLUSTER, Stage, vip};

async fn a_cluster_that_comes_again_gets_a_claim_of_its_own(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let before = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    stage.delete(CLUSTER, "prod").await;
    let cluster = stage.cluster("prod").await;
    let cluster = cluster.metadata.uid.unwrap();
    let host = |one: &Value| one["spec"]["controlPlaneEndpoint"]["host"].is_string();
    stage.until(CLUSTER, "prod", "endpoint", host).await;
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    assert_ne!(claim["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], json!(cluster));
    stage.says("prod", "True", "Allocated").await;
    stage.used(&pool, 1).await;
}

/// As capi-vip-allocator left them, in a version that is served no more.
async fn a_claim_with_an_outdated_owner_is_tied_anew_and_goes_with_its_cluster(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    let cluster = stage.cluster_with("old", json!({}), json!({"paused": true})).await;
    let stale = if stage.is_newer() { "v1beta1" } else { "v1alpha4" };
    let owner = json!({
        "apiVersion": format!("cluster.x-k8s.io/{stale}"), "kind": "Cluster", "name": "old",
        "uid": cluster.metadata.uid, "controller": true, "blockOwnerDeletion": true,
    });
    let metadata = json!({
        "name": "vip-cp-old", "labels": {vip("role"): "control-plane"}, "ownerReferences": [owner],
    });
    let reference = json!({
        "apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool", "name": &pool,
    });
    stage.create(CLAIM, metadata, json!({"poolRef": reference})).await;
    let bound = |one: &Value| one["status"]["addressRef"]["name"].is_string();
    let before = stage.until(CLAIM, "vip-cp-old", "bound", bound).await;

    stage.patch(CLUSTER, "old", json!({"spec": {"paused": false}})).await;
    stage.endpoint("old", "10.1.0.10", 6443).await;
    let version = format!("cluster.x-k8s.io/{}", on.version());
    let tied = |one: &Value| one["metadata"]["ownerReferences"][0]["apiVersion"] == version;
    let claim = stage.until(CLAIM, "vip-cp-old", "tied", tied).await;
    assert_eq!(claim["metadata"]["uid"], before["metadata"]["uid"], "the same claim");
    assert_eq!(claim["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "old");
    stage.delete(CLUSTER, "old").await;
    stage.gone(ADDRESS, "vip-cp-old").await;
    stage.used(&pool, 0).await;
}

async fn an_unowned_claim_is_adopted(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    let reference = json!({
        "apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool", "name": &pool,
    });
    let metadata = json!({"name": "vip-cp-prod", "labels": {vip("role"): "control-plane"}});
    stage.create(CLAIM, metadata, json!({"poolRef": reference})).await;
    let bound = |one: &Value| one["status"]["addressRef"]["name"].is_string();
    stage.until(CLAIM, "vip-cp-prod", "bound", bound).await;
    let cluster = stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], json!(cluster.metadata.uid));
}

on_both_generations! {
    a_cluster_that_comes_again_gets_a_claim_of_its_own,
    a_claim_with_an_outdated_owner_is_tied_anew_and_goes_with_its_cluster,
    an_unowned_claim_is_adopted,
}
