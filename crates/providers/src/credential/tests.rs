//! A fake token endpoint and a fake signature, through the shared client.

use std::sync::Arc;

use http::Method;
use http::header::DATE;

use super::*;
use crate::access::Access;
use crate::contract::kind;
use crate::contract::script::Script;
use crate::rest::{Body, JSON, Rest, shown};
use crate::transport::TransportError;

const KEY: &str = "canary-key";

fn rest(credential: impl Credential + 'static, script: &Script) -> Rest {
    let clock = Clock::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(7));
    let access = Access {
        endpoint: "http://cloud".into(),
        credential: Arc::new(credential),
        user_agent: HeaderValue::from_static("test/1"),
        clock,
    };
    Rest::new(access, JSON, script.transport())
}

async fn change(rest: &Rest) -> Result<Response<Bytes>> {
    let body = Some(Body::form("a=1".into()));
    rest.send(Method::POST, "/things", body, Effect::Change, Priority::Failover).await
}

/// Asks `http://tokens` for a token and the seconds that it lasts.
#[derive(Debug)]
struct Tokens(Secret);

#[async_trait]
impl TokenSource for Tokens {
    async fn fetch(&self, line: &Line<'_>) -> Result<Fresh> {
        let form = format!("key={}", self.0.expose());
        let answer = line.fetch(Request::post("http://tokens/").body(form.into()).unwrap()).await?;
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        let kind = match answer.status().as_u16() {
            200 => {
                let (token, seconds) = text.split_once(' ').unwrap();
                let lasts = Duration::from_secs(seconds.parse().unwrap());
                return Ok(Fresh { token: Secret::new(token.into()).unwrap(), lasts });
            }
            401 => ErrorKind::Unauthorized,
            403 => ErrorKind::Forbidden,
            404 => ErrorKind::NotFound,
            429 => ErrorKind::RateLimited { retry_after: Duration::from_secs(9) },
            _ => ErrorKind::Unavailable,
        };
        Err(Error::new(kind, text))
    }

    fn strike_from(&self, text: &str) -> String {
        self.0.strike_from(text)
    }
}

fn refreshed(script: &Script) -> Rest {
    rest(Refreshed::new(Tokens(Secret::new(KEY.into()).unwrap())), script)
}

