//! How a leader renews, loses and releases the Lease.

use super::*;
use crate::leadership::election::{Leave, Next};

#[test]
fn a_leader_renews_every_retry_period_counted_from_the_sending() {
    let mut election = leading();
    assert_eq!(election.next(s(1.9)), Next::WaitUntil(s(2.0)));
    assert_eq!(election.next(s(2.0)), Next::Replace);
    election.held(lease(ME, 1), s(2.0), s(2.5));
    assert_eq!(election.next(s(3.9)), Next::WaitUntil(s(4.0)));
    let Standing::Leader { tenure, renewed, trusted_until, contested } = election.standing() else {
        panic!("should lead")
    };
    assert_eq!((tenure.term, renewed, trusted_until, contested), (1, s(2.0), s(16.25), false));
}

#[test]
fn failed_renewals_are_retried_until_the_deadline_and_then_leadership_is_lost() {
    let mut election = leading();
    let mut attempts = vec![];
    let mut now = 0.0;
    while election.next(s(now)) != Next::StepDown {
        if matches!(election.next(s(now)), Next::Read | Next::Replace) {
            attempts.push(now);
            election.unanswered(s(now + 2.0));
        }
        now += 0.5;
    }
    assert_eq!((attempts, now), (vec![2.0, 4.0, 6.0, 8.0], 10.0));
    election.step_down();
    assert_eq!(election.standing(), Standing::Follower { leader: None });
}

#[test]
fn a_leader_that_renews_what_it_lost_by_the_deadline_lets_its_own_calls_settle_first() {
    let mut election = leading();
    election.step_down();
    assert_eq!(election.next(s(10.0)), Next::Read);
    election.read(Some(lease(ME, 0)), s(10.1));
    assert_eq!(election.next(s(10.1)), Next::Replace);
    election.held(lease(ME, 1), s(10.1), s(10.2));
    assert_eq!(tenure(&election), Some(Tenure { term: 2, since: s(10.2), settle_until: s(18.25) }));
}

#[test]
fn a_wait_of_a_leader_never_passes_its_deadline() {
    let mut election = leading();
    election.unanswered(s(11.0));
    assert_eq!(election.next(s(9.5)), Next::WaitUntil(s(10.0)));
    assert_eq!(election.next(s(10.0)), Next::StepDown);
}

#[test]
fn a_renewal_whose_answer_comes_after_a_long_pause_does_not_revive_the_leader() {
    let mut election = leading();
    election.held(lease(ME, 1), s(2.0), s(3600.0));
    assert_eq!(election.next(s(3600.0)), Next::StepDown);
}

#[test]
fn after_a_conflict_the_lease_is_read_at_once_and_its_holder_decides() {
    let cases = [
        (
            Some(lease(OTHER, 9)),
            Standing::Follower { leader: Some(OTHER.to_owned()) },
            Next::WaitUntil(s(6.0)),
        ),
        (Some(free()), Standing::Follower { leader: None }, Next::Replace),
        (None, Standing::Follower { leader: None }, Next::Create),
    ];
    for (found, standing, next) in cases {
        let mut election = leading();
        election.conflict(s(4.0));
        assert_eq!(election.next(s(2.0)), Next::Read);
        assert!(tenure(&election).is_some(), "a conflict alone proves nothing");
        election.read(found, s(2.0));
        assert_eq!((election.standing(), election.next(s(2.0))), (standing, next));
    }
    let mut election = leading();
    election.conflict(s(4.0));
    election.read(Some(lease(ME, 1)), s(2.0));
    assert_eq!(
        tenure(&election).map(|tenure| tenure.term),
        Some(1),
        "our own lost answer, or a label"
    );
    assert_eq!(election.next(s(2.0)), Next::Replace);
}

#[test]
fn a_lease_seen_in_other_hands_closes_the_guard_until_a_renewal_gets_through() {
    for seen in [Some(lease(OTHER, 3)), Some(free()), None] {
        let mut election = leading();
        election.glimpsed(seen, s(0.5));
        assert!(contested(&election));
        assert_eq!(election.next(s(0.5)), Next::Replace);
        election.held(lease(ME, 1), s(0.5), s(0.6));
        assert!(!contested(&election), "the watch was late");
        assert_eq!(tenure(&election).map(|tenure| tenure.term), Some(1));
    }
}

#[test]
fn a_leaders_own_renewals_coming_back_by_the_watch_change_nothing() {
    let mut election = leading();
    election.held(lease(ME, 1), s(2.0), s(2.0));
    election.glimpsed(Some(lease(ME, 0)), s(2.1));
    assert!(!contested(&election));
    assert_eq!(election.seen(), Some(&lease(ME, 1)), "an older resourceVersion must not come back");
}

