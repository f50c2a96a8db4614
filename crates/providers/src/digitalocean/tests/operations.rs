//! The states of an action.

use super::*;

#[tokio::test]
async fn each_family_is_asked_about_where_the_vendor_keeps_its_actions() {
    let script = Script::default()
        .then(200, action("in-progress"))
        .then(200, action("completed"))
        .then(200, action("errored"))
        .then(200, action("a new word"))
        .then(404, not_found());
    let provider = script.open();
    let id = OperationId("72531856".into());
    for (ip, state) in [
        (ip(), OperationState::Running),
        (ip6(), OperationState::Done),
        (ip(), OperationState::Failed),
        (ip(), OperationState::Unheard),
        (ip(), OperationState::Unheard),
    ] {
        assert_eq!(provider.operation(ip, &id).await.unwrap(), state);
    }
    let sent = script.sent();
    assert_eq!(sent[0], format!("GET /v2/reserved_ips/{IP}/actions/72531856"));
    assert_eq!(sent[1], "GET /v2/actions/72531856");
}

#[tokio::test]
async fn an_action_that_the_token_may_not_read_is_unheard_of_and_no_trouble_of_the_account() {
    let script = Script::default().then(403, problem("forbidden", "You are not authorized"));
    let id = OperationId("72531856".into());
    let state = script.open().operation(ip6(), &id).await.unwrap();
    assert_eq!(state, OperationState::Unheard);
}

#[tokio::test]
async fn an_operation_that_is_no_number_is_unheard_of_without_a_request() {
    let script = Script::default();
    let id = OperationId("../droplets".into());
    let state = script.open().operation(ip(), &id).await.unwrap();
    assert_eq!(state, OperationState::Unheard);
}
