//! Addresses that are removed from a pool's list while the pool exists.

use fakecloud::{Fault, On as Calls, Rule};
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

const IPS: [&str; 3] = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];

/// Without an election, so that a restart does not wait for a lease to expire.
const ALONE: &[&str] = &["--leader-elect=false"];

/// Two nodes with the first two addresses; the third address is unassigned.
async fn two_in_place(on: On, more: serde_json::Value) -> Option<(Arena, Replica)> {
    let arena = Arena::open(on).await?;
    arena.cloud.domain("example.com");
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<std::net::IpAddr>().unwrap(), "nyc3");
    }
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    let mut spec = json!({"ips": [IPS[0], IPS[1]]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arena.pool("ingress", spec).await;
    let replica = Replica::start(&arena, "only", ALONE);
    arena.ready("ingress").await;
    arena.names("ingress", &IPS[..2]).await;
    Some((arena, replica))
}

async fn an_entry_that_is_replaced_in_the_list_leaves_its_node_to_the_new_one(on: On) {
    let Some((arena, _replica)) = two_in_place(on, json!({})).await else { return };
    let mark = arena.cloud.mark();
    arena.edit("ingress", json!({"ips": [IPS[2], IPS[1]]})).await;
    arena.marked("a", Some(IPS[2])).await;
    arena.names("ingress", &IPS[1..]).await;
    arena.ready("ingress").await;
    assert_eq!(arena.droplet_of(IPS[0]), None);
    assert_eq!(arena.cloud.mutations_since(mark).len(), 2, "one off, one on");
    let told = arena.event("ingress", "Unassigned").await;
    assert_eq!(told, "198.51.100.1 taken off a: its pool no longer lists the address");
}

/// Killed after the call was sent; the call never takes effect.
async fn an_operator_that_is_killed_while_an_entry_leaves_goes_on_with_it(on: On) {
    let Some((arena, replica)) = two_in_place(on, json!({})).await else { return };
    let unassign = Calls::call("POST", "/v2/reserved_ips/*/actions");
    let rule = arena.cloud.inject(Rule::new(unassign, Fault::LostBefore));
    arena.edit("ingress", json!({"ips": [IPS[1]]})).await;
    eventually("the call is sent", || async {
        if arena.cloud.hits(rule) > 0 { Ok(()) } else { Err("not yet") }
    })
    .await;
    replica.kill();
    arena.cloud.clear(rule);
    assert_eq!(arena.droplet_of(IPS[0]), Some(1), "it is still there");
    let _second = Replica::start(&arena, "second", ALONE);
    arena.held_by(IPS[0], None).await;
    arena.marked("a", None).await;
    arena.names("ingress", &[IPS[1]]).await;
    arena.ready("ingress").await;
}

/// The person's machine is no node. Nothing was listed between the move and the removal.
async fn an_entry_that_a_person_moved_a_moment_before_it_is_removed_stays_where_it_is(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.machine(9, "elsewhere", "nyc3");
    for (ip, machine) in IPS.iter().zip([1, 2]) {
        arena.cloud.reserve_on(ip.parse::<std::net::IpAddr>().unwrap(), machine);
    }
    arena.pool("ingress", json!({"ips": [IPS[0], IPS[1]]})).await;
    let _replica = Replica::start(&arena, "only", ALONE);
    arena.ready("ingress").await;
    arena.names("ingress", &IPS[..2]).await;
    let mark = arena.cloud.mark();
    arena.cloud.reserve_on(IPS[0].parse::<std::net::IpAddr>().unwrap(), 9);
    arena.edit("ingress", json!({"ips": [IPS[1]]})).await;
    arena.names("ingress", &IPS[1..2]).await;
    arena.marked("a", None).await;
    assert_eq!(arena.droplet_of(IPS[0]), Some(9));
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
}

/// After a migration, addresses that FLIPOP reserved are in the list, and the tool that manages the
/// manifest restores the original list.
async fn a_list_that_is_put_back_costs_no_address_while_as_many_are_wanted(on: On) {
    let name = json!({"zone": "example.com", "recordName": "hello", "ttl": 30});
    let more = json!({"desiredIPs": 2, "region": "nyc3", "dnsRecordSet": name});
    let Some((arena, replica)) = two_in_place(on, more).await else { return };
    arena.listed("hello", "A", &IPS[..2]).await;
    let mark = arena.cloud.mark();
    arena.edit("ingress", json!({"ips": [IPS[0]]})).await;
    eventually("the annotation keeps it", || async {
        let ledger = arena.ledger("ingress").await;
        if ledger["kept"] == json!([IPS[1]]) { Ok(()) } else { Err(ledger) }
    })
    .await;
    arena.ready("ingress").await;
    assert_eq!(
        arena.cloud.mutations_since(mark).len(),
        0,
        "nor does the name lose it for a moment"
    );
    replica.kill();
    let _second = Replica::start(&arena, "second", ALONE);
    // The removed mark shows that the second replica acts.
    arena.set_ready("b", false).await;
    arena.marked("b", None).await;
    arena.set_ready("b", true).await;
    arena.marked("b", Some(IPS[1])).await;
    arena.names("ingress", &IPS[..2]).await;
    arena.listed("hello", "A", &IPS[..2]).await;
    let mut changes = arena.cloud.mutations_since(mark);
    changes.retain(|call| !call.path().contains("records"));
    assert_eq!(changes.len(), 0);
    assert_eq!(arena.cloud.addresses().len(), 3, "none was reserved");
}

on_both! {
    an_entry_that_is_replaced_in_the_list_leaves_its_node_to_the_new_one,
    an_operator_that_is_killed_while_an_entry_leaves_goes_on_with_it,
    an_entry_that_a_person_moved_a_moment_before_it_is_removed_stays_where_it_is,
    a_list_that_is_put_back_costs_no_address_while_as_many_are_wanted,
}
