//! The states of an operation.

use super::*;

const ID: &str = "projects/p/zones/us-central1-b/operations/operation-1";

#[tokio::test]
async fn an_operation_is_read_where_it_runs() {
    let script = Script::default()
        .then(200, operation("PENDING"))
        .then(200, operation("RUNNING"))
        .then(200, operation("DONE"))
        .then(200, failed("IP_IN_USE_BY_ANOTHER_RESOURCE", "in use"))
        .then(404, not_found())
        .then(403, forbidden("compute.zoneOperations.get"));
    let provider = script.open();
    for state in [
        OperationState::Running,
        OperationState::Running,
        OperationState::Done,
        OperationState::Failed,
        OperationState::Unheard,
        OperationState::Unheard,
    ] {
        assert_eq!(provider.operation(ip(), &OperationId(ID.into())).await.unwrap(), state);
    }
    assert_eq!(script.sent()[0], format!("GET /compute/v1/{ID}"));
}

#[tokio::test]
async fn what_is_no_operation_is_unheard_of_without_a_request() {
    let provider = Script::default().open();
    for odd in ["1", "", "projects/p/zones/z/operations/../../instances/a", "projects/p/zones/z"] {
        let state = provider.operation(ip(), &OperationId(odd.into())).await.unwrap();
        assert_eq!(state, OperationState::Unheard, "{odd}");
    }
}

#[tokio::test]
async fn an_answer_about_another_operation_is_no_answer() {
    let script = Script::default().then(200, operation("DONE"));
    let id = OperationId(ID.replace("operation-1", "operation-2"));
    let error = script.open().operation(ip(), &id).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_shows_while_it_is_waited_for_is_told_and_nothing_follows() {
    let later = |script: Script, code: &str| {
        script
            .then(200, operation("PENDING"))
            .then(200, operation("RUNNING"))
            .then(200, failed(code, "no good"))
    };
    let free = Script::default().then(200, page(&[address(IP, None)])).then(200, with_own("a"));
    let script = later(free.then(200, page(&[])), "RESOURCE_NOT_READY");
    let error = script.open().assign(ip(), &machine("a")).await.unwrap_err();
    assert_eq!((error.kind, error.seen.is_some()), (ErrorKind::Busy, true));

    let held = Script::default()
        .then(200, page(&[address(IP, Some("a"))]))
        .then(200, instance("a", &[Some(("External NAT", IP))]));
    let script = later(held, "RESOURCE_NOT_READY");
    let error = script.open().unassign(ip()).await.unwrap_err();
    assert_eq!(error.seen.unwrap().holder, Some(machine("a")));

    let script = later(Script::default(), "QUOTA_EXCEEDED");
    let region = "us-central1".to_owned();
    let request = CreateRequest { family: Family::V4, region, machine: None, mark: None };
    let error = script.open().create(&request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::QuotaExceeded);

    let there = Script::default().then(200, page(&[address(IP, None)]));
    let script = later(there, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE");
    assert_eq!(script.open().release(ip()).await.unwrap_err().kind, ErrorKind::Rejected);
}
