//! The in-cluster IPAM provider of Cluster API, which binds claims to addresses.

use std::path::Path;

use http::{Request, Uri};
use kube::{Client, Config};

use crate::Error;
use crate::apiserver;
use crate::cluster_api::Generation;
use crate::component::Component;
use crate::leash::Leash;
use crate::port::{self, on_free_port};
use crate::ready::{LIMIT, until_ready};

/// Starts the provider of a folder; returns when ready. The definitions must be served before:
/// without them the provider calls itself ready, and ends after minutes.
pub(crate) async fn start(
    folder: &Path,
    leash: &Leash,
    generation: Generation,
) -> Result<Component, Error> {
    on_free_port(port::free(), |port| start_on(port, folder, leash, generation)).await
}

async fn start_on(
    port: u16,
    folder: &Path,
    leash: &Leash,
    generation: Generation,
) -> Result<Component, Error> {
    let flags = flags(leash.folder(), port, generation);
    let mut component = Component::start("ipam-provider", folder, leash, &flags)?;
    until_ready(&mut component, LIMIT, || ready(port)).await?;
    Ok(component)
}

async fn ready(port: u16) -> Result<(), Error> {
    let address = format!("http://127.0.0.1:{port}");
    let address = address.parse::<Uri>().map_err(|error| kube::Error::HttpError(error.into()))?;
    let readyz = Request::get("/readyz").body(Vec::new()).map_err(kube::Error::HttpError)?;
    Client::try_from(Config::new(address))?.request_text(readyz).await?;
    Ok(())
}

fn flags(folder: &Path, port: u16, generation: Generation) -> Vec<String> {
    let mut flags = vec![
        format!("--kubeconfig={}", apiserver::admin_kubeconfig(folder).display()),
        format!("--health-probe-bind-address=127.0.0.1:{port}"),
        // No webhooks: the API server would need their certificate.
        "--webhook-port=0".into(),
    ];
    flags.extend(match generation {
        Generation::V1Beta1 => vec!["--metrics-bind-address=0".into()],
        Generation::V1Beta2 => {
            vec!["--diagnostics-address=0".into(), "--insecure-diagnostics".into()]
        }
    });
    flags
}
