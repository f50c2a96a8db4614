//! One cloud account: what is known of its addresses, what is under way, what failed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::Settings;
use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::{Family, Finding, MachineId, OperationId, Sighting, Text};

/// What the operator knows of an account before it has asked it anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSetup {
    /// The cloud that it is in.
    pub cloud: Text,
    /// How many addresses of one family a machine carries.
    pub per_machine: usize,
    /// New addresses are made in this project, and nobody else's are: one that appears
    /// there is ours.
    pub project: Option<Text>,
    /// New addresses need a region.
    pub region_required: bool,
}

/// A cloud account.
#[derive(Debug)]
pub struct Account {
    /// What it is, or why it cannot be used.
    pub setup: Result<AccountSetup, Finding>,
    /// Its addresses: those that pools list, and strangers that a listing showed.
    addresses: BTreeMap<IpAddr, Address>,
    /// Which addresses a machine has, or is about to have.
    occupants: BTreeMap<MachineId, BTreeSet<IpAddr>>,
    /// Addresses with an operation.
    open: BTreeSet<IpAddr>,
    /// Addresses that the last listing should have shown and did not.
    missing: BTreeSet<IpAddr>,
    /// Addresses that the cloud is working on, whoever asked it to.
    busy: BTreeSet<IpAddr>,
    /// Machines on which the last attempt failed.
    pub setbacks: BTreeMap<MachineId, Setback>,
    /// How its listings are going.
    pub listing: Listing,
    /// Nothing is sent before.
    pub closed_until: Option<Time>,
    /// What is wrong with it just now.
    pub trouble: Option<Failure>,
}

/// One address of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// What is known of it.
    pub knowledge: Knowledge,
    /// A call of ours about it that is not over.
    pub operation: Option<Operation>,
    /// The machine that the last attempt was for, while it is worth trying again.
    pub intended: Option<MachineId>,
    /// A direct read of it is under way.
    pub reading: bool,
    /// The next direct read is not sent before.
    pub read_after: Time,
}

/// What is known of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// Nothing yet.
    #[default]
    Unknown,
    /// A listing did not show it: it may be gone, or have slipped between two pages.
    Missing,
    /// It does not exist.
    Gone,
    /// It exists.
    Known {
        /// As it was seen.
        sighting: Sighting,
        /// When that was true: a read is as old as the moment it was sent.
        at: Time,
        /// Our own doing: a read that was sent before this and says otherwise is late.
        firm_until: Time,
    },
}

/// A call of ours that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// On its way.
    Sent {
        /// The machine that the address shall be on.
        to: Option<MachineId>,
    },
    /// The cloud works on it.
    Accepted {
        /// The machine that the address shall be on.
        to: Option<MachineId>,
        /// The cloud's name for it.
        id: OperationId,
        /// When it was accepted.
        since: Time,
        /// How often a listing did not show the effect yet.
        checks: u32,
        /// When to look next.
        next_check: Time,
        /// A direct read of the operation is under way.
        reading: bool,
        /// The next direct read of the operation is not sent before.
        read_after: Time,
    },
    /// No answer came: it may have happened, or may yet.
    Uncertain {
        /// The machine that the address may be on.
        to: Option<MachineId>,
        /// A read that is sent from then on tells.
        until: Time,
    },
}

impl Operation {
    /// The machine that the address shall be on.
    pub fn to(&self) -> Option<&MachineId> {
        match self {
            Self::Sent { to } | Self::Accepted { to, .. } | Self::Uncertain { to, .. } => {
                to.as_ref()
            }
        }
    }
}

/// Attempts that failed, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// How many.
    pub failures: u32,
    /// When the next may start.
    pub not_before: Time,
    /// The last failure.
    pub failure: Failure,
}

/// Listings of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// One is under way.
    pub in_flight: bool,
    /// When the last good one was sent.
    pub last: Option<Time>,
    /// One is wanted, not before this.
    pub wanted: Option<Time>,
    /// How many failed since the last good one.
    pub failures: u32,
    /// None is sent before.
    pub not_before: Time,
}

/// From this many failures on, other candidates go first.
pub const PATIENCE: u32 = 3;

/// How long an accepted operation may show no effect before it counts as failed.
const GIVE_UP: Duration = Duration::from_secs(120);

impl Account {
    /// An account of which nothing is known yet.
    pub fn new(setup: Result<AccountSetup, Finding>) -> Self {
        Self {
            setup,
            addresses: BTreeMap::new(),
            occupants: BTreeMap::new(),
            open: BTreeSet::new(),
            missing: BTreeSet::new(),
            busy: BTreeSet::new(),
            setbacks: BTreeMap::new(),
            listing: Listing::default(),
            closed_until: None,
            trouble: None,
        }
    }

    /// One address; a default one if nothing was ever heard of it.
    pub fn address(&self, ip: IpAddr) -> Option<&Address> {
        self.addresses.get(&ip)
    }

