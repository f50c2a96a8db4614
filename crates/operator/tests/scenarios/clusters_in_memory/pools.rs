//! Full VIP pools, and many Clusters.

use std::collections::BTreeSet;

use futures::future::join_all;
use kube::api::DeleteParams;
use pontoon::management::CLUSTER;
use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn the_next_pool_serves_once_the_first_is_full_and_then_clusters_wait() {
    let stage = Stage::open().await;
    stage.pool("a", "control-plane", "10.0.0.1").await;
    stage.pool("b", "control-plane", "10.0.1.1").await;
    let _leader = stage.leader(&[]).await;
    stage.cluster("x", json!({})).await;
    assert_eq!(stage.endpoint("x").await, "10.0.0.1");
    stage.used("a", 1).await;
    stage.cluster("y", json!({})).await;
    assert_eq!(stage.endpoint("y").await, "10.0.1.1");
    stage.used("b", 1).await;
    stage.cluster("z", json!({})).await;
    let message = stage.reason("z", "PoolExhausted").await;
    assert!(message.contains("no free address in "), "{message}");
    stage.delete("y", &DeleteParams::background()).await;
    assert_eq!(stage.endpoint("z").await, "10.0.1.1");
    stage.reason("z", "Allocated").await;
}

#[tokio::test]
async fn clusters_that_race_for_the_last_address_fall_back() {
    let stage = Stage::open().await;
    stage.pool("a", "control-plane", "10.0.0.1").await;
    stage.pool("b", "control-plane", "10.0.1.1-10.0.1.9").await;
    for name in ["x", "y", "z"] {
        stage.cluster(name, json!({})).await;
    }
    let _leader = stage.leader(&[]).await;
    let hosts = join_all(["x", "y", "z"].map(|name| stage.endpoint(name))).await;
    let hosts: BTreeSet<_> = hosts.iter().map(String::as_str).collect();
    assert_eq!(hosts, BTreeSet::from(["10.0.0.1", "10.0.1.1", "10.0.1.2"]));
}

#[tokio::test]
async fn a_hundred_clusters_at_once_get_an_address_each_and_a_restart_writes_nothing() {
    let stage = Stage::open().await;
    stage.pool("cp", "control-plane", "10.0.0.0/24").await;
    stage.pool("in", "ingress", "10.1.0.0/24").await;
    let leader = stage.leader(&[]).await;
    let names: Vec<_> = (0..100).map(|number| format!("c-{number}")).collect();
    join_all(names.iter().map(|name| stage.cluster(name, json!({})))).await;
    let hosts: BTreeSet<_> = stage.all_at_rest().await.into_iter().collect();
    assert_eq!(hosts.len(), 100);
    stage.used("cp", 100).await;
    stage.used("in", 100).await;

    leader.terminate().await;
    let before = stage.versions().await;
    let _leader = stage.leader(&[]).await;
    stage.cluster("one-more", json!({})).await;
    stage.reason("one-more", "Allocated").await;
    let mut after = stage.versions().await;
    after.retain(|name, _| !name.ends_with("one-more"));
    assert_eq!(after, before);
    assert!(after.contains_key(&format!("{} c-7", CLUSTER.name)));
}
