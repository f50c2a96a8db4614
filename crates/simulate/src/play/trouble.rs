//! The beginning and end of faults.

use std::time::Duration;

use fakekube::On;

use super::Player;
use crate::faults::CloudFault;
use crate::process::Seam;
use crate::schedule::{CloudState, Event, Millis, ProcessEvent, What};

impl Player<'_> {
    fn troubles(&self, what: &What, begins: bool) {
        let mut oracle = self.stage.shared.oracle();
        match what {
            // Refused calls do not age any replica's view.
            What::CloudIs(CloudState::Full) | What::Refuses(_) => {}
            What::Cloud { fault: CloudFault::Unavailable, on: Some(on), .. } if on.creates() => {}
            What::Cloud { .. } | What::CloudIs(_) => oracle.cloud_trouble(begins),
            What::Api { .. } | What::Stale(_) => oracle.api_trouble(begins),
            What::Compacted | What::WatchesCut => {
                oracle.api_trouble(true);
                oracle.api_trouble(false);
            }
            What::Process(
                _,
                ProcessEvent::Killed | ProcessEvent::KilledAt(..) | ProcessEvent::KilledOn(..),
            ) => {}
            What::Process(..) => {
                oracle.api_trouble(begins);
                oracle.cloud_trouble(begins);
            }
            What::Node(..)
            | What::Pool(..)
            | What::Hand(_)
            | What::Name(..)
            | What::Zone(_)
            | What::Allocation(..)
            | What::Drained(_)
            | What::Budget(_)
            | What::Cluster(..)
            | What::VipPool(..)
            | What::Class(_)
            | What::ControllersDown
            | What::Flipop { .. }
            | What::Controller { .. } => {}
        }
    }

    pub(super) async fn begin(&mut self, index: usize, event: &Event) {
        self.troubles(&event.what, true);
        self.tell_stuck(index, event);
        let shared = self.stage.shared.clone();
        match event.what.clone() {
            What::Node(node, what) => self.node(usize::from(node), what, true).await,
            What::Pool(pool, what) => self.pool(index, usize::from(pool), what, true).await,
            What::Hand(what) => self.hand(what),
            What::Name(which, what) => self.name(usize::from(which), what, true).await,
            What::Zone(what) => self.zone(index, what, true),
            What::Allocation(which, what) => self.allocation(usize::from(which), what, true).await,
            What::Drained(node) => self.drain(usize::from(node), true).await,
            What::Budget(workload) => self.budget(workload, true).await,
            What::Cluster(..) | What::VipPool(..) | What::Class(_) | What::ControllersDown => {
                self.management_event(&event.what, true).await;
            }
            What::Cloud { fault, on, percent, dice } => {
                shared.weather().cloud_fault(index, fault, on, percent, dice);
            }
            What::CloudIs(state) => {
                shared.weather().cloud_is(index, state);
                if state == CloudState::Throttled {
                    self.stage.cloud.throttle_for(Duration::from_millis(event.lasts));
                }
                self.set_cloud();
            }
            What::Refuses(what) => {
                if let Some(what) = self.stuck(what) {
                    shared.weather().refuses(index, what);
                    shared.oracle().sticks(index, what);
                }
            }
            What::Api { fault, on, replica, percent, dice } => {
                shared.weather().api_fault(index, fault, on, replica, (percent, dice));
            }
            What::Stale(replica) => {
                let theirs = On::any().from_agent(if replica == 0 { "a" } else { "b" });
                shared.weather().stale(index, replica);
                self.frozen.push((index, self.stage.kube.freeze(theirs.clone())));
                self.stage.kube.drop_watches(&theirs);
            }
            What::Compacted => {
                self.stage.kube.compact();
                self.stage.kube.drop_watches(&On::any());
            }
            What::WatchesCut => drop(self.stage.kube.drop_watches(&On::any())),
            What::Process(replica, what) => self.process(index, replica, what, event.lasts),
            What::Flipop { gives_back } => self.flipop_starts(index, true, gives_back),
            What::Controller { gives_back } => self.flipop_starts(index, false, gives_back),
        }
    }

    pub(super) async fn end(&mut self, index: usize, event: &Event) {
        self.troubles(&event.what, false);
        let shared = self.stage.shared.clone();
        shared.weather().end(index);
        shared.oracle().loosens(index);
        match event.what {
            What::Node(node, what) => self.node(usize::from(node), what, false).await,
            What::Pool(pool, what) => self.pool(index, usize::from(pool), what, false).await,
            What::Name(which, what) => self.name(usize::from(which), what, false).await,
            What::Zone(what) => self.zone(index, what, false),
            What::Allocation(which, what) => self.allocation(usize::from(which), what, false).await,
            What::Drained(node) => self.drain(usize::from(node), false).await,
            What::Budget(workload) => self.budget(workload, false).await,
            What::Cluster(..) | What::VipPool(..) | What::Class(_) | What::ControllersDown => {
                self.management_event(&event.what, false).await;
            }
            What::CloudIs(_) => self.set_cloud(),
            What::Stale(_) => {
                for (_, rule) in self.frozen.extract_if(.., |(event, _)| *event == index) {
                    self.stage.kube.clear(rule);
                }
            }
            What::Process(replica, what) => self.go_on(usize::from(replica), what),
            What::Flipop { .. } | What::Controller { .. } => self.flipop_ends(index).await,
            What::Hand(_)
            | What::Cloud { .. }
            | What::Refuses(_)
            | What::Api { .. }
            | What::Compacted
            | What::WatchesCut => {}
        }
    }

    /// Sets the emulator's knobs for the active states.
    fn set_cloud(&self) {
        let states: Vec<_> = self.stage.shared.weather().states().collect();
        let has = |state| states.contains(&state);
        let lag = states.iter().map(|state| match state {
            CloudState::Lagging(time) => *time,
            _ => 0,
        });
        let lag = Duration::from_millis(lag.max().unwrap_or(0));
        self.stage.cloud.set(|knobs| {
            knobs.read_lag = lag;
            knobs.token_expired = has(CloudState::TokenExpired);
            knobs.machine_read = !has(CloudState::Blind);
            knobs.address_limit = if has(CloudState::Full) { 0 } else { 1_000 };
        });
    }

    fn process(&mut self, index: usize, replica: u8, what: ProcessEvent, lasts: Millis) {
        let replica_index = usize::from(replica);
        let Some(life) = &self.stage.replicas[replica_index].life else { return };
        match what {
            ProcessEvent::Killed => {
                self.stage.kill(replica_index);
                self.start_in(replica_index, lasts);
            }
            ProcessEvent::KilledAt(calls, phase) => {
                life.process.die_at(u64::from(calls), phase);
            }
            ProcessEvent::KilledOn(called, phase) => life.process.die_on(called.name(), phase),
            ProcessEvent::Stopped => {
                life.stop.send_replace(true);
                self.start_in(replica_index, lasts.max(30_000));
            }
            ProcessEvent::Paused => {
                life.process.pause();
                self.stage.shared.weather().paused(index, replica);
            }
            ProcessEvent::PausedOn(called) => {
                life.process.pause_on(called.name());
                self.stage.shared.weather().paused(index, replica);
            }
            ProcessEvent::PausedAtRun(runs) => {
                life.process.pause_at_run(u64::from(runs));
                self.stage.shared.weather().paused(index, replica);
            }
            ProcessEvent::CutOffApi => life.process.link(Seam::Api, false),
            ProcessEvent::CutOffCloud => life.process.link(Seam::Cloud, false),
            ProcessEvent::CutOff => {
                life.process.link(Seam::Api, false);
                life.process.link(Seam::Cloud, false);
            }
        }
    }

    fn go_on(&mut self, replica: usize, what: ProcessEvent) {
        let Some(life) = &self.stage.replicas[replica].life else { return };
        match what {
            ProcessEvent::Paused | ProcessEvent::PausedOn(_) | ProcessEvent::PausedAtRun(_)
                if !self.stage.shared.weather().is_paused(replica) =>
            {
                life.process.resume();
            }
            ProcessEvent::KilledAt(..) => life.process.spare(),
            ProcessEvent::CutOffApi | ProcessEvent::CutOffCloud | ProcessEvent::CutOff => {
                life.process.link(Seam::Api, true);
                life.process.link(Seam::Cloud, true);
            }
            _ => {}
        }
    }
}
