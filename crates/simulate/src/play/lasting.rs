//! The phase of lasting faults: everything not touched by them must reach its final state.

use super::{Player, all_events};
use crate::oracle::Stuck;
use crate::schedule::{Event, Millis, Sticking, What};
use crate::wire::CloudAction;

/// The time limit without names: the longest back-off, the longest grace period, and a few
/// listings.
const MEANWHILE: Millis = 6 * 60_000;

/// The time limit with names, which are read in turn, one every two minutes.
const TOLD_WITHIN: Millis = 20 * 60_000;

/// The interval of checks.
const CHECK_INTERVAL: Millis = 5_000;

impl Player<'_> {
    /// Applies the events of the phase, waits for the final state, then ends the lasting faults.
    pub(super) async fn meanwhile(&mut self) {
        let first = self.schedule.events.len();
        let (schedule, mut at) = (self.schedule, self.schedule.ends);
        let mut later: Vec<(Millis, usize)> = all_events(schedule)
            .enumerate()
            .filter(|(index, event)| *index >= first && event.at >= schedule.ends)
            .map(|(index, event)| (event.at, index))
            .collect();
        later.sort_unstable();
        for (begins, index) in later {
            at = begins;
            self.wait_watching(at).await;
            if self.broken() {
                return;
            }
            self.edge(index, true).await;
        }
        let (limit, named) = (at + MEANWHILE, at + TOLD_WITHIN);
        loop {
            at += CHECK_INTERVAL;
            self.wait_watching(at).await;
            if self.broken() {
                return;
            }
            let unsettled = self.stage.shared.oracle().unsettled();
            if unsettled.is_empty() {
                break;
            }
            let unplaced = !self.stage.shared.oracle().unplaced().is_empty();
            if at >= named || (at >= limit && unplaced) {
                let text = format!("while a fault lasts: {}", unsettled.join("; "));
                return self.stage.shared.oracle().violated("L1", text);
            }
        }
        for index in first..first + self.schedule.lasting.len() {
            self.edge(index, false).await;
        }
        self.healed = at;
    }

    /// Lets time pass, and checks meanwhile that no address is idle for too long.
    async fn wait_watching(&mut self, until: Millis) {
        while !self.broken() {
            let next = (self.stage.shared.now() + CHECK_INTERVAL).min(until);
            self.wait_until(next).await;
            self.stage.shared.oracle().check_idle();
            if next >= until {
                return;
            }
        }
    }

    /// The target of a refusal, resolved in the present state.
    pub(super) fn stuck(&self, what: Sticking) -> Option<Stuck> {
        Some(match what {
            Sticking::Address(index) => {
                let own = self.own_addresses();
                let index = usize::from(index).checked_rem(own.len())?;
                Stuck::Address(own[index])
            }
            Sticking::Machine(node) => {
                Stuck::Machine(self.cluster.machine(usize::from(node) % self.cluster.nodes()))
            }
            Sticking::Reserving => Stuck::Reserving,
            Sticking::GivingBack => Stuck::GivingBack,
            Sticking::Names(host) => Stuck::Names(host),
        })
    }

    /// Tells the oracle the target of an event that may last.
    pub(super) fn tell_stuck(&self, index: usize, event: &Event) {
        let touches = match &event.what {
            What::CloudIs(crate::schedule::CloudState::Full) => Some(Stuck::Reserving),
            What::Cloud { on: Some(on), .. } if on.creates() => Some(Stuck::Reserving),
            What::Cloud { on: Some(CloudAction::Release), .. } => Some(Stuck::GivingBack),
            _ => None,
        };
        if let Some(what) = touches {
            self.stage.shared.oracle().sticks(index, what);
        }
    }
}
