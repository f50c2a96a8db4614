//! Which Leases make a rival, and for how long.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use crate::leadership::LEASE;
use crate::leadership::competition::{
    Claim, Doubt, PREDECESSORS_LEASE, Place, Rival, Rivalry, Rivals,
};
use crate::leadership::elsewhere::Elsewhere;

const THEIRS: &str = "flipop/floating-ip-pool-controller-leader-election";

fn lease(namespace: &str, name: &str, holder: &str, renewal: u32) -> Lease {
    lasting(namespace, name, holder, renewal, 15)
}

fn lasting(namespace: &str, name: &str, holder: &str, renewal: u32, seconds: i32) -> Lease {
    serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds,
                 "leaseTransitions": renewal},
    }))
    .unwrap()
}

fn theirs(holder: &str, renewal: u32) -> Option<Lease> {
    Some(lease("flipop", PREDECESSORS_LEASE, holder, renewal))
}

fn place(namespace: &str, name: &str) -> Place {
    (namespace.to_owned(), name.to_owned())
}

/// The place of the predecessor's Lease.
fn there() -> Place {
    place("flipop", PREDECESSORS_LEASE)
}

/// No rivals: the only place was seen empty.
fn rivals() -> Rivals {
    let mut rivals = Rivals::new(&[there()].into(), "me");
    rivals.seen(&there(), None, at(0));
    rivals
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn rival(lease: &str, holder: &str) -> Rival {
    Rival { lease: lease.to_owned(), holder: holder.to_owned() }
}

fn unknown(rivals: &Rivals, now: Duration) -> Option<Doubt> {
    match rivals.judge(now).0 {
        Rivalry::Unknown(doubt) => Some(doubt),
        _ => None,
    }
}

#[test]
fn nothing_is_known_before_every_lease_that_counts_was_read() {
    let ours = place("m", PREDECESSORS_LEASE);
    let mut rivals = Rivals::new(&[there(), ours.clone()].into(), "me");
    rivals.seen(&ours, None, at(0));
    assert_eq!(unknown(&rivals, at(0)), Some(Doubt::Unread(THEIRS.to_owned())));
    rivals.seen(&there(), None, at(0));
    assert_eq!(rivals.judge(at(0)), (Rivalry::None, None));
}

#[test]
fn without_the_right_to_read_nothing_is_known_and_the_right_is_named() {
    let mut rivals = rivals();
    rivals.forbidden(&there());
    let doubt = unknown(&rivals, at(0)).unwrap();
    assert_eq!(doubt, Doubt::Forbidden(THEIRS.to_owned()));
    let words = doubt.to_string();
    for part in ["list and watch", "leases.coordination.k8s.io", PREDECESSORS_LEASE, "flipop"] {
        assert!(words.contains(part), "{words}");
    }
    rivals.seen(&there(), None, at(1));
    assert_eq!(rivals.judge(at(1)).0, Rivalry::None, "it was granted");
}

#[test]
fn a_predecessor_is_a_rival_while_it_renews_and_quiet_a_duration_later() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("old", 1), at(0));
    let known = rival(THEIRS, "old");
    let perhaps_long_dead = Rivalry::Unknown(Doubt::Undecided(known.clone()));
    assert_eq!(rivals.judge(at(0)), (perhaps_long_dead, Some(at(15))));
    rivals.seen(&there(), theirs("old", 2), at(2));
    assert_eq!(rivals.judge(at(2)), (Rivalry::Predecessor(known.clone()), Some(at(17))));
    rivals.seen(&there(), theirs("old", 2), at(10));
    assert_eq!(rivals.judge(at(16)).0, Rivalry::Predecessor(known), "seen again is no renewal");
    assert_eq!(rivals.judge(at(17)), (Rivalry::None, None));
}

#[test]
fn a_lease_that_lasts_for_68_years_counts_for_a_minute() {
    for renewals in 1..=2 {
        let mut rivals = rivals();
        for renewal in 1..=renewals {
            let held = lasting("flipop", PREDECESSORS_LEASE, "old", renewal, i32::MAX);
            rivals.seen(&there(), Some(held), at(0));
        }
        assert_ne!(rivals.judge(at(59)).0, Rivalry::None);
        assert_eq!(rivals.judge(at(60)), (Rivalry::None, None));
    }
}

#[test]
fn a_dead_predecessor_and_one_that_gave_up_are_none() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("old", 1), at(0));
    assert_eq!(rivals.judge(at(15)).0, Rivalry::None);
    rivals.seen(&there(), theirs("", 2), at(16));
    assert_eq!(rivals.judge(at(16)).0, Rivalry::None);
}