#[test]
fn a_leader_whose_lease_was_deleted_creates_it_again_and_lets_its_own_calls_settle() {
    let mut election = leading();
    election.glimpsed(None, s(1.0));
    election.conflict(s(3.0));
    election.read(None, s(1.1));
    assert_eq!(tenure(&election), None);
    assert_eq!(election.next(s(1.1)), Next::Create);
    election.held(lease(ME, 0), s(1.1), s(1.2));
    assert_eq!(tenure(&election), Some(Tenure { term: 2, since: s(1.2), settle_until: s(18.25) }));
}

#[test]
fn a_release_is_sent_at_once_after_a_clean_handover() {
    let mut election = leading();
    election.resign();
    assert_eq!(election.leave(s(1.0)), Leave::Release);
}

#[test]
fn a_release_waits_until_the_predecessors_calls_have_taken_effect() {
    let mut election = following(0.0);
    election.held(lease(ME, 2), s(15.0), s(15.0));
    election.resign();
    assert_eq!(election.leave(s(15.5)), Leave::WaitUntil(s(18.25)));
    assert_eq!(election.leave(s(18.25)), Leave::Release);
}

#[test]
fn a_process_that_is_told_to_stop_meanwhile_hands_over_after_the_dead_ones_calls() {
    let mut election = in_pod("pod", "2", 100.0);
    election.read(Some(lease("me_pod_1", 7)), s(100.3));
    election.held(lease("me_pod_2", 8), s(100.3), s(100.4));
    election.resign();
    assert_eq!(election.leave(s(101.0)), Leave::WaitUntil(s(110.0)));
    assert_eq!(election.leave(s(110.0)), Leave::Release);
}

#[test]
fn a_release_that_failed_reads_what_became_of_it_and_tries_again() {
    let mut election = leading();
    election.resign();
    election.conflict(s(3.0));
    assert_eq!(election.leave(s(1.0)), Leave::Read);
    election.read(Some(lease(ME, 1)), s(1.0));
    assert_eq!(election.leave(s(1.0)), Leave::Release);
    election.unanswered(s(3.0));
    assert_eq!(election.leave(s(1.0)), Leave::WaitUntil(s(3.0)));
    assert_eq!(election.leave(s(3.0)), Leave::Read);
    for gone in [Some(free()), Some(lease(OTHER, 5)), None] {
        election.read(gone, s(3.0));
        assert_eq!(election.leave(s(3.0)), Leave::Done);
    }
}

#[test]
fn who_holds_nothing_leaves_at_once_even_if_the_server_does_not_answer() {
    let mut election = election();
    assert_eq!(election.leave(s(0.0)), Leave::Done);
    election.unread(s(2.0));
    assert_eq!(election.leave(s(0.0)), Leave::Done);
    let mut election = following(0.0);
    election.unread(s(2.0));
    assert_eq!(election.leave(s(0.0)), Leave::Done);
    election.unanswered(s(2.0));
    assert_eq!(election.leave(s(2.0)), Leave::Read, "a claim may have been obeyed");
}

#[test]
fn an_acquisition_counts_a_transition_and_a_renewal_keeps_acquire_time() {
    let spec = |lease: Lease| lease.spec.unwrap_or_default();
    let taken = lease_object::fresh("pontoon", OTHER, s(14.2), wall(10));
    let fresh = spec(taken.clone());
    assert_eq!((fresh.lease_transitions, fresh.lease_duration_seconds), (Some(0), Some(15)));
    assert_eq!(fresh.acquire_time, fresh.renew_time);

    let renewed = lease_object::claimed(&taken, OTHER, s(15.0), wall(12));
    let renewal = spec(renewed.clone());
    assert_eq!((renewal.lease_transitions, &renewal.acquire_time), (Some(0), &fresh.acquire_time));
    assert!(renewal.renew_time > fresh.renew_time);

    let acquired = spec(lease_object::claimed(&renewed, ME, s(15.0), wall(30)));
    assert_eq!(
        (acquired.lease_transitions, acquired.holder_identity.as_deref()),
        (Some(1), Some(ME))
    );
    assert_eq!(acquired.acquire_time, acquired.renew_time);

    let released = lease_object::released(&renewed, None, wall(40));
    assert_eq!(lease_object::holder(&released), None);
    assert_eq!(lease_object::duration(&released), Some(s(1.0)));
    assert_eq!(spec(released.clone()).lease_transitions, Some(0));
    assert_eq!(
        spec(lease_object::claimed(&released, OTHER, s(15.0), wall(50))).lease_transitions,
        Some(1)
    );
}
