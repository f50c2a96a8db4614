//! A credential with a part of the permissions.

use std::time::Duration;

use super::*;
use crate::transport::TransportError;

fn asking(machines: &[&str], addresses: &[&str]) -> ListRequest {
    ListRequest {
        families: V4,
        machines: machines.iter().map(|name| machine(name)).collect(),
        addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
    }
}

fn refused() -> Script {
    Script::default().then(403, forbidden("compute.addresses.list"))
}

#[tokio::test]
async fn addresses_are_found_on_machines_and_the_missing_permission_is_named() {
    let script = refused()
        .then(200, instance("a", &[Some(("External NAT", IP))]))
        .then(200, with_own("b"))
        .then(404, not_found());
    let request = asking(&["a", "b", "c"], &["203.0.113.8", IP]);
    let listing = script.open().list(&request).await.unwrap();
    let found: Vec<_> =
        listing.addresses.iter().map(|one| (one.ip.to_string(), one.holder.clone())).collect();
    assert_eq!(found, [(IP.into(), Some(machine("a"))), ("203.0.113.8".into(), None)]);
    let limited = listing.limited.unwrap();
    assert!(limited.contains("compute.addresses.list"), "{limited}");
    assert!(limited.contains("projects/p"), "{limited}");
    assert_eq!(script.sent()[1], format!("GET {INSTANCE}"));
}

#[tokio::test]
async fn an_address_on_a_second_interface_is_found_too() {
    let nics = [Some(("External NAT", "34.1.2.3")), Some(("second", IP))];
    let script = refused().then(200, instance("a", &nics));
    let listing = script.open().list(&asking(&["a"], &[IP])).await.unwrap();
    assert_eq!(listing.addresses[0].holder, Some(machine("a")));
}

#[tokio::test]
async fn a_machine_that_could_not_be_read_fails_the_listing() {
    for (script, expected) in [
        (refused().then(403, forbidden("compute.instances.get")), ErrorKind::Forbidden),
        (refused().then(503, ""), ErrorKind::Unavailable),
        (refused().then(200, "{}"), ErrorKind::NoAnswer),
        (refused().then_error(TransportError::NoAnswer("reset".into())), ErrorKind::NoAnswer),
    ] {
        let script = script.then(200, with_own("b"));
        let error = script.open().list(&asking(&["a", "b"], &[IP])).await.unwrap_err();
        assert_eq!(error.kind, expected);
    }
}

#[tokio::test]
async fn a_rate_limit_or_a_quota_is_no_missing_permission() {
    let limited = problem(403, "rateLimitExceeded", "Rate Limit Exceeded");
    let script = Script::default().then(403, limited);
    let error = script.open().list(&asking(&["a"], &[IP])).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::RateLimited { .. }), "{error:?}");
    let full = problem(403, "quotaExceeded", "Quota exceeded");
    let script = Script::default().then(403, full);
    let error = script.open().list(&asking(&["a"], &[IP])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::QuotaExceeded);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_remembered_for_some_minutes() {
    let read = || instance("a", &[Some(("External NAT", IP))]);
    let script = refused().then(200, read()).then(200, read()).then(200, page(&[]));
    let provider = script.open();
    for _ in 0..2 {
        let listing = provider.list(&asking(&["a"], &[IP])).await.unwrap();
        assert!(listing.limited.is_some());
    }
    tokio::time::sleep(Duration::from_secs(300)).await;
    let listing = provider.list(&asking(&["a"], &[IP])).await.unwrap();
    assert_eq!(listing, Listing::default());
}

#[tokio::test]
async fn a_read_looks_on_the_last_holder_first_and_then_on_the_other_machines() {
    let with = |name: &str| instance(name, &[Some(("External NAT", IP))]);
    let script = refused()
        .then(200, with_own("a"))
        .then(200, with("b"))
        .then(200, with("b"))
        .then(200, with_own("b"))
        .then(200, with("a"));
    let provider = script.open();
    provider.list(&asking(&["a", "b"], &[IP])).await.unwrap();
    assert_eq!(provider.read(ip()).await.unwrap().unwrap().holder, Some(machine("b")));
    assert_eq!(provider.read(ip()).await.unwrap().unwrap().holder, Some(machine("a")));
    let stranger = provider.read("203.0.113.99".parse().unwrap()).await.unwrap_err();
    assert_eq!(stranger.kind, ErrorKind::Forbidden);
    assert!(stranger.message.contains("compute.addresses.list"), "{stranger}");
}

#[tokio::test(start_paused = true)]
async fn an_address_is_assigned_with_the_three_permissions_of_the_predecessor() {
    let script = refused()
        .then(200, with_own("a"))
        .then(200, with_own("a"))
        .then(200, operation("PENDING"))
        .then(403, forbidden("compute.zoneOperations.get"))
        .then(200, with_own("a"))
        .then(200, instance("a", &[None]))
        .then(200, operation("PENDING"))
        .then(403, forbidden("compute.zoneOperations.get"));
    let provider = script.open();
    provider.list(&asking(&["a"], &[IP])).await.unwrap();
    let Accepted::Pending(id) = provider.assign(ip(), &machine("a")).await.unwrap() else {
        panic!("done at once")
    };
    assert_eq!(provider.operation(ip(), &id).await.unwrap(), OperationState::Unheard);
    let added = format!(
        "POST {INSTANCE}/addAccessConfig?networkInterface=nic0 \
         {{\"name\":\"External NAT\",\"natIP\":\"{IP}\",\"type\":\"ONE_TO_ONE_NAT\"}}"
    );
    assert_eq!(sent(&script)[7], added);
}

#[tokio::test]
async fn an_address_on_its_last_known_holder_is_not_taken_from_there() {
    let with = || instance("b", &[Some(("External NAT", IP))]);
    let script = refused().then(200, with_own("a")).then(200, with()).then(200, with());
    let provider = script.open();
    provider.list(&asking(&["a", "b"], &[IP])).await.unwrap();
    let error = provider.assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.seen.unwrap().holder, Some(machine("b")));
}

#[tokio::test]
async fn another_address_that_is_asked_about_counts_as_reserved() {
    let other = "203.0.113.8";
    let with = || instance("a", &[Some(("External NAT", other))]);
    let script = refused().then(200, with()).then(200, with());
    let provider = script.open();
    provider.list(&asking(&["a"], &[IP, other])).await.unwrap();
    let error = provider.assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.seen.unwrap().holder, None);
}

#[tokio::test]
async fn an_address_that_google_does_not_know_is_not_found() {
    let words = format!("The specified external IP address '{IP}' was not found in region 'r'.");
    let script = refused()
        .then(200, instance("a", &[None]))
        .then(200, instance("a", &[None]))
        .then(400, problem(400, "invalid", &words));
    let provider = script.open();
    provider.list(&asking(&["a"], &[IP])).await.unwrap();
    let error = provider.assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!((error.kind, error.seen.is_none()), (ErrorKind::NotFound, true));
}

#[tokio::test]
async fn releasing_needs_the_listing() {
    let script = refused();
    let error = script.open().release(ip()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert!(error.message.contains("compute.addresses.list"), "{error}");
}
