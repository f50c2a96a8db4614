//! Applies the outcomes of reads, moves and releases.

use std::net::IpAddr;
use std::time::Duration;

use super::address::ask_again_after;
use super::listing::ASK_AGAIN;
use super::setbacks::{Attempt, is_refusal};
use super::{Account, Address, Knowledge, Operation, PATIENCE, PoolEntry};
use crate::Time;
use crate::action::{Done, Failure, FailureKind, OperationState, Outcome};
use crate::model::{AccountId, Family, MachineId, ObjectKey, OperationId, Text};
use crate::world::{Settings, Work, World};

/// Wait between two direct reads of operations. Listings cover many operations at once.
const BETWEEN_ASKS: Duration = Duration::from_secs(1);

/// Wait before the listing that shows whether a call that broke down, or has no answer, took effect
/// after all.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// Wait between direct reads of a missing address.
const READ_AGAIN: Duration = Duration::from_secs(2);

impl World {
    /// Replans the pools that ask for an interval of their own. Each listing counts as a pass for
    /// them, in which nothing may have changed.
    fn touch_rereading(&mut self, id: &AccountId) {
        let asks = |entry: &&PoolEntry| {
            entry.pool.request.as_ref().is_ok_and(|request| request.reread.is_some())
        };
        let keys: Vec<_> =
            self.users_of(id).filter(asks).map(|entry| entry.pool.key.clone()).collect();
        self.dirty.extend(keys);
    }

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
        let (result, limited) = match outcome.result {
            Ok(Done::ListedInPart(listed, limited)) => (Ok(Done::Listed(listed)), Some(limited)),
            result => (result, None),
        };
        match result {
            Ok(Done::Listed(listed)) => {
                let silent = account.listing.silence.is_some();
                if silent {
                    account.setbacks.retry_sooner(now);
                }
                let news =
                    silent || account.listing.last.is_none() || account.listing.limited != limited;
                let (claims, users) = (&self.claims, self.users.get(id));
                let changed = account.fold_listing(
                    outcome.sent_at,
                    (families, &listed),
                    now,
                    &self.settings,
                    |ip| claims.of(ip).any(|pool| users.is_some_and(|all| all.contains(pool))),
                );
                if limited.is_none() {
                    let is_there = |one: &Address| matches!(one.knowledge, Knowledge::Known { .. });
                    let exists = |ip| account.address(ip).is_some_and(is_there);
                    let apart = self.settings.doubt();
                    self.orphans.forget_gone(id, families, (outcome.sent_at, apart), exists);
                }
                account.listing.limited = limited;
                self.reoccupy_touched(id);
                for ip in changed {
                    self.touch_address(ip);
                }
                let pools = &self.pools;
                let is_open = |(key, id): &(ObjectKey, Text)| {
                    let mut open = pools.get(key).into_iter().flat_map(PoolEntry::open_intents);
                    open.any(|intent| intent.id == *id)
                };
                if self.orphans.listed(id, families, outcome.sent_at, is_open) || news {
                    self.touch_account(id);
                }
                self.touch_rereading(id);
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

    /// Replans every pool of an account.
    pub(super) fn touch_account(&mut self, id: &AccountId) {
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
            // A read may change no fact while a call is open, and is not repeated at once.
            account.update(ip, |one| {
                if one.knowledge == Knowledge::Missing {
                    one.read_after = one.read_after.max(now + READ_AGAIN);
                }
            });
        });
        self.touch_address(ip);
    }

    /// Applies a direct read of an operation. An answer about an operation no longer open is
    /// ignored: a listing was faster.
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
                // A finished operation does not prove the place of the address: another client may
                // have moved the address since, and providers have reported success wrongly. A
                // listing decides.
                Ok(Done::Operation(OperationState::Done)) => {
                    let until = now + settings.settle;
                    account.update(ip, |one| {
                        one.operation = Some(Operation::Uncertain { to, until, counted: false });
                    });
                    account.want_listing(now);
                }
                Ok(Done::Operation(OperationState::Failed)) => {
                    let message = "the provider accepted the call and then gave it up";
                    let failure = Failure {
                        displaced: to.is_some() && account.displaces_own(),
                        ..Failure::plain(FailureKind::Unavailable, message)
                    };
                    account.give_back(ip, to.as_ref(), failure, now, outcome.jitter, &settings);
                }
                // Running, unknown, or no answer: listings go on.
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

