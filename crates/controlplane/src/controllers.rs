//! kube-controller-manager, for tests that need the controllers of a real cluster.

use std::path::{Path, PathBuf};

use http::{Request, Uri};
use kube::{Client, Config};

use crate::Error;
use crate::apiserver;
use crate::component::Component;
use crate::leash::Leash;
use crate::port::{self, on_free_port};
use crate::ready::{LIMIT, until_ready};

/// Starts kube-controller-manager with only the given controllers; returns when healthy.
pub(crate) async fn start(
    assets: &Path,
    leash: &Leash,
    controllers: &[&str],
) -> Result<Component, Error> {
    on_free_port(port::free(), |port| start_on(port, assets, leash, controllers)).await
}

async fn start_on(
    port: u16,
    assets: &Path,
    leash: &Leash,
    controllers: &[&str],
) -> Result<Component, Error> {
    let flags = flags(leash.folder(), port, controllers);
    let mut component = Component::start("kube-controller-manager", assets, leash, &flags)?;
    until_ready(&mut component, LIMIT, || healthy(port)).await?;
    Ok(component)
}

async fn healthy(port: u16) -> Result<(), Error> {
    let address = format!("https://127.0.0.1:{port}");
    let mut config = Config::new(address.parse::<Uri>().map_err(http_error)?);
    // The certificate is self-signed, and the request carries no secret.
    config.accept_invalid_certs = true;
    let healthz = Request::get("/healthz").body(Vec::new()).map_err(kube::Error::HttpError)?;
    Client::try_from(config)?.request_text(healthz).await?;
    Ok(())
}

fn http_error(error: http::uri::InvalidUri) -> kube::Error {
    kube::Error::HttpError(error.into())
}

fn flags(folder: &Path, port: u16, controllers: &[&str]) -> Vec<String> {
    let file = |flag: &str, path: PathBuf| format!("--{flag}={}", path.display());
    vec![
        format!("--controllers={}", controllers.join(",")),
        "--leader-elect=false".into(),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        // The usual limits of 20 and 30 requests would be most of a test's time.
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=1000".into(),
        file("cert-dir", folder.join("controller-manager-certificates")),
        file("kubeconfig", apiserver::admin_kubeconfig(folder)),
        file("service-account-private-key-file", apiserver::service_account_key(folder)),
        file("root-ca-file", apiserver::certificate(folder)),
    ]
}
