//! The HTTP interface: whole requests in, whole answers out.
//!
//! A [`Transport`] is a tower service. The same provider client therefore runs over TCP with TLS,
//! over an in-process emulator, and under a paused clock; deadline, gate and budget are layers.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use tower::util::BoxCloneSyncService;
use tower::{ServiceExt, service_fn};

use crate::layers::HeldBack;
use crate::layers::gate::{Gate, GatedBody};
use crate::proxy::Way;

/// Sends one request and returns its whole answer.
pub type Transport = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, TransportError>;

/// The reason for a missing answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The request was not sent. No effect.
    #[error("not sent: {0}")]
    NotSent(String),
    /// The rate budget held the request back. Not sent, no effect.
    #[error("{}", held_back(.0))]
    RateLimited(HeldBack),
    /// The request may have been sent. The effect is unknown.
    #[error("no answer: {0}")]
    NoAnswer(String),
}

fn held_back(hold: &HeldBack) -> &'static str {
    match hold.pacing {
        true => "held back: requests are paced to stay within the vendor's rate limit",
        false => "held back: the vendor's rate limit is used up, or nearly so",
    }
}

/// The longest accepted answer, far above any provider's page.
const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// Connecting fails before the deadline of the call, so the call is known not to have been sent.
const CONNECT: Duration = Duration::from_secs(3);

/// Longer than the interval between two listings, so a failover finds an open connection.
const IDLE: Duration = Duration::from_secs(90);

/// The interval of HTTP/2 pings. All requests share the connection, and a silently dead connection
/// would swallow them until a ping fails.
const PING: Duration = Duration::from_secs(10);

/// The time limit for the answer to a ping.
const PONG: Duration = Duration::from_secs(5);

/// The interval of TCP keep-alive probes on an idle connection.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The transport to real providers: HTTP/1 or HTTP/2 as negotiated, TLS with the machine's
/// certificate authorities, plain HTTP for `http` URLs, and a proxy if the environment names one
/// (see `proxy.rs`).
///
/// - Requests do not queue behind each other: without a free connection, a new one is opened.
/// - Redirects are not followed, so a credential never reaches another host.
/// - [`NotSent`](TransportError::NotSent) means no server can have a whole copy of the request. All
///   other failures are [`NoAnswer`](TransportError::NoAnswer).
/// - A mutating request is sent only while `gate` allows, see [`Gate`].
/// - A request takes another connection if its pooled connection turns out to be closed before any
///   byte was written. The request is still sent only once.
///
/// Without certificate authorities on the machine, `https` URLs fail with `NotSent` and the reason.
pub fn https(gate: &Gate) -> Transport {
    let provider = ring::default_provider();
    match HttpsConnectorBuilder::new().with_provider_and_native_roots(provider) {
        Ok(tls) => {
            let way = Way::new(tcp(), Matcher::from_env(), CONNECT);
            over(tls.https_or_http().enable_http1().enable_http2().wrap_connector(way), gate)
        }
        Err(error) => plain_only(&error.to_string(), over(tcp(), gate)),
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    tcp.set_connect_timeout(Some(CONNECT));
    tcp
}

fn plain_only(problem: &str, plain: Transport) -> Transport {
    let reason: Arc<str> = format!("no certificate authorities on this machine: {problem}").into();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (plain, reason) = (plain.clone(), Arc::clone(&reason));
        async move {
            if request.uri().scheme() == Some(&Scheme::HTTP) {
                plain.oneshot(request).await
            } else {
                Err(TransportError::NotSent(reason.to_string()))
            }
        }
    }))
}

fn over<C>(connector: C, gate: &Gate) -> Transport
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client = Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .http2_keep_alive_while_idle(true)
        .build(connector);
    let sender = service_fn({
        let gate = gate.clone();
        move |request: Request<Bytes>| exchange(client.clone(), gate.clone(), request)
    });
    gate.around(Transport::new(sender))
}

async fn exchange<C>(
    client: Client<C, GatedBody>,
    gate: Gate,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, TransportError>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let (request, refusal) = gate.on(request);
    let answer = client.request(request).await;
    if let Some(reason) = refusal.get() {
        return Err(TransportError::NotSent(reason.clone()));
    }
    let (head, body) = answer.map_err(|error| unanswered(&error))?.into_parts();
    let body = Limited::new(body, LONGEST_ANSWER)
        .collect()
        .await
        .map_err(|error| TransportError::NoAnswer(whole_story(&*error)))?;
    Ok(Response::from_parts(head, body.to_bytes()))
}

