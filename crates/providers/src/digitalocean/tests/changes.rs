//! Assigning, unassigning and releasing addresses.

use super::*;

async fn assign(script: &Script) -> Result<Accepted> {
    script.open().assign(ip(), &droplet(7)).await
}

#[tokio::test]
async fn each_request_is_exactly_what_the_vendor_documents() {
    let script = Script::default()
        .then(201, action("in-progress"))
        .then(201, action("in-progress"))
        .then(201, action("in-progress"))
        .then(204, "")
        .then(204, "");
    let provider = script.open();
    provider.assign(ip(), &droplet(7)).await.unwrap();
    provider.assign(ip6(), &droplet(7)).await.unwrap();
    provider.unassign(ip()).await.unwrap();
    provider.release(ip()).await.unwrap();
    provider.release(ip6()).await.unwrap();
    let expected = [
        format!(r#"POST /v2/reserved_ips/{IP}/actions {{"droplet_id":7,"type":"assign"}}"#),
        format!(r#"POST /v2/reserved_ipv6/{IP6}/actions {{"droplet_id":7,"type":"assign"}}"#),
        format!(r#"POST /v2/reserved_ips/{IP}/actions {{"type":"unassign"}}"#),
        format!("DELETE /v2/reserved_ips/{IP}"),
        format!("DELETE /v2/reserved_ipv6/{IP6}"),
    ];
    assert_eq!(script.sent(), expected);
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[0].headers()["content-type"], "application/json");
    assert!(!requests[3].headers().contains_key("content-type"));
    let priorities: Vec<_> =
        requests.iter().map(|request| *request.extensions().get::<Priority>().unwrap()).collect();
    let (failover, housekeeping) = (Priority::Failover, Priority::Housekeeping);
    assert_eq!(priorities, [failover, failover, failover, housekeeping, housekeeping]);
}

#[tokio::test]
async fn an_accepted_action_is_pending_until_it_is_completed() {
    let id = OperationId("72531856".into());
    for (status, expected) in [
        ("completed", Accepted::Done),
        ("in-progress", Accepted::Pending(id.clone())),
        ("a new word", Accepted::Pending(id)),
    ] {
        let script = Script::default().then(201, action(status));
        assert_eq!(assign(&script).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn an_action_that_failed_at_once_is_rejected_with_where_the_address_is() {
    let script =
        Script::default().then(201, action("errored")).then(200, v4(json!({ "id": 3 }), false));
    let error = assign(&script).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(error.seen.unwrap().holder, Some(droplet(3)));
}

#[tokio::test]
async fn a_refusal_of_what_is_so_already_is_success() {
    let script = Script::default()
        .then(422, unprocessable("droplet already has a reserved IP"))
        .then(200, v4(json!({ "id": 7 }), false));
    assert_eq!(assign(&script).await.unwrap(), Accepted::Done);
    let script = Script::default()
        .then(422, unprocessable("not assigned"))
        .then(200, v4(Value::Null, false));
    assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
    let requests = script.requests.lock().unwrap();
    assert_eq!(requests[1].extensions().get(), Some(&Priority::Failover));
}

#[tokio::test]
async fn an_address_on_its_target_is_not_done_while_the_vendor_works_on_it() {
    let script = Script::default()
        .then(422, unprocessable("refused"))
        .then(200, v4(json!({ "id": 7 }), true));
    assert_eq!(assign(&script).await.unwrap_err().kind, ErrorKind::Busy);
}

#[tokio::test]
async fn a_pending_event_is_busy() {
    let words = "Droplet already has a pending event.";
    let script =
        Script::default().then(422, unprocessable(words)).then(200, v4(Value::Null, false));
    let error = assign(&script).await.unwrap_err();
    assert_eq!((error.kind, &error.message[..]), (ErrorKind::Busy, words));
    assert_eq!(error.seen.unwrap().holder, None);
}

#[tokio::test]
async fn an_ipv6_address_with_a_pending_event_is_busy_wherever_it_is() {
    let pending = unprocessable("The reserved IPv6 already has a pending event.");
    let script = Script::default().then(422, pending);
    let error = script.open().assign(ip6(), &droplet(7)).await.unwrap_err();
    assert_eq!((error.kind, error.seen), (ErrorKind::Busy, None));
}

#[tokio::test]
async fn a_missing_machine_and_a_missing_address_are_told_apart() {
    let script = Script::default().then(404, not_found()).then(200, v4(Value::Null, false));
    let error = assign(&script).await.unwrap_err();
    assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::NotFound, true));
    let script = Script::default().then(404, not_found()).then(404, not_found());
    let error = assign(&script).await.unwrap_err();
    assert_eq!((error.kind, error.seen), (ErrorKind::NotFound, None));
}

#[tokio::test]
async fn a_refusal_that_cannot_be_checked_is_not_final() {
    let limited = Response::builder().status(429).header("retry-after", "9");
    let limited = limited.body(Bytes::new()).unwrap();
    let nine = Duration::from_secs(9);
    let lost = || TransportError::NoAnswer("reset".into());
    let pending = unprocessable("already has a pending event");
    let refused = || Script::default().then(422, unprocessable("no"));
    for (script, kind) in [
        (refused().then_error(lost()), ErrorKind::Unavailable),
        (refused().then(500, ""), ErrorKind::Unavailable),
        (refused().then(403, ""), ErrorKind::Forbidden),
        (refused().then_answer(limited), ErrorKind::RateLimited { retry_after: nine }),
        (Script::default().then(422, pending).then_error(lost()), ErrorKind::Busy),
    ] {
        assert_eq!(assign(&script).await.unwrap_err().kind, kind);
    }
}

#[tokio::test]
async fn a_release_that_is_refused_is_told_with_the_address_or_is_over_if_it_is_gone() {
    let refused = || Script::default().then(422, unprocessable("in use"));
    let script = refused().then(200, v4(json!({ "id": 7 }), false));
    let error = script.open().release(ip()).await.unwrap_err();
    assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::Rejected, true));
    let script = refused().then(200, v4(Value::Null, true));
    assert_eq!(script.open().release(ip()).await.unwrap_err().kind, ErrorKind::Busy);
    let script = refused().then(404, not_found());
    script.open().release(ip()).await.unwrap();
}

#[tokio::test]
async fn a_machine_that_is_no_droplet_is_rejected_without_a_request() {
    let script = Script::default();
    let error = script.open().assign(ip(), &MachineId("i-0abc".into())).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(script.sent().is_empty());
}
