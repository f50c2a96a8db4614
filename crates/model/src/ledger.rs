//! Writes of the ledger (`plan/creation.rs` `write`, `execute/cluster.rs` `write_ledger`,
//! `addresses/pool/ledger.rs`).

use crate::cluster::{INTENTS, Intents, Ledger};
use crate::faults::Fault;
use crate::planner::Desk;
use crate::protections::Protection;
use crate::replica::{Memory, Progress};
use crate::{Protocol, State};

/// The change made by a write, besides recording known results. The code makes all changes in one
/// write; separate writes pass through the same states, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No further change.
    Record,
    /// Adds an intent.
    Add(usize),
    /// Drops an intent without a result.
    Drop(usize),
    /// Records this address as the intent's result.
    Adopt(usize, usize),
}

/// The fate of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The write takes effect, and both replicas see the new ledger.
    Seen,
    /// The write takes effect, and the other replica's watch misses the change.
    Unseen,
    /// The answer is lost, and the write may take effect later.
    Unanswered,
}

/// A decided write.
struct Write {
    before: Ledger,
    next: Ledger,
}

impl Write {
    fn added(&self) -> Intents {
        let new =
            |one: usize| self.next.intents[one].filter(|_| self.before.intents[one].is_none());
        std::array::from_fn(new)
    }
}

impl Protocol {
    /// A leader writes the ledger.
    pub(crate) fn write_ledger(
        &self,
        state: &mut State,
        replica: usize,
        change: Change,
        delivery: Delivery,
    ) -> Option<()> {
        let write = self.decide_write(state, replica, change)?;
        let refused =
            state.replicas[replica].stale.is_some() && self.has(Protection::CompareAndSwap);
        let memory = &mut state.replicas[replica].memory;
        match delivery {
            Delivery::Seen if refused => {
                // The write is known to have failed, but the content of the ledger is unknown.
                memory.in_doubt = true;
                return Some(());
            }
            Delivery::Unseen | Delivery::Unanswered if refused => return None,
            Delivery::Seen => {}
            Delivery::Unseen => miss_next_write(state, 1 - replica)?,
            Delivery::Unanswered => return self.lose_write(state, replica, &write),
        }
        let memory = &mut state.replicas[replica].memory;
        memory.wrote(&write);
        state.replicas[replica].stale = None;
        self.come_through(state, write.next, Some(replica));
        Some(())
    }

    /// The write of a leader, if the ledger would change. Kubernetes is written as long as the
    /// Lease is held (`Leadership::leads`).
    fn decide_write(&self, state: &State, replica: usize, change: Change) -> Option<Write> {
        let holds = state.cluster.lease.is_held_by(replica) || !self.has(Protection::Guard);
        holds.then_some(())?;
        let creation = Desk::of(replica, self, state).creation();
        let (before, mut next) = (state.ledger_seen_by(replica), creation.next);
        match change {
            Change::Record => {}
            Change::Add(intent) => next.intents[intent] = creation.new[intent],
            Change::Drop(intent) => next.intents[intent] = None,
            Change::Adopt(intent, address) => {
                next.intents[intent] = None;
                next.created.insert(address);
            }
        }
        let doubtful = state.replicas[replica].memory.in_doubt && next.intents != [None; INTENTS];
        (next != before || doubtful).then_some(Write { before, next })
    }

    fn lose_write(&self, state: &mut State, replica: usize, write: &Write) -> Option<()> {
        state.cluster.late_write.is_none().then_some(())?;
        state.faults.spend(Fault::LostWrite)?;
        state.cluster.late_write = Some(write.next);
        let memory = &mut state.replicas[replica].memory;
        let intents = write.added();
        if self.has(Protection::LedgerKnown) {
            memory.in_doubt = true;
            let created = write.next.created.minus(write.before.created);
            memory.writing = Some(Ledger { created, intents });
        } else {
            memory.unwritten = intents;
            for intent in (0..INTENTS).filter(|one| intents[*one].is_some()) {
                memory.progress[intent] = Progress::Ready;
            }
        }
        Some(())
    }

    /// An unanswered write takes effect, `unseen` by a replica's watch. A lost write needs no step.
    pub(crate) fn late_write(&self, state: &mut State, unseen: Option<usize>) -> Option<()> {
        let ledger = state.cluster.late_write.take()?;
        if let Some(replica) = unseen {
            miss_next_write(state, replica)?;
        }
        self.come_through(state, ledger, None);
        Some(())
    }

    /// Replaces the ledger. All replicas see the change except the writer and stale watches.
    fn come_through(&self, state: &mut State, ledger: Ledger, writer: Option<usize>) {
        state.cluster.ledger = ledger;
        if self.has(Protection::CompareAndSwap) {
            state.cluster.late_write = None;
        }
        for (index, one) in state.replicas.iter_mut().enumerate() {
            if Some(index) != writer && one.stale.is_none() {
                one.memory.reconcile(&ledger);
            }
        }
    }

    /// A stale watch catches up with the ledger.
    pub(crate) fn catch_up(&self, state: &mut State, replica: usize) -> Option<()> {
        let one = &mut state.replicas[replica];
        one.stale.take()?;
        one.memory.reconcile(&state.cluster.ledger);
        Some(())
    }
}

/// Makes a replica's watch miss the next write.
fn miss_next_write(state: &mut State, replica: usize) -> Option<()> {
    state.faults.spend(Fault::StaleWatch)?;
    let stale = &mut state.replicas[replica].stale;
    stale.is_none().then(|| *stale = Some(state.cluster.ledger))
}

impl Memory {
    /// A write was answered (`PoolEntry::write_done`).
    fn wrote(&mut self, write: &Write) {
        (self.in_doubt, self.writing) = (false, None);
        for (intent, added) in write.added().into_iter().enumerate() {
            let over = match self.progress[intent] {
                Progress::Made(address) => write.next.created.contains(address.into()),
                Progress::Sent => false,
                Progress::Found | Progress::Ready | Progress::Doubtful | Progress::Told => true,
            };
            if added.is_some() && self.unwritten[intent].is_none() {
                self.progress[intent] = Progress::Ready;
            } else if write.next.intents[intent].is_none() && over {
                self.progress[intent] = Progress::Found;
                self.unwritten[intent] = None;
            }
        }
    }
}
