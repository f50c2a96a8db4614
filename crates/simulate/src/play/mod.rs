//! Runs a schedule: the events, then the end of trouble, then rest.

mod actors;
mod allocations;
mod clusters;
mod edits;
mod lasting;
mod names;
mod recovery;
mod rest;
mod trouble;
mod variations;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fakecloud::Zone;
use fakekube::RuleId;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::cluster::{Cluster, Spoiled};
use crate::controllers::Controllers;
use crate::coverage::Coverage;
use crate::end_state;
use crate::flipop::Flipop;
use crate::management::Management;
use crate::mutants::Mutant;
use crate::oracle::Violation;
use crate::process::Effect;
use crate::schedule::{Event, Millis, Phase, PoolEvent, Schedule, What};
use crate::stage::Stage;

pub use recovery::{Recovery, recover};

/// The result of a run.
#[derive(Debug)]
pub struct Played {
    /// The first violation.
    pub violation: Option<Violation>,
    /// The coverage.
    pub coverage: Coverage,
    /// The trace, if requested.
    pub story: Vec<String>,
    /// The simulated duration of the run.
    pub took: Millis,
    /// The external calls of each process until everything was settled.
    pub calls: BTreeMap<String, Vec<Effect>>,
    /// The number of questions to the user about reservations.
    pub resolved: u32,
    /// The number of processes that died during a call.
    pub deaths: usize,
    /// The final state without times, UIDs and versions.
    pub end: Value,
}

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Keep the trace.
    pub tells: bool,
    /// A fault in the operator itself.
    pub mutant: Option<Mutant>,
    /// Compute the final state.
    pub ends: bool,
    /// End the run once everything is settled, without observing rest.
    pub hurries: bool,
    /// Deaths in addition to the schedule's.
    pub kills: Vec<Kill>,
    /// The longest back-off, if not a minute.
    pub retry_max: Option<Duration>,
}

/// The death of a process during a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// The process: `a1` is the first process of the first replica.
    pub process: String,
    /// The number of the call, from 1.
    pub call: u64,
    /// The phase of the call.
    pub phase: Phase,
}

/// Runs a schedule on a new runtime.
///
/// # Errors
/// A description, if the run cannot be set up.
pub fn play(schedule: &Schedule, manner: &Manner) -> Result<Played, String> {
    on_a_runtime(schedule, manner, async |player| player.play().await)
}

/// Sets up a run on a new runtime, and hands it over to `act`.
fn on_a_runtime<T>(
    schedule: &Schedule,
    manner: &Manner,
    act: impl AsyncFnOnce(Player<'_>) -> T,
) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    let played = runtime.block_on(async {
        let stage = Stage::new(schedule.seed, &schedule.setting, manner)?;
        let (user, cloud) = (stage.user.clone(), stage.cloud.clone());
        let cluster = Cluster::new(user, cloud, &schedule.setting, has_typos(schedule)).await;
        Ok(act(Player::new(schedule, stage, cluster, manner)).await)
    });
    runtime.shutdown_background();
    played
}

struct Player<'a> {
    wants_end: bool,
    hurries: bool,
    schedule: &'a Schedule,
    stage: Stage,
    cluster: Cluster,
    /// Replicas to start, with times.
    starts: Vec<(Instant, usize)>,
    /// Rules of the API server, by event.
    frozen: Vec<(usize, RuleId)>,
    /// Running predecessors, by event.
    flipops: Vec<(usize, Flipop)>,
    /// Missing zones, by event.
    vanished: Vec<(usize, Zone)>,
    /// The calls of each process when everything was settled.
    settled: Option<BTreeMap<String, Vec<Effect>>>,
    /// The number of questions to the user about reservations.
    resolved: u32,
    last_death: Option<Millis>,
    deaths: usize,
    /// Previous values of unreadable annotations, with event and pool.
    spoiled: Vec<(usize, usize, Spoiled)>,
    /// The controllers of workloads, if there are any.
    controllers: Option<Controllers>,
    /// The controllers of the management cluster, if the cluster is one.
    management: Option<Management>,
    /// The end of all trouble.
    healed: Millis,
}

impl<'a> Player<'a> {
    fn new(schedule: &'a Schedule, stage: Stage, cluster: Cluster, manner: &Manner) -> Self {
        Self {
            wants_end: manner.ends,
            hurries: manner.hurries,
            schedule,
            stage,
            cluster,
            starts: vec![],
            frozen: vec![],
            flipops: vec![],
            vanished: vec![],
            settled: None,
            resolved: 0,
            last_death: None,
            deaths: 0,
            spoiled: vec![],
            controllers: None,
            management: None,
            healed: schedule.ends,
        }
    }

    async fn play(mut self) -> Played {
        self.endure().await;
        if !self.broken() && !self.schedule.lasting.is_empty() {
            self.meanwhile().await;
        }
        if !self.broken() {
            self.settle().await;
        }
        self.over()
    }

