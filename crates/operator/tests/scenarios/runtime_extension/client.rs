//! A client of the runtime extension, in Cluster API's place.

use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const GATE: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/beforeclustercreate/\
                    vip-allocator-before-cluster-create?timeout=10s";

/// A certificate with its key, and a client that trusts it.
pub struct Pair {
    chain: String,
    key: String,
    client: TlsConnector,
}

impl Pair {
    pub fn new() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (chain, key) = (cert.pem(), signing_key.serialize_pem());
        Self { chain, key, client: TlsConnector::from(Arc::new(client)) }
    }

    /// Writes the pair where a replica looks for it.
    pub fn write(&self, folder: &Path) {
        std::fs::write(folder.join("tls.crt"), &self.chain).unwrap();
        std::fs::write(folder.join("tls.key"), &self.key).unwrap();
    }

    /// Asks the gate of a replica.
    pub async fn gate(&self, port: u16, request: &Value) -> Result<Value, String> {
        self.post(port, request).await.map_err(|error| error.to_string())
    }

    async fn post(&self, port: u16, request: &Value) -> std::io::Result<Value> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = self.client.connect(name, stream).await?;
        let body = request.to_string();
        let length = body.len();
        let head = format!("POST {GATE} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        Ok(serde_json::from_str(body)?)
    }
}
