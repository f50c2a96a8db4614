//! Who counts as a rival, and for how long.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use super::LEASE;
use super::rivalry::{Claim, PREDECESSORS_LEASE, Rival, Rivalry, Rivals, place};

fn lease(namespace: &str, name: &str, holder: &str, renewal: u32) -> Lease {
    serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name, "uid": namespace,
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15,
                 "leaseTransitions": renewal},
    }))
    .unwrap()
}

fn theirs(holder: &str, renewal: u32) -> Lease {
    lease("flipop", PREDECESSORS_LEASE, holder, renewal)
}

fn rivals() -> Rivals {
    let own = ("m".to_owned(), LEASE.to_owned());
    let mut rivals = Rivals::new(Some(own), "me");
    rivals.listed(LEASE);
    rivals.listed(PREDECESSORS_LEASE);
    rivals
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn rival(lease: &str, holder: &str) -> Rival {
    Rival { lease: lease.to_owned(), holder: holder.to_owned() }
}

#[test]
fn nothing_is_known_before_every_lease_was_listed() {
    let mut rivals = Rivals::new(None, "me");
    rivals.listed(LEASE);
    assert_eq!(rivals.judge(at(0)).0, Rivalry::Unknown);
    rivals.listed(PREDECESSORS_LEASE);
    assert_eq!(rivals.judge(at(0)), (Rivalry::None, None));
}

#[test]
fn a_predecessor_is_a_rival_while_it_renews_and_quiet_a_duration_later() {
    let mut rivals = rivals();
    rivals.seen(theirs("old", 1), at(0));
    assert_eq!(rivals.judge(at(0)), (Rivalry::Unknown, Some(at(15))), "perhaps long dead");
    rivals.seen(theirs("old", 2), at(2));
    let known = rival("flipop/floating-ip-pool-controller-leader-election", "old");
    assert_eq!(rivals.judge(at(2)), (Rivalry::Predecessor(known.clone()), Some(at(17))));
    rivals.seen(theirs("old", 2), at(10));
    assert_eq!(rivals.judge(at(16)).0, Rivalry::Predecessor(known), "seen again is no renewal");
    assert_eq!(rivals.judge(at(17)), (Rivalry::None, None));
}

#[test]
fn a_dead_predecessor_and_one_that_gave_up_are_none() {
    let mut rivals = rivals();
    rivals.seen(theirs("old", 1), at(0));
    assert_eq!(rivals.judge(at(15)).0, Rivalry::None);
    rivals.seen(theirs("", 2), at(16));
    assert_eq!(rivals.judge(at(16)).0, Rivalry::None);
}

#[test]
fn whoever_acts_takes_the_predecessors_lease_and_renews_it() {
    let mut rivals = rivals();
    rivals.seen(theirs("", 1), at(0));
    assert!(!rivals.all_held());
    let found = rivals.due(at(0)).cloned().unwrap();
    let held = Box::new(theirs(rivals.us(), 2));
    rivals.claimed(&place(&found), Claim::Held(held), at(5), at(0));
    assert!(rivals.all_held() && rivals.due(at(4)).is_none() && rivals.due(at(5)).is_some());
    assert_eq!(rivals.held().len(), 1);
    assert_eq!(rivals.judge(at(0)).0, Rivalry::None);
    rivals.seen(theirs("old", 3), at(6));
    assert!(matches!(rivals.judge(at(6)).0, Rivalry::Predecessor(_)), "it took it back");
}

#[test]
fn a_lease_that_another_replica_holds_for_us_keeps_nobody_waiting() {
    let mut rivals = rivals();
    rivals.seen(theirs("pontoon/other", 1), at(0));
    assert_eq!(rivals.judge(at(0)).0, Rivalry::None);
    assert!(rivals.due(at(0)).is_some() && !rivals.all_held());
}

#[test]
fn a_lease_that_cannot_be_written_to_does_not_stop_us() {
    let mut rivals = rivals();
    rivals.seen(theirs("", 1), at(0));
    rivals.claimed(&place(&theirs("", 1)), Claim::Refused, at(2), at(0));
    assert!(rivals.all_held() && rivals.due(at(1)).is_none());
    rivals.claimed(&place(&theirs("", 1)), Claim::Lost, at(4), at(2));
    assert!(!rivals.all_held(), "somebody else was faster: look first");
}

#[test]
fn a_lease_that_could_not_be_written_to_for_a_moment_may_be_anybodys() {
    let mut rivals = rivals();
    rivals.seen(theirs("", 1), at(0));
    rivals.claimed(&place(&theirs("", 1)), Claim::Unanswered, at(2), at(0));
    assert!(!rivals.all_held() && rivals.due(at(2)).is_some());
}

#[test]
fn of_two_installations_the_one_with_the_younger_lease_stands_back() {
    let mut rivals = rivals();
    for renewal in 1..=2 {
        rivals.seen(lease("m", LEASE, "me", renewal), at(0));
        rivals.seen(lease("z", LEASE, "younger", renewal), at(0));
    }
    assert_eq!(rivals.judge(at(0)).0, Rivalry::None, "same time: the smaller UID");
    for renewal in 1..=2 {
        rivals.seen(lease("a", LEASE, "older", renewal), at(0));
    }
    assert_eq!(rivals.judge(at(0)).0, Rivalry::Pontoon(rival("a/pontoon", "older")));
    rivals.gone(&("a".to_owned(), LEASE.to_owned()));
    assert_eq!(rivals.judge(at(0)).0, Rivalry::None);
}
