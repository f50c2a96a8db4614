//! Folds in what calls tell of the machines' own addresses.
//!
//! A call about an address of a machine may have taken the machine's own address away, or may still
//! do so after its answer. What was seen of the machine before that time says nothing.

use std::time::Duration;

use super::Account;
use super::setbacks::is_refusal;
use crate::Time;
use crate::action::{AddressAction, Done, Failure, Outcome};
use crate::model::{AccountId, MachineId, Mark, Node};
use crate::world::{Work, World};

/// How long an operation may run that nobody can ask about, because the call that began it broke
/// down. Operations take 2 to 10 seconds in practice.
const UNSEEN: Duration = Duration::from_secs(60);

/// What is known of a machine's own address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Egress {
    /// Attempts to restore the address.
    work: Work,
    /// The machine has an address again since the last call about one of its addresses.
    restored: bool,
    /// Time from which the machine shows the effect of that call and of every earlier one.
    told_from: Option<Time>,
    /// The account of the last call, if no note preceded the call and none was seen since: the machine
    /// had no node to note, or the note could not be written.
    unnoted: Option<AccountId>,
}

impl World {
    /// The note on a node, at a provider whose addresses displace a machine's own.
    pub(crate) fn egress_note(&self, account: &Account) -> Option<&'static Mark> {
        self.settings.egress.filter(|_| account.displaces_own())
    }

    /// The machine that a call gives an address or takes one from, at a provider whose addresses displace
    /// a machine's own.
    pub(crate) fn egress_changed_by(&self, call: &AddressAction) -> Option<MachineId> {
        let account = self.accounts.get(call.account())?;
        self.egress_note(account)?;
        match call {
            AddressAction::Assign { machine, .. } => Some(machine.clone()),
            AddressAction::Unassign { ip, .. } => account.address(*ip)?.machines()[0].cloned(),
            _ => None,
        }
    }

    /// Notes the start of a call that changes the address of a machine.
    pub(crate) fn egress_in_doubt(&mut self, account: &AccountId, machine: MachineId) {
        let unnoted = (!self.has_egress_note(account, &machine)).then(|| account.clone());
        let egress = self.egress.entry(machine).or_default();
        (egress.restored, egress.unnoted) = (false, unnoted);
    }

    /// Whether a node of a machine has the note.
    fn has_egress_note(&self, id: &AccountId, machine: &MachineId) -> bool {
        let Some(account) = self.accounts.get(id) else { return false };
        let (Some(note), Some(cloud)) = (self.egress_note(account), account.cloud()) else {
            return false;
        };
        let mut nodes = self.nodes_on(cloud, machine).filter_map(|name| self.node(name));
        nodes.any(|node| node.marks.contains_key(note))
    }

    /// Starts a term of leadership. Machines whose note is still to be written are remembered: nothing
    /// else tells of them.
    pub(crate) fn egress_term_begins(&mut self) {
        self.egress.retain(|_, egress| egress.unnoted.is_some());
        for egress in self.egress.values_mut() {
            *egress = Egress { unnoted: egress.unnoted.take(), ..Egress::default() };
        }
    }

    /// Observes the note of a node.
    pub(crate) fn egress_note_seen(&mut self, node: &Node) {
        let noted = self.settings.egress.is_some_and(|note| node.marks.contains_key(note));
        let machine = node.machine.as_ref().filter(|_| noted);
        if let Some(egress) = machine.and_then(|machine| self.egress.get_mut(&machine.id)) {
            egress.unnoted = None;
        }
    }

    /// The machines about which a call with an account has begun, and whose note was not seen since.
    pub(crate) fn egress_unnoted(&self, id: &AccountId) -> impl Iterator<Item = &MachineId> {
        let such = |(_, egress): &(_, &Egress)| egress.unnoted.as_ref() == Some(id);
        self.egress.iter().filter(such).map(|(machine, _)| machine)
    }

    /// Notes the end of a call that changes the address of a machine. A call that broke down may
    /// have left an operation behind. The provider carries out one operation on a machine at a time:
    /// an accepted operation comes after those of earlier calls. A refused call, or one that found
    /// nothing to do, tells nothing of them.
    pub(crate) fn egress_changed(
        &mut self,
        machine: MachineId,
        result: &Result<Done, Failure>,
        now: Time,
    ) {
        let earlier = self.egress_told_from(&machine);
        let left_behind = self.egress.get(&machine).and_then(|egress| egress.told_from);
        let told_from = match result {
            Ok(Done::Accepted(_)) => now,
            Ok(_) => left_behind.unwrap_or(now).max(now),
            Err(failure) if is_refusal(failure.kind) => earlier.max(now),
            Err(_) => earlier.max(now + UNSEEN),
        };
        let egress = self.egress.entry(machine).or_default();
        egress.restored = false;
        egress.told_from = Some(told_from);
        // The back-off of earlier attempts says nothing of what this call left behind.
        egress.work = Work { in_flight: egress.work.in_flight, ..Work::default() };
    }

    /// Notes the outcome of restoring a machine's own address. An accepted operation may still
    /// fail, and an earlier call may still take the address away: the next attempt tells.
    pub(crate) fn egress_restored(&mut self, machine: &MachineId, outcome: Outcome, now: Time) {
        let told_from = self.egress_told_from(machine);
        let egress = self.egress.entry(machine.clone()).or_default();
        let Egress { work, restored, unnoted, .. } = egress;
        match outcome.result {
            Ok(done) if outcome.sent_at < told_from || matches!(done, Done::Accepted(_)) => {
                work.repeats(now, outcome.jitter, &self.settings);
                // Meanwhile the machine is asked now and then: an operation may still take its address.
                if now < told_from {
                    let next = work.not_before.max(now + self.settings.settle);
                    work.not_before = next.min(told_from);
                }
            }
            Ok(_) => {
                *work = Work::default();
                (*restored, *unnoted) = (true, None);
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

    /// Time from which a machine shows the effect of every call about its addresses, those of
    /// earlier leaders included.
    pub(crate) fn egress_told_from(&self, machine: &MachineId) -> Time {
        let last = self.egress.get(machine).and_then(|egress| egress.told_from);
        last.unwrap_or(self.open_from + UNSEEN).max(self.shown_from())
    }
}
