//! Which node gets the address, and the label that says so.

use kube::api::DeleteParams;
use serde_json::json;

use super::stage::{IP, stage};
use crate::arena::{NAMESPACE, On, eventually, on_both};

async fn the_address_goes_to_the_first_healthy_node_which_is_labelled(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c", "d"]).await else { return };
    arena.cordon("a", true).await;
    arena.set_ready("b", false).await;
    arena.allocation("edge", json!({})).await;
    let _replica = arena.replica("only");

    arena.labelled("c", true).await;
    arena.held_by(IP, Some(3)).await;
    arena.tells("edge", "Ready", "AllAssigned").await;
    arena.attached("edge", IP, "c").await;
    let status = arena.allocated("edge").await;
    assert_eq!(status.attached, "1/1");
    assert!(status.ips[IP].since.is_some(), "{status:#?}");
    let note = arena.node_event("edge", "Assigned").await;
    assert!(note.contains(IP) && note.contains('c'), "{note}");
    for node in ["a", "b", "d"] {
        arena.labelled(node, false).await;
    }
    assert_eq!(arena.cloud.mutations().len(), 1, "{:#?}", arena.cloud.mutations());
}

async fn a_deleted_allocation_leaves_the_address_and_the_label_where_they_are(on: On) {
    let Some(arena) = stage(on, &["a", "b"]).await else { return };
    arena.allocation("edge", json!({})).await;
    let replica = arena.replica("only");
    arena.labelled("a", true).await;
    arena.tells("edge", "Ready", "AllAssigned").await;
    let series = "netipallocation_crd_status{crd_name=\"edge\"}";
    replica.metric(series, "1").await;

    let mark = arena.cloud.mark();
    arena.allocations().delete("edge", &DeleteParams::default()).await.unwrap();
    eventually("the object is forgotten", || async {
        let page = replica.page("/metrics").await.unwrap_or_default();
        if page.contains("pontoon_leader 1") && !page.contains(series) { Ok(()) } else { Err(page) }
    })
    .await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!(arena.droplet_of(IP), Some(1));
    arena.labelled("a", true).await;
}

async fn a_deployment_that_is_named_in_the_old_way_works_and_is_warned_of(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c"]).await else { return };
    arena.pod_of("web", "a").await;
    let old = json!({"name": "web", "namespace": NAMESPACE});
    arena.allocation("edge", json!({"workloadRef": null, "deploymentRef": old})).await;
    let _replica = arena.replica("only");
    let note = arena.node_event("edge", "DeprecatedField").await;
    assert!(note.contains("spec.workloadRef"), "{note}");
    arena.labelled("a", true).await;

    arena.cordon("a", true).await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1), "a pod of the Deployment is on the node");
    arena.delete_pod("web-a").await;
    arena.labelled("b", true).await;
    arena.held_by(IP, Some(2)).await;
}

on_both! {
    the_address_goes_to_the_first_healthy_node_which_is_labelled,
    a_deleted_allocation_leaves_the_address_and_the_label_where_they_are,
    a_deployment_that_is_named_in_the_old_way_works_and_is_warned_of,
}
