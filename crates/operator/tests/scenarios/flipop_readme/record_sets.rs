//! The behaviour of a record set by the README.

use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::json;

use super::stage::{LISTED, NODE_LABEL, RECORD_SET, cluster_of, manifest, pool, record_set};
use crate::arena::{Arena, On, on_both};

const NAME: &str = "ingress-nodes";

/// Two nodes that report their own addresses.
async fn two_nodes(on: On) -> Option<Arena> {
    let arena = cluster_of(on, &["a", "b"]).await?;
    for (node, number) in [("a", 1), ("b", 2)] {
        let (external, internal) = (format!("203.0.113.{number}"), format!("10.0.0.{number}"));
        arena.report(node, &[("ExternalIP", &external), ("InternalIP", &internal)]).await;
    }
    Some(arena)
}

async fn the_manifest_is_taken_by_kubectl_as_it_is_printed(on: On) {
    let Some(arena) = cluster_of(on, &[]).await else { return };
    let file = arena.folder().join("record_set.yaml");
    std::fs::write(&file, RECORD_SET).unwrap();
    let apply = ["apply", "-n", "flipop", "-f", file.to_str().unwrap()];
    let Some(applied) = arena.kubectl(&apply).await else { return };
    assert!(applied.status.success() && applied.stderr.is_empty(), "{applied:?}");
    let stored = arena.namespaced::<NodeDNSRecordSet>().get(NAME).await.unwrap();
    let spec = serde_json::to_value(stored.spec).unwrap();
    assert_eq!(spec["provider"], "digitalocean", "kept where the page has it");
    assert_eq!(spec["dnsRecordSet"]["ttl"], 120);
}

async fn the_manifest_lists_the_reserved_addresses_of_the_nodes(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    arena.manifest(manifest(RECORD_SET)).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &LISTED).await;
    let nodes = arena.cloud.records("example.com");
    assert!(nodes.iter().filter(|one| one.name.contains("nodes")).all(|one| one.ttl == 120));
    arena.record_state(NAME, "active").await;
}

async fn a_reserved_address_is_what_the_nodes_annotation_says_whoever_wrote_it(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.annotate("a", "198.51.100.77").await;
    arena.manifest(manifest(RECORD_SET)).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &["198.51.100.77"]).await;
}

async fn external_addresses_are_listed_where_no_type_is_named(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.manifest(record_set(json!({"addressType": null}))).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
}

async fn internal_addresses_are_listed_on_request(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.manifest(record_set(json!({"addressType": "InternalIP"}))).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &["10.0.0.1", "10.0.0.2"]).await;
}

async fn the_provider_is_digitalocean_where_none_is_named(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.manifest(record_set(json!({"addressType": "ExternalIP", "provider": null}))).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
    let writes = arena.cloud.mutations();
    assert!(writes.iter().all(|call| call.path() == "/v2/domains/example.com/records"));
}

async fn the_record_follows_the_nodes_that_match(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.manifest(record_set(json!({"addressType": "ExternalIP"}))).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
    arena.label("a", NODE_LABEL.0, "rest").await;
    arena.listed("nodes", "A", &["203.0.113.2"]).await;
    arena.label("a", NODE_LABEL.0, NODE_LABEL.1).await;
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
    arena.no_controller("b").await;
    arena.listed("nodes", "A", &["203.0.113.1"]).await;
}

on_both! {
    the_manifest_is_taken_by_kubectl_as_it_is_printed,
    the_manifest_lists_the_reserved_addresses_of_the_nodes,
    a_reserved_address_is_what_the_nodes_annotation_says_whoever_wrote_it,
    external_addresses_are_listed_where_no_type_is_named,
    internal_addresses_are_listed_on_request,
    the_provider_is_digitalocean_where_none_is_named,
    the_record_follows_the_nodes_that_match,
}
