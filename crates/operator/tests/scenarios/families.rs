//! IPv6 addresses beside IPv4 addresses.

use std::net::IpAddr;

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};

const FOUR: &str = "198.51.100.1";
const SIX: &str = "2604:a880::1";

async fn a_node_in_a_pool_of_each_family_holds_and_loses_both(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    for ip in [FOUR, SIX] {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    arena.serving_node("a", 1).await;
    arena.pool("four", json!({"ips": [FOUR]})).await;
    arena.pool("six", json!({"ips": [SIX]})).await;
    let _replica = arena.replica("only");
    arena.marked("a", Some(FOUR)).await;
    arena.marked6("a", Some(SIX)).await;
    arena.ready("six").await;
    arena.serving_node("b", 2).await;
    let mark = arena.cloud.mark();
    arena.set_ready("a", false).await;
    arena.marked("b", Some(FOUR)).await;
    arena.marked6("b", Some(SIX)).await;
    arena.marked6("a", None).await;
    assert_eq!((arena.droplet_of(FOUR), arena.droplet_of(SIX)), (Some(2), Some(2)));
    assert_eq!(arena.cloud.mutations_since(mark).len(), 2, "one call each");
    arena.ready("four").await;
    arena.ready("six").await;
}

async fn a_pool_of_ipv6_addresses_has_the_rest_reserved_as_such(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve(SIX.parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.pool("six", json!({"ips": [SIX], "desiredIPs": 2, "region": "nyc3"})).await;
    let _replica = arena.replica("only");
    arena.ready("six").await;
    let created = eventually("it is recorded", || async {
        let mut created = arena.status("six").await.created_ips;
        if created.len() == 1 { Ok(created.remove(0)) } else { Err(created) }
    })
    .await;
    assert!(created.parse::<IpAddr>().unwrap().is_ipv6(), "{created}");
    arena.marked6("a", Some(SIX)).await;
    arena.marked6("b", Some(&created)).await;
    assert_eq!(arena.cloud.addresses().len(), 2);
}

on_both! {
    a_node_in_a_pool_of_each_family_holds_and_loses_both,
    a_pool_of_ipv6_addresses_has_the_rest_reserved_as_such,
}
