//! A hundred Clusters at once, and a restart among them.

use control_plane::Generation;
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use super::on_both_generations;
use super::stage::{CLUSTER, Stage, vip};
use crate::arena::eventually;

const CLUSTERS: usize = 100;

fn name(number: usize) -> String {
    format!("crowd-{number:03}")
}

/// Waits until every Cluster is in order.
async fn all_settled(stage: &Stage) {
    eventually("every Cluster has its VIP, and says so", || async {
        let all = stage.api(CLUSTER).list(&ListParams::default()).await.unwrap().items;
        let settled = |one: &&DynamicObject| {
            let told = one.data["status"].to_string();
            let about = format!("\"observedGeneration\":{}", one.metadata.generation.unwrap());
            let host = &one.data["spec"]["controlPlaneEndpoint"]["host"];
            host.is_string() && told.contains("\"Allocated\"") && told.contains(&about)
        };
        let number = all.iter().filter(settled).count();
        if number == CLUSTERS { Ok(()) } else { Err(number) }
    })
    .await;
}

async fn a_hundred_clusters_at_once_are_served_and_a_restart_writes_nothing(on: Generation) {
    let Some(mut stage) = Stage::alone(on, &[]).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.1-10.1.0.200"]).await;
    // The provider is the slow part, with 20 requests a second.
    let no_ingress = json!({"annotations": {vip("ingress-enabled"): "false"}});
    let clusters = (0..CLUSTERS).map(|number| {
        let (stage, metadata) = (&stage, no_ingress.clone());
        async move { stage.cluster_with(&name(number), metadata, json!({})).await }
    });
    join_all(clusters).await;
    all_settled(&stage).await;
    stage.used(&pool, CLUSTERS as i64).await;

    stage.operator.own().take().unwrap().terminate().await;
    let stopped = Timestamp::now();
    let next = stage.management.operator("next", &[]);
    next.leads().await;
    // A new Cluster is served, so that everything before has been planned.
    stage.cluster("one-more").await;
    let host = |one: &Value| one["spec"]["controlPlaneEndpoint"]["host"].is_string();
    stage.until(CLUSTER, "one-more", "endpoint", host).await;
    // Its Lease is released, so that no other operator waits for the Lease to expire.
    next.terminate().await;
    let mut writes = stage.management.requests_since(stopped).await;
    writes.retain(|one| !["get", "list", "watch"].contains(&&*one.verb));
    writes.retain(|one| !one.name.contains("one-more"));
    assert!(!writes.is_empty(), "the witness saw nothing");
    writes.retain(|one| one.resource != "leases");
    assert!(writes.is_empty(), "{writes:#?}");
}

on_both_generations! {
    a_hundred_clusters_at_once_are_served_and_a_restart_writes_nothing,
}
