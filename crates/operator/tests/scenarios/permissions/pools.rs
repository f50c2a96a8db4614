//! Requests that use the rights of the controller of FloatingIPPools.

use kube::Api;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::json;

use super::{kind_of, pauses_twice};
use crate::arena::{Arena, NAMESPACE};

/// A pool that reserves its address and has a name, over two nodes.
pub async fn before(arena: &Arena) {
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.domain("example.com");
    let record = json!({"zone": "example.com", "recordName": "hello"});
    let spec = json!({"desiredIPs": 1, "region": "nyc3", "dnsRecordSet": record});
    arena.pool("ingress", spec).await;
}

pub async fn during(arena: &Arena) {
    arena.ready("ingress").await;
    arena.event("ingress", "AllAssigned").await;
    let created = arena.status("ingress").await.created_ips;
    arena.marked("a", Some(&created[0])).await;
    arena.set_ready("a", false).await;
    arena.marked("b", Some(&created[0])).await;
    arena.marked("a", None).await;
    arena.listed("hello", "A", &[&created[0]]).await;
    let pools = Api::namespaced_with(arena.client.clone(), NAMESPACE, &kind_of::<FloatingIPPool>());
    pauses_twice(&pools, "ingress").await;
    // The status of an undecodable object is written with a patch.
    arena.raw_pool("odd", json!({"ips": {"a": 1}})).await;
}
