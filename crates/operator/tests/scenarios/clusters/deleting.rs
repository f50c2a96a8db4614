//! The addresses of Clusters that are deleted while their machines still run, and of Clusters that
//! outlive the operator.

use control_plane::Generation;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::management::USER;
use super::on_both_generations;
use super::stage::{ADDRESS, CLAIM, CLUSTER, GUARD, Stage};
use crate::arena::eventually;
use crate::installing::root;

const ALONE: &str = "--leader-elect=false";

/// A Cluster with machines, and a VIP.
async fn settled(stage: &Stage) -> String {
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.cluster_with("prod", json!({"finalizers": [GUARD]}), json!({})).await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.used(&pool, 1).await;
    pool
}

async fn delete_in_the_foreground(stage: &Stage) {
    stage.api(CLUSTER).delete("prod", &DeleteParams::foreground()).await.unwrap();
}

/// As Cluster API does once the machines are gone.
async fn machines_are_gone(stage: &Stage) {
    eventually("Cluster API's finalizer is removed", || async {
        let cluster = stage.get(CLUSTER, "prod").await.unwrap();
        let metadata = &cluster["metadata"];
        let left = metadata["finalizers"].as_array().unwrap().iter();
        let left: Vec<_> = left.filter(|one| **one != GUARD).collect();
        // The garbage collector removes a finalizer of its own.
        let version = &metadata["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version, "finalizers": left}});
        let params = PatchParams::default();
        stage.api(CLUSTER).patch("prod", &params, &Patch::Merge(&patch)).await
    })
    .await;
}

fn owners(claim: &Value) -> Vec<&str> {
    let owners = claim["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|one| one["kind"].as_str()).collect()
}

/// Waits until the claim has a holder.
async fn held(stage: &Stage) {
    let both = |one: &Value| owners(one) == ["Cluster", "ConfigMap"];
    stage.until(CLAIM, "vip-cp-prod", "held", both).await;
}

async fn a_held_address_stays_until_the_machines_are_gone(on: Generation) {
    let Some(stage) = Stage::alone(on, &[ALONE, "--hold-vips"]).await else { return };
    let pool = settled(&stage).await;
    held(&stage).await;

    delete_in_the_foreground(&stage).await;
    // The garbage collector has done its part: the Cluster owns the claim no more.
    let left = |one: &Value| owners(one) == ["ConfigMap"];
    let claim = stage.until(CLAIM, "vip-cp-prod", "left by its Cluster", left).await;
    assert_eq!(claim["metadata"]["deletionTimestamp"], Value::Null);
    let address = stage.get(ADDRESS, "vip-cp-prod").await.unwrap();
    assert_eq!(address["metadata"]["deletionTimestamp"], Value::Null);
    stage.cluster("next").await;
    stage.endpoint("next", "10.1.0.11", 6443).await;
    assert!(stage.get(CLUSTER, "prod").await.is_some());

    machines_are_gone(&stage).await;
    for (kind, name) in [
        (CLUSTER, "prod"),
        ("ConfigMap", "vip-cp-prod"),
        (CLAIM, "vip-cp-prod"),
        (ADDRESS, "vip-cp-prod"),
    ] {
        stage.gone(kind, name).await;
    }
    stage.used(&pool, 1).await;
    let log = stage.management.plane.audit_log().unwrap();
    let refused: Vec<_> = log.iter().filter(|one| one.user == USER && one.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

async fn a_held_cluster_that_comes_again_gets_a_claim_of_its_own(on: Generation) {
    let Some(stage) = Stage::alone(on, &[ALONE, "--hold-vips"]).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    held(&stage).await;
    stage.delete(CLUSTER, "prod").await;
    let cluster = stage.cluster("prod").await;
    let host = |one: &Value| one["spec"]["controlPlaneEndpoint"]["host"].is_string();
    stage.until(CLUSTER, "prod", "endpoint", host).await;
    held(&stage).await;
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], json!(cluster.metadata.uid));
    stage.used(&pool, 1).await;
}

async fn without_holders_a_foreground_deletion_frees_the_address_at_once(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = settled(&stage).await;
    delete_in_the_foreground(&stage).await;
    stage.gone(CLAIM, "vip-cp-prod").await;
    stage.used(&pool, 0).await;
    assert!(stage.get(CLUSTER, "prod").await.is_some(), "its machines still run");
    machines_are_gone(&stage).await;
    stage.gone(CLUSTER, "prod").await;
}

async fn a_deletion_in_the_background_keeps_the_address_until_the_machines_are_gone(
    on: Generation,
) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = settled(&stage).await;
    stage.delete(CLUSTER, "prod").await;
    stage.cluster("next").await;
    stage.endpoint("next", "10.1.0.11", 6443).await;
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    assert_eq!(claim["metadata"]["deletionTimestamp"], Value::Null);
    machines_are_gone(&stage).await;
    stage.gone(ADDRESS, "vip-cp-prod").await;
    stage.used(&pool, 1).await;
}

async fn an_operator_that_holds_no_more_gives_its_holders_up(on: Generation) {
    let Some(mut stage) = Stage::alone(on, &[ALONE, "--hold-vips"]).await else { return };
    let pool = settled(&stage).await;
    held(&stage).await;
    drop(stage.operator.own().take());
    *stage.operator.own() = Some(stage.management.operator("next", &[ALONE]));
    stage.gone("ConfigMap", "vip-cp-prod").await;
    let alone = |one: &Value| owners(one) == ["Cluster"];
    stage.until(CLAIM, "vip-cp-prod", "held no more", alone).await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.used(&pool, 1).await;
}

/// The command of docs/clusters.md.
async fn an_address_is_freed_after_the_operator_is_removed(on: Generation) {
    let Some(mut stage) = Stage::alone(on, &[ALONE, "--hold-vips"]).await else { return };
    let pool = settled(&stage).await;
    held(&stage).await;
    drop(stage.operator.own().take());
    let command = "kubectl delete configmaps -A -l vip.capi.gorizond.io/role";
    let page = std::fs::read_to_string(root().join("docs/clusters.md")).unwrap();
    assert!(page.contains(command), "the page has the command");
    let words = command.split(' ').skip(1);
    let done = stage.management.plane.kubectl().args(words).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let alone = |one: &Value| owners(one) == ["Cluster"];
    stage.until(CLAIM, "vip-cp-prod", "held no more", alone).await;
    stage.delete(CLUSTER, "prod").await;
    machines_are_gone(&stage).await;
    stage.gone(ADDRESS, "vip-cp-prod").await;
    stage.used(&pool, 0).await;
}

on_both_generations! {
    a_held_address_stays_until_the_machines_are_gone,
    a_held_cluster_that_comes_again_gets_a_claim_of_its_own,
    without_holders_a_foreground_deletion_frees_the_address_at_once,
    a_deletion_in_the_background_keeps_the_address_until_the_machines_are_gone,
    an_operator_that_holds_no_more_gives_its_holders_up,
    an_address_is_freed_after_the_operator_is_removed,
}
