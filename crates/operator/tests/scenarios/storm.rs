//! The provider's rate limit is used up for minutes.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Without an election, so that a restart does not wait for a lease to expire.
const ALONE: &[&str] = &["--leader-elect=false"];

const STORM: Duration = Duration::from_secs(150);

const ADDRESSES: u64 = 20;

fn ip(number: u64) -> IpAddr {
    format!("198.51.100.{number}").parse().unwrap()
}

/// A node for each address and a spare node, with everything assigned and in DNS.
async fn twenty_in_place(on: On) -> Option<(Arena, Replica)> {
    let arena = Arena::open(on).await?;
    for number in 1..=ADDRESSES + 1 {
        arena.serving_node(&format!("node-{number:02}"), number).await;
        if number <= ADDRESSES {
            arena.cloud.reserve_on(ip(number), number);
        }
    }
    let ips: Vec<_> = (1..=ADDRESSES).map(ip).collect();
    arena.cloud.domain("example.com");
    let record = json!({"zone": "example.com", "recordName": "hello"});
    arena.pool("ingress", json!({"ips": ips, "dnsRecordSet": record})).await;
    let replica = Replica::start(&arena, "first", ALONE);
    arena.ready("ingress").await;
    arena.condition("ingress", "DNSReady", "True").await;
    assert_eq!(in_dns(&arena), ADDRESSES as usize);
    Some((arena, replica))
}

fn in_dns(arena: &Arena) -> usize {
    arena.cloud.values("example.com", "hello", "A").len()
}

/// Waits until this time, and asserts meanwhile that nothing is lost or moved.
async fn nothing_changes(arena: &Arena, until: Instant) {
    while Instant::now() < until {
        let status = arena.status("ingress").await;
        assert_eq!(status.ips.len() as u64, ADDRESSES);
        assert_eq!(in_dns(arena), ADDRESSES as usize);
        for number in 1..=ADDRESSES {
            assert_eq!(arena.cloud.holder(ip(number)), Some(number));
            let said = &status.ips[&ip(number).to_string()];
            assert!(number == 1 || said.state == "active", "{number}: {said:?}");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn a_storm_of_429_loses_nothing_moves_nothing_and_leaves_dns_and_a_restart_in_it_too(on: On) {
    let Some((arena, first)) = twenty_in_place(on).await else { return };
    let mark = arena.cloud.mark();
    let began = Instant::now();
    arena.cloud.throttle_for(STORM);
    nothing_changes(&arena, began + STORM / 4).await;
    first.kill();
    let _second = Replica::start(&arena, "second", ALONE);
    nothing_changes(&arena, began + STORM / 2).await;
    // A node is lost in the storm: only its address moves, after the storm.
    arena.set_ready("node-01", false).await;
    nothing_changes(&arena, began + STORM - Duration::from_secs(3)).await;
    let asked = arena.cloud.log_since(mark).len();
    assert!(asked <= 8, "{asked} calls into the storm");
    eventually("the lost node's address moves", || async {
        let holder = arena.cloud.holder(ip(1));
        if holder == Some(ADDRESSES + 1) { Ok(()) } else { Err(holder) }
    })
    .await;
    let waited = began.elapsed();
    assert!(waited < STORM + Duration::from_secs(30), "moved only after {waited:?}");
    arena.ready("ingress").await;
    let done = arena.cloud.mutations_since(mark);
    let done = done.iter().filter(|call| call.status() != Some(429));
    let done: Vec<_> = done.map(|call| call.path().to_owned()).collect();
    let moves = done.iter().filter(|path| path.contains("reserved_ips"));
    assert_eq!(moves.count(), 1, "{done:?}");
    // The address leaves the record and returns; nothing else is written.
    assert!(done.len() <= 3, "{done:?}");
    eventually("all of them are in DNS", || async {
        let listed = in_dns(&arena);
        if listed == ADDRESSES as usize { Ok(()) } else { Err(listed) }
    })
    .await;
    for number in 2..=ADDRESSES {
        assert_eq!(arena.cloud.holder(ip(number)), Some(number));
    }
}

on_both! {
    a_storm_of_429_loses_nothing_moves_nothing_and_leaves_dns_and_a_restart_in_it_too,
}
