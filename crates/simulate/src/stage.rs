//! The environment of a run: both emulators, the oracle, the active faults, and the replicas.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fakecloud::{Access, FakeCloud, Recording};
use fakekube::FakeKube;
use jiff::Timestamp;
use kube::Client;
use pontoon::env::Env;
use pontoon::extension::Board;
use pontoon::fronts::Controllers;
use pontoon::fronts::flipop::FLIPOP;
use pontoon::leadership::{Sought, Timing};
use pontoon::report::metrics::Metrics;
use pontoon::run::{self, Mode, Options, Surroundings, VipOptions};
use pontoon::serve::Health;
use pontoon_core::Time;
use pontoon_core::model::Subject;
use pontoon_providers::Transport;
use pontoon_providers::layers::Gate;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::active_faults::Weather;
use crate::cluster::NAMESPACE;
use crate::clusters::ManagementSetting;
use crate::coverage::Coverage;
use crate::flipop::{of_allocations, of_vips};
use crate::mutants::Mutant;
use crate::names::Host;
use crate::oracle::Oracle;
use crate::play::{Kill, Manner};
use crate::process::{Effect, Process};
use crate::schedule::{Clock, Millis, Observes, Setting};
use crate::vendor::Vendor;
use crate::wire::{ApiWire, CloudWire};

/// The account's token. No object or event may contain the token.
pub const TOKEN: &str = "canary-7f3a9c";

/// The start time of every run.
pub const BEGINS: Timestamp = Timestamp::constant(1_800_000_000, 0);

/// The dedicated project, if set.
pub const PROJECT: &str = "11111111-2222-4333-8444-555555555555";

/// The shared state of a run.
#[derive(Debug)]
pub struct Shared {
    started: Instant,
    oracle: Mutex<Oracle>,
    weather: Mutex<Weather>,
    coverage: Mutex<Coverage>,
    /// The provider of machines and addresses.
    pub vendor: Vendor,
    /// Told of every write of a node or pod.
    pub changed: Arc<Notify>,
    /// Told of every write of an object of a management cluster.
    pub managed: Arc<Notify>,
    story: Option<Mutex<Vec<String>>>,
}

impl Shared {
    fn new(tells: bool, vendor: Vendor) -> Arc<Self> {
        let started = Instant::now();
        Arc::new(Self {
            started,
            oracle: Mutex::new(Oracle::new(started)),
            weather: Mutex::default(),
            coverage: Mutex::default(),
            vendor,
            changed: Arc::default(),
            managed: Arc::default(),
            story: tells.then(Mutex::default),
        })
    }

