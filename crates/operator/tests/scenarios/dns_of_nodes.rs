//! NodeDNSRecordSets: records that list the matching nodes.

use std::net::IpAddr;

use kube::api::DeleteParams;
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::{Value, json};

use crate::arena::{Arena, On, eventually, on_both};

fn www() -> Value {
    json!({"zone": "example.com", "recordName": "www"})
}

async fn two_nodes(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    nodes_of(&arena).await;
    Some(arena)
}

async fn nodes_of(arena: &Arena) {
    arena.cloud.domain("example.com");
    for (name, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(name, droplet).await;
        let external = format!("203.0.113.{droplet}");
        let internal = format!("10.0.0.{droplet}");
        let sixth = format!("2001:db8::{droplet}");
        let addresses =
            [("ExternalIP", &*external), ("ExternalIP", &*sixth), ("InternalIP", &*internal)];
        arena.report(name, &addresses).await;
    }
}

async fn record_sets_are_served_in_a_cluster_that_knows_no_pools(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    let mut definitions = pontoon::fronts::crds();
    definitions.retain(|crd| crd.spec.names.kind == "NodeDNSRecordSet");
    arena.define(definitions).await;
    nodes_of(&arena).await;
    arena.record_set("nodes", json!({"dnsRecordSet": www()})).await;
    let _replica = arena.replica("only");
    arena.listed("www", "A", &["203.0.113.1", "203.0.113.2"]).await;
}

async fn each_type_of_address_is_listed_and_nodes_come_and_go(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let record = |name: &str| json!({"zone": "example.com", "recordName": name});
    arena.record_set("external", json!({"dnsRecordSet": www(), "provider": "digitalocean"})).await;
    let internal = json!({"dnsRecordSet": record("in"), "addressType": "InternalIP"});
    arena.record_set("internal", internal).await;
    let reserved = json!({"dnsRecordSet": record("rip.example.com"), "addressType": IPV4_ANNOTATION,
                          "provider": "cloudflare"});
    arena.record_set("reserved", reserved).await;
    let replica = arena.replica("only");
    arena.listed("www", "A", &["203.0.113.1", "203.0.113.2"]).await;
    arena.listed("www", "AAAA", &["2001:db8::1", "2001:db8::2"]).await;
    arena.listed("in", "A", &["10.0.0.1", "10.0.0.2"]).await;
    arena.listed("rip", "A", &["198.51.100.1"]).await;
    let status = arena.record_state("external", "active").await;
    assert_eq!(status.error, "");
    assert_eq!(status.dns_record.unwrap().types, ["A", "AAAA"]);
    let ready = |one: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
        one.type_ == "Ready" && one.status == "True"
    };
    let ready = status.conditions.iter().find(ready).unwrap();
    assert_eq!(ready.message, "www.example.com lists 4 addresses");
    let gauge = |name: &str, provider: &str, dns: &str| {
        format!(
            "flipop_nodednsrecordset_records{{dns=\"{dns}\",name=\"{name}\",\
             namespace=\"flipop\",provider=\"{provider}\"}}"
        )
    };
    replica.metric(&gauge("external", "digitalocean", "www.example.com"), "4").await;
    let reserved = gauge("reserved", "cloudflare", "rip.example.com");
    replica.metric(&reserved, "1").await;
    let calls = "flipop_providers_calls_total{call=\"EnsureDNSARecordSet\",\
                 kind=\"NodeDNSRecordSet\",name=\"reserved\",namespace=\"flipop\",\
                 outcome=\"success\",provider=\"cloudflare\"}";
    replica.metric(calls, "1").await;

    arena.set_ready("a", false).await;
    arena.listed("www", "A", &["203.0.113.2"]).await;
    arena.listed("in", "A", &["10.0.0.2"]).await;
    // The address moves with the mark, so the name lists the address all along.
    arena.marked("b", Some("198.51.100.1")).await;
    arena.listed("rip", "A", &["198.51.100.1"]).await;
    arena.set_ready("b", false).await;
    eventually("it says why", || async {
        let status = arena.record_state("internal", "in-progress").await;
        let told = status.conditions.iter().any(|one| one.reason == "NothingToList");
        if told { Ok(()) } else { Err(status) }
    })
    .await;
    arena.listed("in", "A", &["10.0.0.2"]).await;
    // The wanted number of addresses, not the number left in the record.
    replica.metric(&gauge("internal", "digitalocean", "in.example.com"), "0").await;

    // Deleting the object leaves the record, and removes its series.
    let sets = arena.namespaced::<NodeDNSRecordSet>();
    sets.delete("reserved", &DeleteParams::default()).await.unwrap();
    eventually("its series vanish", || async {
        let page = replica.page("/metrics").await.unwrap_or_default();
        if page.contains(&reserved) { Err(page) } else { Ok(()) }
    })
    .await;
    arena.listed("rip", "A", &["198.51.100.1"]).await;
}

async fn a_pool_and_a_record_set_that_ask_for_one_name_do_not_fight(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.record_set("nodes", json!({"dnsRecordSet": www()})).await;
    let _replica = arena.replica("only");
    let both = ["203.0.113.1", "203.0.113.2"];
    arena.listed("www", "A", &both).await;
    arena.record_state("nodes", "active").await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"], "dnsRecordSet": www()})).await;
    let (reason, message) = arena.condition("ingress", "DNSReady", "False").await;
    assert_eq!(reason, "Conflict", "{message}");
    arena.listed("www", "A", &both).await;

    let sets = arena.namespaced::<NodeDNSRecordSet>();
    sets.delete("nodes", &DeleteParams::default()).await.unwrap();
    arena.listed("www", "A", &["198.51.100.1"]).await;
    arena.condition("ingress", "DNSReady", "True").await;
}

on_both! {
    record_sets_are_served_in_a_cluster_that_knows_no_pools,
    each_type_of_address_is_listed_and_nodes_come_and_go,
    a_pool_and_a_record_set_that_ask_for_one_name_do_not_fight,
}
