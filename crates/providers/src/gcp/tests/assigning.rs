//! Assignments, request by request.

use super::*;
use crate::transport::TransportError;

const OTHER: &str =
    "/compute/v1/projects/p/aggregated/addresses?maxResults=500&filter=address%3D%2234.1.2.3%22";
const BODY: &str = r#"{"name":"External NAT","natIP":"203.0.113.7","networkTier":"PREMIUM","type":"ONE_TO_ONE_NAT"}"#;
const OWN: &str = r#"{"name":"External NAT","networkTier":"PREMIUM","type":"ONE_TO_ONE_NAT"}"#;

fn free() -> Script {
    Script::default().then(200, page(&[address(IP, None)]))
}

/// The address is free, and the machine's own address is removed.
fn own_removed() -> Script {
    free().then(200, with_own("a")).then(200, page(&[])).then(200, operation("DONE"))
}

fn adds(body: &str) -> String {
    format!("POST {INSTANCE}/addAccessConfig?networkInterface=nic0 {body}")
}

#[tokio::test(start_paused = true)]
async fn the_machines_own_address_is_removed_by_its_real_name_before_the_other_is_added() {
    let own = instance("a", &[Some(("external-nat", "34.1.2.3"))]);
    let script = free()
        .then(200, own)
        .then(200, page(&[]))
        .then(200, operation("PENDING"))
        .then(404, not_found())
        .then(200, operation("RUNNING"))
        .then(200, operation("DONE"))
        .then(200, operation("RUNNING"));
    let accepted = script.open().assign(ip(), &machine("a")).await.unwrap();
    let id = OperationId("projects/p/zones/us-central1-b/operations/operation-1".into());
    assert_eq!(accepted, Accepted::Pending(id.clone()));
    let polled = format!("GET /compute/v1/{}", id.0);
    let removes = format!(
        "POST {INSTANCE}/deleteAccessConfig?networkInterface=nic0&accessConfig=external-nat"
    );
    assert_eq!(
        sent(&script),
        [
            format!("GET {ADDRESS}"),
            format!("GET {INSTANCE}"),
            format!("GET {OTHER}"),
            removes,
            polled.clone(),
            polled.clone(),
            polled,
            adds(BODY),
        ]
    );
}

#[tokio::test]
async fn a_machine_without_an_address_gets_it_by_one_change() {
    let script = free().then(200, instance("a", &[None])).then(200, operation("DONE"));
    let accepted = script.open().assign(ip(), &machine("a")).await.unwrap();
    assert_eq!(accepted, Accepted::Done);
    assert_eq!(sent(&script)[2], adds(BODY));
}

#[tokio::test]
async fn what_is_there_already_is_success_on_whatever_interface() {
    let script = Script::default().then(200, page(&[address(IP, Some("a"))]));
    assert_eq!(script.open().assign(ip(), &machine("a")).await.unwrap(), Accepted::Done);
    // The list of users may lag behind.
    let second = instance("a", &[Some(("External NAT", "34.1.2.3")), Some(("second", IP))]);
    let script = free().then(200, second);
    assert_eq!(script.open().assign(ip(), &machine("a")).await.unwrap(), Accepted::Done);
}

#[tokio::test]
async fn the_tier_of_the_address_is_the_tier_of_the_access_config() {
    let mut standard = address(IP, None);
    standard["networkTier"] = json!("STANDARD");
    let script = Script::default()
        .then(200, page(&[standard]))
        .then(200, instance("a", &[None]))
        .then(200, operation("DONE"));
    script.open().assign(ip(), &machine("a")).await.unwrap();
    assert!(sent(&script)[2].contains("\"networkTier\":\"STANDARD\""), "{:?}", sent(&script));
}

#[tokio::test]
async fn a_reserved_address_of_the_machine_is_never_displaced() {
    let other = address("34.1.2.3", Some("a"));
    let script = free().then(200, with_own("a")).then(200, page(&[other]));
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(error.message.contains("34.1.2.3"), "{error}");
    assert_eq!(error.seen.unwrap().holder, None);
}

#[tokio::test]
async fn a_reserved_address_of_the_machines_own_project_is_never_displaced() {
    let machine = MachineId("service/us-central1-b/a".into());
    for (there, expected) in
        [(vec![address("34.1.2.3", Some("a"))], ErrorKind::Rejected), (vec![], ErrorKind::Busy)]
    {
        let busy = problem(400, "resourceNotReady", "not ready");
        let script = free().then(200, with_own("a")).then(200, page(&[])).then(200, page(&there));
        let script = script.then(400, busy);
        let error = script.open().assign(ip(), &machine).await.unwrap_err();
        assert_eq!(error.kind, expected, "{error}");
        let looked = OTHER.replace("projects/p/", "projects/service/");
        assert_eq!(sent(&script)[3], format!("GET {looked}"));
    }
}

