//! One replica: observe, plan, execute, report, for as long as it lives.
//!
//! Everything that a replica runs is owned by [`run`]'s future: dropping it is killing the
//! replica.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::watcher;
use kube::{Api, Client};
use pontoon_core::Time;
use pontoon_core::action::Action;
use pontoon_core::model::PoolKey;
use pontoon_core::plan::Planner;
use pontoon_core::world::{Settings, Source, World};
use pontoon_providers::Transport;
use pontoon_providers::layers::Gate;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::clouds::Clouds;
use crate::env::Env;
use crate::execute::{Executor, Term};
use crate::leadership::{self, Leadership, Role, Timing};
use crate::observe::node::Nodes;
use crate::observe::pod::Pods;
use crate::observe::pool::{self, Pools};
use crate::observe::record_set::{self, RecordSets};
use crate::observe::schema::{Definitions, Schema, UPGRADE};
use crate::observe::{self, Observation};
use crate::report::events::{Events, Weight, about_lease};
use crate::report::metrics::Metrics;
use crate::report::{Narrator, StatusWriter};
use crate::serve::Health;

/// How a replica behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of this replica, before a random part is added.
    pub name: String,
    /// Stand for election; without, this must be the only replica.
    pub leader_elect: bool,
    /// The election's periods.
    pub timing: Timing,
    /// Hard deadline of each call to a cloud.
    pub provider_timeout: Duration,
    /// Wait after the first failure of a call.
    pub retry_initial: Duration,
    /// Longest wait between two attempts.
    pub retry_max: Duration,
}

/// Reads one variable of an environment.
pub type Variable = Box<dyn Fn(&str) -> Option<String>>;

/// What a replica works with.
pub struct Surroundings {
    /// The API server.
    pub client: Client,
    /// Makes the way to the clouds, with the gate that shuts it.
    pub transport: Box<dyn Fn(&Gate) -> Transport>,
    /// Reads one variable of the environment.
    pub variable: Variable,
    /// Clock, randomness and tasks.
    pub env: Env,
    /// Where metrics go.
    pub metrics: Metrics,
    /// Where readiness goes.
    pub health: Health,
    /// Becomes true when the replica shall stop.
    pub stop: watch::Receiver<bool>,
}

/// What somebody should know who turned the election off.
const ALONE: &str = "leader election is off: this must be the only replica";

/// Observations that wait to be taken in.
const INBOX: usize = 4096;

/// How many observations are taken in before the next plan, at most.
const BATCH: usize = 10_000;

/// Runs a replica until it is told to stop, then drains and hands over.
pub fn run(options: Options, surroundings: Surroundings) -> impl Future<Output = ()> + Send {
    let Surroundings { client, transport, variable, env, metrics, health, stop } = surroundings;
    let identity = format!("{}_{}", options.name, env.token());
    let process = env.clone();
    let mut tasks = JoinSet::new();
    let leadership = elect(&options, &identity, &client, &env, &mut tasks);
    let term = Term::default();
    let gate = {
        let (leadership, term) = (leadership.clone(), term.clone());
        Gate::new(move || leadership.permit_in(term.get()).map_err(|error| error.to_string()))
    };
    let clouds = Clouds::open(&*variable, options.provider_timeout, &transport(&gate));
    let (to, inbox) = mpsc::channel(INBOX);
    let mut world = World::new(Settings {
        call_deadline: options.provider_timeout,
        settle: options.timing.settle,
        retry_initial: options.retry_initial,
        retry_max: options.retry_max,
        ..Settings::default()
    });
    for (account, setup) in clouds.setups() {
        world.set_account(account, setup);
    }
    for (account, setup) in clouds.hosts() {
        world.set_record_account(account, setup);
    }
    let mut events = Events::new(client.clone(), env.clone(), identity);
    if !options.leader_elect {
        let about = about_lease(&options.namespace, leadership::LEASE);
        events.tell(about, Weight::Warning, "NoLeaderElection", ALONE);
    }
    let replica = Replica {
        executor: Executor::new(
            clouds,
            client.clone(),
            leadership.clone(),
            env.clone(),
            metrics.clone(),
        ),
        narrator: Narrator::new(env.clone(), events, metrics.clone()),
        statuses: StatusWriter::new(client.clone(), env.clone()),
        watches: Watches { client, env: env.clone(), to, tasks, pools: None, record_sets: None },
        planner: Planner::default(),
        drain_limit: options.provider_timeout + Duration::from_millis(500),
        wake: None,
        leading: None,
        unanswered_until: Time::default(),
        world,
        leadership,
        term,
        env,
        metrics,
        health,
        inbox,
    };
    process.run(replica.run(stop))
}

