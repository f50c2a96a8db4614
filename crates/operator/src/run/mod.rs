//! A replica: observes, plans, executes and reports until stopped.
//!
//! [`run`]'s future owns all tasks of a replica: dropping the future kills the replica.

mod apply;
mod own_files;
mod replica;
mod stance;
#[cfg(test)]
mod tests;
mod watches;

use std::future::Future;
use std::time::{Duration, UNIX_EPOCH};

use clap::ValueEnum;
use kube::Client;
use pontoon_core::Time;
use pontoon_core::model::{Kind, Subject};
use pontoon_core::plan::Planner;
use pontoon_core::vips::model::VipSettings;
use pontoon_core::world::{Settings, World};
use pontoon_providers::layers::Gate;
use pontoon_providers::{Clock, Transport};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::clouds::{Clouds, Means};
use crate::env::Env;
use crate::execute::{ClusterId, Executor, Term};
use crate::extension::Board;
use crate::fronts::{Controllers, EGRESS};
use crate::leadership::{
    self, Identity, Leadership, OtherLeases, OtherLeasesSettings, Predecessors, Timing,
};
use crate::observe::Station;
use crate::policy::PolicyFile;
use crate::report::events::{Events, Weight, about_lease};
use crate::report::metrics::Metrics;
use crate::report::{Announcer, Objects, StatusWriter};
use crate::serve::Health;
use replica::Replica;
use stance::Facing;
use watches::Watches;

/// Whether a replica acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The replica carries out the actions that it plans.
    #[default]
    Active,
    /// The replica reports planned actions in statuses and events, and carries out none.
    Observe,
}

/// Settings of a replica.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of this replica, before a random suffix.
    pub name: String,
    /// The UID of the pod. Processes of a pod run one at a time.
    pub pod: Option<String>,
    /// The predecessors, and the namespaces in which each may be installed, beside
    /// [`Self::namespace`].
    pub predecessors: Predecessors,
    /// Whether to take part in an election; if not, this must be the only replica.
    pub leader_elect: bool,
    /// Whether to act, or only report the plan.
    pub mode: Mode,
    /// The election's periods.
    pub timing: Timing,
    /// Hard deadline of each call to a provider.
    pub provider_timeout: Duration,
    /// Wait after the first failure of a call.
    pub retry_initial: Duration,
    /// Longest wait between two attempts.
    pub retry_max: Duration,
    /// The kinds that are served.
    pub controllers: Controllers,
    /// How objects get VIPs.
    pub vips: VipOptions,
    /// The administrator's policy, if there is one.
    pub policy: Option<PolicyFile>,
}

/// Settings for VIPs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipOptions {
    /// The port of an endpoint for which the user names none.
    pub port: u16,
    /// Whether each claim gets a holder.
    pub holds: bool,
    /// The namespace whose objects get VIPs; by default all namespaces.
    pub namespace: Option<String>,
}

impl Default for VipOptions {
    fn default() -> Self {
        let VipSettings { port, holds } = VipSettings::default();
        Self { port, holds, namespace: None }
    }
}

/// Reads an environment variable.
pub type Variable = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The surroundings of a replica.
pub struct Surroundings {
    /// The API server.
    pub client: Client,
    /// The API server, for Leases alone: a connection of its own, where no other request holds up a
    /// renewal.
    pub leases: Client,
    /// Opens the connection to the providers behind the gate.
    pub transport: Box<dyn Fn(&Gate) -> Transport>,
    /// Reads an environment variable.
    pub variable: Variable,
    /// Clock, randomness and tasks.
    pub env: Env,
    /// The metrics to update.
    pub metrics: Metrics,
    /// Receives the heartbeat and the state of the watches.
    pub health: Health,
    /// Receives what the watches see of objects that ask for VIPs.
    pub board: Board,
    /// Becomes true to stop the replica.
    pub stop: watch::Receiver<bool>,
}

/// Warning for a user who turned the election off.
const ELECTION_IS_OFF: &str = "leader election is off: this must be the only replica";

/// Length of the queue of observations.
const INBOX: usize = 4096;

/// Runs a replica until `stop` becomes true, then drains calls and hands over.
pub fn run(options: Options, surroundings: Surroundings) -> impl Future<Output = ()> + Send {
    let Surroundings { client, leases, transport, variable, env, metrics, health, board, stop } =
        surroundings;
    let token = env.token();
    let identity = Identity::new(&options.name, options.pod.as_deref(), &token);
    let process = env.clone();
    let mut tasks = JoinSet::new();
    let leadership = elect(&options, &identity, &leases, &env, &mut tasks);
    let (term, watched) = (Term::default(), other_leases_settings(&options, &identity));
    let told = (metrics.clone(), health.hearing().clone());
    let (other_leases, round) = OtherLeases::start(leases, env.clone(), &leadership, watched, told);
    env.spawn(&mut tasks, round);
    let gate = gate(options.mode, &leadership, &term, &other_leases);
    let (timeout, transport) = (options.provider_timeout, transport(&gate));
    let clouds = Clouds::open(Means { variable, timeout, clock: clock(&env), transport });
    let (to, inbox) = mpsc::channel(INBOX);
    let station = Station { env: env.clone(), hearing: health.hearing().clone(), to };
    let events = events(&options, &token, &client, &env, &metrics);
    let cluster = cluster_id(&options.controllers, &client, &env, &mut tasks);
    let replica = Replica {
        world: world(&options, &clouds),
        executor: Executor::new(
            clouds,
            client.clone(),
            leadership.clone(),
            env.clone(),
            metrics.clone(),
            cluster,
            term.clone(),
        ),
        announcer: Announcer::new(env.clone(), events, metrics.clone()),
        objects: Objects::default(),
        statuses: StatusWriter::new(client.clone(), env.clone()),
        watches: Watches::new(client, station, tasks, (options.controllers.clone(), options.vips)),
        planner: Planner::default(),
        drain_limit: options.provider_timeout + Duration::from_millis(500),
        wake: None,
        leading: None,
        mode: options.mode,
        lease: (options.namespace, lease(options.mode)),
        facing: facing(&options.controllers, &other_leases, env.now()),
        controllers: options.controllers,
        stance: None,
        other_leases,
        unsettled_until: Time::default(),
        leadership,
        term,
        env,
        metrics,
        health,
        board,
        policy: options.policy,
        inbox,
    };
    process.run(replica.run(stop))
}

