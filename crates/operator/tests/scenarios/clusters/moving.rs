//! `clusterctl move`, as both management clusters see it: objects are deleted in one of them with a mark
//! and without their finalizers, and created in the other one with new UIDs and without their status.

use control_plane::Generation;
use serde_json::{Value, json};

use super::on_both_generations;
use super::stage::{ADDRESS, CLAIM, CLUSTER, Stage};

/// Deletes an object here, because it lives on elsewhere.
async fn move_away(stage: &Stage, kind: &str, name: &str) {
    let mark = json!({"clusterctl.cluster.x-k8s.io/delete-for-move": ""});
    let metadata = json!({"annotations": mark, "finalizers": null});
    stage.patch(kind, name, json!({"metadata": metadata})).await;
    if stage.get(kind, name).await.is_some() {
        stage.delete(kind, name).await;
    }
    stage.gone(kind, name).await;
}

/// Creates an object that lived elsewhere. Returns its UID.
async fn arrive(stage: &Stage, kind: &str, object: &Value, owners: Value) -> Value {
    let from = &object["metadata"];
    let metadata = json!({
        "name": from["name"], "labels": from["labels"], "ownerReferences": owners,
    });
    let arrived = stage.create(kind, metadata, object["spec"].clone()).await;
    json!(arrived.metadata.uid)
}

/// The owners of an object, with the UID of one kind replaced.
fn owners(object: &Value, kind: &str, uid: &Value) -> Value {
    let mut owners = object["metadata"]["ownerReferences"].clone();
    for owner in owners.as_array_mut().unwrap().iter_mut().filter(|one| one["kind"] == kind) {
        owner["uid"] = uid.clone();
    }
    owners
}

async fn a_cluster_that_moves_keeps_its_endpoint_and_its_address(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.says("prod", "True", "Allocated").await;

    stage.patch(CLUSTER, "prod", json!({"spec": {"paused": true}})).await;
    let cluster = stage.get(CLUSTER, "prod").await.unwrap();
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    let address = stage.get(ADDRESS, "vip-cp-prod").await.unwrap();
    move_away(&stage, ADDRESS, "vip-cp-prod").await;
    move_away(&stage, CLAIM, "vip-cp-prod").await;
    move_away(&stage, CLUSTER, "prod").await;

    let uid = arrive(&stage, CLUSTER, &cluster, json!([])).await;
    let uid = arrive(&stage, CLAIM, &claim, owners(&claim, CLUSTER, &uid)).await;
    arrive(&stage, ADDRESS, &address, owners(&address, CLAIM, &uid)).await;
    stage.patch(CLUSTER, "prod", json!({"spec": {"paused": false}})).await;
    let told = stage.says("prod", "True", "Allocated").await;
    assert_eq!(told, format!("control plane: 10.1.0.10 from {pool}"));
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    assert_eq!(claim["metadata"]["uid"], uid, "the claim that arrived");
    stage.used(&pool, 1).await;
}

on_both_generations! {
    a_cluster_that_moves_keeps_its_endpoint_and_its_address,
}
