//! Which Leases make a rival, and for how long.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use crate::leadership::LEASE;
use crate::leadership::competition::{Claim, Doubt, Place, Presence, Rival, Rivals};
use crate::leadership::elsewhere::Elsewhere;
use crate::leadership::lease_view::LeaseView;

const NAME: &str = "floating-ip-pool-controller-leader-election";

/// The Lease of another predecessor.
const OTHER: &str = "net-ip-allocation-controller";

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
    Some(lease("flipop", NAME, holder, renewal))
}

fn place(namespace: &str, name: &str) -> Place {
    (namespace.to_owned(), name.to_owned())
}

/// The place of the predecessor's Lease.
fn there() -> Place {
    place("flipop", NAME)
}

/// No rivals: the only place was seen empty.
fn rivals() -> Rivals {
    let mut rivals = among([there()]);
    rivals.seen(&there(), None, at(0));
    rivals
}

fn among<const N: usize>(places: [Place; N]) -> Rivals {
    let named = [NAME, OTHER].map(|name| (name, name.to_owned()));
    Rivals::new(&places.into(), named.into(), "me", at(15))
}

/// Whether the predecessor is at work, and when this may change without an event.
fn judged(rivals: &Rivals, now: Duration) -> (Presence, Option<Duration>) {
    let (rivalry, wake) = rivals.judge(now);
    (rivalry.predecessors[NAME].clone(), wake)
}

/// Whether the predecessor is at work, for a replica that acts.
fn for_acting(rivals: &Rivals, now: Duration) -> Presence {
    rivals.with_untaken(rivals.judge(now).0).predecessors[NAME].clone()
}

/// Whether a claim of the predecessor's Lease is due.
fn is_due(rivals: &Rivals, now: Duration) -> bool {
    rivals.due(&rivals.judge(now).0, now).is_some()
}

fn untaken() -> Presence {
    Presence::Unknown(Doubt::Untaken(THEIRS.to_owned()))
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn rival(lease: &str, holder: &str) -> Rival {
    Rival { lease: lease.to_owned(), holder: holder.to_owned() }
}

fn unknown(rivals: &Rivals, now: Duration) -> Option<Doubt> {
    match judged(rivals, now).0 {
        Presence::Unknown(doubt) => Some(doubt),
        _ => None,
    }
}

#[test]
fn nothing_is_known_before_every_lease_that_counts_was_read() {
    let ours = place("m", NAME);
    let mut rivals = among([there(), ours.clone()]);
    rivals.seen(&ours, None, at(0));
    assert_eq!(unknown(&rivals, at(0)), Some(Doubt::Unread(THEIRS.to_owned())));
    rivals.seen(&there(), None, at(0));
    assert_eq!(judged(&rivals, at(0)), (Presence::Absent, None));
}

#[test]
fn without_the_right_to_read_nothing_is_known_and_the_right_is_named() {
    let mut rivals = rivals();
    rivals.forbidden(&there());
    let doubt = unknown(&rivals, at(0)).unwrap();
    assert_eq!(doubt, Doubt::Forbidden(THEIRS.to_owned()));
    let words = doubt.to_string();
    for part in ["list and watch", "leases.coordination.k8s.io", NAME, "flipop"] {
        assert!(words.contains(part), "{words}");
    }
    rivals.seen(&there(), None, at(1));
    assert_eq!(judged(&rivals, at(1)).0, Presence::Absent, "it was granted");
}

#[test]
fn a_predecessor_is_a_rival_while_it_renews_and_quiet_a_duration_later() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("old", 1), at(0));
    let known = rival(THEIRS, "old");
    let perhaps_long_dead = Presence::Unknown(Doubt::Undecided(known.clone()));
    assert_eq!(judged(&rivals, at(0)), (perhaps_long_dead, Some(at(15))));
    rivals.seen(&there(), theirs("old", 2), at(2));
    assert_eq!(judged(&rivals, at(2)), (Presence::AtWork(known.clone()), Some(at(17))));
    rivals.seen(&there(), theirs("old", 2), at(10));
    assert_eq!(judged(&rivals, at(16)).0, Presence::AtWork(known), "seen again is no renewal");
    assert_eq!(judged(&rivals, at(17)), (Presence::Absent, None));
}

