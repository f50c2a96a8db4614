//! One cloud account: what is known of its addresses, what is under way, what failed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::address::{Address, Knowledge, News, Operation, confirm_after};
use super::listing::Listing;
use super::setbacks::Setbacks;
use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::{Families, Family, Finding, MachineId, OperationId, Sighting, Text};
use crate::world::Settings;

/// What the operator knows of an account before it has asked it anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSetup {
    /// The cloud that the account is in.
    pub cloud: Text,
    /// What the provider can do.
    pub abilities: Abilities,
    /// The project of new IPv4 addresses, if one is set aside: an address that appears there is
    /// ours. IPv6 addresses are in no project.
    pub project: Option<Text>,
}

/// What a provider can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// One call moves an address from one machine to another. Otherwise the address is unassigned
    /// first, by a call of its own.
    pub moves_at_once: bool,
    /// The families of addresses that can be assigned.
    pub families: Families,
    /// How many addresses of one family a machine carries.
    pub per_machine: usize,
    /// The families whose new addresses are assigned by the call that reserves them.
    pub places_new: Families,
    /// New addresses carry the mark of their intent, and listings show it. Otherwise a new address
    /// is recognised by its machine or its project.
    pub marks_new: bool,
    /// New addresses need a region.
    pub region_required: bool,
}

/// A cloud account.
#[derive(Clone, Debug)]
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
    /// Machines whose occupants changed since somebody last looked.
    pub(crate) touched: BTreeSet<MachineId>,
    /// Attempts that failed.
    pub setbacks: Setbacks,
    /// How its listings are going.
    pub listing: Listing,
    /// How many listings have begun.
    listings_begun: u64,
    /// No operation is asked about before.
    pub(crate) ask_after: Time,
    /// Nothing is sent before: the cloud asks for that, or we keep it back.
    pub closed_until: Option<Time>,
    /// The credentials were refused, and nothing has worked since.
    pub(crate) refused: bool,
    /// What is wrong with it just now.
    pub trouble: Option<Failure>,
}

impl Account {
    /// What the provider can do; nothing for an account that cannot be used.
    pub(crate) fn abilities(&self) -> Option<&Abilities> {
        self.setup.as_ref().ok().map(|setup| &setup.abilities)
    }

    /// An account of which nothing is known yet.
    pub fn new(setup: Result<AccountSetup, Finding>) -> Self {
        Self {
            setup,
            addresses: BTreeMap::new(),
            occupants: BTreeMap::new(),
            open: BTreeSet::new(),
            missing: BTreeSet::new(),
            busy: BTreeSet::new(),
            touched: BTreeSet::new(),
            setbacks: Setbacks::default(),
            listing: Listing::default(),
            listings_begun: 0,
            ask_after: Time::default(),
            closed_until: None,
            refused: false,
            trouble: None,
        }
    }

    /// The cloud that it is in, if it can be used.
    pub fn cloud(&self) -> Option<&Text> {
        self.setup.as_ref().ok().map(|setup| &setup.cloud)
    }

    /// One address; none if nothing was ever heard of it and nobody asked for it.
    pub fn address(&self, ip: IpAddr) -> Option<&Address> {
        self.addresses.get(&ip)
    }