/// The events of a replica. The first one warns of an election that is off.
fn events(options: &Options, token: &str, client: &Client, env: &Env, metrics: &Metrics) -> Events {
    let about = about_lease(&options.namespace, lease(options.mode));
    let instance = format!("{}_{token}", options.name);
    let mut events =
        Events::new(client.clone(), env.clone(), metrics.clone(), instance, about.clone());
    if !options.leader_elect {
        events.tell(about, Weight::Warning, "NoLeaderElection", ELECTION_IS_OFF);
    }
    events
}

/// The identity of the cluster, for the marks on DNS records. Not read if no record is kept.
fn cluster_id(
    controllers: &Controllers,
    client: &Client,
    env: &Env,
    tasks: &mut JoinSet<()>,
) -> ClusterId {
    let cluster = ClusterId::default();
    if controllers.serve(Subject::Records) {
        env.spawn(tasks, cluster.clone().read(client.clone()));
    }
    cluster
}

/// A world with the accounts and nothing else.
fn world(options: &Options, clouds: &Clouds) -> World {
    let settings = Settings {
        call_deadline: options.provider_timeout,
        settle: options.timing.settle,
        retry_initial: options.retry_initial,
        retry_max: options.retry_max,
        egress: Some(&EGRESS),
        vips: VipSettings { port: options.vips.port, holds: options.vips.holds },
        ..Settings::default()
    };
    let mut world = World::new(settings, &options.controllers.kinds().collect::<Vec<_>>());
    for (account, setup) in clouds.setups() {
        world.set_account(account, setup);
    }
    for (account, setup) in clouds.hosts() {
        world.set_record_account(account, setup);
    }
    if let Some(file) = &options.policy {
        world.set_policy(file.policy().clone());
    }
    world
}

/// The time of day for signatures. A time before 1970 counts as 1970.
fn clock(env: &Env) -> Clock {
    let env = env.clone();
    Clock::new(move || {
        let micros = u64::try_from(env.now().as_micros()).unwrap_or_default();
        UNIX_EPOCH + Duration::from_micros(micros)
    })
}

/// The election's Lease, by mode. An observer must not keep an acting replica from leading.
fn lease(mode: Mode) -> &'static str {
    match mode {
        Mode::Active => leadership::LEASE,
        Mode::Observe => leadership::OBSERVERS_LEASE,
    }
}

/// The stance towards the predecessors of the served kinds. A kind of another project counts only once
/// its definition is seen.
fn facing(controllers: &Controllers, other_leases: &OtherLeases, now: Time) -> Facing {
    let fronts = || controllers.fronts();
    let served: Vec<(&'static Kind, &'static str)> =
        fronts().map(|front| (front.kind(), front.predecessor().lease)).collect();
    let others = fronts().filter(|front| !front.generations().is_empty());
    Facing::new(served, other_leases.rivalry().borrow().clone(), now)
        .without(others.map(|front| front.kind()))
}

/// The last check before a call that changes a provider. Each call is made for the kinds of a
/// predecessor, and only that predecessor stops the call.
fn gate(mode: Mode, leadership: &Leadership, term: &Term, other_leases: &OtherLeases) -> Gate {
    let (leadership, term, rivalry) = (leadership.clone(), term.clone(), other_leases.rivalry());
    Gate::new(move |predecessor| match mode {
        Mode::Observe => Err("this replica only observes".to_owned()),
        Mode::Active if rivalry.borrow().permits(predecessor) => {
            leadership.permit_in(term.get()).map_err(|error| error.to_string())
        }
        Mode::Active => Err("another controller may be at work".to_owned()),
    })
}

/// The Leases of other controllers that count for a replica.
fn other_leases_settings(options: &Options, identity: &Identity) -> OtherLeasesSettings {
    OtherLeasesSettings {
        namespace: options.namespace.clone(),
        predecessors: options.predecessors.clone(),
        identity: identity.as_str().to_owned(),
        timing: options.timing,
        elects: options.leader_elect,
        acts: options.mode == Mode::Active,
    }
}

fn elect(
    options: &Options,
    identity: &Identity,
    client: &Client,
    env: &Env,
    tasks: &mut JoinSet<()>,
) -> Leadership {
    if !options.leader_elect {
        tracing::warn!("{ELECTION_IS_OFF}");
        return leadership::always(env.clone(), options.provider_timeout);
    }
    let config = leadership::Config {
        namespace: options.namespace.clone(),
        name: lease(options.mode).to_owned(),
        identity: identity.clone(),
        timing: options.timing,
        provider_timeout: options.provider_timeout,
    };
    let (leadership, election) = Leadership::start(client.clone(), env.clone(), config);
    env.spawn(tasks, election);
    leadership
}