    /// Starts everything, and lets the events happen until the end of trouble.
    async fn endure(&mut self) {
        if !self.schedule.setting.allocations.is_empty() {
            let (kube, user) = (self.stage.kube.clone(), self.stage.user.clone());
            let changed = Arc::clone(&self.stage.shared.changed);
            let nodes = self.cluster.nodes();
            self.controllers = Some(Controllers::start(kube, user, nodes, changed).await);
        }
        self.start_management();
        self.start_all();
        for (at, index, begins) in timeline(self.schedule) {
            self.wait_until(at).await;
            if self.broken() {
                return;
            }
            self.edge(index, begins).await;
        }
        self.wait_until(self.schedule.ends).await;
        self.heal().await;
    }

    /// Begins or ends an event.
    pub(super) async fn edge(&mut self, index: usize, begins: bool) {
        let Some(event) = all_events(self.schedule).nth(index) else { return };
        self.stage.shared.tell(|| {
            let edge = if begins { "" } else { "the end of " };
            format!("-- {edge}{:?}", event.what)
        });
        if begins {
            self.begin(index, event).await;
        } else {
            self.end(index, event).await;
        }
    }

    fn broken(&self) -> bool {
        let panicked = crate::panics::take();
        if let Some(text) = panicked {
            self.stage.shared.oracle().violated("panic", text);
        }
        self.stage.shared.oracle().violation().is_some()
    }

    fn over(self) -> Played {
        let shared = &self.stage.shared;
        Played {
            violation: shared.oracle().violation().cloned(),
            coverage: shared.coverage().clone(),
            story: shared.story(),
            took: shared.now(),
            resolved: self.resolved,
            deaths: self.deaths,
            calls: self.settled.clone().unwrap_or_default(),
            end: if self.wants_end { end_state::of(&self.stage) } else { Value::Null },
        }
    }

    /// Lets time pass. Handles deaths and due starts meanwhile.
    async fn wait_until(&mut self, at: Millis) {
        let until = self.stage.shared.instant(at);
        if Instant::now() >= until && self.starts.is_empty() {
            return;
        }
        loop {
            let next = self.starts.iter().map(|(at, _)| *at).min();
            tokio::select! {
                biased;
                Some(dead) = self.stage.deaths.recv() => {
                    if dead.spins() {
                        let text = format!("{} spins", dead.name);
                        self.stage.shared.oracle().violated("L5", text);
                    }
                    let life = self.stage.replicas[dead.replica].life.as_ref();
                    if life.is_some_and(|life| life.process.is(&dead)) {
                        self.deaths += 1;
                        // A death at the very moment of settling invalidates the count.
                        self.settled = None;
                        self.last_death = Some(self.stage.shared.now());
                        self.stage.kill(dead.replica);
                        self.start_in(dead.replica, 3_000);
                    }
                }
                () = sleep_until(next.unwrap_or(until).min(until)) => {
                    self.start_due().await;
                    if Instant::now() >= until {
                        return;
                    }
                }
            }
        }
    }

    async fn start_due(&mut self) {
        let now = Instant::now();
        let due: Vec<usize> =
            self.starts.iter().filter(|(at, _)| *at <= now).map(|(_, index)| *index).collect();
        self.starts.retain(|(at, _)| *at > now);
        for index in due {
            self.stage.ended(index).await;
            self.stage.start(index);
        }
    }

    fn start_in(&mut self, replica: usize, after: Millis) {
        self.starts.push((Instant::now() + Duration::from_millis(after), replica));
    }
}

/// Whether the schedule contains specs refused by our CRDs.
fn has_typos(schedule: &Schedule) -> bool {
    let mistyped = |event: &Event| matches!(event.what, What::Pool(_, PoolEvent::Mistyped(_)));
    all_events(schedule).any(mistyped)
}

/// All events, the lasting ones last.
fn all_events(schedule: &Schedule) -> impl Iterator<Item = &Event> {
    schedule.events.iter().chain(&schedule.lasting)
}

/// All beginnings and ends until the end of trouble, in order of time.
fn timeline(schedule: &Schedule) -> Vec<(Millis, usize, bool)> {
    let mut edges = Vec::new();
    for (index, event) in all_events(schedule).enumerate() {
        let lasting = index >= schedule.events.len();
        if !lasting || event.at < schedule.ends {
            edges.push((event.at, index, true));
        }
        if !lasting {
            edges.push(((event.at + event.lasts).min(schedule.ends), index, false));
        }
    }
    // At the same time, faults of processes and requests come before changes of objects.
    let waits = |index: usize| {
        let what = all_events(schedule).nth(index).map(|event| &event.what);
        matches!(
            what,
            Some(
                What::Node(..)
                    | What::Pool(..)
                    | What::Name(..)
                    | What::Allocation(..)
                    | What::Drained(_)
                    | What::Cluster(..)
                    | What::VipPool(..)
                    | What::Class(_)
            )
        )
    };
    edges.sort_by_key(|(at, index, begins)| (*at, !begins, waits(*index), *index));
    edges
}
