//! The provider answers 503 for a while.

use std::net::IpAddr;

use fakecloud::{Answer, Fault, On as Calls, Rule, RuleId};
use serde_json::json;

use super::google::{REGION, google};
use super::stage::{IP, stage};
use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Half of the reads that two minutes have at the shortest interval.
const READS: u64 = 12;

/// Waits until so many further requests were refused.
async fn refused(arena: &Arena, rule: RuleId) {
    let before = arena.cloud.hits(rule);
    eventually("refused requests", || async {
        let hits = arena.cloud.hits(rule) - before;
        if hits >= READS { Ok(()) } else { Err(hits) }
    })
    .await;
}

/// Nobody was evicted, and the label is where it was.
async fn nothing_was_done(arena: &Arena) {
    arena.labelled("a", true).await;
    arena.labelled("b", false).await;
    assert!(arena.pod_is_there("web-a").await);
    let writes = arena.writes();
    assert!(!writes.iter().any(|path| path.ends_with("/eviction")), "{writes:#?}");
}

async fn an_outage_of_the_provider_evicts_nobody_and_removes_no_label(on: On) {
    let Some(arena) = stage(on, &[]).await else { return };
    arena.record();
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), REGION);
    // Before its node: the real server copies labels of the node's place to a new pod.
    arena.pod_of("web", "a").await;
    for (name, machine) in [("a", 1), ("b", 2)] {
        arena.google_node(name, machine).await;
    }
    arena.allocation("edge", json!({"cloud": google(), "reconcileInterval": 5})).await;
    let alone = ["--leader-elect=false", "--retry-max=1s"];
    let replica = Replica::start(&arena, "first", &alone);
    arena.labelled("a", true).await;
    arena.attached("edge", IP, "a").await;

    let mark = arena.cloud.mark();
    let down = arena.cloud.inject(Rule::new(Calls::any(), Fault::Answer(Answer::status(503))));
    refused(&arena, down).await;
    nothing_was_done(&arena).await;

    // A new process knows nothing of the place of the address.
    replica.kill();
    let _replica = Replica::start(&arena, "second", &alone);
    arena.tells("edge", "Ready", "CloudUnavailable").await;
    arena.cordon("a", true).await;
    refused(&arena, down).await;
    nothing_was_done(&arena).await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0, "nothing is changed unseen");

    arena.cloud.clear(down);
    arena.attached("edge", IP, "a").await;
    arena.delete_pod("web-a").await;
    arena.labelled("b", true).await;
    arena.attached("edge", IP, "b").await;
    arena.labelled("a", false).await;
}

on_both! {
    an_outage_of_the_provider_evicts_nobody_and_removes_no_label,
}
