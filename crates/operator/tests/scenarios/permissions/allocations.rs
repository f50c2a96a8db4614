//! Requests that use the rights of the controller of NetIPAllocations.

use std::net::IpAddr;

use kube::Api;
use pontoon::fronts::net_ip_allocation::NetIPAllocation;
use serde_json::json;

use super::{kind_of, pauses_twice};
use crate::arena::Arena;

/// An allocation over two nodes of its own, with a pod of its Deployment on the first.
pub async fn before(arena: &Arena) {
    for (node, droplet) in [("c", 3), ("d", 4)] {
        arena.node(node, droplet).await;
        arena.label(node, "pool", "allocation").await;
    }
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.deployment("web").await;
    arena.pod_of("web", "c").await;
    let spec = json!({"nodeSelector": {"pool": "allocation"}, "gracePeriodSeconds": 0});
    arena.allocation("edge", spec).await;
}

pub async fn during(arena: &Arena) {
    arena.labelled("c", true).await;
    arena.set_ready("c", false).await;
    arena.labelled("d", true).await;
    arena.pod_is_gone("web-c").await;
    arena.tells("edge", "Ready", "AllAssigned").await;
    let allocations = Api::all_with(arena.client.clone(), &kind_of::<NetIPAllocation>());
    pauses_twice(&allocations, "edge").await;
    // The status of an undecodable object is written with a patch.
    arena.raw_allocation("odd", json!({"reservedIPs": {"a": 1}})).await;
}
