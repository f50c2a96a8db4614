//! Applies the outcomes of reservations and of ledger writes.

use std::net::IpAddr;

use super::{Account, IntentProgress, Seat, setbacks};
use crate::Time;
use crate::action::{Done, Failure, FailureKind, Outcome};
use crate::model::{AccountId, Intent, Ledger, MachineId, ObjectKey, OperationId, Text};
use crate::world::{Settings, Work, World};

/// A reservation under way on a machine.
#[derive(Clone, Debug)]
pub(crate) struct Reserving {
    /// The pool and the intent.
    holder: (ObjectKey, Text),
    /// The end of a call that had no answer. `None` while an answer is due.
    until: Option<Time>,
}

impl World {
    pub(crate) fn ledger_written(
        &mut self,
        pool: &ObjectKey,
        (uid, replaced): (&Text, u64),
        ledger: Ledger,
        outcome: Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        self.with_pool(pool, |entry| {
            if entry.pool.uid != *uid {
                return;
            }
            match outcome.result {
                Ok(Done::LedgerWritten { version }) => entry.write_done(ledger, version),
                Ok(_) => entry.write_overtaken(),
                Err(_) if entry.pool.version > replaced => entry.write_overtaken(),
                Err(failure) => entry.write_failed(failure, now, outcome.jitter, &settings),
            }
        });
        self.reclaim(pool);
    }

    /// Seats with a reservation in flight, with the pool and intent of each, and the end of a call
    /// that had no answer: such a call may still take effect.
    pub(crate) fn reserving(
        &self,
        now: Time,
    ) -> impl Iterator<Item = (&Seat, &(ObjectKey, Text), Option<Time>)> {
        let open = self.reserving.iter().filter(move |(_, one)| one.is_open(now));
        open.map(|(seat, one)| (seat, &one.holder, one.until))
    }

    pub(crate) fn reserving_begins(&mut self, id: &AccountId, pool: &ObjectKey, intent: &Intent) {
        let cloud = self.accounts.get(id).and_then(Account::cloud);
        if let (Some(cloud), Some(machine)) = (cloud, &intent.target) {
            let seat = (cloud.clone(), machine.clone(), intent.family);
            let holder = (pool.clone(), intent.id.clone());
            self.reserving.insert(seat, Reserving { holder, until: None });
        }
    }

    /// Notes the outcome of a reservation. A call without an answer keeps its machine as long as it
    /// may take effect, because its pool may be deleted meanwhile.
    fn reserving_ends(&mut self, holder: &(ObjectKey, Text), outcome: &Outcome, now: Time) {
        let lost = outcome.result.as_ref().is_err_and(|one| one.kind == FailureKind::NoAnswer);
        let doubted = self.settings.doubted_until(outcome.sent_at, now);
        let until = if lost { doubted } else { now };
        for one in self.reserving.values_mut().filter(|one| one.holder == *holder) {
            one.until = Some(until);
        }
        self.reserving.retain(|_, one| one.is_open(now));
    }

    pub(crate) fn created(
        &mut self,
        account: &AccountId,
        pool: &ObjectKey,
        intent: &Intent,
        outcome: Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        self.reserving_ends(&(pool.clone(), intent.id.clone()), &outcome, now);
        let target = intent.target.as_ref();
        let progress = match &outcome.result {
            Ok(Done::Created { ip, pending }) => {
                self.made(account, *ip, target, pending.as_ref(), now);
                IntentProgress::Made(*ip)
            }
            Ok(Done::CreatedLoose { ip }) => {
                self.made(account, *ip, None, None, now);
                IntentProgress::Made(*ip)
            }
            Ok(_) => IntentProgress::Doubtful { until: now },
            Err(failure) => after(failure.kind, outcome.sent_at, now, &settings),
        };
        if self.orphans.progressed(pool, &intent.id, progress) {
            self.touch_account(account);
        }
        match (progress, &outcome.result) {
            (IntentProgress::Doubtful { until }, _) => {
                self.with_account(account, |account| account.want_listing(until));
            }
            (IntentProgress::Ready, Err(failure)) if is_refusal(failure.kind) => {
                self.with_account(account, |account| {
                    account.refused_new(target, failure.kind, now, &settings);
                });
            }
            (IntentProgress::Ready | IntentProgress::Sent | IntentProgress::Made(_), _) => {}
        }
        let lost = |failure: &Failure| failure.kind == FailureKind::NoAnswer;
        self.with_pool(pool, |entry| {
            // The answer is for a deleted object of the same name.
            if !entry.has_sent(&intent.id) {
                return;
            }
            entry.progressed(&intent.id, progress);
            match (progress, &outcome.result) {
                (IntentProgress::Made(ip), _) if target.is_some() => entry.assigned(ip, now),
                (_, Err(failure)) if target.is_some() && lost(failure) => {
                    entry.last_assignment = Some(now);
                }
                _ => {}
            }
            match outcome.result {
                Ok(_) => entry.creation = Work::default(),
                Err(failure) => {
                    let asked = match failure.kind {
                        FailureKind::Throttled { wait } | FailureKind::HeldBack { wait, .. } => {
                            now + wait
                        }
                        _ => now,
                    };
                    entry.creation.failed(failure, now, outcome.jitter, &settings);
                    entry.creation.not_before = entry.creation.not_before.max(asked);
                }
            }
        });
        self.reclaim(pool);
        // The new owner of the address may concern other pools that list it.
        if let IntentProgress::Made(ip) = progress {
            self.touch_address(ip);
        }
    }

    /// Notes a new address, on its machine or with a pending assignment.
    fn made(
        &mut self,
        account: &AccountId,
        ip: IpAddr,
        target: Option<&MachineId>,
        pending: Option<&OperationId>,
        now: Time,
    ) {
        let settings = self.settings;
        self.with_account(account, |account| {
            let on = target.filter(|_| pending.is_none()).cloned();
            account.update(ip, |one| one.placed(on, now, &settings));
            if let Some(operation) = pending {
                account.accept(ip, target, operation, now);
            }
        });
        self.touch_address(ip);
    }
}

impl Reserving {
    /// Whether the call may still take effect.
    fn is_open(&self, now: Time) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl Account {
    /// Notes a refused reservation. A listing shows the obstacle.
    fn refused_new(
        &mut self,
        target: Option<&MachineId>,
        kind: FailureKind,
        now: Time,
        settings: &Settings,
    ) {
        self.want_listing(now.max(self.listing.after_failure()));
        if let Some(machine) = target.filter(|_| setbacks::is_refusal(kind)) {
            self.setbacks.refused_new(machine, now, settings);
        }
    }
}

/// Progress of an intent after its reservation failed.
fn after(kind: FailureKind, sent_at: Time, now: Time, settings: &Settings) -> IntentProgress {
    match kind {
        FailureKind::NoAnswer => {
            IntentProgress::Doubtful { until: settings.doubted_until(sent_at, now) }
        }
        // The call is over, but an outage may have hidden a success. A listing after the settling
        // time shows the result.
        FailureKind::Unavailable => IntentProgress::Doubtful { until: now + settings.settle },
        // A reservation not sent or refused made no address. Any address on the target is not ours.
        _ => IntentProgress::Ready,
    }
}

/// Whether the provider considered the call and refused.
fn is_refusal(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Refused
        | FailureKind::NotFound
        | FailureKind::Busy
        | FailureKind::Quota
        | FailureKind::Rejected
        | FailureKind::Conflict => true,
        FailureKind::NotSent
        | FailureKind::Throttled { .. }
        | FailureKind::HeldBack { .. }
        | FailureKind::NoAnswer
        | FailureKind::Unavailable => false,
    }
}
