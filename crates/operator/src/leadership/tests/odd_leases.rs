//! With any content of the Lease, reading, claiming and releasing do not panic, and the election
//! has a next step.

use std::hint::black_box;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use pontoon_core::Time;
use proptest::prelude::*;

use crate::leadership::election::{Election, Next};
use crate::leadership::{Identity, Timing, lease_object};
use crate::tests::odd_manifests::{corpus, faulty};

const US: &str = "us_pod_1";

/// Runs every operation on a Lease seen at `now`. The wall clock shows `time`.
fn live_with(lease: &Lease, now: Duration, time: Time) {
    let timing = Timing::default();
    black_box((lease_object::holder(lease), lease_object::duration(lease)));
    let settle = lease_object::settle(lease);
    assert!(settle.is_none_or(|settle| settle <= Duration::from_secs(3600)), "{settle:?}");
    let claimed = lease_object::claimed(lease, US, timing.lease, time);
    assert_eq!(lease_object::holder(&claimed), Some(US));
    assert_eq!(lease_object::duration(&claimed), Some(timing.lease));
    let released = lease_object::released(&claimed, settle, time);
    assert_eq!((lease_object::holder(&released), lease_object::settle(&released)), (None, settle));
    let us = Identity::new("us", Some("pod"), "1");
    let mut election = Election::new(us, timing, Duration::from_secs(5), Duration::ZERO);
    election.read(Some(lease.clone()), now);
    let barred = lease_object::holder(lease).is_some_and(|holder| holder != US);
    assert_eq!(matches!(election.next(now), Next::WaitUntil(_)), barred, "{lease:?}");
    election.glimpsed(Some(released), now);
    election.glimpsed(None, now);
    election.held(claimed, now, now);
    election.glimpsed(Some(lease.clone()), now);
    black_box(election.next(now + timing.lease));
    election.resign();
    black_box(election.leave(now));
}

fn leases(text: &str) -> Option<Lease> {
    serde_json::from_str(text).ok()
}

#[test]
fn every_lease_of_the_corpus_can_be_lived_with() {
    let all = corpus();
    let read = all.values().filter_map(|text| leases(text));
    let times = [i64::MIN, -1, 0, 1_794_713_757_000_000, i64::MAX].map(Time::from_micros);
    let mut lived = 0;
    for lease in read {
        times.iter().for_each(|time| live_with(&lease, Duration::from_secs(7), *time));
        lived += 1;
    }
    assert!(lived > 5, "only {lived}");
}

proptest! {
    #[test]
    fn any_lease_can_be_lived_with(
        text in faulty(corpus().into_iter().filter(|(name, _)| name.starts_with("lease")).collect()),
        now in 0..1_000_000_000_u64,
        time in any::<i64>(),
    ) {
        if let Some(lease) = leases(&text) {
            live_with(&lease, Duration::from_millis(now), Time::from_micros(time));
        }
    }
}
