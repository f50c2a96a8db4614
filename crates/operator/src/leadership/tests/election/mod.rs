//! The decisions of the election, case by case, on a clock that the test moves.

mod keeping;
mod taking;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use pontoon_core::Time;

use crate::leadership::election::Election;
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