    /// Every address that was heard of or asked for.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, &Address)> {
        self.addresses.iter().map(|(ip, address)| (*ip, address))
    }

    /// Whether an IPv6 address was ever heard of or asked for.
    pub(crate) fn has_v6(&self) -> bool {
        // IPv6 addresses are ordered after all IPv4 ones.
        self.addresses.last_key_value().is_some_and(|(ip, _)| ip.is_ipv6())
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

    /// Addresses that the cloud is working on, whoever asked it to, and since when.
    pub fn busy(&self) -> impl Iterator<Item = (IpAddr, Time)> {
        let since = |ip| self.addresses.get(ip).and_then(|one| one.busy_since);
        self.busy.iter().map(move |ip| (*ip, since(ip).unwrap_or_default()))
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
    pub(crate) fn update<T>(&mut self, ip: IpAddr, change: impl FnOnce(&mut Address) -> T) -> T {
        let address = self.addresses.entry(ip).or_default();
        let before = address.machines().map(Option::<&MachineId>::cloned);
        let result = change(address);
        keep(&mut self.open, ip, address.operation.is_some());
        keep(&mut self.missing, ip, address.knowledge == Knowledge::Missing);
        keep(&mut self.busy, ip, address.is_busy());
        let after = address.machines().map(Option::<&MachineId>::cloned);
        if before != after {
            for machine in before.into_iter().flatten() {
                if let Some(occupants) = self.occupants.get_mut(&machine) {
                    occupants.remove(&ip);
                    if occupants.is_empty() {
                        self.occupants.remove(&machine);
                    }
                }
                self.touched.insert(machine);
            }
            for machine in after.into_iter().flatten() {
                self.occupants.entry(machine.clone()).or_default().insert(ip);
                self.touched.insert(machine);
            }
        }
        result
    }

    /// A pool asks for an address: the next listing must show it. Nothing else would ask
    /// for one before its time if the account was listed without that address in mind.
    pub(crate) fn expect(&mut self, ip: IpAddr) {
        let address = self.addresses.entry(ip).or_default();
        if address.knowledge == Knowledge::Unknown && self.listing.last.is_some() {
            self.want_listing(Time::default());
        }
    }

    /// A listing begins.
    pub(crate) fn list_begins(&mut self) {
        self.listing.in_flight = true;
        self.listing.wanted = None;
        self.listings_begun += 1;
    }

    /// Somebody lists an address that nobody listed: a person may have moved it just now, so that
    /// only a listing that begins after this tells where it is. The machine that it was seen on
    /// stays taken.
    pub(crate) fn read_anew(&mut self, ip: IpAddr) {
        let next = self.listings_begun + 1;
        if self.addresses.get(&ip).is_some_and(|one| one.operation.is_none()) {
            self.update(ip, |one| one.doubt_until_listing(next));
        }
    }

    /// Forgets a stranger that is no longer there.
    fn forget(&mut self, ip: IpAddr) {
        self.update(ip, |address| *address = Address::default());
        self.addresses.remove(&ip);
    }

    /// Folds in a listing of `families` that was sent at `sent_at`. `tracked` tells whether
    /// a pool has an interest in an address. Returns the addresses of which something new
    /// is known.
    pub(crate) fn fold_listing(
        &mut self,
        sent_at: Time,
        (families, listed): (&[Family], &[(IpAddr, Sighting)]),
        now: Time,
        settings: &Settings,
        tracked: impl Fn(IpAddr) -> bool,
    ) -> BTreeSet<IpAddr> {
        // A wish that came up while the listing was under way stands; an answer that comes
        // out of turn does not make the last one older.
        let wanted = self.listing.wanted;
        let last = self.listing.last.max(Some(sent_at));
        self.listing = Listing { last, wanted, ..Listing::default() };
        self.trouble = None;
        self.refused = false;
        self.setbacks.expire(now, settings);
        let mut changed = BTreeSet::new();
        let asked = |ip: &IpAddr| families.contains(&Family::of(*ip));
        let mut unseen: BTreeSet<IpAddr> = self.addresses.keys().copied().filter(asked).collect();
        let begun = self.listings_begun;
        let late = |ip: &IpAddr| self.addresses.get(ip).is_some_and(|one| one.told_by > begun);
        let late: BTreeSet<IpAddr> = self.addresses.keys().copied().filter(late).collect();
        unseen.retain(|ip| !late.contains(ip));
        for (ip, sighting) in listed.iter().filter(|(ip, _)| !late.contains(ip)) {
            unseen.remove(ip);
            if self.fold_sighting(*ip, sent_at, sighting, now, settings) {
                changed.insert(*ip);
            }
        }
        for ip in unseen {
            // Also what no pool asks for any more may be on its way: it is watched to its end.
            let news = self.fold_absence(ip, sent_at, now, settings);
            let over = self.addresses.get(&ip).is_some_and(|one| one.operation.is_none());
            if over && !tracked(ip) {
                self.forget(ip);
                changed.insert(ip);
            } else if news {
                changed.insert(ip);
            }
        }
        changed
    }

    /// Folds in what a read that was sent at `sent_at` showed. Returns whether that changed
    /// anything.
    pub(crate) fn fold_sighting(
        &mut self,
        ip: IpAddr,
        sent_at: Time,
        sighting: &Sighting,
        now: Time,
        settings: &Settings,
    ) -> bool {
        let known = self.addresses.get_mut(&ip);
        if known.is_some_and(|address| address.is_affirmed_by(sent_at, sighting)) {
            return false;
        }
        let news = self.update(ip, |address| address.see(sent_at, sighting, now, settings));
        self.fold_news(ip, news, now, settings)
    }

    /// A listing that was sent at `sent_at` did not show `ip`.
    fn fold_absence(&mut self, ip: IpAddr, sent_at: Time, now: Time, settings: &Settings) -> bool {
        let news = self.update(ip, |address| address.miss(sent_at, now, settings));
        self.fold_news(ip, news, now, settings)
    }

    fn fold_news(&mut self, ip: IpAddr, news: News, now: Time, settings: &Settings) -> bool {
        match news {
            News::Nothing => return false,
            News::Some => {}
            News::Arrived => self.setbacks.clear(ip),
            News::Overdue(machine) => {
                let message = "the cloud accepted the call but did not carry it out in two minutes";
                let failure = Failure::plain(FailureKind::Rejected, message);
                if let Some(machine) = machine {
                    self.set_back((ip, &machine), failure, (now, 0), settings);
                }
            }
        }
        true
    }

    /// An attempt failed: the next one waits longer.
    pub(crate) fn set_back(
        &mut self,
        pair: (IpAddr, &MachineId),
        failure: Failure,
        (now, jitter): (Time, u16),
        settings: &Settings,
    ) {
        let heard = !self.is_silent();
        self.setbacks.failed(pair, failure, heard, (now, jitter), settings);
    }

    /// Whether the last listings failed: what fails then is probably the account's fault, and
    /// another machine does not cure that.
    pub fn is_silent(&self) -> bool {
        self.listing.silence.is_some()
    }

    /// Whether nothing but a listing is sent, because the credentials were refused: it tells
    /// whether there is any use. Where listings are kept back, a failover does not wait for one.
    pub(crate) fn is_refused(&self, now: Time) -> bool {
        let kept_back = now < self.listing.not_before.max(self.listing.held_until);
        self.refused && (now < self.listing.rests_until || !kept_back)
    }

    /// Asks for a listing at `when`, unless one is due earlier.
    pub(crate) fn want_listing(&mut self, when: Time) {
        self.listing.want(when);
    }

    /// The cloud took a call, and works on it.
    pub(crate) fn accept(
        &mut self,
        ip: IpAddr,
        to: Option<&MachineId>,
        id: &OperationId,
        now: Time,
    ) {
        let accepted = Operation::Accepted {
            to: to.cloned(),
            id: id.clone(),
            since: now,
            checks: 0,
            idle: 0,
            next_check: now + confirm_after(0),
            reading: false,
            read_after: now,
        };
        self.update(ip, |one| {
            one.operation = Some(accepted);
            one.intended = None;
        });
    }

    /// A call on this account failed: what does that say of the account?
    pub(crate) fn suffer(
        &mut self,
        failure: &Failure,
        urgent: bool,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        match failure.kind {
            // What is not urgent is held back first, to leave room for failover: it waits by
            // itself, and the account stays open.
            FailureKind::Throttled { .. } | FailureKind::HeldBack { .. } if !urgent => {
                self.trouble = Some(failure.clone());
            }
            FailureKind::Throttled { wait } | FailureKind::HeldBack { wait, .. } => {
                self.close_until(now + wait);
                self.trouble = Some(failure.clone());
            }
            FailureKind::Refused => {
                self.refused = true;
                self.listing.rest(now, jitter, settings);
                self.want_listing(now);
                self.trouble = Some(failure.clone());
            }
            FailureKind::NoAnswer | FailureKind::Unavailable | FailureKind::NotSent => {
                self.trouble = Some(failure.clone());
            }
            FailureKind::NotFound
            | FailureKind::Busy
            | FailureKind::Quota
            | FailureKind::Rejected
            | FailureKind::Conflict => {}
        }
    }

    fn close_until(&mut self, until: Time) {
        self.closed_until = self.closed_until.max(Some(until));
    }
}

fn keep(set: &mut BTreeSet<IpAddr>, ip: IpAddr, belongs: bool) {
    if belongs {
        set.insert(ip);
    } else {
        set.remove(&ip);
    }
}