/// The predecessor's Lease with a time that is too late for us, as the API server shows it.
fn far_ahead(version: &str) -> Option<Lease> {
    let lease = json!({
        "metadata": {"namespace": "flipop", "name": NAME, "resourceVersion": version,
                     "managedFields": [{"time": "9999-12-31T23:59:59Z"}]},
        "spec": {"holderIdentity": "old", "leaseDurationSeconds": 15,
                 "renewTime": "9999-12-31T23:59:59.000000Z"},
    });
    assert!(serde_json::from_value::<Lease>(lease.clone()).is_err(), "it is odd");
    Some(serde_json::from_value::<LeaseView>(lease).unwrap().into())
}

#[test]
fn a_lease_whose_times_cannot_be_read_lives_by_the_changes_that_are_seen() {
    let mut rivals = rivals();
    rivals.seen(&there(), far_ahead("1"), at(0));
    assert_eq!(unknown(&rivals, at(0)), Some(Doubt::Undecided(rival(THEIRS, "old"))));
    rivals.seen(&there(), far_ahead("2"), at(2));
    assert_eq!(judged(&rivals, at(2)).0, Presence::AtWork(rival(THEIRS, "old")));
    rivals.seen(&there(), far_ahead("2"), at(10));
    assert_eq!(judged(&rivals, at(17)).0, Presence::Absent);
}

#[test]
fn a_lease_may_last_as_long_as_the_user_says_of_leases() {
    let named = [(NAME, NAME.to_owned())].into();
    let mut rivals = Rivals::new(&[there()].into(), named, "me", at(300));
    for renewal in 0..2 {
        rivals.seen(&there(), Some(lasting("flipop", NAME, "flipop-0", renewal, 300)), at(0));
    }
    assert!(matches!(judged(&rivals, at(299)).0, Presence::AtWork(_)));
    assert_eq!(judged(&rivals, at(300)), (Presence::Absent, None));
}

#[test]
fn a_lease_with_a_name_of_its_users_is_that_of_its_predecessor_and_is_held() {
    let renamed = place("flipop", "renamed");
    let named = [(NAME, "renamed".to_owned())].into();
    let mut rivals = Rivals::new(&[renamed.clone()].into(), named, "me", at(15));
    let lease = |renewal| Some(lease("flipop", "renamed", "flipop-0", renewal));
    rivals.seen(&renamed, lease(0), at(0));
    rivals.seen(&renamed, lease(1), at(1));
    let (Presence::AtWork(rival), _) = judged(&rivals, at(1)) else { panic!("at work") };
    assert_eq!(rival.lease, "flipop/renamed");
    let (rivalry, _) = rivals.judge(at(16));
    assert_eq!(rivals.due(&rivalry, at(16)).unwrap().metadata.name.as_deref(), Some("renamed"));
    assert!(matches!(rivals.with_untaken(rivalry).predecessors[NAME], Presence::Unknown(_)));
}

#[test]
fn a_lease_that_lasts_for_68_years_counts_for_a_minute() {
    for renewals in 1..=2 {
        let mut rivals = rivals();
        for renewal in 1..=renewals {
            let held = lasting("flipop", NAME, "old", renewal, i32::MAX);
            rivals.seen(&there(), Some(held), at(0));
        }
        assert_ne!(judged(&rivals, at(59)).0, Presence::Absent);
        assert_eq!(judged(&rivals, at(60)), (Presence::Absent, None));
    }
}

#[test]
fn a_dead_predecessor_and_one_that_gave_up_are_none() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("old", 1), at(0));
    assert_eq!(judged(&rivals, at(15)).0, Presence::Absent);
    rivals.seen(&there(), theirs("", 2), at(16));
    assert_eq!(judged(&rivals, at(16)).0, Presence::Absent);
}

#[test]
fn whoever_acts_takes_the_predecessors_lease_and_renews_it() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("", 1), at(0));
    assert_eq!(for_acting(&rivals, at(0)), untaken());
    assert!(is_due(&rivals, at(0)));
    let held = Box::new(theirs(rivals.us(), 2).unwrap());
    rivals.claimed(&there(), Claim::Held(held), at(5), at(0));
    assert_eq!(for_acting(&rivals, at(0)), Presence::Absent);
    assert!(!is_due(&rivals, at(4)) && is_due(&rivals, at(5)));
    assert_eq!(rivals.held().len(), 1);
    assert_eq!(judged(&rivals, at(0)).0, Presence::Absent);
    rivals.seen(&there(), theirs("old", 3), at(6));
    assert!(matches!(judged(&rivals, at(6)).0, Presence::AtWork(_)), "it took it back");
    assert!(!is_due(&rivals, at(6)), "nothing is taken from a controller at work");
}

