//! What came of reading and moving addresses.

use std::net::IpAddr;
use std::time::Duration;

use super::address::ask_again_after;
use super::listing::ASK_AGAIN;
use super::setbacks::is_refusal;
use super::{Account, Knowledge, Operation, PATIENCE};
use crate::Time;
use crate::action::{Done, Failure, FailureKind, OperationState, Outcome};
use crate::model::{AccountId, Family, MachineId, ObjectKey, OperationId};
use crate::world::{Settings, Work, World};

/// How long nothing is asked about operations after an answer about one: a storm of moves is
/// what listings are for.
const BETWEEN_ASKS: Duration = Duration::from_secs(1);

/// How soon an address is read again whose last read told nothing.
const READ_AGAIN: Duration = Duration::from_secs(2);

impl World {
    pub(crate) fn listed(
        &mut self,
        id: &AccountId,
        (families, confirms): (&[Family], bool),
        outcome: Outcome,
        now: Time,
    ) {
        let Some(account) = self.accounts.get_mut(id) else {
            return;
        };
        account.listing.in_flight = false;
        match outcome.result {
            Ok(Done::Listed(listed)) => {
                let silent = account.listing.silence.is_some();
                if silent {
                    account.setbacks.retry_sooner(now);
                }
                let news = silent || account.listing.last.is_none();
                let (claims, users) = (&self.claims, self.users.get(id));
                let changed = account.fold_listing(
                    outcome.sent_at,
                    (families, &listed),
                    now,
                    &self.settings,
                    |ip| claims.of(ip).any(|pool| users.is_some_and(|all| all.contains(pool))),
                );
                self.reoccupy_touched(id);
                for ip in changed {
                    self.touch_address(ip);
                }
                if news {
                    self.touch_account(id);
                }
            }
            Ok(_) => {}
            Err(Failure { kind: FailureKind::HeldBack { wait, .. }, .. }) => {
                account.hold_listing(confirms, wait, now);
                self.touch_account(id);
            }
            Err(failure) => {
                account.listing.failed(&failure, now, outcome.jitter, &self.settings);
                self.touch_account(id);
            }
        }
    }

    /// Every pool of an account.
    fn touch_account(&mut self, id: &AccountId) {
        self.dirty.extend(self.users.get(id).into_iter().flatten().cloned());
    }

    pub(crate) fn address_read(
        &mut self,
        id: &AccountId,
        ip: IpAddr,
        outcome: &Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        self.with_account(id, |account| {
            account.update(ip, |one| one.reading = false);
            match &outcome.result {
                Ok(Done::Read(Some(sighting))) => {
                    account.fold_sighting(ip, outcome.sent_at, sighting, now, &settings);
                }
                Ok(Done::Read(None)) => {
                    account.update(ip, |one| one.vanish(outcome.sent_at, &settings));
                }
                Ok(_) | Err(_) => {
                    let wait = settings.back_off(PATIENCE, outcome.jitter);
                    let wait = wait.max(asked_to_wait(&outcome.result));
                    account.update(ip, |one| one.read_after = now + wait);
                }
            }
            // While a call is open a read may tell nothing: it is not repeated in haste.
            account.update(ip, |one| {
                if one.knowledge == Knowledge::Missing {
                    one.read_after = one.read_after.max(now + READ_AGAIN);
                }
            });
        });
        self.touch_address(ip);
    }

    /// An answer about another operation than the one that is open comes too late: a
    /// listing told already.
    pub(crate) fn operation_read(
        &mut self,
        account: &AccountId,
        ip: IpAddr,
        operation: &OperationId,
        outcome: &Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        self.with_account(account, |account| {
            account.ask_after = account.ask_after.max(now + BETWEEN_ASKS);
            let open = account.address(ip).and_then(|one| one.operation.as_ref());
            let Some(Operation::Accepted { to, id, since, .. }) = open else {
                return;
            };
            if id != operation {
                return;
            }
            let (to, age) = (to.clone(), now.since(*since));
            match &outcome.result {
                // That it was done does not say where the address is now: somebody may have moved
                // it since, and clouds have been seen to be mistaken. A listing says.
                Ok(Done::Operation(OperationState::Done)) => {
                    let until = now + settings.settle;
                    account.update(ip, |one| {
                        one.operation = Some(Operation::Uncertain { to, until });
                    });
                    account.want_listing(now);
                }
                Ok(Done::Operation(OperationState::Failed)) => {
                    let message = "the cloud accepted the call and then gave it up";
                    let failure = Failure::plain(FailureKind::Unavailable, message);
                    account.give_back(ip, to.as_ref(), failure, now, outcome.jitter, &settings);
                }
                // Running, unheard of, or no answer: the listings go on looking.
                Ok(_) | Err(_) => account.update(ip, |one| {
                    if let Some(Operation::Accepted { reading, read_after, .. }) =
                        &mut one.operation
                    {
                        *reading = false;
                        let wait = ask_again_after(age).max(asked_to_wait(&outcome.result));
                        *read_after = now + wait;
                    }
                }),
            }
        });
        self.touch_address(ip);
    }

