//! Clusters from their creation to their end.

use kube::ResourceExt;
use kube::api::DeleteParams;
use pontoon::management::{ADDRESS, CLAIM, CLUSTER, RELEASE, names};
use serde_json::json;

use super::stage::Stage;

#[tokio::test]
async fn a_cluster_gets_its_vips_and_its_end_frees_the_addresses() {
    let stage = Stage::open().await;
    stage.pool("cp", "control-plane", "10.0.0.1-10.0.0.9").await;
    stage.pool("in", "ingress", "10.1.0.1-10.1.0.9").await;
    let _leader = stage.leader(&[]).await;
    stage.cluster("x", json!({})).await;
    assert_eq!(stage.endpoint("x").await, "10.0.0.1");
    let message = stage.reason("x", "Allocated").await;
    assert_eq!(message, "control plane: 10.0.0.1 from cp; ingress: 10.1.0.1 from in");
    let cluster = stage.all(&CLUSTER).get("x").await.unwrap();
    let variables = &cluster.data["spec"]["topology"]["variables"];
    assert_eq!(*variables, json!([{"name": "clusterVip", "value": "10.0.0.1"}]));
    assert_eq!(cluster.annotations()[names::INGRESS_VIP], "10.1.0.1");
    assert_eq!(cluster.labels()[names::INGRESS_VIP], "10.1.0.1");
    stage.used("cp", 1).await;

    stage.delete("x", &DeleteParams::background()).await;
    stage.gone(&CLUSTER, "x").await;
    stage.used("cp", 0).await;
    stage.used("in", 0).await;
    stage.gone(&CLAIM, "vip-cp-x").await;
}

#[tokio::test]
async fn a_cluster_with_a_host_of_its_own_claims_nothing_for_its_control_plane() {
    let stage = Stage::open().await;
    stage.pool("cp", "control-plane", "10.0.0.1-10.0.0.9").await;
    stage.pool("in", "ingress", "10.1.0.1-10.1.0.9").await;
    let _leader = stage.leader(&[]).await;
    let endpoint = json!({"host": "192.0.2.7", "port": 6443});
    stage.cluster("x", json!({"controlPlaneEndpoint": endpoint})).await;
    stage.used("in", 1).await;
    let message = stage.reason("x", "Manual").await;
    assert!(message.contains("192.0.2.7 was chosen by the user"), "{message}");
    assert!(stage.all(&CLAIM).get_opt("vip-cp-x").await.unwrap().is_none());
    assert_eq!(stage.endpoint("x").await, "192.0.2.7");
}

#[tokio::test]
async fn a_paused_cluster_is_left_alone_until_it_is_resumed() {
    let stage = Stage::open().await;
    stage.pool("cp", "control-plane", "10.0.0.1-10.0.0.9").await;
    let _leader = stage.leader(&[]).await;
    let paused = stage.cluster("x", json!({"paused": true})).await;
    // The operator works: a later Cluster is served.
    stage.cluster("y", json!({})).await;
    stage.reason("y", "Allocated").await;
    let still = stage.all(&CLUSTER).get("x").await.unwrap();
    assert_eq!(still.metadata.resource_version, paused.metadata.resource_version);
    assert!(stage.all(&CLAIM).get_opt("vip-cp-x").await.unwrap().is_none());
    stage.patch(&CLUSTER, "x", json!({"spec": {"paused": false}})).await;
    assert_eq!(stage.endpoint("x").await, "10.0.0.2");
}

#[tokio::test]
async fn a_cluster_that_is_created_anew_gets_a_claim_of_its_own() {
    let stage = Stage::open().await;
    stage.pool("cp", "control-plane", "10.0.0.1-10.0.0.9").await;
    let _leader = stage.leader(&[]).await;
    let before = stage.cluster("x", json!({})).await;
    stage.reason("x", "Allocated").await;
    let old = stage.all(&CLAIM).get("vip-cp-x").await.unwrap();
    // Something outside keeps the old claim.
    let finalizers = json!([RELEASE, "example.com/keeps"]);
    stage.patch(&CLAIM, "vip-cp-x", json!({"metadata": {"finalizers": finalizers}})).await;
    stage.delete("x", &DeleteParams::background()).await;
    stage.gone(&CLUSTER, "x").await;
    let anew = stage.cluster("x", json!({})).await;
    assert_ne!(anew.uid(), before.uid());
    let message = stage.reason("x", "WaitingForOldClaim").await;
    assert!(message.contains("flipop/vip-cp-x"), "{message}");
    stage.patch(&CLAIM, "vip-cp-x", json!({"metadata": {"finalizers": null}})).await;
    stage.endpoint("x").await;
    let claim = stage.all(&CLAIM).get("vip-cp-x").await.unwrap();
    assert_ne!(claim.uid(), old.uid());
    assert_eq!(Some(claim.owner_references()[0].uid.clone()), anew.uid());
}

#[tokio::test]
async fn a_held_address_outlives_a_cluster_that_is_deleted_in_the_foreground() {
    let stage = Stage::open().await;
    stage.pool("cp", "control-plane", "10.0.0.1").await;
    let _leader = stage.leader(&["--hold-vips"]).await;
    stage.cluster("x", json!({})).await;
    stage.reason("x", "Allocated").await;
    // The claim names its holder beside its Cluster.
    crate::arena::eventually("the claim is held", async || {
        let claim = stage.all(&CLAIM).get("vip-cp-x").await.unwrap();
        let held = claim.owner_references().iter().any(|owner| owner.kind == "ConfigMap");
        if held { Ok(()) } else { Err(claim.metadata) }
    })
    .await;
    stage.cluster("y", json!({})).await;
    stage.reason("y", "PoolExhausted").await;
    stage.delete("x", &DeleteParams::foreground()).await;
    // As long as the Cluster is there, its address is nobody else's.
    loop {
        let address = stage.all(&ADDRESS).get_opt("vip-cp-x").await.unwrap();
        let cluster = stage.all(&CLUSTER).get_opt("x").await.unwrap();
        if cluster.is_none() {
            break;
        }
        let address = address.unwrap();
        assert!(address.metadata.deletion_timestamp.is_none(), "{:?}", address.metadata);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(stage.endpoint("y").await, "10.0.0.1");
}
