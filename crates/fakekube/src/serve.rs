//! TCP entry point: HTTP/1.1 on loopback.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tower::Service;

use crate::service::KubeService;

/// A listening server. Dropping it closes the listener and all connections; requests in progress
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

    /// A kubeconfig for this server, with a context `fakekube` and the namespace `default`, as JSON
    /// (a subset of YAML).
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let name = "fakekube";
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": self.url()}}],
            "users": [{"name": name, "user": {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
        });
        format!("{config:#}\n")
    }

    /// Writes the kubeconfig to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> io::Result<()> {
        std::fs::write(path, self.kubeconfig())
    }

    /// Listens on an address; port 0 picks a free port.
    pub(crate) async fn start(service: KubeService, addr: SocketAddr) -> io::Result<Self> {
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
async fn accept(listener: TcpListener, service: KubeService) {
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
async fn connection(stream: TcpStream, service: KubeService) {
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| service.clone().call(request));
    let _ = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
