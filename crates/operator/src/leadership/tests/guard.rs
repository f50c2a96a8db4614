//! When a call may start, and which periods leave enough time for calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use pontoon_core::Time;

use crate::env::Env;
use crate::leadership::guard::Standing;
use crate::leadership::{NotPermitted, Role, Tenure, Timing, always};

const CALL: Duration = Duration::from_secs(5);

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Leads since 100 s, may act from 103 s, renewed last at `renewed`.
fn leader(renewed: f64) -> Standing {
    Standing::Leader {
        tenure: Tenure { term: 3, since: s(100.0), settle_until: s(103.0) },
        renewed: s(renewed),
        trusted_until: s(renewed) + Timing::default().trusted(),
        contested: false,
    }
}

/// Time that a call needs at the end of a lease.
fn reserve() -> Duration {
    CALL + Timing::default().margin
}

#[test]
fn a_call_may_start_until_8_25_s_after_the_last_renewal_was_sent() {
    for (renewed, now, permitted) in [
        (102.0, 103.0, true),
        (102.0, 110.249, true),
        (102.0, 110.25, false),
        (104.0, 110.25, true),
        (104.0, 112.25, false),
        (104.0, 4000.0, false),
    ] {
        assert_eq!(leader(renewed).permit(s(now), reserve()).is_ok(), permitted, "{renewed} {now}");
    }
}

#[test]
fn kubernetes_writes_may_go_on_for_95_percent_of_the_lease() {
    assert!(leader(102.0).leads(s(100.5)), "they need not settle");
    assert!(leader(102.0).leads(s(116.249)));
    assert!(!leader(102.0).leads(s(116.25)));
    assert!(!Standing::Follower { leader: None }.leads(s(0.0)));
    assert!(!Standing::Released.leads(s(0.0)));
}

#[test]
fn a_refusal_says_why() {
    let mut in_doubt = leader(102.0);
    if let Standing::Leader { contested, .. } = &mut in_doubt {
        *contested = true;
    }
    assert!(!in_doubt.leads(s(104.0)));
    let follower = |leader: Option<&str>| Standing::Follower { leader: leader.map(str::to_owned) };
    for (standing, now, why) in [
        (follower(None), 104.0, "this replica does not lead: nobody does yet"),
        (follower(Some("b_1")), 104.0, "this replica does not lead: b_1 does"),
        (Standing::Released, 104.0, "leadership was given up: this replica is stopping"),
        (leader(102.0), 102.5, "calls of the previous leader may still take effect for 500ms"),
        (leader(102.0), 112.0, "the Lease was not renewed for 10s: a call could outlive the Lease"),
        (
            in_doubt,
            104.0,
            "the Lease was deleted or changed by somebody else; renewing it to make sure",
        ),
    ] {
        assert_eq!(standing.permit(s(now), reserve()).unwrap_err().to_string(), why);
    }
}

#[test]
fn a_call_longer_than_the_lease_is_never_permitted() {
    for now in [0.0, 102.0, 103.0, 104.0] {
        assert!(leader(102.0).permit(s(now), s(1000.0)).is_err());
    }
}

#[tokio::test]
async fn without_a_lease_the_guard_opens_after_settling_and_stays_open_until_release() {
    let millis = Arc::new(AtomicU64::new(7_000));
    let clock = millis.clone();
    let elapsed = move || Duration::from_millis(clock.load(Ordering::Relaxed));
    let env = Env::new(elapsed, Time::from_micros(0), fastrand::Rng::with_seed(1));
    let leadership = always(env, CALL);

    let tenure = Tenure { term: 1, since: s(7.0), settle_until: s(17.0) };
    assert_eq!(*leadership.role().borrow(), Role::Leader(tenure));
    assert!(leadership.leads());
    assert_eq!(leadership.permit(), Err(NotPermitted::Settling { left: s(10.0) }));
    millis.store(17_000, Ordering::Relaxed);
    assert_eq!(leadership.permit(), Ok(()));
    assert_eq!(leadership.permit_in(1), Ok(()));
    assert_eq!(leadership.permit_in(2), Err(NotPermitted::OtherTerm { decided: 2, current: 1 }));
    millis.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(leadership.permit(), Ok(()));

    let role = leadership.role();
    assert!(
        leadership.release(Duration::ZERO).now_or_never().is_some(),
        "there is nothing to wait for"
    );
    assert_eq!(leadership.permit(), Err(NotPermitted::Released));
    assert_eq!(*role.borrow(), Role::Follower { leader: None });
}

#[test]
fn the_defaults_are_valid_and_leave_8_25_s() {
    assert_eq!(Timing::default().validate(CALL), Ok(()));
    assert_eq!(Timing::default().guard(CALL), s(8.25));
    assert_eq!(Timing::default().quiet(s(15.0)), s(18.25));
}

#[test]
fn periods_that_leave_under_4_s_of_guard_are_refused_with_the_flags_to_change() {
    assert_eq!(Timing::default().validate(s(9.25)), Ok(()));
    assert_eq!(
        Timing::default().validate(s(10.0)).unwrap_err().to_string(),
        "a lease of 15s and provider calls of up to 10s leave 3.25s after a renewal in which a call may \
         start, and 4s are needed: set --leader-elect-lease-duration to at least 16s, or lower \
         --provider-timeout"
    );
    let longer = Timing { lease: s(16.0), ..Timing::default() };
    assert_eq!(longer.validate(s(10.0)), Ok(()), "what the message advises must work");
}

#[test]
fn periods_under_which_leadership_would_flap_are_refused() {
    let late = Timing { renew_deadline: s(14.5), ..Timing::default() }.validate(CALL).unwrap_err();
    assert!(late.to_string().contains("--leader-elect-renew-deadline (14.5s)"), "{late}");
    for retry in [0.0, 5.5] {
        let rare =
            Timing { retry_period: s(retry), ..Timing::default() }.validate(CALL).unwrap_err();
        assert!(rare.to_string().contains("--leader-elect-retry-period"), "{rare}");
    }
}
