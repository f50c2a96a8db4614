//! Replicas that take over from each other.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use fakecloud::{Exchange, Fault, On as Calls, Rule};
use rustix::process::Signal;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

async fn one_address_two_nodes(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    Some(arena)
}

fn holder(arena: &Arena) -> Option<u64> {
    arena.cloud.holder("198.51.100.1".parse::<IpAddr>().unwrap())
}

async fn moved_to(arena: &Arena, droplet: u64) {
    eventually(&format!("on droplet {droplet}"), || async {
        let holder = holder(arena);
        if holder == Some(droplet) { Ok(()) } else { Err(holder) }
    })
    .await;
}

async fn a_leader_that_wakes_from_a_pause_never_calls_after_its_successor(on: On) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let (old, new) = leader_and_follower(&arena).await;
    old.signal(Signal::STOP);
    let paused = Instant::now();
    // The first change that the old leader sees after waking is a reason to act.
    arena.set_ready("a", false).await;
    moved_to(&arena, 2).await;
    new.leads().await;
    // The pause lasts thirty seconds in total.
    tokio::time::sleep(Duration::from_secs(30).saturating_sub(paused.elapsed())).await;
    arena.set_ready("a", true).await;
    arena.set_ready("b", false).await;
    old.signal(Signal::CONT);
    moved_to(&arena, 1).await;
    old.metric("pontoon_leader", "0").await;

    let mutations = arena.cloud.mutations();
    let by = |name: &str| {
        let mine = mutations.iter().filter(|call| call.user_agent.as_deref() == Some(name));
        mine.map(|call| call.arrived).collect::<Vec<_>>()
    };
    let first_of_new = *by("new").first().unwrap();
    assert!(by("old").iter().all(|time| *time < first_of_new), "{mutations:#?}");
}

/// A leader with its address assigned, and a ready follower.
async fn leader_and_follower(arena: &Arena) -> (Replica, Replica) {
    let old = arena.replica("old");
    old.leads().await;
    arena.ready("ingress").await;
    let new = arena.replica("new");
    is_ready(&new).await;
    (old, new)
}

/// Stops the leader; the other replica leads before the lease would expire.
async fn hands_over(what: &str, old: Replica, new: &Replica) {
    let stopped = Instant::now();
    let took = old.terminate().await;
    new.leads().await;
    let handed_over = stopped.elapsed();
    eprintln!("{what} leader: ended after {took:?}, the other led after {handed_over:?}");
    assert!(handed_over < Duration::from_secs(14), "no lease had to expire");
}

/// Stops the leader while the call that moves the address has no answer. The other replica finds
/// the address at its destination, and does not move it again.
async fn hands_over_in_a_move(on: On, what: &str, answer_after: Duration) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let (old, new) = leader_and_follower(&arena).await;
    let assign = Calls::call("POST", "/v2/reserved_ips/*/actions");
    let rule = arena.cloud.inject(Rule::new(assign, Fault::DelayAfter(answer_after)));
    arena.set_ready("a", false).await;
    moved_to(&arena, 2).await;
    hands_over(what, old, &new).await;
    arena.cloud.clear(rule);
    arena.ready("ingress").await;
    arena.marked("b", Some("198.51.100.1")).await;
    assert_eq!(arena.cloud.mutations().len(), 2, "one for each place");
}

async fn an_idle_leader_that_is_told_to_stop_hands_over_within_a_second(on: On) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let (old, new) = leader_and_follower(&arena).await;
    hands_over("idle", old, &new).await;
}

async fn a_busy_leader_that_is_told_to_stop_waits_for_its_call_and_then_hands_over(on: On) {
    hands_over_in_a_move(on, "busy", Duration::from_secs(3)).await;
}

async fn a_leader_whose_call_hangs_hands_over_at_its_deadline_and_the_next_one_settles_first(
    on: On,
) {
    hands_over_in_a_move(on, "hanging", Duration::from_secs(60)).await;
}

async fn after_a_leader_that_stops_right_after_a_move_the_next_one_waits_until_reads_show_the_move(
    on: On,
) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let (old, new) = leader_and_follower(&arena).await;
    let lag = Duration::from_secs(3);
    arena.cloud.set(|knobs| knobs.read_lag = lag);
    arena.set_ready("a", false).await;
    moved_to(&arena, 2).await;
    let shown = arena.cloud.now() + lag;
    hands_over("just moved", old, &new).await;
    eventually("the other has read the account since the move shows", || async {
        let log = arena.cloud.log();
        let is_such = |call: &Exchange| {
            call.user_agent.as_deref() == Some("new")
                && call.method == "GET"
                && call.arrived > shown
        };
        if log.iter().any(is_such) { Ok(()) } else { Err(log.len()) }
    })
    .await;
    // The marks are written, so that no write of the other replica is under way.
    arena.marked("a", None).await;
    arena.marked("b", Some("198.51.100.1")).await;
    // A change that only the other can follow: its plan about the first reading is over then.
    arena.set_ready("a", true).await;
    arena.set_ready("b", false).await;
    moved_to(&arena, 1).await;
    assert_eq!(arena.cloud.mutations().len(), 3, "one for each place");
}

/// A lease too long to wait for: ten minutes.
const LONG: [&str; 3] =
    ["POD_UID=pod-1", "--leader-elect-lease-duration=10m", "--leader-elect-renew-deadline=5m"];

async fn a_leader_that_restarts_in_its_pod_waits_for_its_last_calls_and_not_for_its_lease(on: On) {
    let Some(arena) = one_address_two_nodes(on).await else { return };
    let first = Replica::start(&arena, "pod", &LONG);
    first.leads().await;
    arena.ready("ingress").await;
    // In another pod, so the lease of the first is not its own.
    let other = LONG.map(|one| if one == "POD_UID=pod-1" { "POD_UID=pod-2" } else { one });
    let other = Replica::start(&arena, "other", &other);
    is_ready(&other).await;
    first.kill();
    let killed = Instant::now();
    arena.set_ready("a", false).await;
    let _second = Replica::start(&arena, "pod", &LONG);
    moved_to(&arena, 2).await;
    eprintln!(
        "killed and restarted in its pod: the address was moved after {:?}",
        killed.elapsed()
    );
    let mutations = arena.cloud.mutations();
    let move_ = mutations.last().unwrap();
    assert_eq!(move_.user_agent.as_deref(), Some("pod"), "{mutations:#?}");
    let waited = move_.arrived.into_std().duration_since(killed);
    assert!(waited >= Duration::from_secs(10), "calls of the dead one: {waited:?}");
    other.metric("pontoon_leader", "0").await;
}

async fn is_ready(replica: &Replica) {
    eventually("the replica is ready to lead", || async {
        let page = replica.page("/readyz").await.unwrap_or_default();
        if page.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(page) }
    })
    .await;
}

on_both! {
    a_leader_that_wakes_from_a_pause_never_calls_after_its_successor,
    an_idle_leader_that_is_told_to_stop_hands_over_within_a_second,
    a_busy_leader_that_is_told_to_stop_waits_for_its_call_and_then_hands_over,
    a_leader_whose_call_hangs_hands_over_at_its_deadline_and_the_next_one_settles_first,
    after_a_leader_that_stops_right_after_a_move_the_next_one_waits_until_reads_show_the_move,
    a_leader_that_restarts_in_its_pod_waits_for_its_last_calls_and_not_for_its_lease,
}
