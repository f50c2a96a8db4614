//! `/healthz`, `/readyz` and `/metrics` over HTTP; `/` names them.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use pontoon_core::Time;
use tokio::net::TcpListener;

use crate::env::Env;
use crate::observe::hearing::Hearing;
use crate::report::metrics::Metrics;

/// Longest pause of the main loop before the process counts as stuck. Stopping pauses the loop for
/// at most 26 s.
const STUCK: Duration = Duration::from_secs(30);

/// Whether the main loop runs, and whether the watches are heard. Clones share the state.
#[derive(Clone, Debug)]
pub struct Health {
    env: Env,
    beat: Arc<AtomicI64>,
    hearing: Hearing,
}

impl Default for Health {
    fn default() -> Self {
        Self::new(Env::real())
    }
}

impl Health {
    /// Health on this clock, starting with a heartbeat.
    pub fn new(env: Env) -> Self {
        let beat = Arc::new(AtomicI64::new(env.now().as_micros()));
        Self { env, beat, hearing: Hearing::default() }
    }

    /// Notes a heartbeat of the main loop.
    pub fn beats(&self, now: Time) {
        self.beat.store(now.as_micros(), Ordering::Relaxed);
    }

    /// The state of the watches.
    pub fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    /// Why the process should be restarted, if so.
    fn stuck(&self) -> Option<String> {
        let beat = Time::from_micros(self.beat.load(Ordering::Relaxed));
        let time = self.env.now().since(beat);
        (time > STUCK).then(|| format!("the main loop has not gone round for {} s", time.as_secs()))
    }

    /// Why our view of the cluster may be incomplete or out of date, if so.
    fn blind(&self) -> Option<String> {
        self.stuck().or_else(|| self.hearing.trouble(self.env.now()))
    }
}

/// The pages of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Health and metrics.
    All,
    /// Health alone.
    Health,
}

impl Pages {
    /// The page that names the others.
    fn named(self) -> &'static str {
        match self {
            Self::All => "pontoon\n/healthz\n/readyz\n/metrics\n",
            Self::Health => "pontoon\n/healthz\n/readyz\n",
        }
    }
}

/// Serves the pages until the listener fails.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    pages: Pages,
    health: Health,
    metrics: Metrics,
) -> std::io::Result<()> {
    let answer = |trouble: Option<String>, status| match trouble {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(trouble) => (status, format!("{trouble}\n")),
    };
    let of = health.clone();
    let alive = move || async move { answer(of.stuck(), StatusCode::INTERNAL_SERVER_ERROR) };
    let of = health.clone();
    let ready = move || async move { answer(of.blind(), StatusCode::SERVICE_UNAVAILABLE) };
    let router = Router::new().route("/", get(move || async move { pages.named() }));
    let mut router = router.route("/healthz", get(alive)).route("/readyz", get(ready));
    if pages == Pages::All {
        let page = move || async move {
            metrics.heard(&health.hearing.last_heard());
            metrics.health(health.blind().is_none(), health.stuck().is_none());
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, metrics.page()).into_response()
        };
        router = router.route("/metrics", get(page));
    }
    axum::serve(listener, router).await
}

/// Listens on an address in the predecessors' format: `:8080` means every interface, and a host may
/// be a name.
///
/// # Errors
/// In words, with the address.
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
        // The machine has no IPv6.
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

    #[test]
    fn a_main_loop_that_does_not_go_round_is_told_and_one_that_goes_on_is_well() {
        let time = Arc::new(AtomicI64::new(0));
        let clock = time.clone();
        let elapsed = move || Duration::from_secs(clock.load(Ordering::Relaxed).unsigned_abs());
        let health = Health::new(Env::new(elapsed, Time::default(), fastrand::Rng::with_seed(1)));
        time.store(30, Ordering::Relaxed);
        assert_eq!(health.stuck(), None);
        time.store(31, Ordering::Relaxed);
        let told = "the main loop has not gone round for 31 s";
        assert_eq!(health.stuck().as_deref(), Some(told));
        assert_eq!(health.blind().as_deref(), Some(told), "what it knows is not used");
        health.beats(health.env.now());
        assert_eq!(health.stuck(), None);
        assert_eq!(health.blind().as_deref(), Some("no watch has begun yet"));
    }

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