fn unanswered(error: &ClientError) -> TransportError {
    // hyper cancels only requests not yet begun to be written.
    let unbegun = causes(error)
        .filter_map(|cause| cause.downcast_ref::<hyper::Error>())
        .any(hyper::Error::is_canceled);
    if error.is_connect() || unbegun {
        TransportError::NotSent(whole_story(error))
    } else {
        TransportError::NoAnswer(whole_story(error))
    }
}

fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The error with all its causes. hyper's own message leaves out the cause ("client error
/// (Connect)").
fn whole_story(error: &(dyn StdError + 'static)) -> String {
    let mut words: Vec<String> = causes(error).map(ToString::to_string).collect();
    words.dedup();
    words.join(": ")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Method, StatusCode};
    use http_body_util::Full;
    use hyper::body::Incoming;
    use hyper::server::conn::http2;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Barrier;

    use super::*;
    use crate::effect::Effect;

    const EMPTY: &str = "HTTP/1.1 204 No Content\r\n\r\n";

    async fn listen() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v2/things", listener.local_addr().unwrap());
        (listener, url)
    }

    /// A server giving `answer` to each request (head and body arrive in one piece).
    async fn answering(answer: impl Into<Bytes>) -> String {
        let (listener, url) = listen().await;
        let answer = answer.into();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = answer.clone();
                tokio::spawn(async move {
                    read_some(&mut stream).await;
                    stream.write_all(&answer).await.unwrap();
                });
            }
        });
        url
    }

    async fn read_some(stream: &mut TcpStream) -> String {
        let mut buffer = vec![0; 4096];
        let length = stream.read(&mut buffer).await.unwrap_or(0);
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    fn request(method: Method, url: &str, body: &'static str) -> Request<Bytes> {
        Request::builder().method(method).uri(url).body(body.into()).unwrap()
    }

    fn stating(effect: Effect, mut request: Request<Bytes>) -> Request<Bytes> {
        request.extensions_mut().insert(effect);
        request
    }

    async fn call(
        gate: &Gate,
        method: Method,
        url: &str,
        body: &'static str,
    ) -> Result<Response<Bytes>, TransportError> {
        https(gate).oneshot(request(method, url, body)).await
    }

    #[tokio::test]
    async fn a_request_and_its_answer_pass_whole() {
        let (listener, url) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let seen = read_some(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nhello")
                .await
                .unwrap();
            seen
        });
        let answer = call(&Gate::open(), Method::POST, &url, "{\"a\":1}").await.unwrap();
        assert_eq!((answer.status(), &answer.body()[..]), (StatusCode::CREATED, &b"hello"[..]));
        let seen = server.await.unwrap();
        assert!(seen.starts_with("POST /v2/things HTTP/1.1\r\n"), "{seen}");
        assert!(seen.contains("content-length: 7\r\n") && seen.ends_with("{\"a\":1}"), "{seen}");
    }

    #[tokio::test]
    async fn without_a_connection_the_request_was_not_sent() {
        let (listener, url) = listen().await;
        drop(listener);
        let error = call(&Gate::open(), Method::POST, &url, "{}").await.unwrap_err();
        let TransportError::NotSent(words) = error else { panic!("{error:?}") };
        assert!(words.to_lowercase().contains("connection refused"), "{words}");
    }

    #[tokio::test]
    async fn a_connection_that_breaks_after_the_request_leaves_its_effect_unknown() {
        let url = answering("").await;
        let error = call(&Gate::open(), Method::POST, &url, "{}").await.unwrap_err();
        assert!(matches!(error, TransportError::NoAnswer(_)), "{error:?}");
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_leaves_the_effect_unknown() {
        let url = answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhell").await;
        let error = call(&Gate::open(), Method::POST, &url, "{}").await.unwrap_err();
        assert!(matches!(error, TransportError::NoAnswer(_)), "{error:?}");
    }

    #[tokio::test]
    async fn an_endless_answer_is_not_read_to_its_end() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(LONGEST_ANSWER + 1024, b' ');
        let url = answering(answer).await;
        let error = call(&Gate::open(), Method::GET, &url, "").await.unwrap_err();
        let TransportError::NoAnswer(words) = error else { panic!("{error:?}") };
        assert!(words.contains("limit exceeded"), "{words}");
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_is_not_followed() {
        let target = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\
                      content-length: 0\r\n\r\n";
        let url = answering(target).await;
        let answer = call(&Gate::open(), Method::GET, &url, "").await.unwrap();
        assert_eq!(answer.status(), StatusCode::FOUND);
    }

    #[tokio::test]
    async fn a_hundred_first_requests_go_out_at_once() {
        let (listener, url) = listen().await;
        let all_here = Arc::new(Barrier::new(100));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let all_here = all_here.clone();
                tokio::spawn(async move {
                    read_some(&mut stream).await;
                    all_here.wait().await;
                    stream.write_all(EMPTY.as_bytes()).await.unwrap();
                });
            }
        });
        let transport = https(&Gate::open());
        let calls: Vec<_> = (0..100)
            .map(|_| tokio::spawn(transport.clone().oneshot(request(Method::POST, &url, "{}"))))
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap().status(), StatusCode::NO_CONTENT);
        }
    }

    #[tokio::test]
    async fn a_shut_gate_stops_changes_before_a_connection_is_made_and_lets_reads_pass() {
        let (listener, url) = listen().await;
        let gate = Gate::new(|_| Err("not the leader".into()));
        let transport = https(&gate);
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let silent = request(method.clone(), &url, "{}");
            for request in [stating(Effect::Change, silent.clone()), silent] {
                let error = transport.clone().oneshot(request).await.unwrap_err();
                assert_eq!(error, TransportError::NotSent("not the leader".into()), "{method}");
            }
        }
        drop(listener);
        let url = answering(EMPTY).await;
        for method in [Method::GET, Method::POST] {
            let read = stating(Effect::Read, request(method, &url, "a=1"));
            transport.clone().oneshot(read).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_gate_that_shuts_while_the_connection_is_made_keeps_every_byte_back() {
        let (listener, url) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_some(&mut stream).await
        });
        let asked = AtomicUsize::new(0);
        let gate = Gate::new(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(()),
            _ => Err("the lease ran out".into()),
        });
        let error = call(&gate, Method::POST, &url, "{}").await.unwrap_err();
        assert_eq!(error, TransportError::NotSent("the lease ran out".into()));
        assert_eq!(server.await.unwrap(), "");
    }

    /// Sends a request over HTTP/2, and tells whether the server got the whole body.
    async fn body_over_http2(gate: Gate) -> (Result<Response<Bytes>, TransportError>, bool) {
        let (listener, url) = listen().await;
        let (tell, mut told) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                let tell = tell.clone();
                async move {
                    let whole = request.into_body().collect().await.is_ok();
                    tell.send(whole).await.unwrap();
                    Ok::<_, hyper::Error>(Response::new(Full::<Bytes>::default()))
                }
            });
            http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await
        });
        let client = Client::builder(TokioExecutor::new()).http2_only(true).build(tcp());
        let result = exchange(client, gate, request(Method::POST, &url, "{}")).await;
        (result, told.recv().await.unwrap_or(false))
    }

    #[tokio::test]
    async fn over_http2_too_a_shut_gate_keeps_the_body_back_and_says_why() {
        let (result, whole) = body_over_http2(Gate::open()).await;
        assert_eq!((result.unwrap().status(), whole), (StatusCode::OK, true));
        let (result, whole) = body_over_http2(Gate::new(|_| Err("too late".into()))).await;
        assert_eq!(result.unwrap_err(), TransportError::NotSent("too late".into()));
        assert!(!whole);
    }

    #[tokio::test]
    async fn without_certificate_authorities_https_says_so_and_plain_http_works() {
        let transport = plain_only("none found", over(tcp(), &Gate::open()));
        let secure = request(Method::GET, "https://127.0.0.1:1/", "");
        let error = transport.clone().oneshot(secure).await.unwrap_err();
        let words = "no certificate authorities on this machine: none found";
        assert_eq!(error, TransportError::NotSent(words.into()));
        let url = answering(EMPTY).await;
        transport.oneshot(request(Method::GET, &url, "")).await.unwrap();
    }
}