    /// An address was given back, or not.
    pub(crate) fn released(
        &mut self,
        id: &AccountId,
        pool: &ObjectKey,
        ip: IpAddr,
        outcome: &Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        self.with_account(id, |account| match &outcome.result {
            Ok(Done::Released) => account.update(ip, |one| one.released(now)),
            Ok(_) => {
                account.update(ip, |one| one.operation = None);
                account.want_listing(now);
            }
            Err(failure) if failure.kind == FailureKind::NoAnswer => {
                let until = outcome.sent_at + settings.doubt();
                let uncertain = Operation::Uncertain { to: None, until };
                account.update(ip, |one| one.operation = Some(uncertain));
                account.want_listing(until);
            }
            Err(failure) => {
                account.update(ip, |one| one.operation = None);
                if let Some(sighting) = &failure.seen {
                    account.fold_sighting(ip, now, sighting, now, &settings);
                }
                account.want_listing(now);
            }
        });
        self.with_pool(pool, |entry| match &outcome.result {
            // One that went well does not make another that was refused worth an attempt.
            Ok(_) if now < entry.release.not_before => {}
            Ok(_) => entry.release = Work::default(),
            Err(failure) => {
                entry.release.failed(failure.clone(), now, outcome.jitter, &settings);
                let asked = now + asked_to_wait(&outcome.result);
                entry.release.not_before = entry.release.not_before.max(asked);
            }
        });
        self.touch_address(ip);
    }

    pub(crate) fn moved(
        &mut self,
        id: &AccountId,
        pool: &ObjectKey,
        ip: IpAddr,
        to: Option<&MachineId>,
        outcome: &Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        self.with_account(id, |account| {
            let open = account.address(ip).and_then(|one| one.operation.as_ref());
            let expected =
                open.is_none_or(|open| matches!(open, Operation::Sent { .. }) && open.to() == to);
            if expected {
                account.end_move(ip, to, outcome, now, &settings);
            } else {
                // The answer to a call that nobody waits for any more: look again.
                account.want_listing(now);
            }
        });
        self.with_pool(pool, |entry| {
            if entry.move_ended(ip) && to.is_some() && effect_possible(&outcome.result) {
                entry.assigned(ip, now);
            }
        });
        self.touch_address(ip);
    }
}

impl Account {
    /// A listing was held back: no failure, and it says nothing of one that is more urgent.
    fn hold_listing(&mut self, confirms: bool, wait: Duration, now: Time) {
        // That costs nothing, and the limit may have been lifted.
        let until = now + if confirms { wait.min(ASK_AGAIN) } else { wait };
        let held =
            if confirms { &mut self.listing.not_before } else { &mut self.listing.held_until };
        *held = until.max(*held);
        self.want_listing(until);
    }

    fn end_move(
        &mut self,
        ip: IpAddr,
        to: Option<&MachineId>,
        outcome: &Outcome,
        now: Time,
        settings: &Settings,
    ) {
        match &outcome.result {
            Ok(Done::Accepted(operation)) => self.accept(ip, to, operation, now),
            Ok(_) => {
                self.setbacks.clear(ip);
                self.update(ip, |one| one.placed(to.cloned(), now, settings));
            }
            Err(failure) if failure.kind == FailureKind::NoAnswer => {
                let until = outcome.sent_at + settings.doubt();
                let uncertain = Operation::Uncertain { to: to.cloned(), until };
                self.update(ip, |one| {
                    one.operation = Some(uncertain);
                    one.intended = None;
                });
                self.want_listing(until);
                if let Some(machine) = to {
                    let when = (now, outcome.jitter);
                    self.set_back((ip, machine), failure.clone(), when, settings);
                }
            }
            Err(failure) => {
                self.give_back(ip, to, failure.clone(), now, outcome.jitter, settings);
            }
        }
    }

    /// A call is over without effect: the address stays where it was, and the attempt is
    /// worth repeating on the same machine for a while.
    fn give_back(
        &mut self,
        ip: IpAddr,
        to: Option<&MachineId>,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        self.update(ip, |one| one.operation = None);
        if let Some(sighting) = &failure.seen {
            self.fold_sighting(ip, now, sighting, now, settings);
        }
        let kind = failure.kind;
        let elusive = kind == FailureKind::Busy && failure.seen.is_none();
        if matches!(kind, FailureKind::Throttled { .. } | FailureKind::HeldBack { .. }) {
            return self.update(ip, |one| one.intended = to.cloned());
        }
        // Taking an address off its machine is an attempt on that machine.
        let held = self.address(ip).and_then(|one| one.machines()[0].cloned());
        if let Some(machine) = to.cloned().or(held) {
            self.set_back((ip, &machine), failure, (now, jitter), settings);
            let again = !is_refusal(kind);
            self.update(ip, |one| one.intended = to.filter(|_| again).cloned());
            if elusive {
                self.doubt(ip, to, &machine);
            }
        }
        self.want_listing(now);
    }

    /// Something is under way with an address, ours or not, and where it is now does not say
    /// where it goes: it is read again when the next attempt on `machine` is due.
    fn doubt(&mut self, ip: IpAddr, to: Option<&MachineId>, machine: &MachineId) {
        let until = self.setbacks.next(ip, machine);
        let uncertain = Operation::Uncertain { to: to.cloned(), until };
        self.update(ip, |one| one.operation = Some(uncertain));
    }
}

/// How long the cloud asks us to wait.
fn asked_to_wait(result: &Result<Done, Failure>) -> Duration {
    match result {
        Err(Failure {
            kind: FailureKind::Throttled { wait } | FailureKind::HeldBack { wait, .. },
            ..
        }) => *wait,
        Ok(_) | Err(_) => Duration::ZERO,
    }
}

fn effect_possible(result: &Result<Done, Failure>) -> bool {
    match result {
        Ok(_) => true,
        Err(failure) => failure.kind == FailureKind::NoAnswer,
    }
}
