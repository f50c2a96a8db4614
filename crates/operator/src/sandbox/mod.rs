//! The whole product on a machine with nothing but Rust: an in-memory API server over TCP,
//! an emulated cloud, a small cluster, and the ordinary operator.
//!
//! The operator does not know that it is in a sandbox: it gets a `kube::Client` over
//! `fakekube` and vendor clients over `fakecloud`, and runs as it always does.

mod cluster;
mod command;
mod console;
mod dns;
mod manifest;
mod story;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use fakecloud::FakeCloud;
use fakekube::FakeKube;
use jiff::Timestamp;
use kube::Client;
use pontoon_providers::layers::Gate;
use pontoon_providers::{Transport, TransportError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::args::SandboxArgs;
use crate::env::Env;
use crate::leadership::Timing;
use crate::report::metrics::Metrics;
use crate::run::{self, Mode, Options, Surroundings};
use crate::serve::Health;
use cluster::Cluster;
pub use cluster::Load;
use console::{Console, Input};
use story::Story;

/// Runs a sandbox until it is told to quit, or a signal ends it.
///
/// # Errors
/// In words that say what to change: a port in use, a file that cannot be read, a manifest
/// that the API server refuses, a command that is not known.
pub async fn sandbox(args: SandboxArgs) -> Result<(), String> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    // Dropping the sandbox is ending it: everything that it made goes with it.
    tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        ended = play(args) => ended,
    }
}

async fn play(args: SandboxArgs) -> Result<(), String> {
    let manifests = manifest::read(&args.files)?;
    let input = Input::open(args.script.as_deref())?;
    let now = Timestamp::now();
    let cloud = FakeCloud::starting_at(now);
    let kube = FakeKube::starting_at(fastrand::u64(..), now);
    let address = SocketAddr::from(([127, 0, 0, 1], args.port));
    let server = kube.serve(address).await.map_err(|error| {
        format!("cannot serve the API on {address}: {error}; choose another --port")
    })?;
    let kubeconfig = Kubeconfig::write(&server, args.kubeconfig.clone())?;
    let client = Client::new(kube.service(), "default");
    let cluster = Cluster::new(client.clone(), cloud.clone());
    cluster.define().await?;
    let own_pools = manifests.iter().any(manifest::is_pool);
    cluster.fill(&args.load()).await?;
    for object in &manifests {
        cluster.apply(object).await?;
    }
    if !own_pools {
        cluster.pools(&args.load()).await?;
    }
    let story = Story::new();
    story.begin(&kubeconfig.path, &args.load(), input.has_keys());
    let (stop, stopped) = watch::channel(false);
    let mut operator = JoinSet::new();
    operator.spawn(run::run(options(), surroundings(&client, &cloud, stopped)?));
    let mut telling = JoinSet::new();
    telling.spawn(story.clone().follow(client.clone()));
    telling.spawn(story.clone().tell_unknown(kube.clone()));
    let result = Console::new(cluster, story, input).run().await;
    stop.send_replace(true);
    let ended = operator.join_next().await.unwrap_or(Ok(()));
    result.and(ended.map_err(|error| format!("the operator broke: {error}")))
}

fn options() -> Options {
    Options {
        namespace: "default".to_owned(),
        name: "sandbox".to_owned(),
        leader_elect: true,
        mode: Mode::Active,
        timing: Timing::default(),
        provider_timeout: std::time::Duration::from_secs(5),
        retry_initial: std::time::Duration::from_secs(1),
        retry_max: std::time::Duration::from_secs(300),
    }
}

fn surroundings(
    client: &Client,
    cloud: &FakeCloud,
    stop: watch::Receiver<bool>,
) -> Result<Surroundings, String> {
    let service = cloud.service();
    let transport = move |gate: &Gate| gate.around(in_process(service.clone()));
    let variable = |name: &str| match name {
        "DIGITALOCEAN_ACCESS_TOKEN" => Some("sandbox".to_owned()),
        "DIGITALOCEAN_API_URL" => Some("http://127.0.0.1".to_owned()),
        "CLOUDFLARE_TOKEN" => Some("sandbox".to_owned()),
        "CLOUDFLARE_API_URL" => Some("http://127.0.0.1/client/v4".to_owned()),
        _ => None,
    };
    Ok(Surroundings {
        client: client.clone(),
        transport: Box::new(transport),
        variable: Box::new(variable),
        env: Env::real(),
        metrics: Metrics::new().map_err(|error| error.to_string())?,
        health: Health::default(),
        stop,
    })
}

/// The emulated cloud behind the seam that every vendor client uses.
fn in_process(cloud: fakecloud::CloudService) -> Transport {
    let cloud = cloud.map_err(|lost: fakecloud::Lost| TransportError::NoAnswer(lost.to_string()));
    Transport::new(cloud.map_request(|request: http::Request<Bytes>| request))
}

/// The kubeconfig on disk, gone when the sandbox ends.
struct Kubeconfig {
    path: PathBuf,
}

impl Kubeconfig {
    fn write(server: &fakekube::Server, path: Option<PathBuf>) -> Result<Self, String> {
        let name = format!("pontoon-sandbox-{}.kubeconfig", server.addr().port());
        let path = path.unwrap_or_else(|| std::env::temp_dir().join(name));
        let written = server.write_kubeconfig(&path);
        written.map_err(|error| format!("cannot write {}: {error}", shown(&path)))?;
        Ok(Self { path })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Somebody else removed it: as good.
        drop(std::fs::remove_file(&self.path));
    }
}

fn shown(path: &Path) -> std::path::Display<'_> {
    path.display()
}
