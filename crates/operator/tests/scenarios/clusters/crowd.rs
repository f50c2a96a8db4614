//! A hundred Clusters at once, and a restart among them.

use control_plane::{AuditEntry, Generation};
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use super::management::{LOGGED, Operator, USER};
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

/// Milliseconds from a claim's being bound until the endpoint is written, for each Cluster.
fn latencies(log: &[AuditEntry], stage: &Stage) -> Vec<i128> {
    let here = |one: &&AuditEntry| one.namespace == stage.name && one.code < 300;
    let mut all: Vec<_> = (0..CLUSTERS)
        .filter_map(|number| {
            let claim = format!("vip-cp-{}", name(number));
            let bound = log.iter().filter(here).find(|one| {
                one.resource == "ipaddressclaims"
                    && one.subresource == "status"
                    && one.name == claim
            })?;
            let written = endpoint_of(log, stage, &name(number))?;
            Some(written.duration_since(bound.completed).as_millis())
        })
        .collect();
    all.sort_unstable();
    all
}

/// When the endpoint of a Cluster was written.
fn endpoint_of(log: &[AuditEntry], stage: &Stage, cluster: &str) -> Option<Timestamp> {
    let mut ours = log.iter().filter(|one| {
        one.user == USER && one.namespace == stage.name && one.name == cluster && one.code < 300
    });
    ours.find(|one| one.resource == "clusters" && one.request_uri.contains("pontoon-endpoint"))
        .map(|one| one.completed)
}

fn print_figures(log: &[AuditEntry], stage: &Stage) {
    let all = latencies(log, stage);
    let at = |share: usize| all[(all.len() * share / 100).min(all.len() - 1)];
    let bound = log.iter().filter(|one| {
        one.namespace == stage.name
            && one.resource == "ipaddressclaims"
            && one.subresource == "status"
    });
    let last_bound = bound.map(|one| one.completed).max().unwrap();
    let written = (0..CLUSTERS).filter_map(|number| endpoint_of(log, stage, &name(number)));
    let last_written = written.max().unwrap();
    eprintln!(
        "{}: claim bound to endpoint written: p50 {} ms, p99 {} ms; last address to last endpoint: {} ms",
        stage.management.generation.version(),
        at(50),
        at(99),
        last_written.duration_since(last_bound).as_millis()
    );
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
    tokio::time::sleep(LOGGED).await;
    print_figures(&stage.management.plane.audit_log().unwrap(), &stage);

    let Operator::Own(_, operator) = &mut stage.operator else { unreachable!() };
    operator.take().unwrap().terminate().await;
    let stopped = Timestamp::now();
    let next = stage.management.operator("next", &[]);
    next.leads().await;
    let settled = r#"capi_vip_allocator_claims_ready{namespace="NAME",role="control-plane"}"#;
    next.metric(&settled.replace("NAME", &stage.name), "100").await;
    // A change is served, so that everything before has been planned.
    stage.cluster("one-more").await;
    let host = |one: &Value| one["spec"]["controlPlaneEndpoint"]["host"].is_string();
    stage.until(CLUSTER, "one-more", "endpoint", host).await;
    tokio::time::sleep(LOGGED).await;
    let log = stage.management.plane.audit_log().unwrap();
    let mut writes = log.iter().filter(|one| {
        let reads = ["get", "list", "watch"].contains(&&*one.verb);
        one.user == USER && one.received > stopped && !reads
    });
    let other = writes.clone().find(|one| {
        one.resource != "leases"
            && !one.name.contains("one-more")
            && one.resource != "events"
            && !(one.resource == "ipaddressclaims" && one.verb == "create")
    });
    assert!(other.is_none(), "{other:#?}");
    let claims = writes.clone().filter(|one| one.resource == "ipaddressclaims").count();
    let events = writes.clone().filter(|one| one.resource == "events").count();
    assert!(claims <= 2 && events <= 4, "{claims} claims, {events} events of the one more");
    assert!(writes.any(|one| one.resource == "leases"), "the witness saw nothing");
    // Its Lease is released, so that no other operator waits for the Lease to expire.
    next.terminate().await;
}

on_both_generations! {
    a_hundred_clusters_at_once_are_served_and_a_restart_writes_nothing,
}
