//! A cordoned node keeps its address while pods of the workload are on it, and loses it with the
//! last one.

use serde_json::json;

use super::stage::{IP, stage};
use crate::arena::{On, eventually, on_both};

async fn the_address_leaves_a_cordoned_node_with_the_last_pod_and_the_label_leaves_first(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c"]).await else { return };
    arena.record();
    arena.pod_of("web", "a").await;
    arena.allocation("edge", json!({})).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;

    let mark = arena.cloud.mark();
    arena.cordon("a", true).await;
    arena.considered("c").await;
    arena.labelled("a", true).await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0, "a pod is on the node");
    arena.attached("edge", IP, "a").await;

    arena.delete_pod("web-a").await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached("edge", IP, "b").await;
    assert_eq!(arena.droplet_of(IP), Some(2));
    let moved = arena.cloud.mutations_since(mark);
    assert_eq!(moved.len(), 1, "{moved:#?}");
    let since_moved = moved[0].arrived.elapsed();
    assert!(arena.since_written("a") > since_moved, "the label left after the address");
    let left = arena.node_event("a", "AddressLeft").await;
    assert!(left.contains(IP) && left.contains("a → b"), "{left}");
}

async fn pods_of_a_deployment_whose_name_begins_alike_do_not_count(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c"]).await else { return };
    arena.pod_of("web", "a").await;
    arena.pod_of("web-api", "a").await;
    arena.allocation("edge", json!({})).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;
    arena.cordon("a", true).await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1));

    arena.delete_pod("web-a").await;
    arena.labelled("b", true).await;
    arena.held_by(IP, Some(2)).await;
    assert!(arena.pod_is_there("web-api-a").await, "of another Deployment");
}

async fn a_drained_node_loses_its_address_although_no_node_can_take_it(on: On) {
    let Some(arena) = stage(on, &["a"]).await else { return };
    arena.allocation("edge", json!({})).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;

    arena.cordon("a", true).await;
    arena.labelled("a", false).await;
    arena.held_by(IP, None).await;
    eventually("the status says so", || async {
        let status = arena.allocated("edge").await;
        let state = status.ips.get(IP).map(|one| one.state.clone());
        let said = (status.attached.as_str(), state.as_deref()) == ("0/1", Some("unassigned"));
        if said { Ok(()) } else { Err(status) }
    })
    .await;

    arena.cordon("a", false).await;
    arena.labelled("a", true).await;
    arena.held_by(IP, Some(1)).await;
}

on_both! {
    the_address_leaves_a_cordoned_node_with_the_last_pod_and_the_label_leaves_first,
    pods_of_a_deployment_whose_name_begins_alike_do_not_count,
    a_drained_node_loses_its_address_although_no_node_can_take_it,
}
