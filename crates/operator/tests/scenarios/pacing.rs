//! Waiting periods continue across restarts.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Without an election, so that a restart does not wait for a lease to expire.
const ALONE: &[&str] = &["--leader-elect=false"];

const IPS: [&str; 3] = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];

/// Length of both periods, and the moment of the kill. A restarted period would end after more than
/// the sum.
const PERIOD: f64 = 20.0;
const MIDDLE: f64 = 9.0;

/// Two pools with separate nodes: the first has an address and a spare node, the second has two
/// addresses and two nodes.
async fn two_pools(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<std::net::IpAddr>().unwrap(), "nyc3");
    }
    for (name, droplet, role) in [("a", 1, "g"), ("b", 2, "g"), ("c", 3, "c"), ("d", 4, "c")] {
        arena.node(name, droplet).await;
        arena.label(name, "role", role).await;
    }
    let on = |role: &str| json!({"nodeLabel": format!("role={role}")});
    let grace = json!({"ips": [IPS[0]], "gracePeriodSeconds": PERIOD, "match": on("g")});
    arena.pool("grace", grace).await;
    let cool = json!({"ips": &IPS[1..], "assignmentCoolOffSeconds": PERIOD, "match": on("c")});
    arena.pool("cool", cool).await;
    Some(arena)
}

/// When node `a` was lost, and when the other pool's first address was assigned, by the statuses.
async fn beginnings(arena: &Arena) -> (Timestamp, Timestamp) {
    eventually("both periods have begun", || async {
        let lost = arena.status("grace").await.ips.remove(IPS[0]);
        let lost = lost.and_then(|one| one.ineligible_since);
        let assigned = arena.status("cool").await.last_assignment_time;
        lost.zip(assigned).map(|(lost, assigned)| (lost.0, assigned.0)).ok_or("not yet")
    })
    .await
}

/// Time between `since` and the assignment of an address to a droplet.
fn assigned_after(arena: &Arena, droplet: u64, since: Timestamp) -> Option<f64> {
    let all = arena.cloud.mutations();
    let to = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default();
    let last = all.iter().rfind(|call| to(&call.body)["droplet_id"] == droplet)?;
    // The provider has its own clock, so ages are compared.
    let since = Timestamp::now().duration_since(since).as_secs_f64();
    Some(since - last.arrived.elapsed().as_secs_f64())
}

async fn a_grace_period_and_a_cool_off_go_on_through_a_kill_at_their_middle(on: On) {
    let Some(arena) = two_pools(on).await else { return };
    let first = Replica::start(&arena, "first", ALONE);
    arena.ready("grace").await;
    arena.set_ready("a", false).await;
    let (lost, assigned) = beginnings(&arena).await;
    let (reason, message) = arena.condition("grace", "Ready", "False").await;
    assert_eq!(reason, "GracePeriod", "{message}");
    eventually("the middle", || async {
        let left = MIDDLE - Timestamp::now().duration_since(lost).as_secs_f64();
        if left <= 0.0 { Ok(()) } else { Err(left) }
    })
    .await;
    first.kill();
    let _second = Replica::start(&arena, "second", ALONE);
    arena.ready("grace").await;
    arena.ready("cool").await;
    let grace = assigned_after(&arena, 2, lost).unwrap();
    let spared = [3, 4].map(|droplet| assigned_after(&arena, droplet, assigned).unwrap());
    let cool = spared[0].max(spared[1]);
    eprintln!("moved after {grace} s, assigned after {cool} s");
    for waited in [grace, cool] {
        // The status records the end of a call, to the microsecond; the call begins earlier.
        assert!((PERIOD - 0.5..PERIOD + MIDDLE).contains(&waited), "{waited}");
    }
}

on_both! {
    a_grace_period_and_a_cool_off_go_on_through_a_kill_at_their_middle,
}
