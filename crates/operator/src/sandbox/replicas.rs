//! The operator in the sandbox: a replica, and a second replica after the first freeze.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fakecloud::{Access, FakeCloud};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use pontoon_providers::layers::Gate;
use pontoon_providers::{Transport, TransportError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::brake::Brake;
use super::cluster::told;
use crate::env::Env;
use crate::extension::Board;
use crate::fronts::Controllers;
use crate::leadership::{LEASE, Sought, Timing};
use crate::report::metrics::Metrics;
use crate::report::object_series::ReplicaLabels;
use crate::run::{self, Mode, Options, Surroundings, VipOptions};
use crate::serve::{self, Health, Pages};

/// The namespace of the Lease.
const NAMESPACE: &str = "default";

/// The names of the replicas.
const NAMES: [&str; 2] = ["sandbox-a", "sandbox-b"];

/// A running replica.
struct Replica {
    name: &'static str,
    pages: SocketAddr,
    brake: Arc<Brake>,
    stop: watch::Sender<bool>,
    process: JoinSet<()>,
}

/// The replicas of the sandbox's operator.
pub struct Replicas {
    client: Client,
    cloud: FakeCloud,
    controllers: Controllers,
    vips: VipOptions,
    running: Vec<Replica>,
}

impl Replicas {
    /// Starts the first replica.
    ///
    /// # Errors
    /// In words, if the replica cannot listen or register its metrics.
    pub async fn start(
        client: Client,
        cloud: FakeCloud,
        (controllers, vips): (Controllers, VipOptions),
    ) -> Result<Self, String> {
        let mut replicas = Self { client, cloud, controllers, vips, running: Vec::new() };
        replicas.launch(NAMES[0], 0).await?;
        Ok(replicas)
    }

    /// The addresses of the replicas' HTTP servers.
    pub fn pages(&self) -> impl Iterator<Item = SocketAddr> {
        self.running.iter().map(|replica| replica.pages)
    }

    async fn launch(&mut self, name: &'static str, port: u16) -> Result<SocketAddr, String> {
        let problem = |error: std::io::Error| format!("cannot serve metrics: {error}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(problem)?;
        let pages = listener.local_addr().map_err(problem)?;
        let env = Env::real();
        let metrics = metrics(name, &env, &self.controllers).map_err(|error| error.to_string())?;
        let (health, brake) = (Health::default(), Arc::new(Brake::default()));
        let (stop, stopped) = watch::channel(false);
        let surroundings = Surroundings {
            client: self.client.clone(),
            leases: self.client.clone(),
            transport: transport(&self.cloud),
            variable: Box::new(variables()),
            env: env.paced(Arc::clone(&brake) as _),
            metrics: metrics.clone(),
            health: health.clone(),
            board: Board::default(),
            stop: stopped,
        };
        let mut process = JoinSet::new();
        process.spawn(run::run(self.options(name), surroundings));
        process
            .spawn(async move { drop(serve::serve(listener, Pages::All, health, metrics).await) });
        self.running.push(Replica { name, pages, brake, stop, process });
        Ok(pages)
    }

    fn options(&self, name: &str) -> Options {
        let sought = |one| Sought::usual(one, BTreeSet::new());
        Options {
            namespace: NAMESPACE.to_owned(),
            name: name.to_owned(),
            pod: Some(name.to_owned()),
            predecessors: self.controllers.predecessors().map(sought).collect(),
            leader_elect: true,
            mode: Mode::Active,
            timing: Timing::default(),
            provider_timeout: Duration::from_secs(5),
            retry_initial: Duration::from_secs(1),
            retry_max: Duration::from_secs(300),
            controllers: self.controllers.clone(),
            vips: self.vips.clone(),
            policy: None,
        }
    }

    /// The holder of the Lease, if any.
    ///
    /// # Errors
    /// The API server's message.
    pub async fn leader(client: &Client) -> Result<Option<String>, String> {
        let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
        let lease = leases.get_opt(LEASE).await.map_err(told)?;
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        Ok(holder.filter(|holder| !holder.is_empty()))
    }

    async fn leading(&self) -> Result<(usize, String), String> {
        let holder = Self::leader(&self.client).await?.unwrap_or_default();
        let is_it = |replica: &Replica| holder.starts_with(&format!("{}_", replica.name));
        let found = self.running.iter().position(is_it);
        found.map(|index| (index, holder)).ok_or_else(|| "no replica leads now".to_owned())
    }

    /// Kills the leader at once, and starts it again. Returns its name and its identity in the
    /// Lease.
    ///
    /// # Errors
    /// In words, if no replica leads.
    pub async fn crash(&mut self) -> Result<(&'static str, String), String> {
        let (index, holder) = self.leading().await?;
        let mut dead = self.running.remove(index);
        dead.process.shutdown().await;
        self.launch(dead.name, dead.pages.port()).await?;
        Ok((dead.name, holder))
    }

    /// Stops the leader as SIGSTOP does, and starts a second replica if only the leader runs.
    ///
    /// # Errors
    /// In words, if no replica leads.
    pub async fn freeze(&mut self) -> Result<Frozen, String> {
        let (index, holder) = self.leading().await?;
        let (name, brake) = (self.running[index].name, Arc::clone(&self.running[index].brake));
        let other = NAMES.into_iter().find(|one| *one != name).filter(|_| self.running.len() == 1);
        let started = match other {
            Some(other) => Some((other, self.launch(other, 0).await?)),
            None => None,
        };
        brake.hold();
        Ok(Frozen { name, holder, brake, started })
    }

    /// Stops all replicas during `work`, so that all its changes are seen at once.
    pub async fn unseen<T>(&self, work: impl Future<Output = T>) -> T {
        self.running.iter().for_each(|replica| replica.brake.hold());
        let done = work.await;
        self.running.iter().for_each(|replica| replica.brake.release());
        done
    }

    /// Ends all replicas as SIGTERM does.
    ///
    /// # Errors
    /// If a replica panicked.
    pub async fn stop(mut self) -> Result<(), String> {
        let mut broken = None;
        for replica in &mut self.running {
            replica.brake.release_all();
            replica.stop.send_replace(true);
            let ended = replica.process.join_next().await;
            broken = broken.or(ended.and_then(Result::err));
        }
        broken.map_or(Ok(()), |error| Err(format!("the operator broke: {error}")))
    }
}

/// A frozen leader.
pub struct Frozen {
    /// Name of the leader.
    pub name: &'static str,
    /// Identity of the leader in the Lease.
    pub holder: String,
    /// The brake that stops the leader.
    pub brake: Arc<Brake>,
    /// Name and HTTP address of the replica that was started, if any.
    pub started: Option<(&'static str, SocketAddr)>,
}

/// The metrics of a replica. `CLUSTER_NAME` names the cluster, as in a real one.
fn metrics(name: &str, env: &Env, controllers: &Controllers) -> Result<Metrics, prometheus::Error> {
    let cluster = std::env::var("CLUSTER_NAME").ok();
    let labels = ReplicaLabels { cluster, pod: name.to_owned(), version: None };
    Metrics::of(&labels, controllers)?.with_process(env.now())
}

/// The variables by which the operator reaches the emulated providers.
fn variables() -> impl Fn(&str) -> Option<String> + Send + Sync {
    let access =
        Access { url: "http://127.0.0.1", secret: "sandbox", project: None, user_agent: None };
    let variables: BTreeMap<_, _> = fakecloud::environment(&access).into_iter().collect();
    move |name| variables.get(name).cloned()
}

/// A transport to the emulated provider, for all provider clients.
fn transport(cloud: &FakeCloud) -> Box<dyn Fn(&Gate) -> Transport> {
    let service = cloud.service();
    Box::new(move |gate: &Gate| {
        let cloud = service.clone();
        let cloud =
            cloud.map_err(|lost: fakecloud::Lost| TransportError::NoAnswer(lost.to_string()));
        gate.around(Transport::new(cloud.map_request(|request: http::Request<Bytes>| request)))
    })
}
