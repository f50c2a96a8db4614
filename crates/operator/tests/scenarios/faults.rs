//! Failures of the provider.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use fakecloud::{Answer, Fault, On as Calls, Rule};
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

async fn nodes_and_addresses(on: On, count: u64) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    for number in 1..=count {
        arena.serving_node(&format!("node-{number}"), number).await;
        arena.cloud.reserve(ip(&format!("198.51.100.{number}")), "nyc3");
    }
    let ips: Vec<_> = (1..=count).map(|number| format!("198.51.100.{number}")).collect();
    arena.pool("ingress", json!({"ips": ips})).await;
    Some(arena)
}

async fn one_503_delays_its_node_by_one_step_and_nothing_else(on: On) {
    let Some(arena) = nodes_and_addresses(on, 3).await else { return };
    let assign = Calls::call("POST", "/v2/reserved_ips/198.51.100.1/actions");
    arena.cloud.inject(Rule::new(assign, Fault::Answer(Answer::status(503))).once());
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    for number in 1..=3 {
        assert_eq!(arena.cloud.holder(ip(&format!("198.51.100.{number}"))), Some(number));
    }
    let mutations = arena.cloud.mutations();
    assert_eq!(mutations.len(), 4, "three moves and the one that failed");
    let failed = mutations.iter().find(|call| call.status() == Some(503)).unwrap();
    let again = mutations.iter().rfind(|call| call.path() == failed.path()).unwrap();
    let pause = again.arrived - failed.arrived;
    assert!(pause >= Duration::from_secs(1), "one step is a second, not {pause:?}");
    for other in mutations.iter().filter(|call| call.path() != failed.path()) {
        assert!(other.arrived < again.arrived, "the others do not wait");
    }
    let note = arena.event("ingress", "AssignFailed").await;
    assert!(note.contains("198.51.100.1") && note.contains("; next attempt at "), "{note}");
}

async fn a_minute_of_429_moves_nothing_and_drops_nothing_from_the_status(on: On) {
    let Some(arena) = nodes_and_addresses(on, 2).await else { return };
    arena.serving_node("node-3", 3).await;
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    let before = arena.status("ingress").await;

    arena.cloud.throttle_for(Duration::from_secs(60));
    let mark = arena.cloud.mark();
    let started = Instant::now();
    arena.set_ready("node-1", false).await;
    // A single attempt is refused, and not repeated before the time in the answer.
    arena.reason("ingress", "Reconciling", "True", "CloudThrottled").await;
    arena.set_ready("node-1", true).await;
    arena.ready("ingress").await;
    let after = arena.status("ingress").await;
    assert_eq!(after.ips.keys().collect::<Vec<_>>(), before.ips.keys().collect::<Vec<_>>());
    assert!(after.ips.values().all(|one| one.state == "active"), "{:?}", after.ips);
    assert_eq!(arena.cloud.holder(ip("198.51.100.1")), Some(1));
    let sent = arena.cloud.log_since(mark).len();
    assert!(sent <= 2, "{sent} calls in the storm");

    arena.set_ready("node-1", false).await;
    eventually("the move, once the storm is over", || async {
        let holder = arena.cloud.holder(ip("198.51.100.1"));
        if holder == Some(3) { Ok(()) } else { Err(holder) }
    })
    .await;
    assert!(started.elapsed() >= Duration::from_secs(55), "{:?}", started.elapsed());
    arena.ready("ingress").await;
}

