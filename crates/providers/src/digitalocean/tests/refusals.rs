//! Status codes, and the error kinds they map to.

use super::*;

async fn read_kind(status: u16, body: impl ToString) -> ErrorKind {
    Script::default().then(status, body).open().read(ip()).await.unwrap_err().kind
}

#[tokio::test]
async fn every_status_has_its_kind() {
    let minute = Duration::from_secs(60);
    for (status, kind) in [
        (301, ErrorKind::Rejected),
        (400, ErrorKind::Rejected),
        (401, ErrorKind::Unauthorized),
        (403, ErrorKind::Forbidden),
        (405, ErrorKind::Rejected),
        (408, ErrorKind::NoAnswer),
        (409, ErrorKind::Busy),
        (422, ErrorKind::Rejected),
        (423, ErrorKind::Busy),
        (429, ErrorKind::RateLimited { retry_after: minute }),
        (500, ErrorKind::Unavailable),
        (501, ErrorKind::NoAnswer),
        (502, ErrorKind::NoAnswer),
        (503, ErrorKind::Unavailable),
        (504, ErrorKind::NoAnswer),
        (520, ErrorKind::NoAnswer),
        (524, ErrorKind::NoAnswer),
    ] {
        assert_eq!(read_kind(status, problem("x", "y")).await, kind, "{status}");
        assert_eq!(read_kind(status, "<html>").await, kind, "{status}");
    }
}

#[tokio::test]
async fn only_the_vendors_own_not_found_proves_that_an_address_is_gone() {
    let script = Script::default().then(404, not_found());
    assert_eq!(script.open().read(ip()).await.unwrap(), None);
    let path = json!({ "error": "The path you're trying to reach does not exist" });
    for body in [path.to_string(), "<html>404</html>".into(), String::new()] {
        assert_eq!(read_kind(404, &body).await, ErrorKind::NoAnswer);
        let script = Script::default().then(404, &body);
        let error = script.open().release(ip()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
    }
}

#[tokio::test]
async fn the_vendors_words_are_shown_on_one_line_and_not_endlessly() {
    let words = format!("a\u{1b}[31m\nb\r{}", "é".repeat(500));
    let script = Script::default().then(400, problem("bad_request", &words));
    let error = script.open().read(ip()).await.unwrap_err();
    assert!(error.message.starts_with("a[31mbé"), "{error}");
    assert_eq!(error.message.chars().count(), 200);
    assert!(error.message.ends_with('…'));
}

#[tokio::test]
async fn without_words_the_status_is_shown() {
    for body in ["<html>", "", "{}", r#"{"message":"\n"}"#, r#"{"message":7}"#] {
        let error = Script::default().then(503, body).open().read(ip()).await.unwrap_err();
        assert_eq!(error.message, "DigitalOcean answered 503 Service Unavailable");
    }
}

#[tokio::test(start_paused = true)]
async fn a_429_does_not_wait_for_the_hour_unless_the_hour_is_used_up() {
    for (remaining, asked, wait) in [("4990", None, 5), ("0", None, 3000), ("4990", Some("9"), 9)] {
        let limited = Response::builder()
            .status(429)
            .header("date", "Sun, 06 Nov 1994 08:49:37 GMT")
            .header("ratelimit-limit", "5000")
            .header("ratelimit-remaining", remaining)
            .header("ratelimit-reset", (784_111_777 + 3000).to_string());
        let limited = match asked {
            Some(seconds) => limited.header("retry-after", seconds),
            None => limited,
        };
        let script = Script::default().then_answer(limited.body(Bytes::new()).unwrap());
        let retry_after = Duration::from_secs(wait);
        let kind = script.open().read(ip()).await.unwrap_err().kind;
        assert_eq!(kind, ErrorKind::RateLimited { retry_after }, "{remaining} left");
    }
}
