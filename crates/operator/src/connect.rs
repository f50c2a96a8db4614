//! The client of the API server.

use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client as HttpClient};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::ServiceBuilder;

/// Every write to Kubernetes gives up after this.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// What the API server's audit log calls us.
const WHO: &str = concat!("pontoon/", env!("CARGO_PKG_VERSION"));

/// A client that sends each request at once and tells of each failure.
///
/// kube's own leaves Nagle's algorithm on, which holds the first request of a connection
/// back for 40 ms, and repeats failed requests by a clock of its own: here, a retry is a
/// decision. Behind a proxy kube's own is used.
///
/// # Errors
/// If the configuration names certificates or credentials that cannot be used.
pub fn connect(mut config: Config) -> kube::Result<Client> {
    config.headers.push((USER_AGENT, HeaderValue::from_static(WHO)));
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    let https = config.rustls_https_connector_with_connector(tcp)?;
    let http: HttpClient<_, Body> = Builder::new(TokioExecutor::new()).build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_kubeconfig_behind_an_http_proxy_can_be_used() {
        let mut config = Config::new(http::Uri::from_static("https://127.0.0.1:6443"));
        config.proxy_url = Some(http::Uri::from_static("http://127.0.0.1:3128"));
        connect(config).unwrap();
    }
}
