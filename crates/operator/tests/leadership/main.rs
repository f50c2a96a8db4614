//! Leadership on a real API server. Skipped with a message without a server.

// Test helpers may panic, and the measured times are part of the output.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod arena;

use std::time::Duration;

use arena::{Arena, CALL, handed_over, short, until};
use futures::future::join_all;
use pontoon::leadership::{LEASE, NotPermitted, Role, Timing};
use serde_json::json;

/// Timing under which only a watch is fast: polling takes minutes.
fn slow() -> Timing {
    Timing {
        lease: Duration::from_secs(600),
        renew_deadline: Duration::from_secs(400),
        retry_period: Duration::from_secs(180),
        ..Timing::default()
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test]
async fn of_two_candidates_exactly_one_leads_and_acts_at_once() {
    let Some(arena) = Arena::new("two-candidates").await else { return };
    let a = arena.candidate("a", Timing::default());
    let tenure = a.leads().await;
    assert_eq!((tenure.term, tenure.settle_until), (1, tenure.since), "nothing to settle");
    assert_eq!(a.leadership.permit(), Ok(()));
    assert!(a.leadership.leads());

    let b = arena.candidate("b", Timing::default());
    b.follows(&a).await;
    let refusal = NotPermitted::Follower { leader: Some(a.identity.clone()) };
    assert_eq!(b.leadership.permit(), Err(refusal));
    assert!(!b.leadership.leads());

    let spec = arena.leases().get(LEASE).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity, Some(a.identity.clone()));
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!(spec.lease_transitions, Some(0));
    assert!(spec.acquire_time.is_some() && spec.acquire_time <= spec.renew_time);
}

#[tokio::test]
async fn a_released_lease_is_taken_over_at_once() {
    let Some(arena) = Arena::new("released").await else { return };
    let mut leader = arena.candidate("a", slow());
    leader.leads().await;
    for round in 1..=10 {
        let follower = arena.candidate("b", slow());
        follower.follows(&leader).await;
        let start = arena.env.elapsed();
        let (tenure, ()) =
            tokio::join!(follower.leads(), leader.leadership.release(Duration::ZERO));
        let took = tenure.since - start;
        println!("handover {round}: the new leader may act {took:?} after release() was called");
        assert!(took < Duration::from_secs(60), "not by the watch: {took:?}");
        assert_eq!(tenure.settle_until, tenure.since, "a clean handover needs no settling");
        assert_eq!(follower.leadership.permit(), Ok(()));
        assert_eq!(leader.leadership.permit(), Err(NotPermitted::Released));
        let spec = arena.leases().get(LEASE).await.unwrap().spec.unwrap();
        assert_eq!(spec.holder_identity, Some(follower.identity.clone()));
        assert_eq!(spec.lease_transitions, Some(round));
        leader.ended().await;
        leader = follower;
    }
}

#[tokio::test]
async fn a_release_without_followers_leaves_the_lease_free_and_ends_the_loop() {
    let Some(arena) = Arena::new("freed").await else { return };
    let a = arena.candidate("a", Timing::default());
    a.leads().await;
    a.leadership.release(Duration::ZERO).await;
    let spec = arena.leases().get(LEASE).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    assert_eq!(spec.lease_duration_seconds, Some(1));
    assert_eq!(*a.leadership.role().borrow(), Role::Follower { leader: None });
    a.ended().await;
}

#[tokio::test]
async fn a_leader_whose_loop_stops_loses_its_permit_by_itself_and_the_other_settles_first() {
    let Some(arena) = Arena::new("frozen").await else { return };
    let a = arena.candidate("a", short());
    a.leads().await;
    let b = arena.candidate("b", short());
    b.follows(&a).await;
    assert_eq!(a.leadership.permit(), Ok(()));
    a.freeze();
    let gap = handed_over(&arena, &a, &b, short().settle).await;
    let tenure = b.leads().await;
    println!(
        "unclean handover, lease 3 s: {gap:?} without a permit, {:?} of them settling",
        tenure.settle_until - tenure.since
    );
    assert!(tenure.settle_until > tenure.since);
    assert!(matches!(a.leadership.permit(), Err(NotPermitted::LeaseRunsOut { .. })));
    assert!(
        matches!(*a.leadership.role().borrow(), Role::Leader(_)),
        "a frozen loop cannot know; that is what the guard is for"
    );
}