fn elect(
    options: &Options,
    identity: &str,
    client: &Client,
    env: &Env,
    tasks: &mut JoinSet<()>,
) -> Leadership {
    if !options.leader_elect {
        tracing::warn!("{ALONE}");
        return leadership::always(env.clone());
    }
    let config = leadership::Config {
        namespace: options.namespace.clone(),
        name: leadership::LEASE.to_owned(),
        identity: identity.to_owned(),
        timing: options.timing,
        provider_timeout: options.provider_timeout,
    };
    let (leadership, election) = Leadership::start(client.clone(), env.clone(), config);
    env.spawn(tasks, election);
    leadership
}

struct Replica {
    world: World,
    planner: Planner,
    executor: Executor,
    narrator: Narrator,
    statuses: StatusWriter,
    watches: Watches,
    leadership: Leadership,
    term: Term,
    env: Env,
    metrics: Metrics,
    health: Health,
    inbox: Receiver<Observation>,
    /// The term that we lead in.
    leading: Option<u64>,
    /// Plan again at this time.
    wake: Option<Time>,
    /// A call of ours without an answer may take effect until then.
    unanswered_until: Time,
    drain_limit: Duration,
}

impl Replica {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        self.watches.start();
        let mut role = self.leadership.role();
        role.mark_changed();
        loop {
            let sleep = self.wake.map(|wake| wake.since(self.env.now()));
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                changed = role.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let now = role.borrow_and_update().clone();
                    self.follow(&now);
                }
                finished = self.executor.next() => self.take_outcome(finished),
                written = self.statuses.next() => {
                    let wrote = self.statuses.written(written, self.env.now());
                    if let Some((key, uid, version)) = wrote {
                        self.world.wrote_pool(&key, &uid, version);
                    }
                }
                observation = self.inbox.recv() => {
                    let Some(observation) = observation else { break };
                    self.take_in(observation);
                }
                () = pause(sleep) => {}
            }
            self.take_in_all();
            self.turn();
        }
        self.hand_over().await;
    }

    /// Takes in whatever else has arrived, so that one plan serves it all.
    fn take_in_all(&mut self) {
        for _ in 0..BATCH {
            let Ok(observation) = self.inbox.try_recv() else { return };
            self.take_in(observation);
        }
    }

    /// Plans, acts and reports, if we lead.
    fn turn(&mut self) {
        self.health.set_ready(self.world.is_read());
        self.wake = None;
        if self.leading.is_none() || !self.world.is_read() {
            return;
        }
        let now = self.env.now();
        let plan = self.planner.next(&mut self.world, now);
        self.metrics.planned(self.env.now().since(now));
        self.narrator.take(&plan, &self.world);
        self.statuses.take(&plan);
        self.wake = plan.wake;
        for action in plan.actions {
            // Its version is about to change: planned again when that is over.
            if matches!(&action, Action::WriteLedger { pool, .. } if self.statuses.is_writing(pool))
            {
                continue;
            }
            self.narrator.begins(&self.world, &action, now);
            self.world.begin(&action);
            self.executor.start(action);
        }
        let report = self.statuses.flush(&self.world, now);
        self.wake = [self.wake, report].into_iter().flatten().min();
    }

    fn take_outcome(&mut self, finished: crate::execute::Finished) {
        self.narrator.ended(&self.world, &finished);
        let now = self.env.now();
        if crate::execute::is_unanswered(&finished.outcome) {
            self.unanswered_until = now + self.world.settings().settle;
        }
        self.world.finish(finished.outcome, now);
    }

    fn take_in(&mut self, observation: Observation) {
        match observation {
            Observation::Node(node) => self.world.set_node(*node),
            Observation::NodeGone(name) => self.world.remove_node(&name),
            Observation::NodesListed(names) => {
                self.world.retain_nodes(&names);
                self.world.source_read(Source::Nodes);
            }
            Observation::Pod(pod) => self.world.set_pod(&pod),
            Observation::PodGone(id) => self.world.remove_pod(&id),
            Observation::PodsListed(ids) => {
                self.world.retain_pods(&ids);
                self.world.source_read(Source::Pods);
            }
            Observation::Pool(observed) => {
                self.narrator.see_pool(&observed);
                self.world.set_pool(observed.pool.clone());
                match &observed.records {
                    Some(records) => self.world.set_record_set(records.clone()),
                    None => self.world.remove_record_set(&observed.pool.key),
                }
                self.statuses.see_pool(*observed);
            }
            Observation::PoolGone(key) => self.forget_pool(&key),
            Observation::PoolsListed(kind, keys) => {
                let gone = |key: &&_| !keys.contains(*key);
                let gone: Vec<_> =
                    self.world.pools().map(|(key, _)| key).filter(gone).cloned().collect();
                for key in gone.into_iter().filter(|key| key.kind == kind) {
                    self.forget_pool(&key);
                }
                self.world.source_read(Source::Pools);
            }
            Observation::RecordSet(observed) => {
                self.narrator.see_record_set(&observed);
                self.world.set_record_set(observed.set.clone());
                self.statuses.see_record_set(*observed);
            }
            Observation::RecordSetGone(key) => self.forget_record_set(&key),
            Observation::RecordSetsListed(keys) => {
                let ours = |key: &&PoolKey| key.kind == record_set::KIND && !keys.contains(*key);
                let gone = self.world.record_sets().map(|(key, _)| key).filter(ours);
                for key in gone.cloned().collect::<Vec<_>>() {
                    self.forget_record_set(&key);
                }
                self.world.source_read(Source::RecordSets);
            }
            Observation::Schema(kind, schema) => self.watches.schema(kind, schema),
            // Pools' records need not wait for a kind that this cluster does not have.
            Observation::SchemasListed(kinds) if !kinds.contains(record_set::KIND) => {
                self.watches.schema(record_set::KIND, Schema::Missing);
            }
            Observation::SchemasListed(_) => {}
        }
    }

    fn forget_record_set(&mut self, key: &PoolKey) {
        self.world.remove_record_set(key);
        self.narrator.forget_record_set(key);
        self.statuses.forget(key);
    }

    fn forget_pool(&mut self, key: &PoolKey) {
        self.world.remove_pool(key);
        self.world.remove_record_set(key);
        self.narrator.forget_pool(key);
        self.statuses.forget(key);
    }

    /// The role changed: a term begins, or ends.
    fn follow(&mut self, role: &Role) {
        let term = match role {
            Role::Leader(tenure) => Some(tenure.term),
            Role::Follower { .. } => None,
        };
        if term == self.leading {
            return;
        }
        self.executor.abandon();
        self.narrator.set_leads(term.is_some());
        self.statuses.restart();
        self.leading = term;
        if let Role::Leader(tenure) = role {
            let wait = tenure.settle_until.saturating_sub(self.env.elapsed());
            if !wait.is_zero() {
                tracing::info!(?wait, "letting the last leader's calls settle");
            }
            self.term.set(tenure.term);
            self.planner = Planner::default();
            self.world.take_over(self.env.now() + wait);
        }
    }

    /// Stops deciding, waits for the calls that are under way, gives up the lease.
    async fn hand_over(mut self) {
        if self.leading.is_some() {
            tracing::info!("stopping: waiting for calls under way");
            let answered = self.executor.drain(self.drain_limit).await;
            let settled = answered && self.env.now() >= self.unanswered_until;
            self.leadership.release(settled).await;
        }
        tracing::info!("stopped");
    }
}

