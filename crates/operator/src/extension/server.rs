//! HTTPS, one request for each connection. Slow, silent and greedy clients are cut off.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::crypto::ring;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::Extension;
use super::certificate::Certificate;
use super::hooks::Astray;

/// Wait after a failure to accept a connection, e.g. for want of file descriptors.
const BREATH: Duration = Duration::from_secs(1);

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time. Further ones wait.
    pub connections: usize,
    /// Time for a whole connection, from the handshake to the end of the answer.
    pub time: Duration,
    /// Largest body of a request, in bytes.
    pub body: usize,
    /// Time between two looks at the files of the certificate.
    pub reload: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 32,
            time: Duration::from_secs(10),
            body: 3 << 20,
            reload: Duration::from_secs(5),
        }
    }
}

/// Serves until dropped.
pub async fn serve(
    listener: TcpListener,
    extension: Arc<Extension>,
    certificate: Arc<Certificate>,
    limits: Limits,
) {
    let tls = match tls(&certificate) {
        Ok(tls) => tls,
        Err(error) => {
            tracing::error!(%error, "the runtime extension cannot be served");
            return;
        }
    };
    let following = certificate.follow(limits.reload);
    let accepting = accept(listener, extension, tls, limits);
    tokio::join!(following, accepting);
}

/// TLS 1.2 and 1.3, with the certificate of the moment.
fn tls(certificate: &Arc<Certificate>) -> Result<TlsAcceptor, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(certificate) as _);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(
    listener: TcpListener,
    extension: Arc<Extension>,
    tls: TlsAcceptor,
    limits: Limits,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    // The semaphore is never closed.
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the runtime extension cannot accept a connection");
                sleep(BREATH).await;
                continue;
            }
        };
        let (tls, extension) = (tls.clone(), Arc::clone(&extension));
        tokio::spawn(async move {
            let exchange = exchange(stream, tls, extension, limits.body);
            match timeout(limits.time, exchange).await {
                Ok(Ok(())) => {}
                Ok(Err(trouble)) => tracing::debug!(trouble, "connection ended"),
                Err(_) => tracing::debug!("connection ended: too slow"),
            }
            drop(slot);
        });
    }
}

/// One request and its answer.
async fn exchange(
    stream: TcpStream,
    tls: TlsAcceptor,
    extension: Arc<Extension>,
    most: usize,
) -> Result<(), String> {
    let stream = tls.accept(stream).await.map_err(|error| error.to_string())?;
    let service = service_fn(|request| {
        let extension = Arc::clone(&extension);
        async move { Ok::<_, Infallible>(answer(&extension, request, most).await) }
    });
    // The connection as a whole has a time limit, and so needs none for the head.
    let mut http = http1::Builder::new();
    http.keep_alive(false).header_read_timeout(None);
    let served = http.serve_connection(TokioIo::new(stream), service).await;
    served.map_err(|error| error.to_string())
}

async fn answer(
    extension: &Extension,
    request: Request<Incoming>,
    most: usize,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    // The whole body is read in any case: a client that still writes may miss an early answer.
    let body = read(body, most).await;
    match extension.route(&head.method, head.uri.path()) {
        Ok(route) => {
            let body = body.as_deref().map_err(Clone::clone);
            in_json(StatusCode::OK, &extension.answer(route, body))
        }
        Err(Astray { status, allow, answer }) => {
            let mut response = in_json(status, &answer);
            let allow = allow.and_then(|method| HeaderValue::from_str(method.as_str()).ok());
            response.headers_mut().extend(allow.map(|method| (ALLOW, method)));
            response
        }
    }
}

/// Reads a body to its end, and keeps no more of it than allowed.
async fn read(mut body: Incoming, most: usize) -> Result<Vec<u8>, String> {
    let (mut kept, mut size) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| "the request ended too early".to_owned())?;
        let Some(data) = frame.data_ref() else { continue };
        size = size.saturating_add(data.len());
        match size > most {
            true => kept = Vec::new(),
            false => kept.extend_from_slice(data),
        }
    }
    match size > most {
        true => Err(format!("the request is larger than {most} bytes")),
        false => Ok(kept),
    }
}

fn in_json(status: StatusCode, answer: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
