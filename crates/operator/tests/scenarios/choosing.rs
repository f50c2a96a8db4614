//! `--controllers`: of a kind that is not chosen nothing is read, written or counted.

use std::net::IpAddr;

use serde_json::json;

use crate::arena::{Arena, On, on_both};
use crate::predecessor::Predecessor;
use crate::replica::Replica;

const IP: &str = "198.51.100.1";

/// A cluster with an object of each kind of ours, which all could be served.
async fn one_of_each(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    arena.cloud.domain("example.com");
    for (node, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(node, droplet).await;
        arena.report(node, &[("ExternalIP", &format!("203.0.113.{droplet}"))]).await;
    }
    for ip in [IP, "198.51.100.2"] {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    arena.deployment("web").await;
    arena.allocation("edge", json!({})).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.2"]})).await;
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;
    arena.record();
    Some(arena)
}

/// Asserts that lists and watches were of these kinds among all that have a controller or are needed by one.
fn assert_read(arena: &Arena, wanted: &[&str]) {
    let all = [
        "floatingippools",
        "nodednsrecordsets",
        "netipallocations",
        "clusters",
        "ipaddressclaims",
        "nodes",
        "pods",
        "replicasets",
    ];
    let read = all.into_iter().filter(|plural| !arena.reads(plural).is_empty());
    assert_eq!(read.collect::<Vec<_>>(), wanted);
}

async fn names_alone_need_no_pools_and_change_no_node(on: On) {
    let Some(arena) = one_of_each(on).await else { return };
    let replica = Replica::start(&arena, "only", &["--controllers=nodednsrecordsets"]);
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
    arena.record_state("nodes", "active").await;
    let page = replica.page("/metrics").await.unwrap();
    replica.terminate().await;
    assert_read(&arena, &["nodednsrecordsets", "nodes", "pods"]);
    let nodes: Vec<_> =
        arena.writes().into_iter().filter(|one| one.starts_with("/api/v1/nodes/")).collect();
    assert!(nodes.is_empty(), "{nodes:?}");
    assert_eq!(arena.droplet_of(IP), None);
    let others = ["flipop_floatingippoolcontroller", "netipallocation_", "capi_vip_allocator"];
    assert!(page.contains("flipop_nodednsrecordset_records"), "{page}");
    for other in others.iter().chain(&["ip-address-controller-leader"]) {
        assert!(!page.contains(other), "{other}: {page}");
    }
}

/// The other kind's predecessor is at work, and concerns nobody.
async fn allocations_alone_need_neither_pools_nor_names(on: On) {
    let Some(arena) = one_of_each(on).await else { return };
    let _flipop = Predecessor::start(&arena).await;
    let replica = Replica::start(&arena, "only", &["--controllers=netipallocations"]);
    arena.tells("edge", "Ready", "AllAssigned").await;
    arena.labelled("a", true).await;
    let page = replica.page("/metrics").await.unwrap();
    replica.terminate().await;
    assert_read(&arena, &["netipallocations", "nodes", "pods", "replicasets"]);
    assert_eq!(arena.status("ingress").await.ips.len(), 0);
    assert!(page.contains("netipallocation_"), "{page}");
    assert!(!page.contains("flipop_floatingippoolcontroller"), "{page}");
}

async fn a_chosen_kind_that_is_defined_later_is_found_and_no_other(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    arena.record();
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    let replica = Replica::start(&arena, "only", &["--controllers=clusters,floatingippools"]);
    replica.leads().await;
    arena.define(pontoon::fronts::crds()).await;
    arena.pool("ingress", json!({"ips": [IP]})).await;
    arena.ready("ingress").await;
    replica.terminate().await;
    assert_read(&arena, &["floatingippools", "nodes", "pods"]);
}

on_both! {
    a_chosen_kind_that_is_defined_later_is_found_and_no_other,
    allocations_alone_need_neither_pools_nor_names,
    names_alone_need_no_pools_and_change_no_node,
}
