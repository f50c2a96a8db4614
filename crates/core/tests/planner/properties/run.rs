//! A world with random events, and its planner.

use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Outcome};
use pontoon_core::plan::{Plan, Planner};
use pontoon_core::world::{Settings, World};

use super::super::fixture::*;
use super::events::{Answer, Event, accounts, name};

/// A world with random events, and its pending actions.
pub struct Run {
    pub now: Time,
    pub world: World,
    planner: Planner,
    under_way: Vec<(Action, Time)>,
    version: u64,
}

/// Applies all events; calls `plan` at each planning event, and once at the end.
pub fn live(events: Vec<Event>, mut plan: impl FnMut(&mut Run)) {
    let mut run = Run::new();
    for event in events {
        match event {
            Event::Plan => plan(&mut run),
            other => run.take(other),
        }
    }
    plan(&mut run);
}

impl Run {
    fn new() -> Self {
        let mut world = World::new(Settings::default(), &KINDS);
        for (id, setup) in accounts() {
            world.set_account(id.into(), setup);
        }
        for source in SOURCES {
            world.source_read(source);
        }
        Self { now: at(0), world, planner: Planner::default(), under_way: vec![], version: 1 }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Node(mut node) => {
                node.version = self.version(node.version);
                self.world.set_node(node);
            }
            Event::NodeGone(n) => self.world.remove_node(&name(n).as_str().into()),
            Event::Pod(pod) => self.world.set_pod(&pod),
            Event::PodGone(n) => self.world.remove_pod(&format!("pod-{n}").as_str().into()),
            Event::Pool(mut pool) => {
                pool.version = self.version(pool.version);
                self.world.set_pool(*pool);
            }
            Event::PoolGone(n) => self.world.remove_pool(&key(&format!("p{n}"))),
            Event::End(which, ago, answer) => self.end(which, ago, *answer),
            Event::Pass(time) => self.now = self.now + time,
            Event::TakeOver(wait) => {
                self.under_way.clear();
                self.planner = Planner::default();
                self.world.take_over(self.now + wait);
            }
            Event::Plan => {}
        }
    }

    /// The next version, or sometimes an old version.
    fn version(&mut self, draw: u64) -> u64 {
        self.version += 1;
        if draw == 0 { 1 } else { self.version }
    }

    /// Ends a pending action, usually with a fitting answer.
    fn end(&mut self, which: usize, ago: Duration, answer: Answer) {
        if self.under_way.is_empty() {
            return;
        }
        let (action, sent_at) = self.under_way.remove(which % self.under_way.len());
        let late = sent_at.max(self.now - ago);
        let result = answer.to(&action);
        let outcome = Outcome { action, sent_at: late, result, jitter: 500 };
        self.world.finish(outcome, self.now);
    }

    /// Plans and begins the actions.
    pub fn next(&mut self) -> Plan {
        let plan = self.planner.next(&mut self.world, self.now);
        for action in &plan.actions {
            self.world.begin(action);
            self.under_way.push((action.clone(), self.now));
        }
        plan
    }
}
