//! The client of the API server.

mod renewed;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client as HttpClient};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use renewed::{Judgement, Renewed};
use tokio::time::timeout;
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};

/// Deadline of every write to Kubernetes.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// Most writes of actions, and most writes of statuses, under way. With every watch they fit into the
/// requests that kube-apiserver serves on a connection at a time, 100 by default; more would wait for
/// one of these to end. A restart may find every status of a large cluster out of date.
pub const MOST_ACTIONS: usize = 32;
/// See [`MOST_ACTIONS`].
pub const MOST_STATUSES: usize = 8;

/// Our user agent, for the API server's audit log.
const WHO: &str = concat!("pontoon/", env!("CARGO_PKG_VERSION"));

/// Deadline for opening a connection, TLS included. Then another attempt follows.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Silence on an HTTP/2 connection after which a ping is sent.
const PING: Duration = Duration::from_secs(3);

/// Deadline for the answer to a ping. Then the connection is closed.
const PONG: Duration = Duration::from_secs(3);

/// TCP keep-alive, for connections without HTTP/2; detects a dead machine, not a dead process. Up
/// to three probes are sent, the first after 5 s of silence; unacknowledged data counts too.
const TCP_IDLE: Duration = Duration::from_secs(5);
const TCP_INTERVAL: Duration = Duration::from_secs(3);
const TCP_QUESTIONS: u32 = 3;
const TCP_UNACKNOWLEDGED: Duration = Duration::from_secs(14);

/// Age from which a read without an answer shows that the server hangs. The deadlines of reads are 10 s
/// and more.
const UNANSWERED: Duration = Duration::from_secs(8);

/// Flow-control windows of a stream and of the connection. Watches that wait for the main loop
/// leave room for writes, which share the connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// The requests of a client.
#[derive(Clone, Copy, Debug)]
pub enum Requests {
    /// Any requests.
    Any,
    /// Requests for Leases alone, which are renewed within this time.
    Leases(Duration),
}

/// A client that sends each request at once, reports each failure, and detects a dead connection
/// within seconds (decisions 5 and 19). Each client has a connection of its own, which is replaced when
/// the server answers pings and no reads.
///
/// kube's default client leaves Nagle's algorithm on, which delays the first request of a
/// connection by 40 ms, retries failed requests on its own schedule, and waits for ever on a
/// connection that died in silence. Behind a proxy the default client is used.
///
/// # Errors
/// If the configuration names certificates or credentials that cannot be used.
pub fn connect(mut config: Config, requests: Requests) -> kube::Result<Client> {
    config.headers.push((USER_AGENT, HeaderValue::from_static(WHO)));
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let tls = tls(&config, tcp(&config))?;
    let connector = service_fn(move |uri: Uri| {
        let connecting = timeout(CONNECT_DEADLINE, tls.clone().oneshot(uri));
        Box::pin(async { connecting.await.unwrap_or_else(|late| Err(BoxError::from(late))) })
    });
    let open = move || -> HttpClient<_, Body> {
        Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PONG)
            .http2_keep_alive_while_idle(true)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .build(connector.clone())
    };
    let began = Instant::now();
    let judgement = match requests {
        Requests::Any => Judgement { age: UNANSWERED, writes: false },
        Requests::Leases(renewal) => Judgement { age: renewal / 4, writes: true },
    };
    let http = Renewed::new(open, judgement, Box::new(move || began.elapsed()));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .service(service_fn(move |request| Arc::clone(&http).ask(request)));
    Ok(Client::new(service, config.default_namespace))
}

fn tcp(config: &Config) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout.map(|time| time.min(CONNECT_DEADLINE)));
    tcp.set_keepalive(Some(TCP_IDLE));
    tcp.set_keepalive_interval(Some(TCP_INTERVAL));
    tcp.set_keepalive_retries(Some(TCP_QUESTIONS));
    tcp.set_tcp_user_timeout(Some(TCP_UNACKNOWLEDGED));
    tcp
}

/// TLS by the configuration, with HTTP/2 where the server speaks HTTP/2. kube's default connector
/// offers HTTP/1.1 alone, which has no pings.
fn tls(config: &Config, tcp: HttpConnector) -> kube::Result<HttpsConnector<HttpConnector>> {
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(config.rustls_client_config()?)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        // kube's own connector reports the invalid name.
        let Ok(name) = name.clone().try_into() else {
            return config.rustls_https_connector_with_connector(tcp);
        };
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_http1().enable_http2().wrap_connector(tcp))
}
