//! The kinds of refusals.

use std::time::Duration;

use super::*;
use crate::layers::HeldBack;

#[tokio::test]
async fn status_and_reason_tell_what_a_refusal_means() {
    let detailed = json!({ "error": {
        "code": 403, "message": "Quota exceeded", "errors": [{ "reason": "forbidden" }],
        "details": [{ "reason": "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED" }],
    }});
    let throttled = ErrorKind::RateLimited { retry_after: Duration::from_secs(60) };
    for (status, body, expected) in [
        (400, problem(400, "invalid", "no good"), ErrorKind::Rejected),
        (400, problem(400, "resourceNotReady", "not ready"), ErrorKind::Busy),
        (401, problem(401, "authError", "Invalid Credentials"), ErrorKind::Unauthorized),
        (403, forbidden("compute.instances.get"), ErrorKind::Forbidden),
        (403, problem(403, "rateLimitExceeded", "Rate Limit Exceeded"), throttled),
        (403, detailed, throttled),
        (403, problem(403, "quotaExceeded", "Quota exceeded"), ErrorKind::QuotaExceeded),
        (404, json!("<html>"), ErrorKind::NoAnswer),
        (408, json!({}), ErrorKind::NoAnswer),
        (409, problem(409, "conflict", "conflict"), ErrorKind::Busy),
        (412, problem(412, "conditionNotMet", "Invalid fingerprint"), ErrorKind::Busy),
        (429, json!({}), throttled),
        (500, problem(500, "backendError", "Backend Error"), ErrorKind::Unavailable),
        (502, json!({}), ErrorKind::NoAnswer),
        (503, json!({}), ErrorKind::Unavailable),
    ] {
        let script = Script::default().then(status, &body);
        let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
        assert_eq!(error.kind, expected, "{status} {body}");
        let words = body["error"]["message"].as_str().unwrap_or("Google Cloud answered");
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_rate_limit_nothing_is_sent_for_a_minute() {
    let script = Script::default()
        .then(403, problem(403, "rateLimitExceeded", "Rate Limit Exceeded"))
        .then(200, page(&[]));
    let provider = script.open();
    provider.read(ip()).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let hold = HeldBack { retry_after: Duration::from_secs(40), pacing: false };
    assert_eq!(provider.read(ip()).await.unwrap_err().kind, ErrorKind::HeldBack(hold));
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(provider.read(ip()).await.unwrap(), None);
}

#[tokio::test]
async fn an_operations_error_is_judged_by_its_code() {
    for (code, expected) in [
        ("RESOURCE_NOT_READY", ErrorKind::Busy),
        ("QUOTA_EXCEEDED", ErrorKind::QuotaExceeded),
        ("PERMISSIONS_ERROR", ErrorKind::Forbidden),
        ("INTERNAL_ERROR", ErrorKind::Unavailable),
        ("A_NEW_CODE", ErrorKind::Rejected),
    ] {
        let script =
            Script::default().then(200, instance("a", &[None])).then(200, failed(code, ""));
        // A rejection is followed by a look whether the machine has an address after all.
        let script = script.then(200, instance("a", &[None]));
        let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
        assert_eq!(error.kind, expected, "{code}");
        assert!(!error.message.is_empty());
    }
}

#[tokio::test]
async fn no_message_shows_the_token() {
    let echo = problem(400, "invalid", &format!("your token {TOKEN} is no good"));
    let script = Script::default().then(400, echo);
    let error = script.open().read(ip()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    let script = Script::default()
        .then(200, instance("a", &[None]))
        .then(200, failed("INTERNAL_ERROR", &format!("{TOKEN}\nis no good")));
    let error = script.open().restore_egress(&machine("a")).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
}
