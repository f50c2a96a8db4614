//! One account: the known facts about its addresses, operations in progress, and failures.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::address::{Address, Knowledge, News, Operation, confirm_after};
use super::listing::Listing;
use super::setbacks::{Attempt, Setbacks};
use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::{Families, Family, Finding, MachineId, OperationId, Sighting, Text};
use crate::world::Settings;

/// The configuration of an account, known before the first call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSetup {
    /// The cloud of the account's machines.
    pub cloud: Text,
    /// Capabilities of the provider.
    pub abilities: Abilities,
    /// Project set aside for new IPv4 addresses. A new address in this project is ours. IPv6
    /// addresses belong to no project.
    pub project: Option<Text>,
}

/// An account that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The cloud of the account's machines.
    pub cloud: Text,
    /// The finding that rules out any use.
    pub finding: Finding,
}

/// Capabilities of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether one call moves an address between machines. Otherwise a separate call unassigns the
    /// address first.
    pub moves_at_once: bool,
    /// The families of addresses the provider can assign.
    pub families: Families,
    /// Maximum number of addresses of one family on a machine.
    pub per_machine: usize,
    /// The families whose new addresses are assigned by the call that reserves them.
    pub places_new: Families,
    /// Whether listings show on a new address the mark given by its intent. Otherwise a new address
    /// is recognised by its machine or its project.
    pub marks_new: bool,
    /// Whether a reservation needs a region.
    pub region_required: bool,
    /// Whether a listing must name the machines and addresses that it is about.
    pub lists_by_machine: bool,
    /// Whether an address takes the place of a machine's own, by which the machine reaches the
    /// Internet and which is restored afterwards.
    pub displaces_own: bool,
}

/// An account at a provider.
#[derive(Clone, Debug)]
pub struct Account {
    /// The configuration, or why the account cannot be used.
    pub setup: Result<AccountSetup, Unusable>,
    /// The account's addresses: those of pools, and strangers seen by a listing.
    addresses: BTreeMap<IpAddr, Address>,
    /// The addresses each machine holds, may hold, or is about to hold.
    occupants: BTreeMap<MachineId, BTreeSet<IpAddr>>,
    /// Addresses with an operation.
    open: BTreeSet<IpAddr>,
    /// Addresses absent from the last listing.
    missing: BTreeSet<IpAddr>,
    /// Addresses the provider is working on, for us or for another client.
    busy: BTreeSet<IpAddr>,
    /// Machines with changed occupants, not yet taken up by `World::reoccupy_touched`.
    pub(crate) touched: BTreeSet<MachineId>,
    /// Failed attempts, with their back-offs.
    pub setbacks: Setbacks,
    /// Progress of the account's listings.
    pub listing: Listing,
    /// Number of listings begun so far.
    listings_begun: u64,
    /// Number of the last listing with an answer.
    listings_told: u64,
    /// Earliest time of the next direct read of an operation.
    pub(crate) ask_after: Time,
    /// No call is sent before this time, by demand of the provider or of our own rate limiter.
    pub closed_until: Option<Time>,
    /// Whether the credentials were refused, and no call has succeeded since.
    pub(crate) refused: bool,
    /// The current failure that concerns the account as a whole.
    pub trouble: Option<Failure>,
}

impl Account {
    /// Capabilities of the provider, or `None` for an account that cannot be used.
    pub(crate) fn abilities(&self) -> Option<&Abilities> {
        self.setup.as_ref().ok().map(|setup| &setup.abilities)
    }

    /// Forgets all that is known, for a term that acts from `open_from` on, except operations of this
    /// process that may still be under way then.
    pub(crate) fn begin_term(&mut self, open_from: Time) {
        let resumed =
            |(ip, operation): (IpAddr, &Operation)| Some((ip, operation.resumed(open_from)?));
        let operations: Vec<_> = self.open().filter_map(resumed).collect();
        *self = Self::new(self.setup.clone());
        for (ip, operation) in operations {
            self.update(ip, |one| one.operation = Some(operation));
        }
    }

    /// Whether an address takes the place of a machine's own.
    pub(crate) fn displaces_own(&self) -> bool {
        self.abilities().is_some_and(|abilities| abilities.displaces_own)
    }

