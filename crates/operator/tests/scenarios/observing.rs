//! `--mode observe`: everything is reported, nothing is done.

use std::net::IpAddr;

use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::arena::{Arena, On, on_both};
use crate::replica::Replica;

async fn what_would_be_done_is_told_and_nothing_is_written_elsewhere(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.record();
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    for (name, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(name, droplet).await;
    }
    let record = |name: &str| json!({"zone": "example.com", "recordName": name});
    let spec = json!({"ips": ["198.51.100.1"], "desiredIPs": 2, "region": "nyc3",
                      "deletionPolicy": "Release", "dnsRecordSet": record("www")});
    arena.pool("ingress", spec).await;
    arena.cloud.domain("example.com");
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    arena.report("b", &[("ExternalIP", "203.0.113.2")]).await;
    arena.record_set("nodes", json!({"dnsRecordSet": record("nodes")})).await;

    let _replica = Replica::start(&arena, "observer", &["--mode=observe"]);
    let note = arena.event("ingress", "WouldAssign").await;
    assert_eq!(note, "would assign 198.51.100.1 to a");
    assert_eq!(arena.event("ingress", "WouldCreate").await, "would reserve an address in nyc3");
    let note = arena.event("nodes", "WouldUpdateRecord").await;
    assert!(note.contains("nodes.example.com A: add 203.0.113.1 203.0.113.2"), "{note}");
    let (ready, message) = arena.says("ingress", "Observing").await;
    assert_eq!(ready, "False");
    assert!(message.contains("0 of 2 in place; would assign 198.51.100.1 to a"), "{message}");
    let status = arena.record_state("nodes", "in-progress").await;
    assert!(status.conditions.iter().all(|one| one.reason == "Observing"), "{status:#?}");

    // A repeated plan is not reported again.
    for times in 0..3 {
        arena.label("b", "seen", &format!("{times}")).await;
    }
    arena.serving_node("c", 3).await;
    arena.set_ready("a", false).await;
    let told = "would assign 198.51.100.1 to b";
    crate::arena::eventually(told, || async {
        let notes = notes(&arena, "WouldAssign").await;
        if notes.iter().any(|note| note == told) { Ok(()) } else { Err(notes) }
    })
    .await;
    assert_eq!(notes(&arena, "WouldAssign").await.len(), 2);

    let pool = arena.stored("ingress").await;
    assert_eq!(pool.metadata.finalizers, None);
    assert_eq!(pool.metadata.annotations, None);
    for node in ["a", "b", "c"] {
        arena.marked(node, None).await;
    }
    arena.assert_only_said("pontoon-observe");
}

async fn what_was_taken_out_of_the_list_while_we_only_looked_is_left_alone(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    for (name, ip, droplet) in [("a", "198.51.100.1", 1), ("b", "198.51.100.2", 2)] {
        arena.serving_node(name, droplet).await;
        arena.cloud.reserve_on(ip.parse::<IpAddr>().unwrap(), droplet);
    }
    arena.pool("ingress", json!({"ips": ["198.51.100.1", "198.51.100.2"]})).await;
    let observer = Replica::start(&arena, "observer", &["--mode=observe"]);
    arena.says("ingress", "Observing").await;
    arena.names("ingress", &["198.51.100.1", "198.51.100.2"]).await;
    assert_eq!(arena.status("ingress").await.assigned, "", "that is for one that acts");
    observer.terminate().await;

    arena.edit("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let _active = arena.replica("active");
    arena.says("ingress", "AllAssigned").await;
    crate::arena::eventually("it is a stranger's", || async {
        let status = arena.status("ingress").await;
        let said = status.assigned == "1/1" && status.node_errors == ["b"];
        if said { Ok(()) } else { Err(status) }
    })
    .await;
    assert_eq!(arena.droplet_of("198.51.100.2"), Some(2), "it was never ours");
    assert_eq!(arena.cloud.mutations().len(), 0);
}

async fn notes(arena: &Arena, reason: &str) -> Vec<String> {
    let events: Api<Event> = arena.namespaced();
    let all = events.list(&ListParams::default()).await.unwrap().items;
    let such = all.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
    such.filter_map(|event| event.note).collect()
}

async fn an_observer_keeps_nobody_from_acting(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let observer = Replica::start(&arena, "observer", &["--mode=observe"]);
    arena.event("ingress", "WouldAssign").await;

    let _active = Replica::start(&arena, "active", &["POD_NAMESPACE=flipop"]);
    arena.says("ingress", "AllAssigned").await;
    let agents: Vec<_> = arena.cloud.mutations().into_iter().map(|one| one.user_agent).collect();
    assert_eq!(agents, [Some("active".to_owned())]);
    // The acting replica does all the reporting.
    crate::arena::eventually("the observer stands aside", || async {
        let log = observer.log();
        if log.contains("another Pontoon") { Ok(()) } else { Err(log) }
    })
    .await;
}

on_both! {
    what_was_taken_out_of_the_list_while_we_only_looked_is_left_alone,
    what_would_be_done_is_told_and_nothing_is_written_elsewhere,
    an_observer_keeps_nobody_from_acting,
}
