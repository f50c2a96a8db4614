//! Leases of other controllers, in namespaces that count and in others.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use pontoon::fronts::flipop::FLIPOP;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::predecessor::Predecessor;
use crate::replica::Replica;

/// An unassigned address, and two nodes.
async fn one_address_two_nodes(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    for (node, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(node, droplet).await;
    }
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    Some(arena)
}

fn elsewhere(lease: &str) -> String {
    format!("pontoon_leases_elsewhere{{lease=\"{lease}\"}}")
}

fn aside(reason: &str) -> String {
    format!("pontoon_standing_aside{{reason=\"{reason}\"}}")
}

async fn a_lease_in_a_tenants_namespace_stops_nobody_unless_the_flag_names_it(on: On) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let namespaces: Api<Namespace> = Api::all(arena.client.clone());
    let tenant = serde_json::from_value(json!({"metadata": {"name": "tenant"}})).unwrap();
    namespaces.create(&PostParams::default(), &tenant).await.unwrap();
    let _tenant = Predecessor::start_in(&arena, "tenant", i32::MAX).await;
    let unmoved = arena.replica("unmoved");
    arena.ready("ingress").await;
    unmoved.metric(&elsewhere(FLIPOP.lease), "1").await;
    arena.set_ready("a", false).await;
    arena.held_by("198.51.100.1", Some(2)).await;
    arena.marked("b", Some("198.51.100.1")).await;
    unmoved.metric(&aside("CompetingController"), "0").await;
    let log = unmoved.log();
    assert!(log.contains("tenant/floating-ip-pool-controller-leader-election"), "{log}");
    assert!(log.contains("--predecessor-namespaces"), "{log}");
    unmoved.terminate().await;

    let heeding = Replica::start(&arena, "heeding", &["PREDECESSOR_NAMESPACES=net,tenant"]);
    let (_, message) = arena.says("ingress", "CompetingController").await;
    assert!(message.contains("tenant/floating-ip-pool-controller-leader-election"), "{message}");
    heeding.metric(&aside("CompetingController"), "1").await;
    heeding.metric(&elsewhere(FLIPOP.lease), "0").await;
    let page = heeding.page("/readyz").await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 "), "it lives and watches: {page}");
    assert_eq!(arena.cloud.mutations().len(), 2, "{:#?}", arena.cloud.mutations());
}

async fn two_installations_warn_of_each_other_and_none_stands_back(on: On) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let older = Replica::start(&arena, "older", &["POD_NAMESPACE=flipop"]);
    arena.ready("ingress").await;
    let younger = Replica::start(&arena, "younger", &["POD_NAMESPACE=default"]);
    for (one, other) in [(&older, "default/pontoon"), (&younger, "flipop/pontoon")] {
        one.leads().await;
        one.metric(&elsewhere("pontoon"), "1").await;
        one.metric(&aside("CompetingController"), "0").await;
        eventually("it warns of the other", || async {
            let log = one.log();
            if log.contains(other) { Ok(()) } else { Err(log) }
        })
        .await;
    }
    older.terminate().await;
    arena.set_ready("a", false).await;
    arena.held_by("198.51.100.1", Some(2)).await;
}

on_both! {
    a_lease_in_a_tenants_namespace_stops_nobody_unless_the_flag_names_it,
    two_installations_warn_of_each_other_and_none_stands_back,
}
