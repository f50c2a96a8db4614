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
