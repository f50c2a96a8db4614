//! Clusters that are left as they are.

use control_plane::Generation;
use serde_json::json;

use super::on_both_generations;
use super::stage::{CLAIM, CLUSTER, Stage};

async fn a_cluster_with_a_host_of_its_own_takes_no_address(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    let endpoint = json!({"controlPlaneEndpoint": {"host": "api.example.com", "port": 443}});
    stage.cluster_with("manual", json!({}), endpoint).await;
    let chosen = json!({"topology": {"variables": [{"name": "clusterVip", "value": "10.9.9.9"}]}});
    stage.cluster_with("chosen", json!({}), chosen).await;
    let told = stage.says("manual", "True", "Manual").await;
    assert!(told.contains("api.example.com was chosen by the user"), "{told}");
    stage.says("chosen", "True", "Manual").await;
    // The operator has seen the two, and serves the third.
    stage.cluster("third").await;
    stage.endpoint("third", "10.1.0.10", 6443).await;
    stage.used(&pool, 1).await;
    for claim in ["vip-cp-manual", "vip-cp-chosen"] {
        assert_eq!(stage.get(CLAIM, claim).await, None);
    }
    stage.endpoint("manual", "api.example.com", 443).await;
}

async fn a_paused_cluster_is_not_touched_until_it_goes_on(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.13"]).await;
    let annotated = json!({"annotations": {"cluster.x-k8s.io/paused": "true"}});
    stage.cluster_with("annotated", annotated, json!({})).await;
    stage.cluster_with("paused", json!({}), json!({"paused": true})).await;
    stage.cluster("other").await;
    stage.endpoint("other", "10.1.0.10", 6443).await;
    stage.says("other", "True", "Allocated").await;
    for name in ["annotated", "paused"] {
        let cluster = stage.get(CLUSTER, name).await.unwrap();
        assert_eq!(cluster["metadata"]["generation"], 1);
        assert_eq!(cluster["status"], json!(null), "nothing is said either");
        assert_eq!(stage.get(CLAIM, &format!("vip-cp-{name}")).await, None);
    }
    stage.patch(CLUSTER, "paused", json!({"spec": {"paused": false}})).await;
    stage.endpoint("paused", "10.1.0.11", 6443).await;
    let resumed = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    stage.patch(CLUSTER, "annotated", resumed).await;
    stage.endpoint("annotated", "10.1.0.12", 6443).await;
}

on_both_generations! {
    a_cluster_with_a_host_of_its_own_takes_no_address,
    a_paused_cluster_is_not_touched_until_it_goes_on,
}
