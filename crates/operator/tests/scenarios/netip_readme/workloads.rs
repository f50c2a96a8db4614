//! The workload types of the page beside Deployments: a cordoned node keeps its address while pods
//! of the workload are on it.

use serde_json::json;

use super::stage::{IP, QUICK_START, furnish};
use crate::arena::{Arena, On, on_both};

async fn the_address_leaves_a_cordoned_node_with_the_last_pod_of_a_stateful_set(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    for name in ["my-app-0", "my-app-1"] {
        arena.pod_of_kind("StatefulSet", name, "a").await;
    }
    furnish(&arena, QUICK_START, &["a", "b", "c"]).await;
    let workload = json!({"kind": "StatefulSet", "name": "my-app", "namespace": "default"});
    arena.printed(QUICK_START.with(json!({"workloadRef": workload}))).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;
    arena.attached(QUICK_START.name, IP, "a").await;

    arena.cordon("a", true).await;
    arena.end_pod("my-app-0").await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1), "a pod is on the node");
    arena.end_pod("my-app-1").await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached(QUICK_START.name, IP, "b").await;
}

/// The pods of a DaemonSet never leave a cordoned node.
async fn with_a_daemon_set_the_address_leaves_with_the_last_pod_that_can_be_evicted(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    for node in ["a", "b", "c"] {
        arena.pod_of_kind("DaemonSet", &format!("my-app-{node}"), node).await;
    }
    arena.pod_with("guest", "a", json!({})).await;
    furnish(&arena, QUICK_START, &["a", "b", "c"]).await;
    let workload = json!({"kind": "DaemonSet", "name": "my-app", "namespace": "default"});
    arena.printed(QUICK_START.with(json!({"workloadRef": workload}))).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;
    arena.attached(QUICK_START.name, IP, "a").await;

    arena.cordon("a", true).await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1), "a pod can be evicted from the node");
    arena.end_pod("guest").await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached(QUICK_START.name, IP, "b").await;
    let daemon = arena.workload_pods().get("my-app-a").await.unwrap();
    assert_eq!(daemon.metadata.deletion_timestamp, None, "its controller would bring it back");
}

on_both! {
    the_address_leaves_a_cordoned_node_with_the_last_pod_of_a_stateful_set,
    with_a_daemon_set_the_address_leaves_with_the_last_pod_that_can_be_evicted,
}
