//! Full VIP pools.

use control_plane::Generation;
use serde_json::json;

use super::on_both_generations;
use super::stage::{CLAIM, CLUSTER, Stage, vip};

async fn a_full_pool_gives_way_to_the_next_and_a_cluster_waits_for_the_last(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let first = stage.pool("a", "control-plane", &["10.1.0.10"]).await;
    let second = stage.pool("b", "control-plane", &["10.3.0.10"]).await;
    stage.cluster("one").await;
    stage.endpoint("one", "10.1.0.10", 6443).await;
    stage.used(&first, 1).await;

    stage.cluster("two").await;
    stage.endpoint("two", "10.3.0.10", 6443).await;
    stage.used(&second, 1).await;

    stage.cluster("three").await;
    let told = stage.says("three", "False", "PoolExhausted").await;
    assert!(told.contains(&format!("no free address in {first}, {second}")), "{told}");
    let (_, type_) = stage.event("three", "PoolExhausted").await;
    assert_eq!(type_, "Warning");

    // A Cluster that waits can be deleted, and leaves nothing behind.
    stage.cluster("four").await;
    stage.says("four", "False", "PoolExhausted").await;
    stage.delete(CLUSTER, "four").await;
    stage.gone(CLAIM, "vip-cp-four").await;

    stage.delete(CLUSTER, "one").await;
    stage.endpoint("three", "10.1.0.10", 6443).await;
    stage.says("three", "True", "Allocated").await;
}

/// The claim is made before the VIP pool is known to be full.
async fn a_claim_that_its_pool_cannot_serve_falls_back(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let first = stage.pool("a", "control-plane", &["10.1.0.10"]).await;
    stage.cluster("one").await;
    stage.endpoint("one", "10.1.0.10", 6443).await;
    stage.used(&first, 1).await;
    stage.cluster("two").await;
    stage.says("two", "False", "PoolExhausted").await;
    let second = stage.pool("b", "control-plane", &["10.3.0.10"]).await;
    stage.endpoint("two", "10.3.0.10", 6443).await;
    let (note, _) = stage.event("two", "FellBack").await;
    assert!(note.contains(&format!("{first} has no free address; {second} is tried")), "{note}");
    let claim = stage.get(CLAIM, "vip-cp-two").await.unwrap();
    assert_eq!(claim["spec"]["poolRef"]["name"], second);
}

async fn a_pool_in_the_namespace_comes_before_a_global_one_and_the_named_one_first(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("a", "control-plane", &["10.1.0.10"]).await;
    let labels = json!({vip("cluster-class"): &stage.name, vip("role"): "control-plane"});
    let spec = json!({"addresses": ["10.4.0.10"], "prefix": 24});
    stage.create("InClusterIPPool", json!({"name": "near", "labels": labels}), spec).await;
    let spec = json!({"addresses": ["10.5.0.10"], "prefix": 24});
    stage.create("InClusterIPPool", json!({"name": "named"}), spec).await;
    // Counted pools: a claim for another pool would be a fallback.
    for pool in ["near", "named"] {
        stage.until("InClusterIPPool", pool, "counted", |one| !one["status"].is_null()).await;
    }
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.4.0.10", 6443).await;
    let wish = json!({"annotations": {vip("control-plane-pool"): "named"}});
    stage.cluster_with("wishing", wish, json!({})).await;
    stage.endpoint("wishing", "10.5.0.10", 6443).await;
}

on_both_generations! {
    a_full_pool_gives_way_to_the_next_and_a_cluster_waits_for_the_last,
    a_claim_that_its_pool_cannot_serve_falls_back,
    a_pool_in_the_namespace_comes_before_a_global_one_and_the_named_one_first,
}
