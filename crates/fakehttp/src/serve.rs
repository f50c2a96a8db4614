//! TCP entry point: HTTP/1.1 on loopback.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tower::Service;

use crate::passage::Lost;

/// A listening emulator. Dropping it closes the listener and all connections; requests in progress
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

    /// Listens on a loopback address; port 0 picks a free port. `service` must always be ready.
    ///
    /// # Errors
    /// If the address is not a loopback address, or cannot be bound.
    pub async fn start<S, B>(service: S, addr: SocketAddr) -> io::Result<Self>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Lost>,
        S: Clone + Send + 'static,
        S::Future: Send,
        B: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
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
async fn accept<S, B>(listener: TcpListener, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Lost>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
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
async fn connection<S, B>(stream: TcpStream, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Lost> + Clone,
    B: http_body::Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| service.clone().call(request));
    let _ = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