    /// Every address that was heard of.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, &Address)> {
        self.addresses.iter().map(|(ip, address)| (*ip, address))
    }

    /// Addresses with an operation that is not over.
    pub fn open(&self) -> impl Iterator<Item = (IpAddr, &Operation)> {
        let operation = |ip| self.addresses.get(ip).and_then(|address| address.operation.as_ref());
        self.open.iter().filter_map(move |ip| Some((*ip, operation(ip)?)))
    }

    /// Addresses that a listing should have shown and did not.
    pub fn missing(&self) -> impl Iterator<Item = (IpAddr, &Address)> {
        self.missing.iter().filter_map(|ip| Some((*ip, self.addresses.get(ip)?)))
    }

    /// Addresses that the cloud is working on, whoever asked it to.
    pub fn busy(&self) -> impl Iterator<Item = IpAddr> {
        self.busy.iter().copied()
    }

    /// The addresses of a family that a machine has, may have, or is about to have.
    pub fn occupants(
        &self,
        machine: &MachineId,
        family: Family,
    ) -> impl Iterator<Item = IpAddr> + '_ {
        let all = self.occupants.get(machine).into_iter().flatten().copied();
        all.filter(move |ip| Family::of(*ip) == family)
    }

    /// Changes one address, and the indexes with it.
    pub(super) fn update(&mut self, ip: IpAddr, change: impl FnOnce(&mut Address)) {
        let address = self.addresses.entry(ip).or_default();
        for machine in address.machines() {
            if let Some(occupants) = self.occupants.get_mut(machine) {
                occupants.remove(&ip);
                if occupants.is_empty() {
                    self.occupants.remove(machine);
                }
            }
        }
        change(address);
        for machine in address.machines() {
            self.occupants.entry(machine.clone()).or_default().insert(ip);
        }
        keep(&mut self.open, ip, address.operation.is_some());
        keep(&mut self.missing, ip, address.knowledge == Knowledge::Missing);
        keep(&mut self.busy, ip, address.is_busy());
    }

    /// Forgets a stranger that is no longer there.
    fn forget(&mut self, ip: IpAddr) {
        self.update(ip, |address| *address = Address::default());
        self.addresses.remove(&ip);
    }

    /// Folds in a listing of `families` that was sent at `sent_at`. `tracked` are the
    /// addresses that pools have. Returns the addresses of which something new is known.
    pub(super) fn fold_listing(
        &mut self,
        sent_at: Time,
        families: &[Family],
        listed: &[(IpAddr, Sighting)],
        now: Time,
        settings: &Settings,
        tracked: &BTreeSet<IpAddr>,
    ) -> BTreeSet<IpAddr> {
        // A wish that came up while the listing was under way stands.
        let wanted = self.listing.wanted;
        self.listing = Listing { last: Some(sent_at), wanted, ..Listing::default() };
        self.trouble = None;
        self.setbacks.retain(|_, setback| now.since(setback.not_before) < settings.retry_max);
        let mut changed = BTreeSet::new();
        let asked = |ip: &IpAddr| families.contains(&Family::of(*ip));
        let known = self.addresses.keys().chain(tracked).copied();
        let mut unseen: BTreeSet<IpAddr> = known.filter(asked).collect();
        for (ip, sighting) in listed {
            unseen.remove(ip);
            if self.fold_sighting(*ip, sent_at, sighting, now, settings) {
                changed.insert(*ip);
            }
        }
        for ip in unseen {
            if tracked.contains(&ip) {
                if self.fold_absence(ip, sent_at) {
                    changed.insert(ip);
                }
            } else if self.addresses.get(&ip).is_some_and(|address| address.operation.is_none()) {
                self.forget(ip);
                changed.insert(ip);
            }
        }
        changed
    }

    /// Folds in what a read that was sent at `sent_at` showed. Returns whether that changed
    /// anything.
    pub(super) fn fold_sighting(
        &mut self,
        ip: IpAddr,
        sent_at: Time,
        sighting: &Sighting,
        now: Time,
        settings: &Settings,
    ) -> bool {
        let before = self.addresses.get(&ip).cloned().unwrap_or_default();
        let mut after = before.clone();
        after.see(sent_at, sighting, now, settings);
        let given_up = match &before.operation {
            Some(Operation::Accepted { to, since, .. })
                if after.operation.is_some() && now.since(*since) > GIVE_UP =>
            {
                after.operation = None;
                Some(to.clone())
            }
            _ => None,
        };
        if after == before {
            return false;
        }
        self.update(ip, |address| *address = after);
        if let Some(Some(machine)) = given_up {
            let message = "the cloud accepted the call but did not carry it out in two minutes";
            self.set_back(
                &machine,
                Failure::plain(FailureKind::Rejected, message),
                now,
                0,
                settings,
            );
        }
        true
    }

    /// A listing that was sent at `sent_at` did not show `ip`.
    fn fold_absence(&mut self, ip: IpAddr, sent_at: Time) -> bool {
        let address = self.addresses.entry(ip).or_default();
        let late = match &address.knowledge {
            Knowledge::Known { at, firm_until, .. } => sent_at <= *at || sent_at < *firm_until,
            Knowledge::Gone | Knowledge::Missing => true,
            Knowledge::Unknown => false,
        };
        if late || address.operation.is_some() {
            return false;
        }
        self.update(ip, |address| address.knowledge = Knowledge::Missing);
        true
    }

    /// An attempt on `machine` failed: the next one waits longer.
    pub(super) fn set_back(
        &mut self,
        machine: &MachineId,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) -> u32 {
        let failures = self.setbacks.get(machine).map_or(0, |setback| setback.failures) + 1;
        let not_before = now + settings.back_off(failures, jitter);
        self.setbacks.insert(machine.clone(), Setback { failures, not_before, failure });
        failures
    }

    /// A pool has this address from now on. One that the listings so far did not show is
    /// read by itself: it may be new, or not exist.
    pub(super) fn track(&mut self, ip: IpAddr) {
        if self.listing.last.is_some() && !self.addresses.contains_key(&ip) {
            self.update(ip, |address| address.knowledge = Knowledge::Missing);
        }
    }

    /// Asks for a listing at `when`, unless one is due earlier.
    pub(super) fn want_listing(&mut self, when: Time) {
        let wanted = self.listing.wanted.map_or(when, |wanted| wanted.min(when));
        self.listing.wanted = Some(wanted);
    }
}