    /// Applies the outcome of a release.
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
                let until = settings.doubted_until(outcome.sent_at, now);
                account.update(ip, |one| one.operation = Some(Operation::Leaving { until }));
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
            // Success for one address does not end the back-off after a refusal for another.
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
        let shown = self.shown_from();
        self.with_account(id, |account| {
            let open = account.address(ip).and_then(|one| one.operation.as_ref());
            let expected =
                open.is_none_or(|open| matches!(open, Operation::Sent { .. }) && open.to() == to);
            if expected {
                account.end_move(ip, to, outcome, now, &settings);
                if now < shown && is_refused(&outcome.result) {
                    account.distrust(ip, to, shown);
                }
            } else {
                // The call is no longer the open one, so a listing decides.
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
    /// Notes a listing delayed by our rate limiter. The delay is no failure, and a routine one does
    /// not delay listings that confirm an operation.
    fn hold_listing(&mut self, confirms: bool, wait: Duration, now: Time) {
        // A confirming listing asks the rate limiter again soon: asking costs no request, and the
        // limit may end early.
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
                self.setbacks.clear(ip, to);
                self.update(ip, |one| one.placed(to.cloned(), now, settings));
            }
            Err(failure) if failure.kind == FailureKind::NoAnswer => {
                let until = settings.doubted_until(outcome.sent_at, now);
                let counted = to.is_some();
                let uncertain = Operation::Uncertain { to: to.cloned(), until, counted };
                self.update(ip, |one| {
                    one.operation = Some(uncertain);
                    one.intended = None;
                });
                // An address that has arrived is known to serve before the doubt ends.
                self.want_listing(now + LOOK_AFTER);
                if let Some(machine) = to {
                    let when = (now, outcome.jitter);
                    let attempt = Attempt { ip, machine, unassigns: false };
                    self.set_back(attempt, failure.clone(), when, settings);
                }
            }
            Err(failure) => {
                self.give_back(ip, to, failure.clone(), now, outcome.jitter, settings);
            }
        }
    }

    /// Ends a call without effect. The address stays in place, and the same machine is tried again
    /// unless the provider refused.
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
        // A failed unassignment counts against the current machine.
        let held = self.address(ip).and_then(|one| one.machines()[0].cloned());
        if let Some(machine) = to.cloned().or(held) {
            let attempt = Attempt { ip, machine: &machine, unassigns: to.is_none() };
            self.set_back(attempt, failure, (now, jitter), settings);
            let again = !is_refusal(kind);
            self.update(ip, |one| one.intended = to.filter(|_| again).cloned());
            if elusive {
                self.doubt(ip, to, &machine);
            }
        }
        // In an outage, one listing serves many failed calls.
        let soon = if kind == FailureKind::Unavailable { LOOK_AFTER } else { Duration::ZERO };
        self.want_listing((now + soon).max(self.listing.after_failure()));
    }

    /// Marks a refused address as uncertain until `shown`, the time from which reads show every call
    /// of the leader before this term. The address may be on the machine already.
    fn distrust(&mut self, ip: IpAddr, to: Option<&MachineId>, shown: Time) {
        let uncertain = Operation::Uncertain { to: to.cloned(), until: shown, counted: true };
        self.update(ip, |one| one.operation = Some(uncertain));
    }

    /// Marks the address as uncertain until the next attempt on `machine` is due: another operation
    /// is in progress, and the current place does not show its target.
    fn doubt(&mut self, ip: IpAddr, to: Option<&MachineId>, machine: &MachineId) {
        let until = self.setbacks.next(ip, machine);
        let uncertain = Operation::Uncertain { to: to.cloned(), until, counted: true };
        self.update(ip, |one| one.operation = Some(uncertain));
    }
}

/// The wait demanded by the provider or by our rate limiter.
fn asked_to_wait(result: &Result<Done, Failure>) -> Duration {
    match result {
        Err(Failure {
            kind: FailureKind::Throttled { wait } | FailureKind::HeldBack { wait, .. },
            ..
        }) => *wait,
        Ok(_) | Err(_) => Duration::ZERO,
    }
}

fn is_refused(result: &Result<Done, Failure>) -> bool {
    result.as_ref().is_err_and(|failure| is_refusal(failure.kind))
}

fn effect_possible(result: &Result<Done, Failure>) -> bool {
    match result {
        Ok(_) => true,
        Err(failure) => failure.kind == FailureKind::NoAnswer,
    }
}
