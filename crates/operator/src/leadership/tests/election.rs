//! The decisions of the election, case by case, on a clock that the test moves.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use pontoon_core::Time;

use crate::leadership::election::{Election, Leave, Next};
use crate::leadership::guard::Standing;
use crate::leadership::{Identity, Tenure, Timing, lease_object};

const ME: &str = "me_1";
const OTHER: &str = "other";
const CALL: Duration = Duration::from_secs(5);

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn wall(seconds: i64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

fn election() -> Election {
    Election::new(Identity::new("me", None, "1"), Timing::default(), CALL, s(0.0))
}

/// Process `token` of the pod `uid`, started at `born`.
fn in_pod(uid: &str, token: &str, born: f64) -> Election {
    Election::new(Identity::new("me", Some(uid), token), Timing::default(), CALL, s(born))
}

/// A Lease of `holder` as written by its `renewal`th renewal.
fn lease(holder: &str, renewal: i64) -> Lease {
    let taken = lease_object::fresh("pontoon", holder, s(15.0), wall(0));
    let mut lease = lease_object::claimed(&taken, holder, s(15.0), wall(renewal));
    lease.metadata.resource_version = Some(format!("{}", 100 + renewal));
    lease
}

fn free() -> Lease {
    lease_object::released(&lease(OTHER, 7), None, wall(8))
}

/// Follows `OTHER`. The last renewal by `OTHER` was seen at `at`.
fn following(at: f64) -> Election {
    let mut election = election();
    election.read(Some(lease(OTHER, 1)), s(at));
    election
}

/// Leads since 0 s, after taking a free Lease.
fn leading() -> Election {
    let mut election = election();
    election.read(Some(free()), s(0.0));
    election.held(lease(ME, 0), s(0.0), s(0.0));
    election
}

fn tenure(election: &Election) -> Option<Tenure> {
    match election.standing() {
        Standing::Leader { tenure, .. } => Some(tenure),
        Standing::Follower { .. } | Standing::Released => None,
    }
}

fn contested(election: &Election) -> bool {
    matches!(election.standing(), Standing::Leader { contested: true, .. })
}

#[test]
fn a_candidate_that_knows_nothing_reads_first() {
    assert_eq!(election().next(s(0.0)), Next::Read);
}

#[test]
fn a_missing_lease_is_created_and_needs_no_settling() {
    let mut election = election();
    election.read(None, s(1.0));
    assert_eq!(election.next(s(1.0)), Next::Create);
    election.held(lease(ME, 0), s(1.0), s(1.1));
    assert_eq!(tenure(&election), Some(Tenure { term: 1, since: s(1.1), settle_until: s(1.1) }));
}

#[test]
fn every_form_of_free_is_taken_at_once_without_settling() {
    let with = |spec| Lease { spec, ..lease(OTHER, 1) };
    let cases = [
        ("no spec", with(None)),
        ("empty spec", with(Some(LeaseSpec::default()))),
        (
            "empty holder",
            with(Some(LeaseSpec { holder_identity: Some(String::new()), ..LeaseSpec::default() })),
        ),
        ("released", free()),
    ];
    for (name, lease_seen) in cases {
        for by_watch in [false, true] {
            let mut election = following(0.0);
            if by_watch {
                election.glimpsed(Some(lease_seen.clone()), s(1.0));
            } else {
                election.read(Some(lease_seen.clone()), s(1.0));
            }
            assert_eq!(election.next(s(1.0)), Next::Replace, "{name}");
            election.held(lease(ME, 2), s(1.0), s(1.2));
            let expected = Tenure { term: 1, since: s(1.2), settle_until: s(1.2) };
            assert_eq!(tenure(&election), Some(expected), "{name}");
        }
    }
}

#[test]
fn anothers_lease_is_left_alone_for_its_own_duration_since_it_was_last_seen_to_change() {
    for (written, waits) in
        [(Some(15), 15.0), (Some(30), 30.0), (Some(1), 1.0), (None, 15.0), (Some(0), 15.0)]
    {
        let mut lease = lease(OTHER, 1);
        if let Some(spec) = &mut lease.spec {
            spec.lease_duration_seconds = written;
        }
        let mut election = election();
        election.read(Some(lease.clone()), s(100.0));
        let mut now = 100.0;
        while now < 100.0 + waits {
            assert_ne!(election.next(s(now)), Next::Replace, "{written:?} at {now}");
            if election.next(s(now)) == Next::Read {
                election.read(Some(lease.clone()), s(now));
            }
            now += 0.25;
        }
        assert_eq!(election.next(s(100.0 + waits)), Next::Replace, "{written:?}");
    }
}

#[test]
fn times_in_the_lease_are_not_compared_with_our_clock() {
    for renewal in [-1_000_000, 0, 1_000_000_000] {
        let mut election = election();
        election.read(Some(lease(OTHER, renewal)), s(3.0));
        assert!(matches!(election.next(s(3.0)), Next::WaitUntil(_)), "{renewal}");
        assert_eq!(election.next(s(18.0)), Next::Replace, "{renewal}");
    }
}

#[test]
fn a_renewal_that_is_seen_keeps_a_follower_out_for_a_whole_duration_more() {
    let mut election = following(0.0);
    election.glimpsed(Some(lease(OTHER, 2)), s(14.0));
    assert_ne!(election.next(s(28.9)), Next::Replace);
    assert_eq!(election.next(s(29.0)), Next::Replace);
}

#[test]
fn a_label_on_the_lease_is_no_renewal() {
    let mut election = following(0.0);
    let mut labelled = lease(OTHER, 1);
    labelled.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    labelled.metadata.resource_version = Some("200".to_owned());
    election.glimpsed(Some(labelled.clone()), s(10.0));
    assert_eq!(election.next(s(15.0)), Next::Replace);
    assert_eq!(election.seen(), Some(&labelled), "the claim must carry the newest resourceVersion");
}

#[test]
fn a_follower_that_hears_nothing_asks_every_two_retry_periods_until_expiry() {
    let mut election = following(0.0);
    assert_eq!(election.next(s(0.0)), Next::WaitUntil(s(4.0)));
    assert_eq!(election.next(s(4.0)), Next::Read);
    election.read(Some(lease(OTHER, 1)), s(4.1));
    assert_eq!(election.next(s(4.1)), Next::WaitUntil(s(8.1)));
    election.read(Some(lease(OTHER, 1)), s(12.0));
    assert_eq!(election.next(s(12.0)), Next::WaitUntil(s(15.0)));
    assert_eq!(election.next(s(15.0)), Next::Replace);
}

#[test]
fn an_expired_lease_is_taken_and_settles_until_18_25_s_after_the_last_renewal_seen() {
    for (taken, settle_until) in [(15.0, 18.25), (17.0, 18.25), (18.25, 18.25), (60.0, 60.0)] {
        let mut election = following(0.0);
        assert_eq!(election.next(s(taken)), Next::Replace);
        election.held(lease(ME, 2), s(taken), s(taken));
        let expected = Tenure { term: 1, since: s(taken), settle_until: s(settle_until) };
        assert_eq!(tenure(&election), Some(expected));
    }
}

#[test]
fn a_process_takes_its_own_pods_lease_back_at_once_and_waits_ten_seconds_from_its_start() {
    for (read, settle_until) in [(100.3, 110.0), (109.9, 110.0), (112.0, 112.0)] {
        let mut election = in_pod("pod", "2", 100.0);
        election.read(Some(lease("me_pod_1", 7)), s(read));
        assert_eq!(election.next(s(read)), Next::Replace);
        election.held(lease("me_pod_2", 8), s(read), s(read));
        let expected = Tenure { term: 1, since: s(read), settle_until: s(settle_until) };
        assert_eq!(tenure(&election), Some(expected), "before: 18.25 s after {read}");
    }
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
fn a_lease_of_another_pod_or_of_no_pod_is_waited_for() {
    for holder in ["me_other-pod_1", "me_1", "me_pod", "pod_1"] {
        let mut election = in_pod("pod", "2", 100.0);
        election.read(Some(lease(holder, 7)), s(100.3));
        assert!(matches!(election.next(s(100.3)), Next::WaitUntil(_)), "{holder}");
        assert_eq!(election.next(s(115.3)), Next::Replace, "{holder}");
    }
}

#[test]
fn what_another_pod_has_taken_over_meanwhile_is_not_taken_back() {
    let mut election = in_pod("pod", "2", 100.0);
    election.read(Some(lease("me_pod_1", 7)), s(100.3));
    election.conflict(s(102.0));
    assert_eq!(election.next(s(100.4)), Next::Read);
    election.read(Some(lease(OTHER, 8)), s(100.5));
    assert!(matches!(election.next(s(100.5)), Next::WaitUntil(_)));
    assert_eq!(election.next(s(115.5)), Next::Replace);
    election.held(lease("me_pod_2", 9), s(115.5), s(115.5));
    assert_eq!(tenure(&election).map(|tenure| tenure.settle_until), Some(s(118.75)));
}

#[test]
fn a_lost_answer_to_a_takeover_does_not_shorten_the_settling() {
    let mut election = following(0.0);
    election.unanswered(s(17.0));
    assert_eq!(election.next(s(16.0)), Next::WaitUntil(s(17.0)));
    assert_eq!(election.next(s(17.0)), Next::Read);
    election.read(Some(lease(ME, 2)), s(17.1));
    assert_eq!(tenure(&election), None, "a name in the Lease is no renewal");
    assert_eq!(election.next(s(17.1)), Next::Replace);
    election.held(lease(ME, 3), s(17.1), s(17.2));
    assert_eq!(tenure(&election), Some(Tenure { term: 1, since: s(17.2), settle_until: s(18.25) }));
}

#[test]
fn settling_counts_the_longest_of_several_leaders_that_vanished() {
    let mut long = lease("long", 1);
    if let Some(spec) = &mut long.spec {
        spec.lease_duration_seconds = Some(60);
    }
    let mut election = election();
    election.read(Some(long), s(0.0));
    election.glimpsed(Some(lease(OTHER, 2)), s(10.0));
    assert_eq!(election.next(s(25.0)), Next::Replace);
    election.held(lease(ME, 3), s(25.0), s(25.0));
    let settle_until = 60.0 * 0.95 - 1.0 + 5.0;
    assert_eq!(tenure(&election).map(|tenure| tenure.settle_until), Some(s(settle_until)));
}

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
fn a_second_conflict_in_a_row_waits_a_retry_period() {
    let mut election = following(0.0);
    election.glimpsed(Some(free()), s(1.0));
    election.conflict(s(3.0));
    assert_eq!(election.next(s(1.0)), Next::Read);
    election.read(Some(free()), s(1.0));
    assert_eq!(election.next(s(1.0)), Next::Replace);
    election.conflict(s(3.0));
    assert_eq!(election.next(s(1.0)), Next::WaitUntil(s(3.0)));
    election.read(Some(lease(OTHER, 5)), s(3.0));
    election.glimpsed(Some(free()), s(4.0));
    election.conflict(s(6.0));
    assert_eq!(election.next(s(4.0)), Next::Read, "another held it in between: a new race");
}

#[test]
fn losing_a_race_for_an_expired_lease_means_following_the_winner() {
    let mut election = following(0.0);
    assert_eq!(election.next(s(15.0)), Next::Replace);
    election.conflict(s(17.0));
    election.read(Some(lease("winner", 20)), s(15.1));
    assert_eq!(election.standing(), Standing::Follower { leader: Some("winner".to_owned()) });
    assert_ne!(election.next(s(30.0)), Next::Replace);
    assert_eq!(election.next(s(30.1)), Next::Replace);
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
fn a_follower_treats_a_deleted_lease_as_held_until_its_last_holder_expires() {
    let mut election = following(0.0);
    election.glimpsed(None, s(5.0));
    assert_eq!(election.next(s(5.0)), Next::WaitUntil(s(9.0)));
    election.read(None, s(9.0));
    election.read(None, s(13.0));
    assert_eq!(election.next(s(15.0)), Next::Create);
    election.held(lease(ME, 0), s(15.0), s(15.0));
    assert_eq!(tenure(&election).map(|tenure| tenure.settle_until), Some(s(18.25)));
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

#[test]
fn a_lease_that_was_released_with_a_call_unanswered_is_taken_at_once_and_settled_first() {
    let mut election = election();
    let mut unsettled = lease_object::released(&lease(OTHER, 7), Some(s(5.0)), wall(8));
    unsettled.metadata.resource_version = Some("9".to_owned());
    election.read(Some(unsettled.clone()), s(1.0));
    assert_eq!(election.next(s(1.0)), Next::Replace);
    let claimed = lease_object::claimed(&unsettled, ME, s(15.0), wall(9));
    assert_eq!(lease_object::settle(&claimed), None, "the next one owes nothing for it");
    election.held(claimed, s(1.0), s(1.1));
    let Standing::Leader { tenure, .. } = election.standing() else { panic!() };
    assert_eq!(tenure.settle_until, s(6.0));
}
