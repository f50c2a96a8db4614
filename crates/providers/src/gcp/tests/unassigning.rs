//! Unassignments, request by request.

use super::*;
use crate::transport::TransportError;

const OWN: &str = r#"{"name":"second","networkTier":"PREMIUM","type":"ONE_TO_ONE_NAT"}"#;

fn held() -> Script {
    let nics = [Some(("External NAT", "34.1.2.3")), Some(("second", IP))];
    Script::default().then(200, page(&[address(IP, Some("a"))])).then(200, instance("a", &nics))
}

#[tokio::test(start_paused = true)]
async fn the_address_is_found_on_any_interface_and_an_own_one_takes_its_place() {
    let script = held()
        .then(200, operation("PENDING"))
        .then(200, operation("DONE"))
        .then(200, operation("PENDING"));
    assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
    let removes =
        format!("POST {INSTANCE}/deleteAccessConfig?networkInterface=nic1&accessConfig=second");
    let adds = format!("POST {INSTANCE}/addAccessConfig?networkInterface=nic1 {OWN}");
    let sent = sent(&script);
    assert_eq!((&sent[2], &sent[4]), (&removes, &adds));
}

#[tokio::test]
async fn an_own_address_that_is_refused_does_not_undo_the_unassignment() {
    for (status, body) in [(503, json!({})), (200, failed("RESOURCE_NOT_READY", "not ready"))] {
        let bare = instance("a", &[Some(("External NAT", "34.1.2.3")), None]);
        let script = held().then(200, operation("DONE")).then(status, body).then(200, bare);
        assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
    }
}

#[tokio::test]
async fn a_removal_without_effect_that_is_reported_as_done_is_pending() {
    let refused = problem(400, "badRequest", "At most one access config currently supported.");
    let done = || held().then(200, operation("DONE")).then(400, refused.clone());
    let on = |ip| instance("a", &[Some(("External NAT", "34.1.2.3")), Some(("second", ip))]);
    let still = done().then(200, on(IP)).open().unassign(ip()).await.unwrap();
    assert!(matches!(still, Accepted::Pending(_)));
    let unread = done().then(503, json!({})).open().unassign(ip()).await.unwrap();
    assert!(matches!(unread, Accepted::Pending(_)));
    let others = done().then(200, on("34.1.2.4")).open().unassign(ip()).await.unwrap();
    assert_eq!(others, Accepted::Done);
}

#[tokio::test]
async fn what_is_not_there_is_not_removed_and_nothing_is_added() {
    let script = Script::default().then(200, page(&[address(IP, None)]));
    assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
    let held = || Script::default().then(200, page(&[address(IP, Some("a"))]));
    let script = held().then(200, with_own("a"));
    assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
    let script = held().then(404, not_found());
    assert_eq!(script.open().unassign(ip()).await.unwrap(), Accepted::Done);
    let script = Script::default().then(200, page(&[]));
    assert_eq!(script.open().unassign(ip()).await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_refused_removal_leaves_everything_as_it_is() {
    for (status, body, expected) in [
        (400, problem(400, "resourceNotReady", "not ready"), ErrorKind::Busy),
        (200, failed("RESOURCE_NOT_READY", "not ready"), ErrorKind::Busy),
        (503, json!({}), ErrorKind::Unavailable),
        (403, forbidden("compute.instances.deleteAccessConfig"), ErrorKind::Forbidden),
    ] {
        let script = held().then(status, body);
        let error = script.open().unassign(ip()).await.unwrap_err();
        assert_eq!((error.kind, script.sent().len()), (expected, 3), "{error}");
    }
    let script = held().then_error(TransportError::NoAnswer("reset".into()));
    assert_eq!(script.open().unassign(ip()).await.unwrap_err().kind, ErrorKind::NoAnswer);
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_takes_long_is_pending() {
    let script = (0..20).fold(held().then(200, operation("PENDING")), |script, _| {
        script.then(200, operation("RUNNING"))
    });
    let accepted = script.open().unassign(ip()).await.unwrap();
    let id = OperationId("projects/p/zones/us-central1-b/operations/operation-1".into());
    assert_eq!(accepted, Accepted::Pending(id));
}