#[tokio::test]
async fn a_process_that_restarts_in_its_pod_takes_its_lease_back_at_once() {
    let Some(arena) = Arena::new("same-pod").await else { return };
    let process = |pod| arena.process_of(arena.admin(), LEASE, ("a", Some(pod)), slow());
    let first = process("pod-a");
    first.leads().await;
    let elsewhere = process("pod-b");
    elsewhere.follows(&first).await;
    first.kill().await;
    let killed = arena.env.elapsed();
    let second = process("pod-a");
    let tenure = second.leads().await;
    println!(
        "restart in the same pod, lease 600 s: leads {:?} after the kill, may act {:?} after it",
        tenure.since - killed,
        tenure.settle_until - killed
    );
    let longest = CALL + slow().settle;
    assert!(tenure.settle_until >= killed + longest, "calls of the dead one may be under way");
    assert!(matches!(second.leadership.permit(), Err(NotPermitted::Settling { .. })));
    elsewhere.follows(&second).await;
    assert!(!elsewhere.leadership.leads());
    until("its own predecessor's calls are over", || second.leadership.permit().is_ok()).await;
    let spec = arena.leases().get(LEASE).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(second.identity.as_str()));
    assert_eq!(spec.lease_transitions, Some(1), "another process is another holder");
}

#[tokio::test]
async fn a_leader_whose_renewals_are_refused_stops_before_the_other_may_act() {
    let Some(arena) = Arena::new("refused").await else { return };
    let client = arena.service_account("a").await;
    arena.grant("a").await;
    let a = arena.candidate_with(client, LEASE, "a", short());
    a.leads().await;
    let b = arena.candidate("b", short());
    b.follows(&a).await;
    arena.revoke("a").await;
    let gap = handed_over(&arena, &a, &b, short().settle).await;
    println!("handover from a leader without rights: {gap:?} without a permit");
    assert!(arena.answered("update", 403) > 0, "its renewals were not refused");
    assert!(
        matches!(*a.leadership.role().borrow(), Role::Follower { .. }),
        "goes on as a follower"
    );

    // With its rights back the candidate follows, and may lead again in a new term.
    arena.grant_again("a").await;
    a.follows(&b).await;
    b.leadership.release(Duration::ZERO).await;
    assert_eq!(a.leads().await.term, 2);
}

#[tokio::test]
async fn two_racing_for_an_expired_lease_never_both_get_it() {
    let Some(arena) = Arena::new("race").await else { return };
    let arena = &arena;
    for batch in 0..5 {
        join_all((0..8).map(async |round| race(arena, &format!("race-{batch}-{round}")).await))
            .await;
    }
    println!("40 races, {} claims refused by the server", arena.answered("update", 409));
}

async fn race(arena: &Arena, lease: &str) {
    let ghost = json!({
        "holderIdentity": "ghost", "leaseDurationSeconds": 1, "leaseTransitions": 6,
        "acquireTime": "2020-01-01T00:00:00.000000Z", "renewTime": "2020-01-01T00:00:00.000000Z",
    });
    arena.create_lease(lease, ghost).await;
    let a = arena.candidate_with(arena.admin(), lease, "a", short());
    let b = arena.candidate_with(arena.admin(), lease, "b", short());
    let follows =
        |role: &Role| matches!(role, Role::Follower { leader: Some(name) } if name != "ghost");
    until("one leads and the other follows it", || {
        let (leads_a, leads_b) = (a.leadership.leads(), b.leadership.leads());
        assert!(!(leads_a && leads_b), "both lead");
        let (role_a, role_b) = (a.leadership.role(), b.leadership.role());
        (leads_a && follows(&role_b.borrow())) || (leads_b && follows(&role_a.borrow()))
    })
    .await;
    let (winner, loser) = if a.leadership.leads() { (a, b) } else { (b, a) };
    loser.follows(&winner).await;
    let spec = arena.leases().get(lease).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(winner.identity.as_str()));
    assert_eq!(spec.lease_transitions, Some(7), "it changed hands once");
    tokio::join!(
        winner.leadership.release(Duration::ZERO),
        loser.leadership.release(Duration::ZERO)
    );
}

