//! Attempts that failed: on which machine an address is not tried before when.
//!
//! A back-off belongs to the pair of an address and a machine. A refused address therefore never
//! keeps a machine from another address, nor a bad machine an address from other machines. An
//! address that a second machine refuses waits as a whole: it would else go through all machines
//! at network speed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::MachineId;
use crate::world::Settings;

/// From this many failures on, other machines go first.
pub const PATIENCE: u32 = 3;

/// While the account can be listed, a failure that says nothing of the pair is repeated no later
/// than this: its cause is probably over.
const CAUSE_OVER: Duration = Duration::from_secs(8);

/// Attempts of an account that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setbacks {
    by_address: BTreeMap<IpAddr, Attempts>,
    /// Addresses that each machine lastingly failed to take.
    suspects: BTreeMap<MachineId, BTreeSet<IpAddr>>,
}

/// Failed attempts of one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Attempts {
    /// Calls that a machine or the address itself was refused for.
    refusals: u32,
    /// The address is tried on no machine before.
    not_before: Time,
    pairs: BTreeMap<MachineId, Setback>,
}

/// Attempts of one address on one machine that failed, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// How many.
    pub failures: u32,
    /// When the next may start.
    pub not_before: Time,
    /// The last failure.
    pub failure: Failure,
    /// The call may have worked although it was answered by a failure: a listing that is sent from
    /// then on tells.
    pub told_from: Time,
}

impl Setback {
    /// Whether the machine or the address seems to be the cause, and not a passing trouble.
    pub fn is_lasting(&self) -> bool {
        is_refusal(self.failure.kind) || self.failures >= PATIENCE
    }
}

impl Setbacks {
    /// Whether nothing failed, or everything has worked since.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// Failed attempts of an address on a machine.
    pub fn of(&self, ip: IpAddr, machine: &MachineId) -> Option<&Setback> {
        self.by_address.get(&ip)?.pairs.get(machine)
    }

    /// Every machine on which attempts of an address failed.
    pub fn of_address(&self, ip: IpAddr) -> impl Iterator<Item = (&MachineId, &Setback)> {
        self.by_address.get(&ip).into_iter().flat_map(|attempts| &attempts.pairs)
    }

    /// Whether an address was refused, or may not be tried everywhere now.
    pub fn burden(&self, ip: IpAddr, now: Time) -> bool {
        self.by_address.get(&ip).is_some_and(|attempts| {
            let waits = |pair: &Setback| pair.is_lasting() || now < pair.not_before;
            now < attempts.not_before || attempts.pairs.values().any(waits)
        })
    }

    /// Whether attempts on this machine failed, of whatever address, so that others go first.
    pub fn is_suspect(&self, machine: &MachineId) -> bool {
        self.suspects.contains_key(machine)
    }

    /// Machines that an address may have come to although the call failed, if the last listing
    /// was sent at `listed`.
    pub(crate) fn doubts(
        &self,
        ip: IpAddr,
        listed: Option<Time>,
    ) -> impl Iterator<Item = &MachineId> {
        let open = move |pair: &Setback| listed.unwrap_or_default() < pair.told_from;
        self.of_address(ip).filter(move |(_, pair)| open(pair)).map(|(machine, _)| machine)
    }

    /// When a listing tells what came of calls that failed, if the last one was sent at `listed`.
    pub(crate) fn told_from(&self, listed: Time) -> Option<Time> {
        let pairs = self.by_address.values().flat_map(|attempts| attempts.pairs.values());
        pairs.map(|pair| pair.told_from).filter(|from| listed < *from).min()
    }

    /// When an address may next be tried at all.
    pub fn due(&self, ip: IpAddr) -> Time {
        self.by_address.get(&ip).map_or(Time::default(), |attempts| attempts.not_before)
    }

    /// When an address may next be tried on a machine.
    pub fn next(&self, ip: IpAddr, machine: &MachineId) -> Time {
        let attempts = self.by_address.get(&ip);
        let pair = attempts.and_then(|attempts| attempts.pairs.get(machine));
        let whole = attempts.map_or(Time::default(), |attempts| attempts.not_before);
        pair.map_or(whole, |pair| pair.not_before.max(whole))
    }

    /// An attempt failed: the next one waits longer. `heard` tells whether the account's last
    /// listing worked.
    pub(crate) fn failed(
        &mut self,
        (ip, machine): (IpAddr, &MachineId),
        failure: Failure,
        heard: bool,
        (now, jitter): (Time, u16),
        settings: &Settings,
    ) {
        let attempts = self.by_address.entry(ip).or_default();
        if is_refusal(failure.kind) {
            attempts.refusals = attempts.refusals.saturating_add(1);
            // The first refusal may be the machine's fault: another one is tried at once.
            if attempts.refusals > 1 {
                attempts.not_before = now + settings.back_off(attempts.refusals - 1, jitter);
            }
        }
        let before = attempts.pairs.get(machine).map(|pair| pair.failures);
        // What was never sent says nothing of the pair.
        let counts = failure.kind != FailureKind::NotSent;
        let failures = before.unwrap_or(0).saturating_add(u32::from(counts));
        let step = if counts { failures } else { 1 };
        let most =
            if heard && failure.kind.is_of_account() { CAUSE_OVER } else { settings.retry_max };
        let not_before = now + settings.back_off_within(step, most, jitter);
        // What was refused after that may have been refused because the call before it worked.
        let unclear = matches!(failure.kind, FailureKind::Unavailable | FailureKind::Busy);
        let told_from = attempts.pairs.get(machine).map_or(Time::default(), |pair| pair.told_from);
        let told_from = if unclear { now + settings.settle } else { told_from };
        let pair = Setback { failures, not_before, failure, told_from };
        if pair.is_lasting() {
            self.suspects.entry(machine.clone()).or_default().insert(ip);
        }
        attempts.pairs.insert(machine.clone(), pair);
    }

    /// The account is heard again after it was not: what failed because of that is worth another
    /// attempt at once, on the same machine.
    pub(crate) fn retry_sooner(&mut self, now: Time) {
        for pair in self.by_address.values_mut().flat_map(|attempts| attempts.pairs.values_mut()) {
            if pair.failure.kind.is_of_account() {
                pair.not_before = pair.not_before.min(now);
                pair.failures = pair.failures.min(1);
            }
        }
    }

    /// An address is where it was to go: its failed attempts are history.
    pub(crate) fn clear(&mut self, ip: IpAddr) {
        for machine in self.by_address.remove(&ip).unwrap_or_default().pairs.into_keys() {
            self.acquit(&machine, ip);
        }
    }

    /// Forgets attempts whose next one has been possible for long.
    pub(crate) fn expire(&mut self, now: Time, settings: &Settings) {
        let mut gone = Vec::new();
        for (ip, attempts) in &mut self.by_address {
            attempts.pairs.retain(|machine, pair| {
                let recent = now.since(pair.not_before) < settings.retry_max;
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

/// Whether the pair was refused for good, as far as the cloud can tell: repeating the same call
/// makes no sense, another machine may.
pub(crate) fn is_refusal(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::NotFound | FailureKind::Rejected)
}