/// The `Authorization` header of each request.
fn borne(script: &Script) -> Vec<String> {
    let requests = script.requests.lock().unwrap();
    let header = |request: &Request<Bytes>| {
        request.headers().get(AUTHORIZATION).map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    requests.iter().map(header).collect()
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_until_shortly_before_it_expires() {
    let script =
        Script::default().then(200, "one 600").then(200, "").then(200, "").then(200, "two 20");
    let script = script.then(200, "").then(200, "three 600").then(200, "");
    let rest = refreshed(&script);
    change(&rest).await.unwrap();
    tokio::time::advance(Duration::from_secs(539)).await;
    change(&rest).await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    change(&rest).await.unwrap();
    // A token that lasts for less than the margin is used for half of its time.
    tokio::time::advance(Duration::from_secs(10)).await;
    change(&rest).await.unwrap();
    let (one, two, three) = ("Bearer one", "Bearer two", "Bearer three");
    assert_eq!(borne(&script), ["", one, one, "", two, "", three]);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_only_reads_and_is_as_urgent_as_the_request_that_waits() {
    let script = Script::default().then(200, "one 600").then(200, "");
    change(&refreshed(&script)).await.unwrap();
    let requests = script.requests.lock().unwrap();
    let stated = |nth: usize| requests[nth].extensions().get::<Effect>().copied();
    assert_eq!((stated(0), stated(1)), (Some(Effect::Read), Some(Effect::Change)));
    assert_eq!(requests[0].extensions().get::<Priority>(), Some(&Priority::Failover));
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_share_one_fetch_and_its_failure() {
    let script = Script::default().then(503, "down").then(200, "one 600");
    let rest = refreshed(&script.then(200, "").then(200, ""));
    let (one, two) = tokio::join!(change(&rest), change(&rest));
    assert_eq!((kind(one), kind(two)), (ErrorKind::NotSent, ErrorKind::NotSent));
    let (one, two) = tokio::join!(change(&rest), change(&rest));
    assert!(one.is_ok() && two.is_ok());
}

#[tokio::test(start_paused = true)]
async fn without_a_token_the_request_was_not_sent_whatever_became_of_the_fetch() {
    let limited = ErrorKind::RateLimited { retry_after: Duration::from_secs(9) };
    for (status, expected) in [
        (401, ErrorKind::Unauthorized),
        (403, ErrorKind::Unauthorized),
        (404, ErrorKind::NotSent),
        (429, limited),
        (500, ErrorKind::NotSent),
    ] {
        let script = Script::default().then(status, "no");
        assert_eq!(kind(change(&refreshed(&script)).await), expected, "{status}");
        assert_eq!(script.sent().len(), 1);
    }
    let lost = TransportError::NoAnswer("reset".into());
    let script = Script::default().then_error(lost);
    assert_eq!(kind(change(&refreshed(&script)).await), ErrorKind::NotSent);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_the_provider_refuses_is_not_used_again() {
    let script = Script::default().then(200, "one 600").then(401, "").then(200, "two 600");
    let script = script.then(200, "");
    let rest = refreshed(&script);
    assert_eq!(change(&rest).await.unwrap().status(), 401);
    change(&rest).await.unwrap();
    assert_eq!(borne(&script), ["", "Bearer one", "", "Bearer two"]);
}

#[tokio::test(start_paused = true)]
async fn neither_a_token_nor_the_secret_behind_it_is_shown() {
    let script = Script::default().then(200, "canary-1 600").then(401, "");
    let script = script.then(200, "canary-2 600").then(200, "").then(500, format!("bad {KEY}"));
    let rest = refreshed(&script);
    change(&rest).await.unwrap();
    change(&rest).await.unwrap();
    let echo = format!("{KEY} canary-1 canary-2");
    assert_eq!(shown(&echo, rest.credential()), "[token] [token] [token]");
    assert!(!format!("{rest:?}").contains("canary"), "{rest:?}");
    let sent = |nth: usize| format!("{:?}", script.requests.lock().unwrap()[nth]);
    assert!(!sent(1).contains("canary") && !sent(3).contains("canary"));
    rest.credential().refused();
    let error = change(&rest).await.unwrap_err();
    assert_eq!(error.message, "no access token could be obtained: bad [token]");
}

/// Signs with the sum of all bytes of the request.
#[derive(Debug)]
struct Signer(Secret);

fn sum(key: &str, request: &Request<Bytes>) -> u64 {
    let mut headers: Vec<_> = request.headers().iter().collect();
    headers.retain(|(name, _)| *name != AUTHORIZATION);
    let parts = format!("{key} {} {} {headers:?}", request.method(), request.uri());
    parts.bytes().chain(request.body().iter().copied()).map(u64::from).sum()
}

#[async_trait]
impl Credential for Signer {
    async fn authorise(&self, request: &mut Request<Bytes>, line: &Line<'_>) -> Result<()> {
        let date = HeaderValue::from_str(&httpdate::fmt_http_date(line.now())).unwrap();
        request.headers_mut().insert(DATE, date);
        let signature = HeaderValue::from(sum(self.0.expose(), request));
        request.headers_mut().insert(AUTHORIZATION, signature);
        Ok(())
    }

    fn strike_from(&self, text: &str) -> String {
        self.0.strike_from(text)
    }
}

#[tokio::test]
async fn a_signature_covers_the_request_as_it_is_sent() {
    let script = Script::default().then(200, "");
    let rest = rest(Signer(Secret::new(KEY.into()).unwrap()), &script);
    change(&rest).await.unwrap();
    let requests = script.requests.lock().unwrap();
    let sent = &requests[0];
    assert_eq!(sent.headers()[AUTHORIZATION], sum(KEY, sent).to_string().as_str());
    assert_eq!(sent.headers()[DATE], "Thu, 01 Jan 1970 00:00:07 GMT");
    assert_eq!(sent.headers()["content-type"], "application/x-www-form-urlencoded");
    assert!(!format!("{rest:?} {sent:?}").contains("canary"));
}
