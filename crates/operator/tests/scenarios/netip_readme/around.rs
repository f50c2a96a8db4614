//! Leader election, health endpoints, environment variables and permissions of the page.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;

use super::stage::{EXAMPLE, IP, QUICK_START, cluster};
use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::{Replica, free_port, page};

fn leads(pod: &str) -> String {
    format!("netipallocation_controller_is_leader{{pod_name=\"{pod}\"}}")
}

async fn one_replica_leads_and_another_takes_over(on: On) {
    let Some(arena) = cluster(on, QUICK_START, &["a", "b"]).await else { return };
    arena.printed(QUICK_START.manifest()).await;
    let first = arena.replica("first");
    first.metric(&leads("first"), "1").await;
    let second = arena.replica("second");
    second.metric(&leads("second"), "0").await;
    arena.labelled("a", true).await;
    first.terminate().await;
    second.metric(&leads("second"), "1").await;
    arena.cordon("a", true).await;
    arena.labelled("b", true).await;
    arena.held_by(IP, Some(2)).await;
}

async fn well(port: u16, path: &str) -> String {
    eventually(&format!("{path} on {port}"), || async {
        let answer = page(port, path).await.unwrap_or_default();
        if answer.starts_with("HTTP/1.1 200 ") { Ok(answer) } else { Err(answer) }
    })
    .await
}

/// The page's ports are 8080, the default here too, and 9999.
async fn health_and_metrics_are_served_on_the_ports_of_the_page(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    let [health, metrics] = [free_port(), free_port()];
    let flag = format!("--health-probe-bind-address=127.0.0.1:{health}");
    let replica = Replica::start(&arena, "only", &[&flag, &format!("METRICS_PORT={metrics}")]);
    well(health, "/healthz").await;
    well(health, "/readyz").await;
    let scraped = well(metrics, "/metrics").await;
    assert!(scraped.contains("netipallocation_controller_healthy{pod_name=\"only\"} 1"));
    replica.metric("netipallocation_controller_ready{pod_name=\"only\"}", "1").await;
}

async fn the_variables_of_the_page_are_honoured(on: On) {
    let Some(arena) = cluster(on, QUICK_START, &["a"]).await else { return };
    arena.printed(QUICK_START.manifest()).await;
    let given = ["CLUSTER_NAME=gke-prod", "CONTROLLER_VERSION=1.1.0", "LEASE_DURATION=60"];
    let replica = Replica::start(&arena, "only", &given);
    let info =
        "netipallocation_controller_info{cluster=\"gke-prod\",pod_name=\"only\",version=\"1.1.0\"}";
    replica.metric(info, "1").await;
    let attached =
        "netipallocation_attached_ips_total{cluster=\"gke-prod\",crd_name=\"my-app-ips\"}";
    replica.metric(attached, "1").await;
    let leases: Api<Lease> = Api::namespaced(arena.client.clone(), "default");
    let lease = leases.get("pontoon").await.unwrap().spec.unwrap();
    assert_eq!(lease.lease_duration_seconds, Some(60));
}

async fn without_variables_the_version_is_the_pages_and_no_cluster_is_named(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    let replica = arena.replica("only");
    let info = "netipallocation_controller_info{pod_name=\"only\",version=\"1.0.0\"}";
    replica.metric(info, "1").await;
}

/// The three permissions of the page. More are needed to list addresses and to read operations.
async fn the_permissions_of_the_page_are_enough_and_what_is_lacking_is_told(on: On) {
    let Some(arena) = cluster(on, EXAMPLE, &["a", "b", "c"]).await else { return };
    let rest = [
        "compute.instances.list",
        "compute.addresses.list",
        "compute.addresses.get",
        "compute.addresses.create",
        "compute.addresses.delete",
        "compute.zoneOperations.get",
        "compute.regionOperations.get",
        "compute.zones.get",
        "compute.regions.get",
    ];
    arena.cloud.set(|knobs| knobs.denied = rest.map(str::to_owned).into());
    arena.printed(EXAMPLE.with(json!({"reservedIPs": [IP]}))).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;
    arena.attached(EXAMPLE.name, IP, "a").await;
    let message = arena.tells(EXAMPLE.name, "Ready", "AllAssigned").await;
    assert!(message.contains("compute.addresses.list"), "{message}");

    arena.cordon("a", true).await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached(EXAMPLE.name, IP, "b").await;
    eventually("the first machine has a way out again", || async {
        arena.cloud.egress(1).ok_or("none")
    })
    .await;
}

on_both! {
    one_replica_leads_and_another_takes_over,
    health_and_metrics_are_served_on_the_ports_of_the_page,
    the_variables_of_the_page_are_honoured,
    without_variables_the_version_is_the_pages_and_no_cluster_is_named,
    the_permissions_of_the_page_are_enough_and_what_is_lacking_is_told,
}
