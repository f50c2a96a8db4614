//! Matching nodes by the README, and nodes that stop matching.

use serde_json::{Value, json};

use super::stage::{LISTED, NODE_LABEL, cluster_of, pool};
use crate::arena::{Arena, On, on_both};
use crate::replica::Replica;

/// The README's pool with a single address, and its DNS record.
fn one_address() -> Value {
    pool(json!({"ips": [LISTED[0]], "desiredIPs": null}))
}

/// A pool with its only address on the first of two nodes.
async fn on_the_first_of_two(on: On) -> Option<(Arena, Replica)> {
    let arena = cluster_of(on, &["a", "b"]).await?;
    arena.manifest(one_address()).await;
    let replica = arena.replica("only");
    arena.marked("a", Some(LISTED[0])).await;
    Some((arena, replica))
}

async fn only_nodes_with_a_matching_pod_in_its_namespace_are_candidates(on: On) {
    let Some(arena) = cluster_of(on, &[]).await else { return };
    for (name, droplet) in ["a", "b", "c", "d"].into_iter().zip(1..) {
        arena.worker(name, droplet).await;
    }
    // No pod on `a`; a pod in the wrong namespace; a pod with only a part of the labels; a matching
    // pod.
    let labels = json!({"app": "nginx", "component": "controller"});
    arena.pod("b", "flipop", labels).await;
    arena.pod("c", "ingress", json!({"app": "nginx"})).await;
    arena.controller("d").await;
    arena.manifest(one_address()).await;
    let _replica = arena.replica("only");
    arena.marked("d", Some(LISTED[0])).await;
}

async fn only_nodes_with_the_label_are_candidates(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.label("a", NODE_LABEL.0, "rest").await;
    arena.manifest(one_address()).await;
    let _replica = arena.replica("only");
    arena.marked("b", Some(LISTED[0])).await;
}

async fn a_taint_excludes_a_node_unless_it_is_tolerated(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.taint("a", "example.com/other", "NoSchedule").await;
    arena.taint("b", "node.kubernetes.io/unschedulable", "NoSchedule").await;
    arena.manifest(one_address()).await;
    let _replica = arena.replica("only");
    arena.marked("b", Some(LISTED[0])).await;
}

async fn the_first_candidates_by_name_get_the_addresses_until_there_are_as_many_as_desired(on: On) {
    let Some(arena) = cluster_of(on, &["d", "b", "c", "a"]).await else { return };
    arena.manifest(pool(json!({"desiredIPs": 2}))).await;
    let _replica = arena.replica("only");
    arena.ready("ingress-pool").await;
    let placed = arena.placed("ingress-pool").await;
    let nodes: Vec<_> = placed.iter().map(|(_, _, node)| node.as_str()).collect();
    assert_eq!(nodes, ["a", "b"]);
}

async fn an_address_moves_when_its_pod_stops_being_ready(on: On) {
    let Some((arena, _replica)) = on_the_first_of_two(on).await else { return };
    arena.pod_is_ready("a", "ingress", false).await;
    arena.held_by(LISTED[0], Some(2)).await;
}

async fn a_node_that_loses_its_pod_loses_the_annotation_and_its_place_in_dns(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &LISTED).await;
    arena.no_controller("a").await;
    arena.marked("a", None).await;
    arena.listed("hello", "A", &LISTED[1..]).await;
}

async fn a_node_that_loses_its_label_loses_the_annotation_and_its_place_in_dns(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &LISTED).await;
    arena.label("b", NODE_LABEL.0, "rest").await;
    arena.marked("b", None).await;
    arena.listed("hello", "A", &LISTED[..1]).await;
}

async fn an_address_that_nobody_needs_stays_attached_until_another_node_needs_it(on: On) {
    let Some(arena) = cluster_of(on, &["a"]).await else { return };
    arena.manifest(one_address()).await;
    let _replica = arena.replica("only");
    arena.marked("a", Some(LISTED[0])).await;
    let mark = arena.cloud.mark();
    arena.no_controller("a").await;
    arena.marked("a", None).await;
    arena.condition("ingress-pool", "Ready", "False").await;
    assert_eq!(arena.droplet_of(LISTED[0]), Some(1), "it costs nothing there");
    let moves = arena.cloud.mutations_since(mark);
    assert!(moves.iter().all(|call| !call.path().contains("reserved_ips")), "{moves:?}");

    arena.worker("b", 2).await;
    arena.controller("b").await;
    arena.marked("b", Some(LISTED[0])).await;
    assert_eq!(arena.droplet_of(LISTED[0]), Some(2));
}

on_both! {
    only_nodes_with_a_matching_pod_in_its_namespace_are_candidates,
    only_nodes_with_the_label_are_candidates,
    a_taint_excludes_a_node_unless_it_is_tolerated,
    the_first_candidates_by_name_get_the_addresses_until_there_are_as_many_as_desired,
    an_address_moves_when_its_pod_stops_being_ready,
    a_node_that_loses_its_pod_loses_the_annotation_and_its_place_in_dns,
    a_node_that_loses_its_label_loses_the_annotation_and_its_place_in_dns,
    an_address_that_nobody_needs_stays_attached_until_another_node_needs_it,
}
