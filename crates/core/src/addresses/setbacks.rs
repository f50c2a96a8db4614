//! Failed attempts, and the back-off of each address on each machine.
//!
//! A back-off belongs to the pair of an address and a machine. A refused address therefore never
//! keeps a machine from another address, and a bad machine never keeps an address from other
//! machines. An address refused by a second machine backs off as a whole, or it would run through
//! all machines at network speed. Where each attempt costs a machine its own address for a while, an
//! address backs off as a whole and for much longer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::MachineId;
use crate::world::Settings;

/// Number of failures from which other machines go first.
pub const PATIENCE: u32 = 3;

/// Longest back-off for failures of the account, while its listings succeed: the cause is probably
/// over.
const CAUSE_OVER: Duration = Duration::from_secs(8);

/// Number of attempts, about a minute, after which an address that finds a machine busy waits for
/// something else than the others' attempts.
const BUSY_FOR_OTHERS: u32 = 8;

/// Time that another address has for an attempt that is due.
const OTHERS_FIRST: Duration = Duration::from_secs(2);

/// Age from which a failure on a machine says nothing, although the address is still refused elsewhere.
const LONG_AGO: Duration = Duration::from_secs(3_600);

/// Waits after [`Setback::told_from`] until the listings that look for the outcome of a failed call.
/// Where listings do not show operations under way, a slow operation shows only at its end.
const LOOKS: [Duration; 4] =
    [Duration::ZERO, Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(35)];

/// Time after [`Setback::told_from`] from which a failed call is not looked for any more.
const LAST_LOOK: Duration = Duration::from_secs(60);

/// Failed attempts of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setbacks {
    by_address: BTreeMap<IpAddr, Attempts>,
    /// Addresses with a lasting failure on each machine.
    suspects: BTreeMap<MachineId, BTreeSet<IpAddr>>,
    /// Machines that refused a new address, and until when this counts.
    closed_to_new: BTreeMap<MachineId, Time>,
    /// Failed calls that may still take effect, with their [`Setback::told_from`]. Such a call outlives
    /// its pair: the address may have arrived on another machine since.
    unclear: BTreeMap<IpAddr, BTreeMap<MachineId, Time>>,
}

/// An attempt to assign an address to a machine, or to unassign the address from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    pub ip: IpAddr,
    pub machine: &'a MachineId,
    pub unassigns: bool,
}

/// Failed attempts of one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Attempts {
    /// Number of calls refused because of a machine or of the address itself.
    refusals: u32,
    /// Number of failed calls that cost a machine its own address.
    displaced: u32,
    /// Earliest time of an attempt on any machine.
    not_before: Time,
    pairs: BTreeMap<MachineId, Setback>,
}

/// Consecutive failed attempts of one address on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// Number of attempts.
    pub failures: u32,
    /// Earliest time of the next attempt.
    pub not_before: Time,
    /// The last failure.
    pub failure: Failure,
    /// The failed call may have taken effect nevertheless. A listing sent at or after this time
    /// shows the outcome.
    pub told_from: Time,
    /// The last attempt was to unassign the address.
    unassigns: bool,
}

impl Setback {
    /// Whether the machine or the address seems to be the cause, rather than a passing outage.
    pub fn is_lasting(&self) -> bool {
        self.is_refusal() || self.failures >= PATIENCE
    }

    /// Whether the provider refused the pair for good.
    pub(crate) fn is_refusal(&self) -> bool {
        is_refusal(self.failure.kind)
    }
}