#[test]
fn a_lease_that_another_replica_holds_for_us_keeps_nobody_waiting() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("pontoon/other", 1), at(0));
    assert_eq!(judged(&rivals, at(0)).0, Presence::Absent);
    assert!(is_due(&rivals, at(0)));
    assert_eq!(for_acting(&rivals, at(0)), untaken());
}

#[test]
fn a_lease_that_cannot_be_written_to_does_not_stop_us() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("", 1), at(0));
    rivals.claimed(&there(), Claim::Refused, at(2), at(0));
    assert_eq!(for_acting(&rivals, at(1)), Presence::Absent);
    assert!(!is_due(&rivals, at(1)));
    rivals.claimed(&there(), Claim::Lost, at(4), at(2));
    assert_eq!(for_acting(&rivals, at(2)), untaken(), "somebody else was faster: look first");
}

#[test]
fn a_lease_that_could_not_be_written_to_for_a_moment_may_be_anybodys() {
    let mut rivals = rivals();
    rivals.seen(&there(), theirs("", 1), at(0));
    rivals.claimed(&there(), Claim::Unanswered, at(2), at(0));
    assert_eq!(for_acting(&rivals, at(2)), untaken());
    assert!(is_due(&rivals, at(2)));
}

#[test]
fn each_controller_is_judged_by_its_own_leases() {
    let (acting, other) = (place("flipop", LEASE), place("net", OTHER));
    let mut rivals = among([there(), acting.clone(), other.clone()]);
    for renewal in 1..=2 {
        rivals.seen(&there(), theirs("old", renewal), at(0));
        rivals.seen(&acting, Some(lease("flipop", LEASE, "acts", renewal)), at(0));
    }
    let rivalry = rivals.judge(at(0)).0;
    assert_eq!(rivalry.pontoon, Presence::AtWork(rival("flipop/pontoon", "acts")));
    assert_eq!(rivalry.predecessors[NAME], Presence::AtWork(rival(THEIRS, "old")));
    assert!(matches!(rivalry.predecessors[OTHER], Presence::Unknown(Doubt::Unread(_))));
    rivals.seen(&acting, None, at(0));
    rivals.seen(&other, None, at(0));
    let rivalry = rivals.judge(at(0)).0;
    assert!(rivalry.permits(Some(OTHER)), "the first predecessor has nothing to do with it");
    assert!(!rivalry.permits(Some(NAME)) && !rivalry.permits(None));
}

#[test]
fn leases_elsewhere_are_counted_while_they_are_renewed_and_told_once_a_minute() {
    let mut elsewhere = Elsewhere::default();
    let tenant =
        |number: u32, renewal| lasting(&format!("tenant-{number}"), NAME, "t", renewal, i32::MAX);
    elsewhere.seen(&tenant(0, 1), at(0));
    assert_eq!(elsewhere.count(NAME, at(0)), 0, "nobody renews it");
    elsewhere.seen(&tenant(0, 2), at(1));
    assert_eq!(elsewhere.count(NAME, at(1)), 1);
    let told = elsewhere.news(at(1)).unwrap();
    assert_eq!(told, "tenant-0/floating-ip-pool-controller-leader-election");
    for number in 0..6 {
        elsewhere.seen(&tenant(number, 3), at(2));
        elsewhere.seen(&tenant(number, 4), at(2));
    }
    assert_eq!(elsewhere.count(NAME, at(2)), 6);
    assert_eq!(elsewhere.count(LEASE, at(2)), 0);
    assert_eq!(elsewhere.news(at(2)), None, "a flood makes no flood of lines");
    elsewhere.seen(&tenant(1, 5), at(60));
    let told = elsewhere.news(at(61)).unwrap();
    assert!(told.starts_with("tenant-1/") && told.ends_with(" and 2 more"), "{told}");
    assert_eq!(elsewhere.wake(at(61)), Some(at(62)));
    assert_eq!(elsewhere.count(NAME, at(62)), 1, "a minute is the longest");
    elsewhere.retain(NAME, &[].into());
    assert_eq!(elsewhere.count(NAME, at(62)), 0);
}
