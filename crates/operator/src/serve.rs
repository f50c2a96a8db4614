//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::report::metrics::Metrics;

/// Whether the caches are synced. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<AtomicBool>);

impl Health {
    /// The caches are synced, or not.
    pub fn set_ready(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn is_ready(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Health and metrics.
    All,
    /// Health alone.
    Health,
}

/// Serves for as long as the listener lives.
///
/// # Errors
/// If the listener breaks.
pub async fn serve(
    listener: TcpListener,
    pages: Pages,
    health: Health,
    metrics: Metrics,
) -> std::io::Result<()> {
    let ready = move || async move {
        if health.is_ready() {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "the caches are not synced yet\n")
        }
    };
    let mut router =
        Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready));
    if pages == Pages::All {
        let page = move || async move {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, metrics.page()).into_response()
        };
        router = router.route("/metrics", get(page));
    }
    axum::serve(listener, router).await
}

/// Opens an address as the predecessors write it: `:8080` is every interface.
///
/// # Errors
/// In words that name the address.
pub async fn listen(address: &str) -> Result<TcpListener, String> {
    let parsed = match address.strip_prefix(':') {
        Some(port) => port.parse().map(|port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).ok(),
        None => address.parse().ok(),
    };
    let parsed = parsed.ok_or_else(|| {
        format!("\"{address}\" is not an address to listen on; write :8080 or 127.0.0.1:8080")
    })?;
    let listener = match TcpListener::bind(parsed).await {
        // A machine without IPv6.
        Err(_) if address.starts_with(':') => {
            TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], parsed.port()))).await
        }
        other => other,
    };
    listener.map_err(|error| format!("cannot listen on {address}: {error}"))
}