#[test]
fn whoever_acts_takes_the_predecessors_lease_and_renews_it() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("", 1), at(0));
    assert_eq!(rivals.untaken(), Some(Doubt::Untaken(THEIRS.to_owned())));
    assert!(rivals.due(at(0)).is_some());
    let held = Box::new(theirs(rivals.us(), 2).unwrap());
    rivals.claimed(&there(), Claim::Held(held), at(5), at(0));
    assert_eq!(rivals.untaken(), None);
    assert!(rivals.due(at(4)).is_none() && rivals.due(at(5)).is_some());
    assert_eq!(rivals.held().len(), 1);
    assert_eq!(rivals.judge(at(0)).0, Rivalry::None);
    rivals.seen(&there(), theirs("old", 3), at(6));
    assert!(matches!(rivals.judge(at(6)).0, Rivalry::Predecessor(_)), "it took it back");
}

#[test]
fn a_lease_that_another_replica_holds_for_us_keeps_nobody_waiting() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("pontoon/other", 1), at(0));
    assert_eq!(rivals.judge(at(0)).0, Rivalry::None);
    assert!(rivals.due(at(0)).is_some() && rivals.untaken().is_some());
}

#[test]
fn a_lease_that_cannot_be_written_to_does_not_stop_us() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("", 1), at(0));
    rivals.claimed(&there(), Claim::Refused, at(2), at(0));
    assert!(rivals.untaken().is_none() && rivals.due(at(1)).is_none());
    rivals.claimed(&there(), Claim::Lost, at(4), at(2));
    assert!(rivals.untaken().is_some(), "somebody else was faster: look first");
}

#[test]
fn a_lease_that_could_not_be_written_to_for_a_moment_may_be_anybodys() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("", 1), at(0));
    rivals.claimed(&there(), Claim::Unanswered, at(2), at(0));
    assert!(rivals.untaken().is_some() && rivals.due(at(2)).is_some());
}

#[test]
fn one_of_us_that_acts_comes_before_a_predecessor() {
    let acting = place("flipop", LEASE);
    let mut rivals = Rivals::new(&[there(), acting.clone()].into(), "observer");
    for renewal in 1..=2 {
        rivals.seen(&there(), theirs("old", renewal), at(0));
        rivals.seen(&acting, Some(lease("flipop", LEASE, "acts", renewal)), at(0));
    }
    assert_eq!(rivals.judge(at(0)).0, Rivalry::Pontoon(rival("flipop/pontoon", "acts")));
    rivals.seen(&acting, None, at(0));
    assert_eq!(rivals.judge(at(0)).0, Rivalry::Predecessor(rival(THEIRS, "old")));
}

#[test]
fn leases_elsewhere_are_counted_while_they_are_renewed_and_told_once_a_minute() {
    let mut elsewhere = Elsewhere::default();
    let tenant = |number: u32, renewal| {
        lasting(&format!("tenant-{number}"), PREDECESSORS_LEASE, "t", renewal, i32::MAX)
    };
    elsewhere.seen(&tenant(0, 1), at(0));
    assert_eq!(elsewhere.count(PREDECESSORS_LEASE, at(0)), 0, "nobody renews it");
    elsewhere.seen(&tenant(0, 2), at(1));
    assert_eq!(elsewhere.count(PREDECESSORS_LEASE, at(1)), 1);
    let told = elsewhere.news(at(1)).unwrap();
    assert_eq!(told, "tenant-0/floating-ip-pool-controller-leader-election");
    for number in 0..6 {
        elsewhere.seen(&tenant(number, 3), at(2));
        elsewhere.seen(&tenant(number, 4), at(2));
    }
    assert_eq!(elsewhere.count(PREDECESSORS_LEASE, at(2)), 6);
    assert_eq!(elsewhere.count(LEASE, at(2)), 0);
    assert_eq!(elsewhere.news(at(2)), None, "a flood makes no flood of lines");
    elsewhere.seen(&tenant(1, 5), at(60));
    let told = elsewhere.news(at(61)).unwrap();
    assert!(told.starts_with("tenant-1/") && told.ends_with(" and 2 more"), "{told}");
    assert_eq!(elsewhere.wake(at(61)), Some(at(62)));
    assert_eq!(elsewhere.count(PREDECESSORS_LEASE, at(62)), 1, "a minute is the longest");
    elsewhere.retain(PREDECESSORS_LEASE, &[].into());
    assert_eq!(elsewhere.count(PREDECESSORS_LEASE, at(62)), 0);
}
