//! The client over real sockets, and its limits.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use pontoon_core::nodes::MOST_NAMESPACES;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{MOST_ACTIONS, MOST_STATUSES, Requests, connect};
use crate::fronts::FRONTS;

#[test]
fn every_watch_and_the_most_writes_fit_into_the_requests_of_a_connection() {
    let dependencies = FRONTS.iter().map(|front| front.dependencies().len()).sum::<usize>();
    // A definition and the objects of each kind, nodes, pods and ReplicaSets.
    let watches = 2 * (FRONTS.len() + dependencies) + 1 + 2 * MOST_NAMESPACES;
    // An event, and the identity of the cluster.
    let writes = MOST_ACTIONS + MOST_STATUSES + 2;
    assert!(watches + writes <= 100, "{watches} watches and {writes} others");
}

#[tokio::test]
async fn a_kubeconfig_behind_an_http_proxy_can_be_used() {
    let mut config = Config::new(http::Uri::from_static("https://127.0.0.1:6443"));
    config.proxy_url = Some(http::Uri::from_static("http://127.0.0.1:3128"));
    connect(config, Requests::Any).unwrap();
}

/// The certificate of a server, and the server's TLS with HTTP/2.
fn tls() -> (Vec<u8>, TlsAcceptor) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    (cert.der().to_vec(), TlsAcceptor::from(Arc::new(config)))
}

/// Serves a connection. The first connection with a request answers pings, and no request; each other
/// one answers with its number.
async fn answer(asked: Arc<AtomicUsize>, stream: TcpStream, tls: TlsAcceptor) {
    // A client that waited too long gives up its connection.
    let Ok(stream) = tls.accept(stream).await else { return };
    let number = OnceLock::new();
    let service = service_fn(move |_| {
        let number = *number.get_or_init(|| asked.fetch_add(1, Ordering::Relaxed));
        async move {
            if number == 0 {
                pending::<()>().await;
            }
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(number.to_string()))))
        }
    });
    let server = http2::Builder::new(TokioExecutor::new());
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

/// The configuration of a client of a server whose first connection hangs. The server ends with
/// the test.
async fn hanging() -> Config {
    let (certificate, tls) = tls();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(asked.clone(), stream, tls.clone()));
        }
    });
    let mut config = Config::new(url.parse().unwrap());
    config.root_cert = Some(vec![certificate]);
    config
}

#[tokio::test]
async fn a_server_that_answers_pings_and_nothing_else_gets_a_new_connection() {
    let leases = Requests::Leases(Duration::from_millis(400));
    let client = connect(hanging().await, leases).unwrap();
    let ask = || {
        let request = Request::get("/version").body(Vec::new()).unwrap();
        timeout(Duration::from_millis(500), client.request_text(request))
    };
    for _ in 0..2 {
        assert!(ask().await.is_err(), "the first connection hangs");
    }
    // Each attempt may take long on a busy machine.
    for _ in 0..20 {
        if let Ok(answer) = ask().await {
            assert_ne!(answer.unwrap(), "0");
            return;
        }
    }
    panic!("every request went over the connection that hangs");
}
