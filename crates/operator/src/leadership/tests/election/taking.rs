//! When a replica takes the Lease, and how long it settles afterwards.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::*;
use crate::leadership::election::Next;

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
    for (written, waits) in [
        (Some(15), 15.0),
        (Some(30), 30.0),
        (Some(1), 1.0),
        (None, 15.0),
        (Some(0), 15.0),
        // No more than an hour.
        (Some(i32::MAX), 3600.0),
    ] {
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
