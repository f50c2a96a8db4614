//! `--policy FILE`: forbidden objects call nothing, and what they have stays.

use std::net::IpAddr;
use std::path::Path;

use serde_json::json;

use crate::arena::{Arena, On, on_both};
use crate::replica::Replica;

const IPS: [&str; 2] = ["198.51.100.1", "198.51.100.2"];

/// A policy for the namespace of every pool, with one more line.
fn put(file: &Path, line: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("rules:\n  - namespaces: [flipop]\n    {line}\n")).unwrap();
    std::fs::rename(new, file).unwrap();
}

fn start(arena: &Arena, name: &str, file: &Path) -> Replica {
    Replica::start(arena, name, &["--policy", file.to_str().unwrap(), "--leader-elect=false"])
}

/// Nodes a and b, a pool `ingress` with the first address, and a file.
async fn stage(on: On) -> Option<(Arena, std::path::PathBuf)> {
    let arena = Arena::open(on).await?;
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    for (node, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(node, droplet).await;
    }
    arena.pool("ingress", json!({"ips": [IPS[0]]})).await;
    let file = arena.folder().join("policy.yaml");
    Some((arena, file))
}

async fn a_forbidden_pool_makes_no_call_and_a_permitted_one_beside_it_works(on: On) {
    let Some((arena, file)) = stage(on).await else { return };
    arena.cloud.domain("example.com");
    put(&file, "providers: []");
    let record = json!({"zone": "example.com", "recordName": "www"});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;
    let _replica = start(&arena, "only", &file);
    let told = arena.reason("ingress", "Stalled", "True", "Forbidden").await;
    assert!(told.contains("namespace \"flipop\" use the provider \"digitalocean\""), "{told}");
    arena.event("ingress", "Forbidden").await;
    let status = arena.record_state("nodes", "error").await;
    assert!(status.conditions.iter().any(|one| one.reason == "Forbidden"), "{status:?}");
    assert!(arena.cloud.log().is_empty(), "not even a read");

    put(&file, "cidrs: [198.51.100.1/32]\n    zones: [example.org]");
    arena.ready("ingress").await;
    arena.pool("greedy", json!({"ips": [IPS[1]]})).await;
    arena.pool("grabbing", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let told = arena.reason("greedy", "Stalled", "True", "Forbidden").await;
    assert!(told.contains("use 198.51.100.2 at the provider"), "{told}");
    let told = arena.reason("grabbing", "Stalled", "True", "Forbidden").await;
    assert!(told.contains("reserve addresses"), "{told}");
    let status = arena.record_state("nodes", "error").await;
    assert!(status.error.contains("the zone \"example.com\""), "{status:?}");
    assert_eq!(arena.cloud.mutations().len(), 1);
    assert!(!arena.cloud.log().iter().any(|call| call.path().contains("domains")));
}

async fn a_policy_that_is_tightened_leaves_an_address_where_it_is(on: On) {
    let Some((arena, file)) = stage(on).await else { return };
    put(&file, "cidrs: [198.51.100.0/24]");
    let replica = start(&arena, "first", &file);
    arena.ready("ingress").await;
    arena.marked("a", Some(IPS[0])).await;
    replica.metric("pontoon_policy_current", "1").await;

    let mark = arena.cloud.mark();
    put(&file, "cidrs: [203.0.113.0/24]");
    arena.reason("ingress", "Stalled", "True", "Forbidden").await;
    arena.set_ready("a", false).await;
    put(&file, "cidrs: [203.0.113.0/33]");
    replica.metric("pontoon_policy_current", "0").await;
    let log = replica.log();
    assert!(log.contains("203.0.113.0/33") && log.contains("the previous policy stays"), "{log}");
    assert_eq!(arena.status("ingress").await.ips[IPS[0]].state, "active");
    replica.kill();

    // After a restart too, while another pool wants the same address.
    put(&file, "cidrs: [203.0.113.0/24]");
    arena.pool("permitted", json!({"ips": ["203.0.113.1"]})).await;
    let _replica = start(&arena, "second", &file);
    arena.reason("permitted", "Stalled", "True", "AddressNotFound").await;
    let told = arena.reason("ingress", "Stalled", "True", "Forbidden").await;
    assert!(told.contains("addresses and records in place stay as they are"), "{told}");
    arena.marked("a", Some(IPS[0])).await;
    assert_eq!((arena.droplet_of(IPS[0]), arena.cloud.mutations_since(mark).len()), (Some(1), 0));

    put(&file, "cidrs: [198.51.100.0/24, 203.0.113.0/24]");
    arena.held_by(IPS[0], Some(2)).await;
    arena.ready("ingress").await;
}

on_both! {
    a_forbidden_pool_makes_no_call_and_a_permitted_one_beside_it_works,
    a_policy_that_is_tightened_leaves_an_address_where_it_is,
}