#[tokio::test]
async fn a_follower_waits_for_as_long_as_calls_of_the_leader_may_take_effect() {
    let Some(arena) = Arena::new("owing").await else { return };
    let a = arena.candidate("a", slow());
    a.leads().await;
    let b = arena.candidate("b", slow());
    b.follows(&a).await;
    a.leadership.release(Duration::from_secs(9)).await;
    let tenure = b.leads().await;
    let wait = tenure.settle_until.saturating_sub(tenure.since);
    assert!((8..=9).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test]
async fn an_empty_lease_is_free() {
    let Some(arena) = Arena::new("empty").await else { return };
    arena.create_lease(LEASE, json!({})).await;
    let tenure = arena.candidate("a", slow()).leads().await;
    assert_eq!(tenure.settle_until, tenure.since);
    let spec = arena.leases().get(LEASE).await.unwrap().spec.unwrap();
    assert_eq!(spec.lease_transitions, Some(1));
}

#[tokio::test]
async fn a_lease_deleted_under_its_leader_comes_back_as_a_new_term_of_the_same_leader() {
    let Some(arena) = Arena::new("deleted").await else { return };
    let a = arena.candidate("a", slow());
    a.leads().await;
    let b = arena.candidate("b", slow());
    b.follows(&a).await;
    let before = arena.leases().get(LEASE).await.unwrap().metadata.uid;
    let start = arena.env.elapsed();
    arena.leases().delete(LEASE, &Default::default()).await.unwrap();
    let mut role = a.leadership.role();
    until(
        "a second term",
        || matches!(*role.borrow_and_update(), Role::Leader(tenure) if tenure.term == 2),
    )
    .await;
    println!("a deleted Lease is back after {:?}", arena.env.elapsed() - start);
    let after = arena.leases().get(LEASE).await.unwrap();
    assert_ne!(after.metadata.uid, before);
    assert_eq!(after.spec.unwrap().holder_identity.as_deref(), Some(a.identity.as_str()));
    let settles = |permit| matches!(permit, Err(NotPermitted::Settling { .. }));
    assert!(settles(a.leadership.permit()), "calls of its first term may still take effect");
    assert!(settles(a.leadership.permit_in(1)), "what was decided before is void");
    b.follows(&a).await;
    assert!(!b.leadership.leads());
}

#[tokio::test]
async fn a_lease_emptied_by_hand_goes_to_one_of_the_two_and_closes_the_others_guard() {
    let Some(arena) = Arena::new("emptied").await else { return };
    let a = arena.candidate("a", slow());
    a.leads().await;
    let b = arena.candidate("b", slow());
    b.follows(&a).await;
    let by_hand = json!({"spec": {"holderIdentity": ""}});
    let patch = kube::api::Patch::Merge(&by_hand);
    arena.leases().patch(LEASE, &Default::default(), &patch).await.unwrap();
    until("one leads, the other follows it", || {
        let (role_a, role_b) = (a.leadership.role(), b.leadership.role());
        let follows =
            |role: &Role, name: &str| *role == Role::Follower { leader: Some(name.to_owned()) };
        follows(&role_a.borrow(), &b.identity) && b.leadership.permit().is_ok()
            || follows(&role_b.borrow(), &a.identity)
                && a.leadership.permit().is_ok()
                && matches!(*role_a.borrow(), Role::Leader(tenure) if tenure.term == 2)
    })
    .await;
}

#[tokio::test]
async fn a_missing_namespace_is_waited_for() {
    let Some(arena) = Arena::without_namespace("late").await else { return };
    let a = arena.candidate("a", short());
    until("a create is refused", || arena.answered("create", 404) > 0).await;
    assert_eq!(a.leadership.permit(), Err(NotPermitted::Follower { leader: None }));
    arena.create_namespace().await;
    a.leads().await;
}

#[tokio::test]
async fn missing_rights_are_waited_for() {
    let Some(arena) = Arena::new("no-rights").await else { return };
    let client = arena.service_account("a").await;
    let a = arena.candidate_with(client, LEASE, "a", short());
    until("a read and a watch are refused", || {
        arena.answered("get", 403) > 0 && arena.answered("list", 403) > 0
    })
    .await;
    assert_eq!(a.leadership.permit(), Err(NotPermitted::Follower { leader: None }));
    arena.grant("a").await;
    a.leads().await;
}

#[tokio::test]
async fn a_release_by_a_follower_takes_part_in_nothing_more() {
    let Some(arena) = Arena::new("bystander").await else { return };
    let a = arena.candidate("a", slow());
    a.leads().await;
    let b = arena.candidate("b", slow());
    b.follows(&a).await;
    b.leadership.release(Duration::ZERO).await;
    b.ended().await;
    a.leadership.release(Duration::ZERO).await;
    let spec = arena.leases().get(LEASE).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""), "nobody is left to take it");
}

#[test]
fn the_short_periods_of_these_tests_leave_a_guard() {
    assert_eq!(short().guard(CALL), ms(2100));
}
