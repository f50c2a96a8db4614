//! The runtime extension over real TLS sockets.

mod certificates;
mod gate;
mod hooks;
mod hostile;
mod patches;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certificate::Certificate;
use super::server::{Limits, serve};
use super::{Board, Extension};

/// Group and version of the hooks, as Cluster API writes them.
const API: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// A certificate for this machine, and a client that trusts that certificate alone.
struct Pair {
    chain: String,
    key: String,
    client: TlsConnector,
}

impl Pair {
    fn new() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        // A resumed session shows no certificate.
        client.resumption = Resumption::disabled();
        let (chain, key) = (cert.pem(), signing_key.serialize_pem());
        Self { chain, key, client: TlsConnector::from(Arc::new(client)) }
    }

    fn write(&self, folder: &Path) {
        std::fs::write(folder.join("tls.crt"), &self.chain).unwrap();
        std::fs::write(folder.join("tls.key"), &self.key).unwrap();
    }

    async fn connect(&self, address: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        self.client.connect(ServerName::try_from("localhost").unwrap(), stream).await
    }
}

/// A running extension, and a client of it.
struct Stage {
    address: SocketAddr,
    pair: Pair,
    folder: TempDir,
    serving: JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Limits that a test does not reach by being slow.
fn limits() -> Limits {
    let (time, reload) = (Duration::from_secs(60), Duration::from_millis(20));
    Limits { connections: 8, time, body: 100_000, reload }
}

/// An extension without anything seen.
fn extension() -> Extension {
    let (name, board) = ("vip-allocator".to_owned(), Board::open());
    Extension { name, resting: None, namespace: None, board }
}

impl Stage {
    async fn open() -> Self {
        Self::with(extension(), limits()).await
    }

    async fn with(extension: Extension, limits: Limits) -> Self {
        let (pair, folder) = (Pair::new(), tempfile::tempdir().unwrap());
        pair.write(folder.path());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let certificate = Arc::new(Certificate::in_folder(folder.path()));
        certificate.read();
        let serving = tokio::spawn(serve(listener, Arc::new(extension), certificate, limits));
        Self { address, pair, folder, serving }
    }

    /// Sends a request as it is, and returns status and answer.
    async fn send(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let mut stream = self.pair.connect(self.address).await.unwrap();
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        received(stream).await
    }

    /// Calls a handler as Cluster API does.
    async fn call(&self, hook: &str, handler: &str, request: Value) -> Value {
        let path = format!("/{API}/{}/{handler}?timeout=10s", hook.to_ascii_lowercase());
        let mut body = json!({"apiVersion": API, "kind": format!("{hook}Request")});
        body.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        let (status, answer) = self.send("POST", &path, body.to_string().as_bytes()).await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["kind"], format!("{hook}Response"));
        answer
    }

    async fn gate(&self, cluster: Value) -> Value {
        let request = json!({"cluster": cluster});
        self.call("BeforeClusterCreate", "vip-allocator-before-cluster-create", request).await
    }
}

/// Status and answer of a response.
async fn received(mut stream: TlsStream<TcpStream>) -> (u16, Value) {
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

/// Waits for a condition.
async fn eventually<T>(what: &str, mut is_there: impl AsyncFnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = is_there().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("{what}"))
}
