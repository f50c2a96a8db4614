//! The behaviour of a pool by the README.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{LISTED, POOL, cluster_of, pool};
use crate::arena::{Arena, On, eventually, on_both};

const NAME: &str = "ingress-pool";

/// Waits until the pool has `count` reserved addresses, and returns them.
async fn new_addresses(arena: &Arena, count: usize) -> Vec<String> {
    eventually(&format!("{count} new addresses"), || async {
        let created = arena.status(NAME).await.created_ips;
        if created.len() == count { Ok(created) } else { Err(created) }
    })
    .await
}

async fn the_manifest_is_taken_by_kubectl_as_it_is_printed(on: On) {
    let Some(arena) = cluster_of(on, &[]).await else { return };
    let file = arena.folder().join("pool.yaml");
    std::fs::write(&file, POOL).unwrap();
    let apply = ["apply", "-n", "flipop", "-f", file.to_str().unwrap()];
    let Some(applied) = arena.kubectl(&apply).await else { return };
    assert!(applied.status.success() && applied.stderr.is_empty(), "{applied:?}");
    let stored = serde_json::to_value(arena.raw_pool_object(NAME).await).unwrap();
    let printed = super::stage::manifest(POOL);
    assert_eq!(stored["spec"], printed["spec"], "nothing is dropped, nothing added");
}

async fn as_many_addresses_are_allocated_as_desired_and_the_listed_ones_are_used(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b", "c"]).await else { return };
    arena.manifest(pool(json!({}))).await;
    let _replica = arena.replica("only");
    let new = new_addresses(&arena, 1).await.remove(0);
    arena.ready(NAME).await;
    let mut held: Vec<_> = arena.placed(NAME).await.into_iter().map(|(ip, _, _)| ip).collect();
    held.sort();
    let mut wanted = [LISTED[0], LISTED[1], &new];
    wanted.sort_unstable();
    assert_eq!(held, wanted);
    assert_eq!(arena.cloud.addresses().len(), 3, "and no more");
}

async fn without_a_list_new_addresses_are_created_in_the_region(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.manifest(pool(json!({"ips": null, "desiredIPs": 2}))).await;
    let _replica = arena.replica("only");
    new_addresses(&arena, 2).await;
    arena.ready(NAME).await;
    let new = arena.cloud.addresses();
    let new = new.iter().filter(|one| !LISTED.contains(&&*one.ip.to_string()));
    assert_eq!(new.map(|one| one.region.as_str()).collect::<Vec<_>>(), ["nyc3", "nyc3"]);
}

async fn the_record_lists_the_pools_addresses_with_its_time_to_live(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    let _replica = arena.replica("only");
    // The floating addresses, never the nodes' own addresses.
    arena.listed("hello", "A", &LISTED).await;
    assert!(arena.cloud.records("example.com").iter().all(|record| record.ttl == 30));
}

async fn the_records_provider_is_digitalocean_where_none_is_named(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    let record = json!({"recordName": "hello", "zone": "example.com"});
    arena.manifest(pool(json!({"desiredIPs": null, "dnsRecordSet": record}))).await;
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &LISTED).await;
    let writes = arena.cloud.mutations();
    assert!(writes.iter().any(|call| call.path() == "/v2/domains/example.com/records"));
}

async fn each_node_with_an_address_is_annotated_with_it(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    let _replica = arena.replica("only");
    for (node, ip) in ["a", "b"].into_iter().zip(LISTED) {
        arena.marked(node, Some(ip)).await;
    }
}

/// The age of each assignment call at the provider.
fn assignments(arena: &Arena) -> Vec<Duration> {
    let calls = arena.cloud.mutations();
    let assigns = calls.iter().filter(|call| call.path().ends_with("/actions"));
    assigns.map(|call| call.arrived.elapsed()).collect()
}

async fn assignments_keep_the_cool_off_and_without_one_do_not_wait(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    let spec = json!({"desiredIPs": null, "assignmentCoolOffSeconds": 20});
    arena.manifest(pool(spec)).await;
    let _replica = arena.replica("only");
    arena.held_by(LISTED[0], Some(1)).await;
    arena.held_by(LISTED[1], Some(2)).await;
    let sent = assignments(&arena);
    let apart = sent[0] - sent[1];
    assert!(apart >= Duration::from_millis(19_900), "{apart:?}");
    assert!(apart < Duration::from_secs(35), "{apart:?}");

    arena.edit(NAME, json!({"assignmentCoolOffSeconds": null})).await;
    for (node, droplet) in [("c", 3), ("d", 4)] {
        arena.worker(node, droplet).await;
        arena.controller(node).await;
    }
    for node in ["a", "b"] {
        arena.set_ready(node, false).await;
    }
    arena.marked("c", Some(LISTED[0])).await;
    arena.marked("d", Some(LISTED[1])).await;
    let sent = assignments(&arena);
    let apart = sent[2] - sent[3];
    assert!(apart < Duration::from_secs(10), "{apart:?}");
}

async fn the_whole_manifest_does_all_of_it_at_once(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b", "c"]).await else { return };
    let printed: Value = super::stage::manifest(POOL);
    arena.manifest(printed).await;
    let _replica = arena.replica("only");
    let new = new_addresses(&arena, 1).await.remove(0);
    arena.ready(NAME).await;
    let mut wanted = vec![LISTED[0], LISTED[1], &new];
    wanted.sort_by_key(|ip| ip.parse::<std::net::IpAddr>().unwrap());
    arena.listed("hello", "A", &wanted).await;
    for (_, state, node) in arena.placed(NAME).await {
        assert_eq!(state, "active", "{node}");
    }
}

on_both! {
    the_manifest_is_taken_by_kubectl_as_it_is_printed,
    as_many_addresses_are_allocated_as_desired_and_the_listed_ones_are_used,
    without_a_list_new_addresses_are_created_in_the_region,
    the_record_lists_the_pools_addresses_with_its_time_to_live,
    the_records_provider_is_digitalocean_where_none_is_named,
    each_node_with_an_address_is_annotated_with_it,
    assignments_keep_the_cool_off_and_without_one_do_not_wait,
    the_whole_manifest_does_all_of_it_at_once,
}
