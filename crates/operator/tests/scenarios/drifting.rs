//! Drift: somebody moves or deletes addresses at the provider by hand.

use std::net::IpAddr;

use fakecloud::{Fault, On as Calls, Rule};
use jiff::Timestamp;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Without an election, so that a restart does not wait for a lease to expire. A restart also finds
/// manual changes without waiting for the next listing.
const ALONE: &[&str] = &["--leader-elect=false"];

const LISTED: &str = "198.51.100.1";

/// The count of addresses that somebody else moved.
const DRIFTS: &str = "pontoon_drifts_total{kind=\"FloatingIPPool\",name=\"ingress\",\
                      namespace=\"flipop\",subject=\"address\"}";

/// Two nodes, a droplet without a node, and an address on the second node.
async fn on_the_second_node(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.machine(9, "somebodys", "nyc3");
    arena.cloud.reserve_on(LISTED.parse::<IpAddr>().unwrap(), 2);
    arena.pool("ingress", json!({"ips": [LISTED]})).await;
    let replica = Replica::start(&arena, "first", ALONE);
    arena.ready("ingress").await;
    replica.kill();
    Some(arena)
}

async fn an_address_that_is_moved_by_hand_is_left_alone_for_a_while_through_a_kill_too(on: On) {
    let Some(arena) = on_the_second_node(on).await else { return };
    arena.cloud.human_moves(LISTED.parse::<IpAddr>().unwrap(), Some(9));
    let mark = arena.cloud.mark();
    let second = Replica::start(&arena, "second", ALONE);
    let told = arena.event("ingress", "Drift").await;
    assert!(
        told.starts_with("somebody else took 198.51.100.1 from b: found on machine 9"),
        "{told}"
    );
    let (reason, message) = arena.condition("ingress", "Ready", "False").await;
    assert_eq!(reason, "Drift", "{message}");
    second.metric(DRIFTS, "1").await;
    let drift = arena.status("ingress").await.ips.remove(LISTED).unwrap().drift.unwrap();
    assert_eq!((drift.times, drift.from.as_str()), (1, "digitalocean://2"));
    second.kill();

    let third = Replica::start(&arena, "third", ALONE);
    arena.held_by(LISTED, Some(2)).await;
    let calls = arena.cloud.mutations_since(mark);
    assert_eq!(calls.len(), 1, "back to the node that it was on");
    let found = drift.last_found_time.unwrap().0;
    let waited = Timestamp::now().duration_since(found).as_secs_f64()
        - calls[0].arrived.elapsed().as_secs_f64();
    assert!(waited > 9.9, "it was left alone for {waited} s");
    arena.ready("ingress").await;
    arena.marked("b", Some(LISTED)).await;
    third.metric("pontoon_moves_total{cause=\"drift\",kind=\"FloatingIPPool\"}", "1").await;
    third.metric(DRIFTS, "0").await;
}

async fn a_listed_address_that_is_deleted_by_hand_is_said_so_and_not_replaced(on: On) {
    let Some(arena) = on_the_second_node(on).await else { return };
    assert!(arena.cloud.human_deletes(LISTED.parse::<IpAddr>().unwrap()));
    let mark = arena.cloud.mark();
    let _second = Replica::start(&arena, "second", ALONE);
    let (reason, message) = arena.condition("ingress", "Stalled", "True").await;
    assert_eq!(reason, "AddressNotFound", "{message}");
    assert!(message.contains(LISTED), "{message}");
    arena.marked("b", None).await;
    assert_eq!(arena.status("ingress").await.ips[LISTED].state, "error");
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
}

async fn a_reserved_address_that_is_deleted_by_hand_is_replaced_once_that_is_certain(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let first = Replica::start(&arena, "first", ALONE);
    arena.ready("ingress").await;
    first.kill();
    let lost = arena.status("ingress").await.created_ips.remove(0);
    assert!(arena.cloud.human_deletes(lost.parse::<IpAddr>().unwrap()));

    // Nothing is reserved while the existence of the address is unknown.
    let read = Calls::call("GET", "/v2/reserved_ips/*");
    let rule = arena.cloud.inject(Rule::new(read, Fault::LostBefore));
    let mark = arena.cloud.mark();
    let _second = Replica::start(&arena, "second", ALONE);
    eventually("it is asked for twice", || async {
        let hits = arena.cloud.hits(rule);
        if hits >= 2 { Ok(()) } else { Err(hits) }
    })
    .await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    arena.cloud.clear(rule);
    eventually("another one is reserved", || async {
        let created = arena.status("ingress").await.created_ips;
        if created.len() == 1 && created[0] != lost { Ok(()) } else { Err(created) }
    })
    .await;
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 1);
}

on_both! {
    an_address_that_is_moved_by_hand_is_left_alone_for_a_while_through_a_kill_too,
    a_listed_address_that_is_deleted_by_hand_is_said_so_and_not_replaced,
    a_reserved_address_that_is_deleted_by_hand_is_replaced_once_that_is_certain,
}
