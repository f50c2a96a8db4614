//! A paused object is left alone, and all others are served.

use std::net::IpAddr;
use std::process::{Command, Output};

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};

/// Runs a subcommand of the binary.
async fn pontoon(arena: &Arena, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pontoon"));
    command.args(args).arg("--kubeconfig").arg(arena.kubeconfig());
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

async fn a_paused_pool_keeps_what_it_has_and_resumes_at_once(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.machine(1, "a", "nyc3");
    arena.cloud.reserve_on("198.51.100.1".parse::<IpAddr>().unwrap(), 1);
    arena.cloud.reserve("198.51.100.2".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    arena.marked("a", Some("198.51.100.1")).await;
    let before = arena.cloud.mark();

    let object = "floatingippool/flipop/ingress";
    let done = pontoon(&arena, &["pause", object, "--reason", "moving the rack"]).await;
    assert!(done.status.success(), "{done:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("{object} paused\n"));
    let note = arena.event("ingress", "Paused").await;
    assert!(note.starts_with("paused: moving the rack"), "{note}");
    let (ready, message) = arena.says("ingress", "Paused").await;
    assert_eq!(ready, "True", "what it asks for is in place");
    assert_eq!(message, "paused: moving the rack; 1 address on 1 of 1 eligible node");

    // A younger pool gets the node that the paused pool would have taken.
    arena.set_ready("a", false).await;
    arena.serving_node("b", 2).await;
    arena.event("ingress", "WouldAssign").await;
    arena.pool("other", json!({"ips": ["198.51.100.2"]})).await;
    arena.ready("other").await;
    assert_eq!(arena.droplet_of("198.51.100.2"), Some(2));
    arena.serving_node("c", 3).await;
    eventually("the plan goes on", || async {
        let message = arena.condition("ingress", "Ready", "False").await.1;
        let wanted = "paused: moving the rack; 0 of 1 in place; would assign 198.51.100.1 to c";
        if message.starts_with(wanted) { Ok(()) } else { Err(message) }
    })
    .await;
    assert_eq!(arena.droplet_of("198.51.100.1"), Some(1));
    arena.marked("a", Some("198.51.100.1")).await;
    assert_eq!(arena.cloud.mutations_since(before).len(), 1, "the other pool's");

    let done = pontoon(&arena, &["resume", object]).await;
    assert!(done.status.success(), "{done:?}");
    arena.held_by("198.51.100.1", Some(3)).await;
    arena.marked("c", Some("198.51.100.1")).await;
    arena.marked("a", None).await;
    arena.says("ingress", "AllAssigned").await;
}

async fn the_records_of_a_paused_object_stay_as_they_are(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.domain("example.com");
    arena.serving_node("a", 1).await;
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;
    let _replica = arena.replica("only");
    arena.listed("nodes", "A", &["203.0.113.1"]).await;
    arena.record_state("nodes", "active").await;

    let object = "nodednsrecordset/flipop/nodes";
    let done = pontoon(&arena, &["pause", object, "--reason", "the zone moves"]).await;
    assert!(done.status.success(), "{done:?}");
    arena.event("nodes", "Paused").await;
    let before = arena.cloud.mark();
    arena.serving_node("b", 2).await;
    arena.report("b", &[("ExternalIP", "203.0.113.2")]).await;
    arena.event("nodes", "WouldUpdateRecord").await;
    arena.listed("nodes", "A", &["203.0.113.1"]).await;
    assert_eq!(arena.cloud.mutations_since(before).len(), 0);

    let done = pontoon(&arena, &["resume", object]).await;
    assert!(done.status.success(), "{done:?}");
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
}

async fn an_object_that_is_not_there_cannot_be_paused(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    let missing =
        pontoon(&arena, &["pause", "floatingippool/flipop/nobody", "--reason", "x"]).await;
    assert!(!missing.status.success());
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("not found"), "{said}");
    let odd = pontoon(&arena, &["pause", "node/a", "--reason", "x"]).await;
    let said = String::from_utf8(odd.stderr).unwrap();
    assert!(said.contains("floatingippool/NAMESPACE/NAME"), "{said}");
}

on_both! {
    a_paused_pool_keeps_what_it_has_and_resumes_at_once,
    the_records_of_a_paused_object_stay_as_they_are,
    an_object_that_is_not_there_cannot_be_paused,
}