async fn a_restart_while_the_cloud_is_down_keeps_what_was_said(on: On) {
    let Some(arena) = nodes_and_addresses(on, 2).await else { return };
    let alone = ["--leader-elect=false", "--retry-max=1s"];
    let replica = Replica::start(&arena, "first", &alone);
    arena.ready("ingress").await;
    let before = arena.status("ingress").await;
    replica.kill();
    let down = Rule::new(Calls::any(), Fault::Answer(Answer::status(503)));
    let down = arena.cloud.inject(down);
    let _replica = Replica::start(&arena, "second", &alone);
    let (reason, message) = arena.condition("ingress", "Ready", "Unknown").await;
    assert_eq!(reason, "CloudUnavailable", "{message}");
    let after = arena.status("ingress").await;
    assert_eq!((after.assigned, after.ips), (before.assigned, before.ips));
    assert_eq!(after.assignable_nodes, before.assignable_nodes);
    arena.cloud.clear(down);
    arena.ready("ingress").await;
}

async fn an_assignment_whose_answer_is_lost_is_read_and_not_repeated(on: On) {
    let Some(arena) = nodes_and_addresses(on, 1).await else { return };
    let assign = Calls::call("POST", "/v2/reserved_ips/*/actions");
    arena.cloud.inject(Rule::new(assign, Fault::LostAfter).once());
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.mutations().len(), 1);
}

async fn moves_that_take_the_cloud_a_while_are_in_progress_and_then_confirmed_by_listings(on: On) {
    let Some(arena) = nodes_and_addresses(on, 3).await else { return };
    arena.cloud.set(|knobs| knobs.action_time = Duration::from_secs(5));
    let _replica = arena.replica("only");
    eventually("in progress", || async {
        let placed = arena.placed("ingress").await;
        let in_progress = placed.iter().filter(|(_, state, _)| state == "in-progress").count();
        if in_progress == 3 { Ok(()) } else { Err(placed) }
    })
    .await;
    arena.marked("node-1", None).await;
    arena.ready("ingress").await;
    arena.marked("node-1", Some("198.51.100.1")).await;
    assert_eq!(arena.cloud.mutations().len(), 3);
}

/// The rate limit is nearly used up, in every answer: routine calls wait, but a failover does not,
/// nor do its confirmation and its DNS record.
async fn with_a_rate_limit_nearly_used_up_a_slow_move_is_confirmed_and_its_name_follows(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.serving_node("node-1", 1).await;
    arena.cloud.reserve(ip("198.51.100.1"), "nyc3").reserve(ip("198.51.100.2"), "nyc3");
    arena.cloud.domain("example.com").set(|knobs| {
        knobs.rate_remaining = Some(400);
        knobs.action_time = Duration::from_secs(3);
    });
    let record = json!({"zone": "example.com", "recordName": "hello", "ttl": 30});
    let ips = ["198.51.100.1", "198.51.100.2"];
    arena.pool("ingress", json!({"ips": ips, "dnsRecordSet": record})).await;
    let replica = arena.replica("only");
    arena.listed("hello", "A", &ips[..1]).await;
    arena.marked("node-1", Some(ips[0])).await;

    arena.serving_node("node-2", 2).await;
    arena.listed("hello", "A", &ips).await;
    arena.marked("node-2", Some(ips[1])).await;
    arena.ready("ingress").await;
    replica.kill();
    // The new process knows nothing of the limit; its first answer shows the limit again.
    let _replica = arena.replica("another");
    arena.serving_node("node-3", 3).await;
    arena.set_ready("node-1", false).await;
    arena.marked("node-3", Some(ips[0])).await;
    arena.set_ready("node-2", false).await;
    arena.listed("hello", "A", &ips[..1]).await;
    let sent = arena.cloud.log().len();
    assert!(sent < 80, "{sent} calls, which is no trickle");
}

on_both! {
    with_a_rate_limit_nearly_used_up_a_slow_move_is_confirmed_and_its_name_follows,
    one_503_delays_its_node_by_one_step_and_nothing_else,
    a_minute_of_429_moves_nothing_and_drops_nothing_from_the_status,
    a_restart_while_the_cloud_is_down_keeps_what_was_said,
    an_assignment_whose_answer_is_lost_is_read_and_not_repeated,
    moves_that_take_the_cloud_a_while_are_in_progress_and_then_confirmed_by_listings,
}
