//! Machines, nodes and pools that are replaced under the same name.

use std::net::IpAddr;
use std::time::Duration;

use fakecloud::{CloudFault, Fault, On as Calls, Rule};
use kube::api::DeleteParams;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

const IP: &str = "198.51.100.1";

async fn one_address(on: On, nodes: &[(&str, u64)]) -> Option<(Arena, Replica)> {
    let arena = Arena::open(on).await?;
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    for (node, droplet) in nodes {
        arena.serving_node(node, *droplet).await;
    }
    arena.pool("ingress", json!({"ips": [IP]})).await;
    let replica = arena.replica("only");
    arena.ready("ingress").await;
    arena.marked(nodes[0].0, Some(IP)).await;
    Some((arena, replica))
}

async fn a_node_that_is_made_again_on_another_droplet_gets_the_address_there(on: On) {
    let Some((arena, _replica)) = one_address(on, &[("a", 1)]).await else { return };
    let mark = arena.cloud.mark();
    arena.remove_node("a").await;
    arena.serving_node("a", 5).await;
    arena.held_by(IP, Some(5)).await;
    arena.marked("a", Some(IP)).await;
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 1);
}

async fn the_address_of_a_deleted_node_moves_and_the_event_names_the_node(on: On) {
    let nodes = [("a", 1), ("b", 2)];
    let Some((arena, _replica)) = one_address(on, &nodes).await else { return };
    arena.nodes().delete("a", &DeleteParams::default()).await.unwrap();
    arena.held_by(IP, Some(2)).await;
    let note = arena.event_with("ingress", "Assigned", "moved a → b").await.note.unwrap();
    assert!(note.ends_with(": a is gone"), "{note}");
}

async fn the_address_of_a_destroyed_droplet_moves_as_soon_as_its_node_is_lost(on: On) {
    let nodes = [("a", 1), ("b", 2)];
    let Some((arena, _replica)) = one_address(on, &nodes).await else { return };
    assert!(arena.cloud.destroy_machine(1));
    arena.set_ready("a", false).await;
    arena.held_by(IP, Some(2)).await;
    arena.marked("b", Some(IP)).await;
    arena.remove_node("a").await;
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.mutations().len(), 2, "one for each place");
}

/// The provider shows no actions for addresses that its user brought along.
async fn an_address_whose_actions_cannot_be_read_is_confirmed_by_where_it_is(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), "nyc3");
    arena.cloud.set(|knobs| knobs.action_time = Duration::from_secs(3));
    let assign = Calls::call("POST", "/v2/reserved_ips/*/actions");
    let hidden = Fault::Own(CloudFault::ActionHidden(Duration::from_secs(600)));
    arena.cloud.inject(Rule::new(assign, hidden));
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"ips": [IP]})).await;
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    arena.marked("a", Some(IP)).await;
    assert_eq!(arena.cloud.mutations().len(), 1);
}

async fn a_region_that_is_changed_counts_for_the_next_address(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.machine(8, "elsewhere", "sfo3");
    arena.cloud.machine(9, "here", "nyc3");
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let _replica = arena.replica("only");
    let regions = |count: usize| {
        let arena = &arena;
        eventually("so many are reserved", move || async move {
            let created = arena.status("ingress").await.created_ips;
            let mut all: Vec<_> = arena.cloud.addresses().into_iter().map(|a| a.region).collect();
            all.sort();
            if created.len() == count { Ok(all) } else { Err((created, all)) }
        })
    };
    assert_eq!(regions(1).await, ["nyc3"]);
    arena.edit("ingress", json!({"desiredIPs": 2, "region": "sfo3"})).await;
    assert_eq!(regions(2).await, ["nyc3", "sfo3"]);
}

async fn pools_that_share_nodes_never_share_a_node(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    let ips = [IP, "198.51.100.2", "198.51.100.3"];
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    // The older pool chooses first; pools of equal age choose by name.
    for (pool, ip) in ["first", "second", "third"].into_iter().zip(ips) {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
        arena.pool(pool, json!({"ips": [ip]})).await;
    }
    let _replica = arena.replica("only");
    arena.ready("first").await;
    arena.ready("second").await;
    // The first status may come before the other pools have their nodes.
    eventually("it says who has the nodes", || async {
        let (reason, message) = arena.condition("third", "Ready", "False").await;
        let holder = "the node holds 198.51.100.1 of FloatingIPPool flipop/first";
        let told = reason == "NoFreeNode" && message.contains(holder);
        if told { Ok(()) } else { Err((reason, message)) }
    })
    .await;
    let held: Vec<_> = ips.iter().map(|ip| arena.droplet_of(ip)).collect();
    assert_eq!(held, [Some(1), Some(2), None]);
}

on_both! {
    the_address_of_a_deleted_node_moves_and_the_event_names_the_node,
    a_node_that_is_made_again_on_another_droplet_gets_the_address_there,
    the_address_of_a_destroyed_droplet_moves_as_soon_as_its_node_is_lost,
    an_address_whose_actions_cannot_be_read_is_confirmed_by_where_it_is,
    a_region_that_is_changed_counts_for_the_next_address,
    pools_that_share_nodes_never_share_a_node,
}
