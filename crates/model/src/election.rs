//! Leadership (`leadership/election.rs`, `run/replica.rs` `follow` and `hand_over`).

use crate::cloud::{Call, NOBODY, Phase};
use crate::cluster::{Holder, Lease};
use crate::faults::Fault;
use crate::protections::Protection;
use crate::replica::{Memory, Replica};
use crate::{Pods, Protocol, State};

impl Protocol {
    /// Renewals fail: the holder is cut off or suspended.
    pub(crate) fn lapse(&self, state: &mut State) -> Option<()> {
        let holder = match state.cluster.lease.holder {
            Holder::Replica(holder) => holder,
            // A dead process does not renew, and any replica may take an expired Lease.
            Holder::Dead(_) => {
                let holder = Holder::Gone;
                state.cluster.lease = Lease { holder, lapsed: true, owed: false };
                return Some(());
            }
            Holder::Free | Holder::Gone => return None,
        };
        let stopped = |call: Call| call.phase == Phase::Held && call.by == holder;
        if !state.cloud.calls.iter().any(stopped) {
            state.faults.spend(Fault::Outage)?;
        }
        let lapsed = &mut state.cluster.lease.lapsed;
        (!*lapsed).then(|| *lapsed = true)
    }

    /// A renewal succeeds after all, before another replica takes the Lease.
    pub(crate) fn renew(&self, state: &mut State, replica: usize) -> Option<()> {
        let lease = &mut state.cluster.lease;
        (lease.is_held_by(replica) && lease.lapsed).then(|| lease.lapsed = false)
    }

    /// A follower takes the Lease: `Election::intent`, `take` and `held`, then `World::take_over`.
    pub(crate) fn take(&self, state: &mut State, replica: usize) -> Option<()> {
        let lease = state.cluster.lease;
        let settling = match lease.holder {
            Holder::Free => lease.owed,
            Holder::Replica(holder) if usize::from(holder) == replica => {
                state.replicas[replica].settling
            }
            // A process of the same pod is known to be dead, and its Lease need not expire.
            Holder::Dead(pod) if usize::from(pod) == replica => {
                self.has(Protection::SettleAfterRestart)
            }
            Holder::Replica(_) | Holder::Gone if lease.lapsed => {
                self.has(Protection::SettleAtTakeover)
            }
            // A process of the same pod is wrongly taken for dead.
            Holder::Replica(_) if self.pods == Pods::OneForAll => {
                self.has(Protection::SettleAfterRestart)
            }
            Holder::Replica(_) | Holder::Dead(_) | Holder::Gone => return None,
        };
        let one = &mut state.replicas[replica];
        *one = Replica { leads: true, settling, stale: one.stale, memory: Memory::default() };
        // Behind its guard, the last leader can only step down.
        let other = 1 - replica;
        let shut = self.has(Protection::Guard) && self.pods == Pods::OneEach;
        if shut && state.replicas[other].leads {
            self.step_down(state, other);
        }
        let holder = Holder::Replica(replica as u8);
        state.cluster.lease = Lease { holder, lapsed: false, owed: false };
        Some(())
    }

    /// A leader learns of another holder, or misses the renewal deadline.
    pub(crate) fn lose(&self, state: &mut State, replica: usize) -> Option<()> {
        let lease = state.cluster.lease;
        (!lease.is_held_by(replica) || lease.lapsed).then(|| self.step_down(state, replica))
    }

    fn step_down(&self, state: &mut State, replica: usize) {
        self.abandon(state, replica, self.has(Protection::TermInGuard));
        let one = &mut state.replicas[replica];
        one.leads = false;
        one.memory = Memory::default();
        one.settling |= self.has(Protection::SettleAfterOwnLapse);
    }

    /// A leader shuts down: every call ends with an answer or at its deadline, then the Lease is
    /// released. Another process starts in the same place.
    pub(crate) fn stop(&self, state: &mut State, replica: usize) -> Option<()> {
        let Replica { leads, settling, .. } = state.replicas[replica];
        let waits = settling && self.has(Protection::HandoverAfterSettling);
        (leads && state.cluster.lease.is_held_by(replica) && !waits).then_some(())?;
        let runs = |phase| matches!(phase, Phase::Held | Phase::Waiting | Phase::Answering(_));
        let ours = || state.cloud.calls.iter().filter(|call| call.is_of(replica));
        (!ours().any(|call| runs(call.phase))).then_some(())?;
        let unanswered = ours().next().is_some();
        state.faults.spend(Fault::Stop)?;
        self.abandon(state, replica, true);
        state.replicas[replica] = Replica::default();
        let owed = unanswered && self.has(Protection::SettleAtHandover);
        state.cluster.lease = Lease { holder: Holder::Free, lapsed: false, owed };
        Some(())
    }

    /// A process dies, and another starts in its pod with an empty memory. The Lease is no longer
    /// renewed. The death of a whole pod is the same, followed by the expiry of the Lease.
    pub(crate) fn crash(&self, state: &mut State, replica: usize) -> Option<()> {
        let held = state.cluster.lease.is_held_by(replica);
        (held || state.replicas[replica].leads).then_some(())?;
        state.faults.spend(Fault::Crash)?;
        self.abandon(state, replica, true);
        state.replicas[replica] = Replica::default();
        if held {
            let holder = Holder::Dead(replica as u8);
            state.cluster.lease = Lease { holder, lapsed: false, owed: false };
        }
        Some(())
    }

    /// Stops waiting for the calls of a past term (`Executor::abandon`). Calls under way still take
    /// effect.
    fn abandon(&self, state: &mut State, replica: usize, held_too: bool) {
        state.cloud.calls.change(|call| {
            if usize::from(call.by) != replica {
                return Some(call);
            }
            match call.phase {
                Phase::Held if held_too => None,
                Phase::Held => Some(Call { past: true, ..call }),
                Phase::Waiting | Phase::Late => {
                    Some(Call { past: true, by: NOBODY, phase: Phase::Late, ..call })
                }
                Phase::Answering(_) | Phase::Spent => None,
            }
        });
    }

    /// Waiting ends as soon as the awaited calls are over: *settled* is modelled as *the calls are
    /// over*. Calls sent without a valid Lease are not awaited, because the settling time does not
    /// cover them.
    pub(crate) fn end_settling(&self, state: &mut State) {
        for (replica, one) in state.replicas.iter_mut().enumerate() {
            let theirs = |call: Call| call.is_on_its_way() && call.covered && !call.is_of(replica);
            one.settling &= state.cloud.calls.iter().any(theirs);
        }
    }
}