    /// Creates an account without any known address.
    pub fn new(setup: Result<AccountSetup, Unusable>) -> Self {
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
            listings_told: 0,
            ask_after: Time::default(),
            closed_until: None,
            refused: false,
            trouble: None,
        }
    }

    /// The cloud of the account, or `None` for an account that cannot be used.
    pub fn cloud(&self) -> Option<&Text> {
        self.setup.as_ref().ok().map(|setup| &setup.cloud)
    }

    /// Whether the account's machines are those of a cloud.
    pub(crate) fn is_at(&self, cloud: &Text) -> bool {
        match &self.setup {
            Ok(setup) => setup.cloud == *cloud,
            Err(unusable) => unusable.cloud == *cloud,
        }
    }

    /// The facts about an address, or `None` if no listing showed the address and no pool listed
    /// it.
    pub fn address(&self, ip: IpAddr) -> Option<&Address> {
        self.addresses.get(&ip)
    }

    /// Every address seen by a read or listed by a pool.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, &Address)> {
        self.addresses.iter().map(|(ip, address)| (*ip, address))
    }

    /// Whether any IPv6 address was seen or listed.
    pub(crate) fn has_v6(&self) -> bool {
        // IPv6 addresses are ordered after all IPv4 ones.
        self.addresses.last_key_value().is_some_and(|(ip, _)| ip.is_ipv6())
    }

    /// Addresses with an unfinished operation.
    pub fn open(&self) -> impl Iterator<Item = (IpAddr, &Operation)> {
        let operation = |ip| self.addresses.get(ip).and_then(|address| address.operation.as_ref());
        self.open.iter().filter_map(move |ip| Some((*ip, operation(ip)?)))
    }

    /// Addresses absent from a listing.
    pub fn missing(&self) -> impl Iterator<Item = (IpAddr, &Address)> {
        self.missing.iter().filter_map(|ip| Some((*ip, self.addresses.get(ip)?)))
    }

    /// Addresses the provider is working on, and since when.
    pub fn busy(&self) -> impl Iterator<Item = (IpAddr, Time)> {
        let since = |ip| self.addresses.get(ip).and_then(|one| one.busy_since);
        self.busy.iter().map(move |ip| (*ip, since(ip).unwrap_or_default()))
    }

    /// The addresses of a family a machine holds, may hold, or is about to hold.
    pub fn occupants(
        &self,
        machine: &MachineId,
        family: Family,
    ) -> impl Iterator<Item = IpAddr> + '_ {
        let all = self.occupants.get(machine).into_iter().flatten().copied();
        all.filter(move |ip| Family::of(*ip) == family)
    }

    /// Changes one address, and updates the indexes.
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

    /// Notes that a pool lists an address. If the address is unknown although the account was
    /// listed before, the next listing is due at once.
    pub(crate) fn expect(&mut self, ip: IpAddr) {
        let address = self.addresses.entry(ip).or_default();
        if address.knowledge == Knowledge::Unknown && self.listing.last.is_some() {
            self.want_listing(Time::default());
        }
    }

    /// Notes the start of a listing.
    pub(crate) fn list_begins(&mut self) {
        self.listing.in_flight = true;
        self.listing.wanted = None;
        self.listings_begun += 1;
    }

    /// Discards the place of an address a pool has begun to list: a person may have moved the
    /// address just now, so only a listing that begins later counts. The last seen machine stays
    /// taken.
    pub(crate) fn read_anew(&mut self, ip: IpAddr) {
        let next = self.listings_begun + 1;
        if self.addresses.get(&ip).is_some_and(|one| one.operation.is_none()) {
            self.update(ip, |one| one.doubt_until_listing(next));
            self.want_listing(Time::default());
        }
    }

    /// Asks for a listing before a delisted address is taken off its machine.
    pub(crate) fn look_before_leaving(&mut self, ip: IpAddr) {
        let next = self.listings_begun + 1;
        self.addresses.entry(ip).or_default().leaves_by = next;
        self.want_listing(Time::default());
    }

    /// The delisted addresses that waited for the listing sent at `sent_at`, where `told` is the number
    /// of the listing before. A listing so soon after a call of ours does not count: a contradiction is
    /// ignored.
    fn look_again_before_leaving(&mut self, told: u64, sent_at: Time) -> Vec<IpAddr> {
        let (next, mut again) = (self.listings_begun + 1, None);
        let mut waited = Vec::new();
        for (ip, one) in self.addresses.iter_mut().filter(|(_, one)| one.leaves_by > told) {
            waited.push(*ip);
            if let Knowledge::Known { firm_until, .. } = one.knowledge
                && sent_at < firm_until
            {
                one.leaves_by = next;
                again = again.max(Some(firm_until));
            }
        }
        if let Some(firm) = again {
            self.want_listing(firm);
        }
        waited
    }

    /// Whether a listing was answered that began since a delisted address left the list.
    pub(crate) fn may_leave(&self, ip: IpAddr) -> bool {
        self.addresses.get(&ip).is_some_and(|one| one.leaves_by <= self.listings_told)
    }

    /// Discards the place of every address, because nobody listed the account for a while.
    pub(crate) fn read_all_anew(&mut self) {
        self.listing.last = None;
        self.want_listing(Time::default());
        for ip in self.addresses.keys().copied().collect::<Vec<_>>() {
            self.read_anew(ip);
        }
    }

    /// Forgets a stranger that no longer exists.
    fn forget(&mut self, ip: IpAddr) {
        self.update(ip, |address| *address = Address::default());
        self.addresses.remove(&ip);
    }

    /// Applies a listing of `families` sent at `sent_at`. `tracked` says whether a pool lists an
    /// address. Returns the addresses with changed facts.
    pub(crate) fn fold_listing(
        &mut self,
        sent_at: Time,
        (families, listed): (&[Family], &[(IpAddr, Sighting)]),
        now: Time,
        settings: &Settings,
        tracked: impl Fn(IpAddr) -> bool,
    ) -> BTreeSet<IpAddr> {
        // A listing requested meanwhile is still due. A late answer does not make `last` older.
        let wanted = self.listing.wanted;
        let last = self.listing.last.max(Some(sent_at));
        let limited = self.listing.limited.take();
        self.listing = Listing { last, wanted, limited, ..Listing::default() };
        self.trouble = None;
        self.refused = false;
        self.setbacks.expire(now, settings);
        let mut changed = BTreeSet::new();
        let asked = |ip: &IpAddr| families.contains(&Family::of(*ip));
        let mut unseen: BTreeSet<IpAddr> = self.addresses.keys().copied().filter(asked).collect();
        let begun = self.listings_begun;
        let told = std::mem::replace(&mut self.listings_told, begun);
        changed.extend(self.look_again_before_leaving(told, sent_at));
        let late = self.addresses.iter().filter(|(_, one)| one.is_too_early(begun, sent_at));
        let (late, told_from): (BTreeSet<IpAddr>, Vec<Time>) =
            late.map(|(ip, one)| (*ip, one.told_from)).unzip();
        if let Some(again) = told_from.into_iter().filter(|from| sent_at < *from).max() {
            self.want_listing(again);
        }
        unseen.retain(|ip| !late.contains(ip));
        for (ip, sighting) in listed.iter().filter(|(ip, _)| !late.contains(ip)) {
            unseen.remove(ip);
            if self.fold_sighting(*ip, sent_at, sighting, now, settings) {
                changed.insert(*ip);
            }
        }
        for ip in unseen {
            // An address no longer listed by any pool may still have an operation, which is
            // followed to its end.
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

    /// Applies a sighting of a read sent at `sent_at`. Returns whether a fact changed.
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

    /// Applies the absence of `ip` from a listing sent at `sent_at`. Returns whether a fact
    /// changed.
    fn fold_absence(&mut self, ip: IpAddr, sent_at: Time, now: Time, settings: &Settings) -> bool {
        let news = self.update(ip, |address| address.miss(sent_at, now, settings));
        self.fold_news(ip, news, now, settings)
    }

    fn fold_news(&mut self, ip: IpAddr, news: News, now: Time, settings: &Settings) -> bool {
        match news {
            News::Nothing => return false,
            News::Some => {}
            News::Arrived => {
                let place = self.addresses.get(&ip).and_then(|address| address.machines()[0]);
                self.setbacks.clear(ip, place);
            }
            News::Overdue(Some(machine)) => {
                let message =
                    "the provider accepted the call but did not carry it out in two minutes";
                let failure = Failure {
                    displaced: self.displaces_own(),
                    ..Failure::plain(FailureKind::Rejected, message)
                };
                let attempt = Attempt { ip, machine: &machine, unassigns: false };
                self.set_back(attempt, failure, (now, 0), settings);
            }
            News::Overdue(None) | News::Stayed => {
                let place = self.addresses.get(&ip).and_then(|address| address.machines()[0]);
                if let Some(machine) = place.cloned() {
                    let message = "the address is still there after the call to unassign it";
                    let failure = Failure::plain(FailureKind::Unavailable, message);
                    let attempt = Attempt { ip, machine: &machine, unassigns: true };
                    self.set_back(attempt, failure, (now, 0), settings);
                }
            }
        }
        true
    }

    /// Notes a failed attempt, and extends the back-off of the pair.
    pub(crate) fn set_back(
        &mut self,
        attempt: Attempt<'_>,
        failure: Failure,
        (now, jitter): (Time, u16),
        settings: &Settings,
    ) {
        let heard = !self.is_silent();
        self.setbacks.failed(attempt, failure, heard, (now, jitter), settings);
    }

    /// Whether the last listing failed. Other failures are then probably the account's fault too,
    /// and another machine would not help.
    pub fn is_silent(&self) -> bool {
        self.listing.silence.is_some()
    }

    /// Whether refused credentials withhold every call except listings. A listing shows first
    /// whether the credentials work again. If listings themselves are delayed, a failover does not
    /// wait for one.
    pub(crate) fn is_refused(&self, now: Time) -> bool {
        let kept_back = now < self.listing.not_before.max(self.listing.held_until);
        self.refused && (now < self.listing.rests_until || !kept_back)
    }

    /// Requests a listing at `when`, unless an earlier one is due.
    pub(crate) fn want_listing(&mut self, when: Time) {
        self.listing.want(when);
    }

    /// Notes that the provider accepted a call, and works on the operation.
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

    /// Applies the failure of a call to the state of the account.
    pub(crate) fn note_failure(
        &mut self,
        failure: &Failure,
        urgent: bool,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        match failure.kind {
            // Calls without urgency are held back first, to leave the rate limit to failovers. Such
            // a call backs off alone, and the account stays open.
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