    /// The oracle.
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The active faults.
    pub fn weather(&self) -> MutexGuard<'_, Weather> {
        self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The coverage so far.
    pub fn coverage(&self) -> MutexGuard<'_, Coverage> {
        self.coverage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the trace, if enabled.
    pub fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(story) = &self.story {
            let now = self.now();
            let line = format!("{:>4}.{:03} {}", now / 1000, now % 1000, line());
            story.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    /// The trace so far.
    pub fn story(&self) -> Vec<String> {
        let story = self.story.as_ref();
        story
            .map(|story| story.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    /// The time since the start.
    pub fn now(&self) -> Millis {
        Millis::try_from(self.started.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// Converts a time of the run to tokio's clock.
    pub fn instant(&self, at: Millis) -> Instant {
        self.started + Duration::from_millis(at)
    }
}

/// The environment of a run.
pub struct Stage {
    /// The shared state.
    pub shared: Arc<Shared>,
    /// The emulated provider.
    pub cloud: FakeCloud,
    /// The emulated API server.
    pub kube: FakeKube,
    /// The user's client of the API server, without faults.
    pub user: Client,
    /// Both replicas.
    pub replicas: [Replica; 2],
    /// Reports of dead processes.
    pub deaths: mpsc::UnboundedReceiver<Process>,
    undertaker: mpsc::UnboundedSender<Process>,
    seed: u64,
    project: bool,
    /// Whether there are allocations.
    allocates: bool,
    controllers: Controllers,
    vips: VipOptions,
    mutant: Option<Mutant>,
    retry_max: Duration,
    metrics: Metrics,
    kills: Vec<Kill>,
    /// Killed processes, with their calls.
    buried: Vec<(String, Vec<Effect>)>,
}

/// A replica, running or not.
pub struct Replica {
    /// The running process, if any.
    pub life: Option<Life>,
    incarnations: u32,
    clock: Clock,
    observes: Observes,
}

impl Replica {
    /// The mode of the next process.
    fn mode(&self) -> Mode {
        match self.observes {
            Observes::AtFirst if self.incarnations == 1 => Mode::Observe,
            Observes::Always => Mode::Observe,
            Observes::Never | Observes::AtFirst => Mode::Active,
        }
    }

    /// Whether the replica is running in observe mode and acts after a restart.
    pub fn is_to_act(&self) -> bool {
        self.life.is_some() && self.observes == Observes::AtFirst && self.incarnations == 1
    }
}

/// A running process.
pub struct Life {
    /// The handle.
    pub process: Process,
    /// Asks the process to stop.
    pub stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Stage {
    /// A stage without running replicas.
    ///
    /// # Errors
    /// A description, if the operator's metrics cannot be created.
    pub fn new(seed: u64, setting: &Setting, manner: &Manner) -> Result<Self, String> {
        pontoon_providers::admit(pontoon_providers::acme::PROFILES);
        let metrics = Metrics::new().map_err(|error| error.to_string())?;
        let shared = Shared::new(manner.tells, setting.vendor);
        let cloud = FakeCloud::starting_at(BEGINS);
        cloud.dump_on_drop(None);
        let half = Duration::from_millis(setting.latency / 2);
        cloud.seed(seed).recording(Recording::Off).set(|knobs| {
            (knobs.latency_before, knobs.latency_after) = (half, half);
            knobs.action_time = Duration::from_millis(setting.action_time);
            knobs.addresses_per_machine = setting.vendor.profile().per_machine;
            knobs.token = Some(TOKEN.to_owned());
        });
        let zone = Host::Cloudflare.zone();
        shared.oracle().zone_called(cloud.zone_id(zone), zone);
        let observer = Arc::clone(&shared);
        cloud.observe(move |what, state| observer.oracle().happened(what, state));
        let kube = FakeKube::starting_at(seed, BEGINS);
        let observer = Arc::clone(&shared);
        kube.observe(move |write| {
            if matches!(write.plural, "nodes" | "pods") {
                observer.changed.notify_one();
            }
            if write.group.ends_with("cluster.x-k8s.io") {
                observer.managed.notify_one();
            }
            observer.oracle().wrote(&write);
        });
        let (undertaker, deaths) = mpsc::unbounded_channel();
        let replica = |index: usize| Replica {
            life: None,
            incarnations: 0,
            clock: setting.clocks[index],
            observes: setting.observes[index],
        };
        shared.oracle().set_clocks(setting.clocks);
        shared.oracle().set_vendor(setting.vendor);
        let (controllers, vips) = manage(setting.management.as_ref(), &shared, &kube);
        let user = Client::new(kube.service(), "default");
        Ok(Self {
            metrics,
            replicas: [replica(0), replica(1)],
            project: setting.project,
            allocates: !setting.allocations.is_empty(),
            controllers,
            vips,
            shared,
            cloud,
            kube,
            user,
            deaths,
            undertaker,
            seed,
            mutant: manner.mutant,
            retry_max: manner.retry_max.unwrap_or(Duration::from_secs(60)),
            kills: manner.kills.clone(),
            buried: vec![],
        })
    }

    /// Starts a replica, unless running.
    pub fn start(&mut self, index: usize) {
        let replica = &mut self.replicas[index];
        if replica.life.is_some() {
            return;
        }
        replica.incarnations += 1;
        let (incarnation, clock) = (replica.incarnations, replica.clock);
        let mode = replica.mode();
        let process = Process::new(index, incarnation, self.undertaker.clone());
        for kill in self.kills.iter().filter(|kill| kill.process == process.name) {
            process.die_at(kill.call, kill.phase);
        }
        let (stop, stopped) = watch::channel(false);
        self.shared.oracle().started(&process.name, mode == Mode::Observe);
        let life =
            run::run(self.options(&process, mode), self.surroundings(&process, clock, stopped));
        self.shared.tell(|| format!("{} is started", process.name));
        let task = tokio::spawn(life);
        self.replicas[index].life = Some(Life { process, stop, task });
    }

    /// The calls of each process.
    pub fn calls(&self) -> BTreeMap<String, Vec<Effect>> {
        let alive = self.replicas.iter().filter_map(|replica| replica.life.as_ref());
        let alive = alive.map(|life| (life.process.name.clone(), life.process.calls()));
        alive.chain(self.buried.iter().cloned()).collect()
    }

    /// Kills a replica, if running.
    pub fn kill(&mut self, index: usize) {
        if let Some(life) = self.replicas[index].life.take() {
            self.shared.tell(|| format!("{} is gone", life.process.name));
            self.buried.push((life.process.name.clone(), life.process.calls()));
            life.process.die();
            life.task.abort();
        }
    }

    /// Reaps a finished replica. Returns whether the replica had finished, normally or by a panic.
    pub async fn ended(&mut self, index: usize) -> bool {
        let finished = |life: &Life| life.task.is_finished();
        if !self.replicas[index].life.as_ref().is_some_and(finished) {
            return false;
        }
        if let Some(life) = self.replicas[index].life.take()
            && let Err(error) = life.task.await
            && error.is_panic()
        {
            let text = format!("{} broke: {error}", life.process.name);
            self.shared.oracle().violated("panic", text);
        }
        true
    }

    fn surroundings(
        &self,
        process: &Process,
        clock: Clock,
        stop: watch::Receiver<bool>,
    ) -> Surroundings {
        let (shared, service) = (Arc::clone(&self.shared), self.kube.service());
        let api = ApiWire { process: process.clone(), service, shared };
        let (shared, service) = (Arc::clone(&self.shared), self.cloud.service());
        let cloud = self.cloud.clone();
        let cloud = CloudWire { process: process.clone(), service, cloud, shared };
        let mutant = self.mutant;
        let transport = move |gate: &Gate| match mutant {
            Some(mutant) => mutant.cloud(gate, Transport::new(cloud.clone())),
            None => gate.around(Transport::new(cloud.clone())),
        };
        let client = match mutant {
            Some(mutant) => mutant.api(api),
            None => Client::new(api, "default"),
        };
        let project = self.project.then_some(PROJECT);
        let access = Access { url: "http://127.0.0.1", secret: TOKEN, project, user_agent: None };
        let variables: BTreeMap<_, _> = fakecloud::environment(&access).into_iter().collect();
        let variable = move |name: &str| variables.get(name).cloned();
        Surroundings {
            leases: client.clone(),
            client,
            transport: Box::new(transport),
            variable: Box::new(variable),
            env: self.env(process, clock),
            metrics: self.metrics.clone(),
            health: Health::default(),
            board: Board::default(),
            stop,
        }
    }

    fn env(&self, process: &Process, clock: Clock) -> Env {
        let born = Instant::now();
        let rate = 1.0 + f64::from(clock.fast) / 1000.0;
        let elapsed = move || born.elapsed().mul_f64(rate);
        let name = process.name.bytes().fold(0, |sum, byte| sum * 256 + u64::from(byte));
        let random = fastrand::Rng::with_seed(self.seed ^ name.rotate_left(32));
        Env::new(elapsed, self.wall(clock), random).paced(Arc::new(process.clone()))
    }

    /// The wall time on a machine with this clock.
    fn wall(&self, clock: Clock) -> Time {
        let now = BEGINS.as_microsecond() + i64::try_from(self.shared.now()).unwrap_or(0) * 1000;
        Time::from_micros(now + i64::from(clock.ahead) * 1_000_000)
    }

    fn options(&self, process: &Process, mode: Mode) -> Options {
        // A predecessor counts while its kinds are there.
        let allocates = of_allocations().filter(|_| self.allocates);
        let manages = of_vips().filter(|_| self.controllers.serve(Subject::Vips));
        let predecessors = [Some(&FLIPOP), allocates, manages].into_iter().flatten();
        let sought = |one| Sought::usual(one, [NAMESPACE.to_owned()].into());
        Options {
            namespace: "default".to_owned(),
            name: process.name.clone(),
            pod: Some(process.pod.clone()),
            predecessors: predecessors.map(sought).collect(),
            leader_elect: true,
            mode,
            timing: Timing::default(),
            provider_timeout: Duration::from_secs(5),
            retry_initial: Duration::from_secs(1),
            retry_max: self.retry_max,
            controllers: self.controllers.clone(),
            vips: self.vips.clone(),
            policy: None,
        }
    }
}

/// Switches on what a management cluster needs. Returns the kinds that the replicas serve, and their
/// settings for VIPs.
fn manage(
    setting: Option<&ManagementSetting>,
    shared: &Shared,
    kube: &FakeKube,
) -> (Controllers, VipOptions) {
    let holds = setting.is_some_and(|one| one.holds);
    shared.oracle().set_holds(holds);
    let mut controllers = Controllers::default();
    match setting {
        Some(one) => {
            kube.collect_garbage(Duration::from_millis(one.lag));
        }
        None => controllers = controllers.without(Subject::Vips),
    }
    (controllers, VipOptions { holds, ..VipOptions::default() })
}
