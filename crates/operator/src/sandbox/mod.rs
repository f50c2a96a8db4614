//! The whole product on a machine with nothing but Rust: an in-memory API server over TCP, an
//! emulated provider, a small cluster, and the ordinary operator.
//!
//! The operator does not know about the sandbox: a `kube::Client` over `fakekube` and provider
//! clients over `fakecloud` take the place of the real clients.

mod allocations;
mod args;
mod asked;
mod brake;
mod cluster;
mod clusters;
mod command;
mod console;
mod controllers;
mod deployments;
mod dns;
mod external_addresses;
mod input;
mod keys;
mod machines;
mod manifest;
mod nodes;
mod objects;
mod replicas;
mod scene;
mod story;
mod tally;
mod view;
mod workload;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use fakecloud::{FakeCloud, Recording};
use fakekube::FakeKube;
use http::HeaderValue;
use http::header::USER_AGENT;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tower::ServiceExt;

pub use args::SandboxArgs;
use asked::Asked;
use cluster::Cluster;
pub use cluster::Load;
use clusters::{Vips, Writes};
use console::Console;
use input::Input;
use machines::Machines;
use replicas::Replicas;
use scene::Scene;
use story::Story;
use tally::Book;

/// The most remembered calls to the provider.
const REMEMBERED: usize = 20_000;

/// Runs a sandbox until `quit` or a signal.
///
/// # Errors
/// In words that say what to change: a port in use, an unreadable file, a manifest that the API
/// server refuses, an unknown command.
pub async fn sandbox(args: SandboxArgs) -> Result<(), String> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    // Dropping the sandbox ends it, with everything in it.
    tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        ended = play(args) => ended,
    }
}

async fn play(args: SandboxArgs) -> Result<(), String> {
    let manifests = manifest::read(&args.files)?;
    let now = Timestamp::now();
    let cloud = FakeCloud::starting_at(now);
    cloud.recording(Recording::Last(REMEMBERED));
    let kube = FakeKube::starting_at(fastrand::u64(..), now);
    kube.track_managers();
    let address = SocketAddr::from(([127, 0, 0, 1], args.port));
    let server = kube.serve(address).await.map_err(|error| {
        format!("cannot serve the API on {address}: {error}; choose another --port")
    })?;
    let kubeconfig = Kubeconfig::write(&server, args.kubeconfig.clone())?;
    let client = client(&kube, "sandbox", &Writes::default());
    let cluster = cluster(&args, client.clone(), cloud.clone(), &manifests).await?;
    let input =
        Input::open(args.script.as_deref(), manifest::takes_stdin(&args.files), args.scene())?;
    let story = Story::new();
    let writes = Writes::default();
    let operator = self::client(&kube, "pontoon", &writes);
    let replicas =
        Replicas::start(operator, cloud.clone(), (args.controllers(), args.vips())).await?;
    let pages: Vec<_> = replicas.pages().collect();
    let scene = args.scene();
    let commands = cluster.first_commands().await?;
    story.begin(&kubeconfig.path, &cluster.inventory().await?, &commands, &pages);
    if input.has_keys() {
        story.tell(scene.keys());
    }
    let mut actors = JoinSet::new();
    let book = if scene == Scene::Management {
        kube.collect_garbage(clusters::COLLECTOR_LAG);
        actors.spawn(clusters::play(client.clone()));
        actors.spawn(clusters::follow(story.clone(), client.clone()));
        Book::of_vips(Vips { kube: kube.clone(), writes })
    } else {
        actors.spawn(workload::run(client.clone()));
        Book::open(&cloud)
    };
    if cluster.shows_reserved_addresses(&args.load()) {
        actors.spawn(external_addresses::keep(client.clone(), cloud));
    }
    actors.spawn(story.clone().follow(client));
    actors.spawn(story.clone().tell_unknown(kube));
    Console::new(cluster, replicas, story, input, book).run().await
}

/// The cluster with its nodes and objects: the user's, and the scene's own unless the user's ask for
/// addresses.
async fn cluster(
    args: &SandboxArgs,
    client: Client,
    cloud: FakeCloud,
    manifests: &[Value],
) -> Result<Cluster, String> {
    let (scene, load) = (args.scene(), args.load());
    let machines = Machines::wanted(scene.provider(), manifests);
    let cluster = Cluster::new(client, cloud, scene, machines);
    cluster.define().await?;
    cluster.fill(&load).await?;
    for object in manifests {
        cluster.apply(object).await?;
    }
    if scene == Scene::Management {
        cluster.furnish(manifests).await?;
    } else if !manifests.iter().any(|object| Asked::of(object).is_some()) {
        cluster.ask(&load).await?;
    }
    Ok(cluster)
}

/// A client with this user agent, whose writes are counted.
fn client(kube: &FakeKube, name: &'static str, writes: &Writes) -> Client {
    let writes = writes.clone();
    let named = kube.service().map_request(move |mut request: http::Request<Body>| {
        writes.hear(&request);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(name));
        request
    });
    Client::new(named, "default")
}

/// The kubeconfig file, removed when dropped.
struct Kubeconfig {
    path: PathBuf,
}

impl Kubeconfig {
    fn write(server: &fakekube::Server, path: Option<PathBuf>) -> Result<Self, String> {
        let name = format!("pontoon-sandbox-{}.kubeconfig", server.addr().port());
        let path = path.unwrap_or_else(|| std::env::temp_dir().join(name));
        let written = fakekube::write_kubeconfig(server, &path);
        written.map_err(|error| format!("cannot write {}: {error}", shown(&path)))?;
        Ok(Self { path })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Fails if the file is already gone, which is fine.
        drop(std::fs::remove_file(&self.path));
    }
}

fn shown(path: &Path) -> std::path::Display<'_> {
    path.display()
}