impl Setbacks {
    /// Whether no failure is on record.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty() && self.closed_to_new.is_empty()
    }

    /// Failed attempts of an address on a machine.
    pub fn of(&self, ip: IpAddr, machine: &MachineId) -> Option<&Setback> {
        self.by_address.get(&ip)?.pairs.get(machine)
    }

    /// Every machine with failed attempts of an address.
    pub fn of_address(&self, ip: IpAddr) -> impl Iterator<Item = (&MachineId, &Setback)> {
        self.by_address.get(&ip).into_iter().flat_map(|attempts| &attempts.pairs)
    }

    /// Whether an address was refused, or waits for a back-off on some machine.
    pub fn burden(&self, ip: IpAddr, now: Time) -> bool {
        self.by_address.get(&ip).is_some_and(|attempts| {
            let waits = |pair: &Setback| pair.is_lasting() || now < pair.not_before;
            now < attempts.not_before || attempts.pairs.values().any(waits)
        })
    }

    /// Whether a lasting failure of any address happened on this machine, so that other machines go
    /// first.
    pub fn is_suspect(&self, machine: &MachineId) -> bool {
        self.suspects.contains_key(machine) || self.refuses_new(machine)
    }

    /// Whether a reservation on this machine was refused. New addresses are then reserved elsewhere.
    pub fn refuses_new(&self, machine: &MachineId) -> bool {
        self.closed_to_new.contains_key(machine)
    }

    /// Notes a refused reservation on a machine.
    pub(crate) fn refused_new(&mut self, machine: &MachineId, now: Time, settings: &Settings) {
        self.closed_to_new.insert(machine.clone(), now + settings.retry_max);
    }

    /// Machines that may hold an address despite a failed call. `listed` is the sending time of the
    /// last listing.
    pub(crate) fn doubts(
        &self,
        ip: IpAddr,
        listed: Option<Time>,
    ) -> impl Iterator<Item = &MachineId> {
        let open = move |pair: &Setback| listed.unwrap_or_default() < pair.told_from;
        self.of_address(ip).filter(move |(_, pair)| open(pair)).map(|(machine, _)| machine)
    }

    /// Time of the next listing that looks for the outcome of a failed call, after the last listing
    /// (sent at `listed`). The looks for the last call of an address show the earlier ones too.
    pub(crate) fn look_for_outcome(&self, listed: Time) -> Option<Time> {
        let last = self.unclear.values().filter_map(|calls| calls.values().max());
        let looks = last.flat_map(|told_from| LOOKS.map(|wait| *told_from + wait));
        looks.filter(|look| listed < *look).min()
    }

    /// Whether a failed call may have taken an address to a machine nevertheless.
    pub(crate) fn may_have_moved(&self, ip: IpAddr, machine: &MachineId) -> bool {
        self.unclear.get(&ip).is_some_and(|calls| calls.contains_key(machine))
    }

    /// Earliest time of the next attempt on any machine.
    pub fn due(&self, ip: IpAddr) -> Time {
        self.by_address.get(&ip).map_or(Time::default(), |attempts| attempts.not_before)
    }

    /// Earliest time of the next attempt on a machine.
    pub fn next(&self, ip: IpAddr, machine: &MachineId) -> Time {
        let attempts = self.by_address.get(&ip);
        let pair = attempts.and_then(|attempts| attempts.pairs.get(machine));
        let whole = attempts.map_or(Time::default(), |attempts| attempts.not_before);
        pair.map_or(whole, |pair| pair.not_before.max(whole))
    }

    /// Until when an address leaves a busy machine to others that were refused less often, and that wait
    /// for the next attempt there. Where an attempt keeps a machine busy for a while, two addresses that
    /// every machine refuses would otherwise take turns, and no other would find the machine at rest.
    pub(crate) fn yields_until(&self, ip: IpAddr, machine: &MachineId, now: Time) -> Time {
        let refusals = self.by_address.get(&ip).map_or(0, |attempts| attempts.refusals);
        if refusals == 0 {
            return Time::default();
        }
        let others = self.by_address.values().filter(|other| other.refusals < refusals);
        let waits = others.filter_map(|other| {
            let pair = other.pairs.get(machine)?;
            let busy = pair.failure.kind == FailureKind::Busy && !pair.unassigns;
            (busy && pair.failures <= BUSY_FOR_OTHERS).then_some(pair.not_before + OTHERS_FIRST)
        });
        waits.filter(|until| now < *until).max().unwrap_or_default()
    }

    /// Earliest time of the next unassignment from a machine. Refusals elsewhere do not count.
    pub(crate) fn next_off(&self, ip: IpAddr, machine: &MachineId) -> Time {
        self.of(ip, machine).map_or(Time::default(), |pair| pair.not_before)
    }

    /// Whether the unassignment from a machine was refused, or failed many times in a row.
    pub(crate) fn is_stuck(&self, ip: IpAddr, machine: &MachineId) -> bool {
        self.of(ip, machine).is_some_and(|pair| pair.unassigns && pair.is_lasting())
    }

    /// Notes a failed attempt, and extends the back-off. `heard` says
    /// whether the account's last listing succeeded.
    pub(crate) fn failed(
        &mut self,
        Attempt { ip, machine, unassigns }: Attempt<'_>,
        failure: Failure,
        heard: bool,
        (now, jitter): (Time, u16),
        settings: &Settings,
    ) {
        let attempts = self.by_address.entry(ip).or_default();
        if is_refusal(failure.kind) {
            attempts.refusals = attempts.refusals.saturating_add(1);
            // The first refusal may be the machine's fault, so another machine is tried at once.
            if attempts.refusals > 1 {
                let wait = settings.slow_back_off(attempts.refusals - 1, jitter);
                attempts.not_before = attempts.not_before.max(now + wait);
            }
        }
        if failure.displaced {
            attempts.displaced = attempts.displaced.saturating_add(1);
            // The first failure may be the machine's fault, or pass.
            if attempts.displaced > 1 {
                let wait = settings.displacing_back_off(attempts.displaced - 1, jitter);
                attempts.not_before = attempts.not_before.max(now + wait);
            }
        }
        let before = attempts.pairs.get(machine).map(|pair| pair.failures);
        // A call never sent proves nothing about the pair.
        let counts = failure.kind != FailureKind::NotSent;
        let failures = before.unwrap_or(0).saturating_add(u32::from(counts));
        let step = if counts { failures } else { 1 };
        let wait = match failure.kind.is_of_account() {
            true if heard => settings.back_off_within(step, CAUSE_OVER, jitter),
            // A listing that succeeds again ends the wait.
            true => settings.back_off(step, jitter),
            false => settings.slow_back_off(step, jitter),
        };
        let not_before = now + wait;
        // A later refusal may itself be a result of an unclear call that worked, so `told_from`
        // stays.
        let unclear = matches!(
            failure.kind,
            FailureKind::Unavailable | FailureKind::Busy | FailureKind::NoAnswer
        );
        let told_from = attempts.pairs.get(machine).map_or(Time::default(), |pair| pair.told_from);
        let told_from = if unclear { now + settings.settle } else { told_from };
        if unclear {
            self.unclear.entry(ip).or_default().insert(machine.clone(), told_from);
        }
        let pair = Setback { failures, not_before, failure, told_from, unassigns };
        if pair.is_lasting() {
            self.suspects.entry(machine.clone()).or_default().insert(ip);
        }
        attempts.pairs.insert(machine.clone(), pair);
    }

    /// Ends the back-offs of account failures, because a listing succeeded again. The next attempt
    /// is made on the same machine.
    pub(crate) fn retry_sooner(&mut self, now: Time) {
        for pair in self.by_address.values_mut().flat_map(|attempts| attempts.pairs.values_mut()) {
            if pair.failure.kind.is_of_account() {
                pair.not_before = pair.not_before.min(now);
                pair.failures = pair.failures.min(1);
            }
        }
    }

    /// Forgets the failures of an address that reached its target. Calls to other machines may still
    /// take effect.
    pub(crate) fn clear(&mut self, ip: IpAddr, target: Option<&MachineId>) {
        if let (Some(calls), Some(target)) = (self.unclear.get_mut(&ip), target) {
            calls.remove(target);
        }
        for machine in self.by_address.remove(&ip).unwrap_or_default().pairs.into_keys() {
            self.acquit(&machine, ip);
        }
    }

    /// Forgets failures whose back-off ended long ago.
    pub(crate) fn expire(&mut self, now: Time, settings: &Settings) {
        self.closed_to_new.retain(|_, until| now < *until);
        self.unclear.retain(|_, calls| {
            calls.retain(|_, told_from| now.since(*told_from) < LAST_LOOK);
            !calls.is_empty()
        });
        let mut gone = Vec::new();
        for (ip, attempts) in &mut self.by_address {
            // The count of costly failures outlasts the wait that it led to.
            let costly = if attempts.displaced > 1 { attempts.not_before } else { Time::default() };
            attempts.pairs.retain(|machine, pair| {
                let recent = now.since(pair.not_before.max(costly)) < settings.retry_max
                    && now.since(pair.not_before) < LONG_AGO;
                if !recent {
                    gone.push((machine.clone(), *ip));
                }
                recent
            });
        }
        self.by_address.retain(|_, attempts| !attempts.pairs.is_empty());
        for (machine, ip) in gone {
            self.acquit(&machine, ip);
        }
    }

    fn acquit(&mut self, machine: &MachineId, ip: IpAddr) {
        if let Some(addresses) = self.suspects.get_mut(machine) {
            addresses.remove(&ip);
            if addresses.is_empty() {
                self.suspects.remove(machine);
            }
        }
    }
}

/// Whether the provider refused the pair for good. Repeating the call makes no sense, another
/// machine may.
pub(crate) fn is_refusal(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::NotFound | FailureKind::Rejected)
}