#[tokio::test]
async fn a_page_without_addresses_does_not_end_the_look_for_a_reserved_address() {
    let machine = MachineId("service/us-central1-b/a".into());
    let script = free().then(200, with_own("a")).then(200, page(&[]));
    let script = script.then(200, more(page(&[]), "next"));
    let script = script.then(200, page(&[address("34.1.2.3", Some("a"))]));
    let error = script.open().assign(ip(), &machine).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
    assert!(sent(&script)[4].ends_with("&pageToken=next"), "{:?}", sent(&script));
}

#[tokio::test]
async fn nothing_is_touched_if_the_address_is_elsewhere_or_of_another_region() {
    let script = Script::default().then(200, page(&[address(IP, Some("b"))]));
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.seen.unwrap().holder, Some(machine("b")));
    let far = MachineId("p/europe-west1-b/a".into());
    let error = free().open().assign(ip(), &far).await.unwrap_err();
    assert_eq!((error.kind, error.displaced), (ErrorKind::Rejected, false));
    assert!(error.message.contains("us-central1"), "{error}");
}

#[tokio::test]
async fn a_machine_that_does_not_exist_is_told_from_an_address_that_does_not() {
    let script = free().then(404, not_found());
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::NotFound, true));
    let script = Script::default().then(200, page(&[]));
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!((error.kind, error.seen.is_none()), (ErrorKind::NotFound, true));
}

#[tokio::test]
async fn after_a_refusal_the_machine_gets_an_address_of_its_own_again() {
    let in_use = "IP_IN_USE_BY_ANOTHER_RESOURCE";
    for (status, body, expected) in [
        (409, problem(409, "conflict", in_use), ErrorKind::Rejected),
        (400, problem(400, "invalid", in_use), ErrorKind::Rejected),
        (200, failed(in_use, "IP is in use"), ErrorKind::Rejected),
        (400, problem(400, "resourceNotReady", "not ready"), ErrorKind::Busy),
        (200, failed("RESOURCE_NOT_READY", "not ready"), ErrorKind::Busy),
    ] {
        let script = own_removed()
            .then(status, body)
            .then(200, operation("PENDING"))
            .then(200, page(&[address(IP, Some("b"))]));
        let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
        assert_eq!((error.kind, error.displaced), (expected, true), "{error}");
        assert_eq!(error.seen.unwrap().holder, Some(machine("b")));
        assert_eq!(sent(&script)[5], adds(OWN));
    }
    for (status, expected) in [(503, ErrorKind::Unavailable), (403, ErrorKind::Forbidden)] {
        let script = own_removed().then(status, "").then(200, operation("PENDING"));
        let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
        assert_eq!((error.kind, error.displaced), (expected, true), "{error}");
        assert_eq!(sent(&script)[5], adds(OWN));
    }
}

#[tokio::test]
async fn without_an_answer_nothing_is_put_in_the_addresss_place() {
    let lost = TransportError::NoAnswer("reset".into());
    let script = own_removed().then_error(lost.clone());
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!((error.kind, script.sent().len()), (ErrorKind::NoAnswer, 5));
    let script = free().then(200, with_own("a")).then(200, page(&[])).then_error(lost);
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!((error.kind, script.sent().len()), (ErrorKind::NoAnswer, 4));
    assert!(error.displaced, "the machine may have lost its own address");
}

#[tokio::test]
async fn an_own_address_that_cannot_be_removed_stays_and_the_reason_is_told() {
    for (status, body, expected) in [
        (400, problem(400, "resourceNotReady", "not ready"), ErrorKind::Busy),
        (200, failed("RESOURCE_NOT_READY", "not ready"), ErrorKind::Busy),
        (403, forbidden("compute.instances.deleteAccessConfig"), ErrorKind::Forbidden),
    ] {
        let script = free().then(200, with_own("a")).then(200, page(&[])).then(status, body);
        let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
        assert_eq!((error.kind, script.sent().len()), (expected, 4), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_does_not_end_is_given_up_as_busy() {
    let script = (0..20).fold(
        free().then(200, with_own("a")).then(200, page(&[])).then(200, operation("PENDING")),
        |script, _| script.then(200, operation("RUNNING")),
    );
    let start = tokio::time::Instant::now();
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    assert!(start.elapsed().as_secs() <= 30, "{:?}", start.elapsed());
    assert!(script.sent().len() > 8);
}
