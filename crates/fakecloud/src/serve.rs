//! TCP entry point: HTTP/1.1 on loopback.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tower::{Service, ServiceExt};

use crate::admin;
use crate::call::Call;
use crate::service::{CloudService, Lost};

/// A listening cloud. Dropping it closes the listener and all connections; requests in progress
/// still have their effect.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// The listening address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:port`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Listens on an address; port 0 picks a free port.
    pub(crate) async fn start(service: CloudService, addr: SocketAddr) -> io::Result<Self> {
        if !addr.ip().is_loopback() {
            let what = format!("{addr} is not a loopback address");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, service));
        Ok(Self { addr, accepting })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Accepts connections until aborted. Connections end with the task.
async fn accept(listener: TcpListener, service: CloudService) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(connection(stream, service.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection. The service reports a lost answer as an error, and hyper then closes the
/// connection without an answer.
async fn connection(stream: TcpStream, service: CloudService) {
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| answer(service.clone(), request));
    let _ = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn answer(
    mut service: CloudService,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Lost> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
    let request = Request::from_parts(parts, body);
    if request.uri().path().starts_with(admin::PREFIX) {
        return Ok(admin::answer(service.cloud(), &Call::new(request)).map(Full::new));
    }
    let response = service.ready().await?.call(request).await?;
    Ok(response.map(Full::new))
}
