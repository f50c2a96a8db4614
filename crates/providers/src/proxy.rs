//! Connections to a provider, direct or through a proxy from the environment.
//!
//! As in curl and Go, `HTTPS_PROXY` (or `ALL_PROXY`) names the proxy for `https` URLs, except hosts
//! in `NO_PROXY`. The proxy gets a `CONNECT`, so TLS ends at the provider and the proxy sees no
//! token. Plain `http` is always direct, because such an endpoint is expected to be local.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::{BoxError, Service};

/// Connects to a host, directly or through the proxy.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    tcp: HttpConnector,
    proxies: Arc<Matcher>,
    limit: Duration,
}

impl Way {
    /// `limit` is the longest wait for a proxy's tunnel.
    pub fn new(tcp: HttpConnector, proxies: Matcher, limit: Duration) -> Self {
        Self { tcp, proxies: Arc::new(proxies), limit }
    }

    fn proxy_to(&self, destination: &Uri) -> Option<Intercept> {
        let encrypted = destination.scheme() == Some(&Scheme::HTTPS);
        self.proxies.intercept(destination).filter(|_| encrypted)
    }
}

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, BoxError>> + Send>>;

impl Service<Uri> for Way {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: Uri) -> Connecting {
        let Some(proxy) = self.proxy_to(&destination) else {
            let connecting = self.tcp.call(destination);
            return Box::pin(async { Ok(connecting.await?) });
        };
        if proxy.uri().scheme() != Some(&Scheme::HTTP) {
            return Box::pin(async { Err("the proxy for https must be an http:// URL".into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp.clone());
        if let Some(secret) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(secret.clone());
        }
        let connecting = timeout(self.limit, tunnel.call(destination));
        Box::pin(async { Ok(connecting.await.map_err(|_| "the proxy does not answer")??) })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(3);

    fn way(proxy: &str) -> Way {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        Way::new(tcp, Matcher::builder().https(proxy).no("127.0.0.1").build(), LIMIT)
    }

    /// A proxy serving one connection. Returns the caller's `CONNECT` and the bytes sent
    /// afterwards.
    async fn proxy(answer: &'static str) -> (String, tokio::task::JoinHandle<(String, String)>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://me:secret@{}", listener.local_addr().unwrap());
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let asked = some(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
            (asked, some(&mut stream).await)
        });
        (url, served)
    }

    async fn some(stream: &mut TcpStream) -> String {
        let mut buffer = vec![0; 4096];
        let length = stream.read(&mut buffer).await.unwrap_or(0);
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[tokio::test]
    async fn https_goes_through_the_proxy_to_the_end() {
        let (url, served) = proxy("HTTP/1.1 200 Connection established\r\n\r\n").await;
        let destination = Uri::from_static("https://api.example.com/v2/things");
        let mut stream = way(&url).call(destination).await.unwrap().into_inner();
        stream.write_all(b"inside").await.unwrap();
        drop(stream);
        let (asked, sent) = served.await.unwrap();
        assert!(asked.starts_with("CONNECT api.example.com:443 HTTP/1.1\r\n"), "{asked}");
        let asked = asked.to_ascii_lowercase();
        assert!(asked.contains("proxy-authorization: basic bwu6c2vjcmv0"), "{asked}");
        assert_eq!(sent, "inside");
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_is_told_without_its_password() {
        let (url, _served) = proxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
        let destination = Uri::from_static("https://api.example.com");
        let error = way(&url).call(destination).await.unwrap_err().to_string();
        assert!(error.contains("proxy authorization required"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[tokio::test]
    async fn plain_http_and_what_no_proxy_lists_go_straight() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        // No proxy listens here, so a connection through the proxy would fail.
        let way = way("http://127.0.0.1:1");
        for url in [format!("http://{here}"), format!("https://{here}")] {
            way.clone().call(url.parse().unwrap()).await.unwrap();
        }
        let plain = Uri::from_static("http://api.example.com");
        assert!(way.proxy_to(&plain).is_none());
    }
}
