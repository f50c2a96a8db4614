//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::net::{Ipv4Addr, Ipv6Addr};
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

/// Opens an address as the predecessors write it: `:8080` is every interface, and a host may
/// be a name.
///
/// # Errors
/// In words that name the address.
pub async fn listen(address: &str) -> Result<TcpListener, String> {
    let listener = match address.rsplit_once(':') {
        Some(("", port)) => match port.parse() {
            Ok(port) => everywhere(port).await,
            Err(_) => return Err(not_an_address(address)),
        },
        Some((_, port)) if port.parse::<u16>().is_ok() => TcpListener::bind(address).await,
        _ => return Err(not_an_address(address)),
    };
    listener.map_err(|error| format!("cannot listen on {address}: {error}"))
}

async fn everywhere(port: u16) -> std::io::Result<TcpListener> {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        // A machine without IPv6.
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
        opened => opened,
    }
}

fn not_an_address(address: &str) -> String {
    format!("\"{address}\" is not an address to listen on; write :8080 or 127.0.0.1:8080")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_may_be_a_port_a_number_or_a_name() {
        for address in [":0", "127.0.0.1:0", "localhost:0"] {
            let opened = listen(address).await.unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(opened.local_addr().unwrap().port(), 0, "{address}");
        }
    }

    #[tokio::test]
    async fn what_is_no_address_is_refused_with_its_name() {
        for address in ["8080", ":", ":http", "localhost", "localhost:99999"] {
            let error = listen(address).await.unwrap_err();
            assert!(error.contains(&format!("\"{address}\" is not an address")), "{error}");
        }
    }
}
