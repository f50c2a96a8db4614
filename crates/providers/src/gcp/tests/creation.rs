//! Reserving and releasing, request by request.

use super::*;
use crate::transport::TransportError;

const MARK: &str = "0f8fad5b-d9cb-469f-a165-70867728950e-64f1a-0";
const NAMED: &str = "/compute/v1/projects/p/regions/us-central1/addresses/ip-0f8fad5b-d9cb-469f-a165-70867728950e-64f1a-0";

fn request(mark: Option<&str>) -> CreateRequest {
    let mark = mark.map(str::to_owned);
    CreateRequest { family: Family::V4, region: "us-central1".into(), machine: None, mark }
}

fn made() -> Value {
    let mut made = address(IP, None);
    made["name"] = json!(format!("ip-{MARK}"));
    made
}

#[tokio::test(start_paused = true)]
async fn the_mark_is_the_name_of_the_address() {
    let script = Script::default()
        .then(200, operation("PENDING"))
        .then(200, operation("DONE"))
        .then(200, made())
        .then(200, page(&[made()]));
    let provider = script.open();
    let created = provider.create(&request(Some(MARK))).await.unwrap();
    assert_eq!(created, Created { ip: ip(), placement: None });
    let listing = provider.list(&ListRequest::of(V4)).await.unwrap();
    assert_eq!(listing.addresses[0].mark.as_deref(), Some(MARK));
    let body = format!(
        "{{\"addressType\":\"EXTERNAL\",\"name\":\"ip-{MARK}\",\"networkTier\":\"PREMIUM\"}}"
    );
    let sent = sent(&script);
    let collection = "/compute/v1/projects/p/regions/us-central1/addresses";
    assert_eq!(sent[0], format!("POST {collection} {body}"));
    let operation = "GET /compute/v1/projects/p/regions/us-central1/operations/operation-1";
    assert_eq!(sent[1], operation);
    assert_eq!(sent[2], format!("GET {NAMED}"));
}

#[tokio::test]
async fn a_name_that_is_taken_is_the_answer_of_an_earlier_attempt() {
    let exists = problem(409, "alreadyExists", "The resource already exists");
    let script = Script::default().then(409, exists).then(200, made());
    assert_eq!(script.open().create(&request(Some(MARK))).await.unwrap().ip, ip());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_seen_to_end_is_no_answer() {
    let lost = || TransportError::NoAnswer("reset".into());
    let slow = (0..20).fold(Script::default().then(200, operation("PENDING")), |script, _| {
        script.then(200, operation("RUNNING"))
    });
    let mut unborn = made();
    unborn.as_object_mut().unwrap().remove("address");
    let done = || Script::default().then(200, operation("DONE"));
    for script in [
        slow,
        Script::default().then_error(lost()),
        done().then_error(lost()),
        done().then(404, not_found()),
        done().then(403, forbidden("compute.addresses.get")),
        done().then(200, unborn),
        done().then(200, address(IP, None)),
    ] {
        let error = script.open().create(&request(Some(MARK))).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_may_not_read_operations_sees_the_address_itself() {
    let script = Script::default()
        .then(200, operation("PENDING"))
        .then(403, forbidden("compute.regionOperations.get"))
        .then(404, not_found())
        .then(200, made())
        .then(200, made());
    assert_eq!(script.open().create(&request(Some(MARK))).await.unwrap().ip, ip());
}

#[tokio::test]
async fn a_full_project_is_told_by_the_answer_or_by_the_operation() {
    for (status, body) in [
        (403, problem(403, "quotaExceeded", "Quota 'STATIC_ADDRESSES' exceeded.")),
        (200, failed("QUOTA_EXCEEDED", "Quota 'STATIC_ADDRESSES' exceeded.")),
    ] {
        let script = Script::default().then(status, body);
        let error = script.open().create(&request(Some(MARK))).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::QuotaExceeded);
        assert!(error.message.contains("STATIC_ADDRESSES"), "{error}");
    }
}

#[tokio::test]
async fn what_cannot_be_reserved_is_rejected_without_a_request() {
    let provider = Script::default().open();
    let six = CreateRequest { family: Family::V6, ..request(None) };
    let elsewhere = CreateRequest { region: "../zones".into(), ..request(None) };
    for request in [six, elsewhere, request(Some(&"a".repeat(61))), request(Some("A_B"))] {
        let error = provider.create(&request).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected, "{request:?}");
    }
}

#[tokio::test]
async fn without_a_configured_project_the_machine_names_it() {
    let script = Script::default().then(200, operation("DONE")).then(200, made());
    let request = CreateRequest { machine: Some(machine("a")), ..request(Some(MARK)) };
    script.open_with(&[]).create(&request).await.unwrap();
    assert!(script.sent()[0].starts_with("POST /compute/v1/projects/p/"), "{:?}", script.sent());
}

#[tokio::test]
async fn an_address_is_released_by_its_name() {
    let script = Script::default().then(200, page(&[made()])).then(200, operation("DONE"));
    script.open().release(ip()).await.unwrap();
    assert_eq!(sent(&script)[1], format!("DELETE {NAMED}"));
}

#[tokio::test]
async fn what_is_gone_is_released() {
    let there = || Script::default().then(200, page(&[made()]));
    for script in [
        Script::default().then(200, page(&[])),
        there().then(404, not_found()),
        there().then(200, failed("RESOURCE_NOT_FOUND", "not found")),
    ] {
        script.open().release(ip()).await.unwrap();
    }
}

#[tokio::test]
async fn an_address_in_use_is_not_released_and_its_holder_is_told() {
    let words = "The address resource is already being used";
    for (status, body) in [
        (400, problem(400, "resourceInUseByAnotherResource", words)),
        (200, failed("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", words)),
    ] {
        let script = Script::default().then(200, page(&[made()]));
        let error = script.then(status, body).open().release(ip()).await.unwrap_err();
        assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::Rejected, true));
    }
    let script = Script::default().then(200, page(&[address(IP, Some("a"))]));
    let error = script.open().release(ip()).await.unwrap_err();
    assert_eq!((error.kind, script.sent().len()), (ErrorKind::Rejected, 1));
    assert_eq!(error.seen.unwrap().holder, Some(machine("a")));
}