async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// The watches of a replica.
struct Watches {
    client: Client,
    env: Env,
    to: Sender<Observation>,
    tasks: JoinSet<()>,
    pools: Option<(Schema, AbortHandle)>,
    record_sets: Option<(Schema, AbortHandle)>,
}

impl Watches {
    fn start(&mut self) {
        let nodes = self.watch(Api::all(self.client.clone()), Nodes::default());
        self.env.spawn(&mut self.tasks, nodes);
        let pods = self.watch(Api::all(self.client.clone()), Pods::default());
        self.env.spawn(&mut self.tasks, pods);
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let definitions = self.watch(crds, Definitions::default());
        self.env.spawn(&mut self.tasks, definitions);
    }

    /// Watches a kind while it is defined. A definition that changes starts its watch anew,
    /// so that every object is looked at again in its light.
    fn schema(&mut self, kind: &'static str, schema: Schema) {
        let slot = if kind == pool::KIND { &mut self.pools } else { &mut self.record_sets };
        if slot.as_ref().is_some_and(|(before, _)| *before == schema) {
            return;
        }
        if let Some((_, before)) = slot.take() {
            before.abort();
        }
        match schema {
            Schema::Missing => {
                tracing::warn!(kind, "not defined in this cluster; define it with: {UPGRADE}");
            }
            Schema::Old => {
                tracing::warn!(kind, "a predecessor's definition: observing only; run: {UPGRADE}");
            }
            Schema::Current => tracing::info!(kind, "watching"),
        }
        let handle = match (kind, schema) {
            (_, Schema::Missing) => {
                let to = self.to.clone();
                self.env.spawn(&mut self.tasks, async move {
                    // Nobody listens any more only when the replica is gone.
                    let none = match kind {
                        record_set::KIND => Observation::RecordSetsListed(Default::default()),
                        _ => Observation::PoolsListed(kind, Default::default()),
                    };
                    drop(to.send(none).await);
                })
            }
            (pool::KIND, schema) => {
                let pools = self.watch(Api::all(self.client.clone()), Pools::new(schema));
                self.env.spawn(&mut self.tasks, pools)
            }
            (_, schema) => {
                let sets = self.watch(Api::all(self.client.clone()), RecordSets::new(schema));
                self.env.spawn(&mut self.tasks, sets)
            }
        };
        let slot = if kind == pool::KIND { &mut self.pools } else { &mut self.record_sets };
        *slot = Some((schema, handle));
    }

    fn watch<W: observe::Watch>(
        &self,
        api: Api<W::Object>,
        watch: W,
    ) -> impl Future<Output = ()> + Send + use<W> {
        observe::watch(api, watcher::Config::default(), watch, self.env.clone(), self.to.clone())
    }
}
