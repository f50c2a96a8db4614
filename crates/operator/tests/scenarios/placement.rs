//! Addresses on the right nodes.

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};

const IPS: [&str; 2] = ["198.51.100.1", "198.51.100.2"];

async fn three_nodes_two_addresses(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<std::net::IpAddr>().unwrap(), "nyc3");
    }
    for (name, droplet) in [("a", 1), ("b", 2), ("c", 3)] {
        arena.serving_node(name, droplet).await;
    }
    arena.pool("ingress", json!({"ips": IPS})).await;
    Some(arena)
}

fn holder(arena: &Arena, ip: &str) -> Option<u64> {
    arena.cloud.holder(ip.parse::<std::net::IpAddr>().unwrap())
}

async fn an_address_follows_its_nodes_health_in_one_call_and_a_restart_moves_nothing(on: On) {
    let Some(arena) = three_nodes_two_addresses(on).await else { return };
    let first = arena.replica("first");

    arena.ready("ingress").await;
    assert_eq!((holder(&arena, IPS[0]), holder(&arena, IPS[1])), (Some(1), Some(2)));
    arena.marked("a", Some(IPS[0])).await;
    arena.marked("b", Some(IPS[1])).await;
    let active = |ip: &str, node: &str| (ip.to_owned(), "active".to_owned(), node.to_owned());
    assert_eq!(arena.placed("ingress").await, [active(IPS[0], "a"), active(IPS[1], "b")]);
    assert_eq!(arena.status("ingress").await.assigned, "2/2");

    let mark = arena.cloud.mark();
    arena.set_ready("a", false).await;
    arena.marked("c", Some(IPS[0])).await;
    arena.marked("a", None).await;
    assert_eq!(holder(&arena, IPS[0]), Some(3));
    assert_eq!(arena.cloud.mutations_since(mark).len(), 1);
    eventually("status follows", || async {
        let placed = arena.placed("ingress").await;
        let wanted = vec![active(IPS[0], "c"), active(IPS[1], "b")];
        if placed == wanted { Ok(()) } else { Err(placed) }
    })
    .await;
    arena.ready("ingress").await;
    assert!(arena.event("ingress", "Assigned").await.contains("198.51.100."));
    let left = arena.node_event("a", "AddressLeft").await;
    assert!(left.starts_with("198.51.100.1 moved a → c in "), "{left}");
    assert!(left.ends_with(": a is not ready"), "{left}");

    first.kill();
    let before = arena.stored("ingress").await.metadata.resource_version;
    let mark = arena.cloud.mark();
    let second = arena.replica("second");
    let state = "flipop_floatingippoolcontroller_ip_state{dns=\"\",ip=\"198.51.100.1\",\
                 name=\"ingress\",namespace=\"flipop\",provider=\"digitalocean\",state=\"active\"}";
    second.metric(state, "1").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!(arena.stored("ingress").await.metadata.resource_version, before);
}

async fn two_pools_that_change_nodes_with_each_other_are_both_served(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    for (node, droplet, app) in [("a", 1, "web"), ("b", 2, "sip")] {
        arena.node(node, droplet).await;
        arena.label(node, "app", app).await;
    }
    for (ip, app) in IPS.into_iter().zip(["web", "sip"]) {
        arena.cloud.reserve(ip.parse::<std::net::IpAddr>().unwrap(), "nyc3");
        let matching = json!({"nodeLabel": format!("app={app}")});
        arena.pool(app, json!({"ips": [ip], "match": matching})).await;
    }
    let _replica = arena.replica("only");
    arena.marked("a", Some(IPS[0])).await;
    arena.marked("b", Some(IPS[1])).await;

    let mark = arena.cloud.mark();
    arena.label("a", "app", "sip").await;
    arena.label("b", "app", "web").await;
    arena.marked("a", Some(IPS[1])).await;
    arena.marked("b", Some(IPS[0])).await;
    assert_eq!((holder(&arena, IPS[0]), holder(&arena, IPS[1])), (Some(2), Some(1)));
    assert_eq!(arena.cloud.mutations_since(mark).len(), 3, "one steps aside, both are moved");
    arena.ready("web").await;
    arena.ready("sip").await;
}

async fn fields_for_errors_hold_errors_alone_as_the_predecessors_do(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.reserve_on("203.0.113.9".parse::<std::net::IpAddr>().unwrap(), 2);
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let _replica = arena.replica("only");
    arena.marked("a", Some("198.51.100.1")).await;
    arena.ready("ingress").await;
    let status = arena.status("ingress").await;
    assert_eq!(status.node_errors, ["b"], "names, and nothing but names");
    let why = &status.unusable_nodes["b"];
    assert!(why.contains("HoldsOtherAddress") && why.contains("203.0.113.9"), "{why}");

    arena.set_ready("a", false).await;
    let one = eventually("an address without a node", || async {
        let one = arena.status("ingress").await.ips.remove("198.51.100.1").unwrap_or_default();
        if one.state == "no-match" { Ok(one) } else { Err(one) }
    })
    .await;
    assert_eq!(one.error, "", "nothing is wrong with the address");
    assert!(one.message.contains("it is not ready"), "{}", one.message);
}

on_both! {
    fields_for_errors_hold_errors_alone_as_the_predecessors_do,
    two_pools_that_change_nodes_with_each_other_are_both_served,
    an_address_follows_its_nodes_health_in_one_call_and_a_restart_moves_nothing,
}
