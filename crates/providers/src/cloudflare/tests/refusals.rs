//! Status codes and error codes, and the error kinds they map to.

use super::*;

async fn refused(status: u16, body: impl ToString) -> Error {
    let script = Script::default().then(status, body);
    open_on(script.transport()).list(&place(), A).await.unwrap_err()
}

#[tokio::test]
async fn every_status_has_its_kind() {
    let minute = std::time::Duration::from_secs(60);
    for (status, kind) in [
        (301, ErrorKind::Rejected),
        (400, ErrorKind::Rejected),
        (401, ErrorKind::Unauthorized),
        (403, ErrorKind::Forbidden),
        (405, ErrorKind::Rejected),
        (408, ErrorKind::NoAnswer),
        (409, ErrorKind::Busy),
        (429, ErrorKind::RateLimited { retry_after: minute }),
        (500, ErrorKind::Unavailable),
        (502, ErrorKind::NoAnswer),
        (503, ErrorKind::Unavailable),
        (521, ErrorKind::NoAnswer),
    ] {
        assert_eq!(refused(status, failure(1, "x")).await.kind, kind, "{status}");
        assert_eq!(refused(status, "<html>").await.kind, kind, "{status}");
    }
    assert_eq!(refused(404, "<html>").await.kind, ErrorKind::NoAnswer);
    assert_eq!(refused(404, failure(7003, "x")).await.kind, ErrorKind::NotFound);
    assert_eq!(refused(200, failure(10_000, "x")).await.kind, ErrorKind::NoAnswer);
}

#[tokio::test]
async fn the_token_itself_is_told_from_what_it_may_do() {
    for (status, code, words, kind) in [
        (400, 6003, "Invalid request headers", ErrorKind::Unauthorized),
        (400, 9106, "Missing X-Auth-Key", ErrorKind::Unauthorized),
        (403, 9109, "Invalid access token", ErrorKind::Unauthorized),
        (403, 9109, "Cannot use the access token from location: ::1", ErrorKind::Unauthorized),
        (403, 9109, "Unauthorized to access requested resource", ErrorKind::Forbidden),
        (403, 10_000, "Authentication error", ErrorKind::Forbidden),
    ] {
        assert_eq!(refused(status, failure(code, words)).await.kind, kind, "{words}");
    }
}

#[tokio::test]
async fn the_reason_behind_the_reason_is_shown_with_the_code() {
    let mut body = failure(1004, "DNS Validation Error");
    let chain = json!([{ "code": 9021, "message": "Invalid TTL." }]);
    body["errors"][0]["error_chain"] = chain;
    let error = refused(400, body).await;
    assert_eq!(error.message, "DNS Validation Error: Invalid TTL. (1004)");
    let error = refused(400, r#"{"errors":[]}"#).await;
    assert_eq!(error.message, "Cloudflare answered 400 Bad Request");
}

#[tokio::test]
async fn a_full_zone_says_so() {
    let cloud = FakeCloud::new();
    for last in 0..200 {
        cloud.record(ZONE, "A", "many", &ip(last).to_string(), 60);
    }
    let provider = open_on(transport(&cloud));
    let place = provider.locate(ZONE, "hello").await.unwrap();
    let error = provider.change(&place, A, &creating(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::QuotaExceeded);
}
