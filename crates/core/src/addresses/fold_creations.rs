//! What came of reserving addresses, and of writing down what was reserved.

use std::net::IpAddr;

use super::{Account, IntentProgress, Seat};
use crate::Time;
use crate::action::{Done, Failure, FailureKind, Outcome};
use crate::model::{AccountId, Intent, Ledger, MachineId, ObjectKey, OperationId, Text};
use crate::world::{Settings, Work, World};

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

    /// Machines that an address is being reserved on, and by which reservation.
    pub(crate) fn reserving(&self) -> impl Iterator<Item = (&Seat, &(ObjectKey, Text))> {
        self.reserving.iter()
    }

    pub(crate) fn reserving_begins(&mut self, id: &AccountId, pool: &ObjectKey, intent: &Intent) {
        let cloud = self.accounts.get(id).and_then(Account::cloud);
        if let (Some(cloud), Some(machine)) = (cloud, &intent.target) {
            let seat = (cloud.clone(), machine.clone(), intent.family);
            self.reserving.insert(seat, (pool.clone(), intent.id.clone()));
        }
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
        self.reserving.retain(|_, (_, id)| *id != intent.id);
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
        match (progress, &outcome.result) {
            (IntentProgress::Doubtful { until }, _) => {
                self.with_account(account, |account| account.want_listing(until));
            }
            // Whatever refused it, a fresh look shows what is in the way.
            (IntentProgress::Ready, Err(failure)) if is_refusal(failure.kind) => {
                self.with_account(account, |account| account.want_listing(now));
            }
            (IntentProgress::Ready | IntentProgress::Sent | IntentProgress::Made(_), _) => {}
        }
        let lost = |failure: &Failure| failure.kind == FailureKind::NoAnswer;
        self.with_pool(pool, |entry| {
            // Another object of the same name did not ask for it.
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
        // Who has it now may be news to others who list it, too.
        if let IntentProgress::Made(ip) = progress {
            self.touch_address(ip);
        }
    }

    /// An address was made, on a machine or on its way there.
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

/// How far an intent is after its reservation failed.
fn after(kind: FailureKind, sent_at: Time, now: Time, settings: &Settings) -> IntentProgress {
    match kind {
        FailureKind::NoAnswer => IntentProgress::Doubtful { until: sent_at + settings.doubt() },
        // Answered, so it is over; but a breakdown may have made one after all, which a listing
        // shows once it has settled.
        FailureKind::Unavailable => IntentProgress::Doubtful { until: now + settings.settle },
        // Not sent, or refused: it made none. An address that is on the target is not ours.
        _ => IntentProgress::Ready,
    }
}

/// The cloud looked at the call and said no.
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