fn keep(set: &mut BTreeSet<IpAddr>, ip: IpAddr, belongs: bool) {
    if belongs {
        set.insert(ip);
    } else {
        set.remove(&ip);
    }
}

impl Address {
    fn is_busy(&self) -> bool {
        matches!(&self.knowledge, Knowledge::Known { sighting, .. } if sighting.busy)
    }

    /// The machine that it is on, and the one that it may be on or shall be on.
    fn machines(&self) -> impl Iterator<Item = &MachineId> {
        let held = match &self.knowledge {
            Knowledge::Known { sighting, .. } => sighting.holder.as_ref(),
            Knowledge::Unknown | Knowledge::Missing | Knowledge::Gone => None,
        };
        let to = self.operation.as_ref().and_then(Operation::to);
        held.into_iter().chain(to)
    }

    /// Takes in a sighting, as far as it is news.
    fn see(&mut self, sent_at: Time, sighting: &Sighting, now: Time, settings: &Settings) {
        match &mut self.operation {
            Some(Operation::Sent { .. }) => {}
            Some(Operation::Accepted { to, since, checks, next_check, .. }) => {
                if sent_at >= *since && sighting.holder == *to && !sighting.busy {
                    self.settle(sent_at, sighting, settings);
                } else if sent_at >= *since {
                    *checks += 1;
                    *next_check = now + confirm_after(*checks);
                }
            }
            Some(Operation::Uncertain { to, until }) => {
                if sent_at >= *until || (sighting.holder == *to && !sighting.busy) {
                    self.settle(sent_at, sighting, settings);
                }
            }
            None => self.learn(sent_at, sighting),
        }
    }

    /// The operation is over, and this is how it ended.
    fn settle(&mut self, sent_at: Time, sighting: &Sighting, settings: &Settings) {
        self.operation = None;
        self.intended = None;
        self.knowledge = Knowledge::Known {
            sighting: sighting.clone(),
            at: sent_at,
            firm_until: sent_at + settings.settle,
        };
    }

    fn learn(&mut self, sent_at: Time, sighting: &Sighting) {
        if let Knowledge::Known { sighting: known, at, firm_until } = &self.knowledge {
            let contradicts = known.holder != sighting.holder;
            if sent_at <= *at || (contradicts && sent_at < *firm_until) {
                return;
            }
            // Nothing new: keep the time too, so that a listing at rest changes nothing.
            if known == sighting {
                return;
            }
        }
        let sighting = sighting.clone();
        self.knowledge = Knowledge::Known { sighting, at: sent_at, firm_until: sent_at };
    }

    /// Our own call took effect just now.
    pub(super) fn placed(&mut self, on: Option<MachineId>, now: Time, settings: &Settings) {
        let mut sighting = match std::mem::take(&mut self.knowledge) {
            Knowledge::Known { sighting, .. } => sighting,
            Knowledge::Unknown | Knowledge::Missing | Knowledge::Gone => Sighting::default(),
        };
        sighting.holder = on;
        sighting.busy = false;
        self.operation = None;
        self.intended = None;
        self.knowledge = Knowledge::Known { sighting, at: now, firm_until: now + settings.settle };
    }
}

/// When to look again for the effect of an accepted operation: soon at first, for the
/// clouds that are quick, then every two seconds.
pub(super) fn confirm_after(checks: u32) -> Duration {
    match checks {
        0 => Duration::from_millis(250),
        1 => Duration::from_millis(500),
        2 => Duration::from_secs(1),
        _ => Duration::from_secs(2),
    }
}
