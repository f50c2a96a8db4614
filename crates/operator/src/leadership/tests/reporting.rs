//! The watch over another controller's Lease in readiness.

use std::time::Duration;

use kube::Api;
use pontoon_core::Time;
use serde_json::json;

use crate::env::Env;
use crate::leadership::watch::LeaseWatch;
use crate::observe::hearing::Hearing;
use crate::observe::tests::script::{Reply, client};

const NAME: &str = "Lease theirs in net";

/// A watch with these answers, on a clock that stands, and its report.
fn reported(replies: impl IntoIterator<Item = Reply>) -> (LeaseWatch, Hearing) {
    let env = Env::new(|| Duration::ZERO, Time::default(), fastrand::Rng::with_seed(1));
    let (leases, hearing) = (Api::namespaced(client(replies), "net"), Hearing::default());
    let watch = LeaseWatch::new(leases, "theirs", env);
    (watch.reporting(hearing.clone(), NAME.to_owned()), hearing)
}

fn trouble(hearing: &Hearing, seconds: u64) -> String {
    hearing.trouble(Time::default() + Duration::from_secs(seconds)).unwrap_or_default()
}

#[tokio::test]
async fn a_watch_over_a_lease_that_counts_is_in_readiness_and_is_named_while_broken() {
    let lease = json!({"metadata": {"name": "theirs", "namespace": "net", "resourceVersion": "1"}});
    let (mut watch, hearing) = reported([Reply::list(&[lease]), Reply::refused(500)]);
    assert_eq!(trouble(&hearing, 0), format!("the watch of {NAME} has not read its list yet"));
    assert!(watch.next().await.is_ok_and(|lease| lease.is_some()));
    assert!(watch.next().await.is_err());
    assert_eq!(trouble(&hearing, 20), "");
    assert_eq!(trouble(&hearing, 21), format!("the watch of {NAME} has been broken for 21 s"));
}

#[tokio::test]
async fn a_missing_right_is_not_told_by_readiness_until_the_right_is_back() {
    let granted = [Reply::list(&[]), Reply::watch(&[])];
    let (mut watch, hearing) = reported([Reply::refused(403)].into_iter().chain(granted));
    assert!(watch.next().await.is_err());
    assert_eq!(hearing.last_heard(), []);
    assert!(watch.next().await.is_ok_and(|lease| lease.is_none()));
    assert_eq!(hearing.last_heard(), [(NAME.to_owned(), Some(Time::default()))]);
    assert_eq!(trouble(&hearing, 0), "");
}

#[tokio::test]
async fn without_the_right_to_watch_a_list_shows_nothing() {
    let lease = json!({"metadata": {"name": "theirs", "namespace": "net", "resourceVersion": "1"}});
    let lists = || [Reply::list(&[]), Reply::refused(403)];
    let granted = [Reply::list(&[lease]), Reply::watch(&[])];
    let replies = lists().into_iter().chain(lists()).chain(lists()).chain(granted);
    let (mut watch, hearing) = reported(replies);
    // The first list comes before the first refusal of the watch.
    assert!(watch.next().await.is_ok_and(|lease| lease.is_none()));
    for _ in 0..3 {
        assert!(watch.next().await.is_err());
        assert_eq!(hearing.last_heard(), []);
    }
    assert!(watch.next().await.is_ok_and(|lease| lease.is_some()));
    assert_eq!(hearing.last_heard(), [(NAME.to_owned(), Some(Time::default()))]);
}
