//! Plays a schedule: what happens when, then the end of all trouble, then rest.

mod actors;
mod edits;
mod lasting;
mod names;
mod rest;
mod trouble;
mod ways;

use std::collections::BTreeMap;
use std::time::Duration;

use fakecloud::Zone;
use fakekube::RuleId;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::cluster::Cluster;
use crate::coverage::Coverage;
use crate::end;
use crate::flipop::Flipop;
use crate::mutants::Mutant;
use crate::oracle::Violation;
use crate::schedule::{Event, Millis, Phase, PoolEvent, Schedule, What};
use crate::stage::Stage;

/// What came of a run.
#[derive(Debug)]
pub struct Played {
    /// The first broken promise.
    pub violation: Option<Violation>,
    /// What was met.
    pub coverage: Coverage,
    /// The story, if it was asked for.
    pub story: Vec<String>,
    /// How long the run took, on its own clock.
    pub took: Millis,
    /// How many calls to the outside each process had made when all was as it should be.
    pub calls: BTreeMap<String, u64>,
    /// How often somebody had to say what came of a reservation.
    pub resolved: u32,
    /// How many died in a call.
    pub deaths: usize,
    /// What there is at the end, but for times, UIDs and versions.
    pub end: Value,
}

/// How a schedule is played.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Keep the story.
    pub tells: bool,
    /// A fault in the operator itself.
    pub mutant: Option<Mutant>,
    /// Say what there is at the end.
    pub ends: bool,
    /// Do not watch it rest once everything is as it should be.
    pub hurries: bool,
    /// Who dies when, beyond what the schedule says.
    pub kills: Vec<Kill>,
}

/// A process dies at a moment of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// Its name: `a1` is the first process of the first replica.
    pub process: String,
    /// Which of its calls, from 1.
    pub call: u64,
    /// When in it.
    pub phase: Phase,
}

/// Plays a schedule on a runtime of its own.
///
/// # Errors
/// In words, if the run cannot be set up.
pub fn play(schedule: &Schedule, manner: &Manner) -> Result<Played, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    let played = runtime.block_on(async {
        let stage = Stage::new(schedule.seed, &schedule.setting, manner)?;
        let (user, cloud) = (stage.user.clone(), stage.cloud.clone());
        let cluster = Cluster::new(user, cloud, &schedule.setting, has_typos(schedule)).await;
        Ok(Player::new(schedule, stage, cluster, manner).play().await)
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
    /// Replicas to be started, and when.
    starts: Vec<(Instant, usize)>,
    /// Rules of the API server that an event made.
    frozen: Vec<(usize, RuleId)>,
    /// Predecessors that an event started.
    flipops: Vec<(usize, Flipop)>,
    /// Zones that are not there for the time being, each with the event that took it.
    vanished: Vec<(usize, Zone)>,
    /// How many calls each process had made when everything was as it should be.
    settled: Option<BTreeMap<String, u64>>,
    /// How often somebody had to say what came of a reservation.
    resolved: u32,
    last_death: Option<Millis>,
    deaths: usize,
    /// Annotations that somebody spoiled, each with the event and the pool.
    spoiled: Vec<(usize, usize, Option<String>)>,
    /// Since when nothing goes wrong any more.
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
            healed: schedule.ends,
        }
    }

    async fn play(mut self) -> Played {
        self.start_all();
        for (at, index, begins) in timeline(self.schedule) {
            self.wait_until(at).await;
            if self.broken() {
                return self.over();
            }
            self.edge(index, begins).await;
        }
        self.wait_until(self.schedule.ends).await;
        self.heal().await;
        if !self.broken() && !self.schedule.lasting.is_empty() {
            self.meanwhile().await;
        }
        if !self.broken() {
            self.settle().await;
        }
        self.over()
    }

    /// An event begins or ends.
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
            end: if self.wants_end { end::of(&self.stage) } else { Value::Null },
        }
    }

    /// Lets time pass; whoever dies or is due meanwhile is seen to.
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
                        // Whoever dies in the very moment in which all is well is not counted.
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

/// Whether somebody writes what our definitions refuse.
fn has_typos(schedule: &Schedule) -> bool {
    let mistyped = |event: &Event| matches!(event.what, What::Pool(_, PoolEvent::Mistyped(_)));
    all_events(schedule).any(mistyped)
}

/// Every event, those that outlast the others last.
fn all_events(schedule: &Schedule) -> impl Iterator<Item = &Event> {
    schedule.events.iter().chain(&schedule.lasting)
}

/// Every beginning and end until the trouble is over, in the order of time.
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
    // At the very start, what befalls processes and requests comes before anybody runs.
    let waits = |index: usize| {
        let what = all_events(schedule).nth(index).map(|event| &event.what);
        matches!(what, Some(What::Node(..) | What::Pool(..) | What::Name(..)))
    };
    edges.sort_by_key(|(at, index, begins)| (*at, !begins, waits(*index), *index));
    edges
}
