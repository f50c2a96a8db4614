//! Several allocations, and a pool beside an allocation: a node has one address, and each its marks.

use std::collections::BTreeSet;

use serde_json::json;

use super::stage::{IPS, stage};
use crate::arena::{On, on_both};

async fn two_allocations_share_nodes_and_the_label_without_fighting(on: On) {
    let Some(arena) = stage(on, &["a", "b"]).await else { return };
    arena.allocation("sip", json!({"reservedIPs": [IPS[1]]})).await;
    arena.allocation("edge", json!({})).await;
    let _replica = arena.replica("only");
    for name in ["edge", "sip"] {
        arena.tells(name, "Ready", "AllAssigned").await;
    }
    for node in ["a", "b"] {
        arena.labelled(node, true).await;
    }
    let droplets = || IPS.map(|ip| arena.droplet_of(ip));
    assert_eq!(BTreeSet::from(droplets()), BTreeSet::from([Some(1), Some(2)]));

    // One node is drained: its address is nobody's until a node comes, and the other one stays.
    let mark = arena.cloud.mark();
    let (leaves, stays) = if droplets()[0] == Some(1) { (0, 1) } else { (1, 0) };
    arena.cordon("a", true).await;
    arena.labelled("a", false).await;
    arena.held_by(IPS[leaves], None).await;
    arena.serving_node("c", 3).await;
    arena.labelled("c", true).await;
    arena.held_by(IPS[leaves], Some(3)).await;
    for name in ["edge", "sip"] {
        arena.tells(name, "Ready", "AllAssigned").await;
    }
    arena.serving_node("d", 4).await;
    arena.considered("d").await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    assert_eq!(arena.droplet_of(IPS[stays]), Some(2));
    let changes = arena.cloud.mutations_since(mark);
    assert_eq!(changes.len(), 2, "one address leaves, and comes back: {changes:#?}");
}

async fn a_pool_and_an_allocation_take_different_nodes_and_set_their_own_marks(on: On) {
    let Some(arena) = stage(on, &["a", "b"]).await else { return };
    arena.allocation("edge", json!({})).await;
    arena.pool("ingress", json!({"ips": [IPS[1]]})).await;
    let _replica = arena.replica("only");
    arena.tells("edge", "Ready", "AllAssigned").await;
    arena.ready("ingress").await;
    let name = |droplet: Option<u64>| if droplet == Some(1) { "a" } else { "b" };
    let [allocated, pooled] = IPS.map(|ip| name(arena.droplet_of(ip)));
    assert_ne!(allocated, pooled);
    arena.labelled(allocated, true).await;
    arena.marked(pooled, Some(IPS[1])).await;
    arena.labelled(pooled, false).await;
    arena.marked(allocated, None).await;
    assert_eq!(arena.cloud.mutations().len(), 2, "{:#?}", arena.cloud.mutations());
}

on_both! {
    two_allocations_share_nodes_and_the_label_without_fighting,
    a_pool_and_an_allocation_take_different_nodes_and_set_their_own_marks,
}
