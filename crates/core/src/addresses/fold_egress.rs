//! Folds in what calls tell of the machines' own addresses.
//!
//! A call about an address of a machine may have taken the machine's own address away, or may still
//! do so after its answer. What was seen of the machine before that time says nothing.

use super::setbacks::is_refusal;
use crate::Time;
use crate::action::{AddressAction, Done, Failure, Outcome};
use crate::model::MachineId;
use crate::world::{Work, World};

/// What is known of a machine's own address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Egress {
    /// Attempts to restore the address.
    work: Work,
    /// The machine has an address again since the last call about one of its addresses.
    restored: bool,
    /// Time from which the machine shows the effect of that call.
    told_from: Time,
}

impl World {
    /// The machine that a call gives an address or takes one from.
    pub(crate) fn machine_changed_by(&self, call: &AddressAction) -> Option<MachineId> {
        match call {
            AddressAction::Assign { machine, .. } => Some(machine.clone()),
            AddressAction::Unassign { account, ip, .. } => {
                self.accounts.get(account)?.address(*ip)?.machines()[0].cloned()
            }
            _ => None,
        }
    }

    /// Notes the start of a call that changes the address of a machine.
    pub(crate) fn egress_in_doubt(&mut self, machine: MachineId) {
        self.egress.entry(machine).or_default().restored = false;
    }

    /// Notes the end of a call that changes the address of a machine. A call that broke down may
    /// have left an operation behind.
    pub(crate) fn egress_changed(
        &mut self,
        machine: MachineId,
        result: &Result<Done, Failure>,
        now: Time,
    ) {
        let over = result.as_ref().map_or_else(|failure| is_refusal(failure.kind), |_| true);
        let egress = self.egress.entry(machine).or_default();
        egress.restored = false;
        egress.told_from = if over { now } else { now + self.settings.settle };
    }

    /// Notes the outcome of restoring a machine's own address. An accepted operation may still
    /// fail, and an earlier call may still take the address away: the next attempt tells.
    pub(crate) fn egress_restored(&mut self, machine: &MachineId, outcome: Outcome, now: Time) {
        let told_from = self.egress_told_from(machine);
        let Egress { work, restored, .. } = self.egress.entry(machine.clone()).or_default();
        match outcome.result {
            Ok(done) if outcome.sent_at < told_from || matches!(done, Done::Accepted(_)) => {
                work.repeats(now, outcome.jitter, &self.settings);
                work.not_before = work.not_before.max(told_from);
            }
            Ok(_) => {
                *work = Work::default();
                *restored = true;
            }
            Err(failure) => work.failed(failure, now, outcome.jitter, &self.settings),
        }
    }

    /// Notes the start of an attempt to restore the own address of a machine.
    pub(crate) fn egress_restoring(&mut self, machine: &MachineId) {
        self.egress.entry(machine.clone()).or_default().work.in_flight = true;
    }

    /// Attempts to restore the own address of a machine.
    pub(crate) fn egress_work(&self, machine: &MachineId) -> Option<&Work> {
        self.egress.get(machine).map(|egress| &egress.work)
    }

    /// Whether a machine has an address again since the last call about one of its addresses.
    pub(crate) fn is_egress_restored(&self, machine: &MachineId) -> bool {
        self.egress.get(machine).is_some_and(|egress| egress.restored)
    }

    /// Time from which a machine shows the effect of every call about its addresses.
    pub(crate) fn egress_told_from(&self, machine: &MachineId) -> Time {
        let last = self.egress.get(machine).map_or(Time::default(), |egress| egress.told_from);
        last.max(self.shown_from())
    }
}
