//! World of DNS: the names that objects ask for, and the known records of each name.
//!
//! Known records are kept with the object that asks for them. A set is unknown before its first
//! read, and after a failed change unless the change was held back. The answer to our own change
//! makes the set known without a read.

use std::collections::{BTreeMap, BTreeSet};

use super::abilities::RecordAbilities;
use super::known::{KnownSet, NOTHING_KNOWN};
use crate::Time;
use crate::action::FailureKind;
use crate::model::{
    AccountId, Family, Finding, Held, Node, ObjectKey, RecordRequest, RecordSet, RecordSource,
    Site, Subject,
};
use crate::nodes::ClassId;
use crate::world::{Work, World};

/// Everything known about DNS.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) entries: BTreeMap<ObjectKey, RecordEntry>,
    pub(crate) accounts: BTreeMap<AccountId, RecordAccount>,
    claims: BTreeMap<Site, BTreeSet<ObjectKey>>,
    /// Objects whose site is unknown.
    unlocated: BTreeSet<ObjectKey>,
    /// Changes under way, and changes without an answer.
    pub(crate) writes: BTreeMap<(Site, Family), RecordWrite>,
    /// Number of reads under way, and when the last read was sent, failing sets aside.
    pub(crate) reads: usize,
    pub(crate) last_read: Time,
}

/// An account at a DNS host.
#[derive(Clone, Debug)]
pub struct RecordAccount {
    /// The capabilities of the host, or why the account cannot be used.
    pub setup: Result<RecordAbilities, Finding>,
    /// No call is sent before.
    pub closed_until: Time,
    /// True if `closed_until` is our own pacing; false if the host said that little or nothing of
    /// the limit is left.
    pub pacing: bool,
}

/// An object that asks for records, with the state of each set.
#[derive(Clone, Debug)]
pub struct RecordEntry {
    /// The object as last seen.
    pub set: RecordSet,
    /// The class of the nodes to list, for records of nodes.
    pub class: Option<ClassId>,
    /// The site of the records, once the DNS host has named the site.
    pub site: Option<Site>,
    /// Records that the object has: from its status at first, then from our own changes.
    pub held: Option<Held>,
    /// Knowledge of each set, by family.
    pub(crate) sets: BTreeMap<Family, KnownSet>,
}

/// A change that is under way, or without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordWrite {
    /// The change is under way.
    pub in_flight: bool,
    /// After a change without an answer: only reads sent from then on count.
    pub until: Time,
}

impl RecordEntry {
    fn new(set: RecordSet, class: Option<ClassId>) -> Self {
        Self { held: set.held.clone(), class, site: None, sets: BTreeMap::new(), set }
    }

    /// Knowledge of the records of one family.
    pub fn known(&self, family: Family) -> &KnownSet {
        self.sets.get(&family).unwrap_or(NOTHING_KNOWN)
    }

    /// The site that the object claims: the site of its records, else the site in its status, unless
    /// the object asks for another name now.
    fn claim(&self) -> Option<&Site> {
        let asked = |site: &&Site| match &self.set.request {
            Ok(request) => request.may_be_at(site),
            Err(_) => true,
        };
        self.site.as_ref().or(self.held.as_ref().map(|held| &held.site).filter(asked))
    }

    fn holds(&self, site: &Site) -> bool {
        self.held.as_ref().is_some_and(|held| held.site == *site)
    }

    /// Whether the object asks for the same name in the same spelling.
    pub(crate) fn asks_like(&self, other: &RecordRequest) -> bool {
        let words = |one: &RecordRequest| (one.account.clone(), one.zone.clone(), one.name.clone());
        self.set.request.as_ref().is_ok_and(|request| words(request) == words(other))
    }

    /// Whether the name of the object has no site: the host rejected the name, or did not find the
    /// zone at `found` or later.
    fn is_lost(&self, found: Time) -> bool {
        let lost = |work: &Work| match work.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::NotFound) => work.failed_at >= found,
            kind => kind == Some(FailureKind::Rejected),
        };
        self.sets.values().any(|set| lost(&set.read_work))
    }

    /// Makes every set unknown, to be read before the next change.
    pub(crate) fn forget(&mut self) {
        self.sets.values_mut().for_each(|set| set.records = None);
    }
}

impl World {
    /// Sets up an account at a DNS host. Called once, before any object names the account.
    pub fn set_record_account(&mut self, id: AccountId, setup: Result<RecordAbilities, Finding>) {
        let account = RecordAccount { setup, closed_until: Time::default(), pacing: false };
        self.records.accounts.insert(id, account);
    }

    /// An account at a DNS host.
    pub fn record_account(&self, id: &AccountId) -> Option<&RecordAccount> {
        self.records.accounts.get(id)
    }

    /// Observes an object that asks for records. Versions older than the known version are ignored.
    pub fn set_record_set(&mut self, mut set: RecordSet) {
        let key = set.key.clone();
        let before = self.records.entries.remove(&key);
        let newer =
            |entry: &RecordEntry| entry.set.uid == set.uid && entry.set.version > set.version;
        if !before.as_ref().is_some_and(newer) {
            let of = self.pools.get(&key).map(|entry| &entry.pool);
            self.restrictions.judge_records(&mut set, of);
        }
        if let Some(mut entry) = before {
            if entry.set.uid == set.uid && keeps(&entry, &set) {
                if entry.set.version <= set.version {
                    entry.set = set;
                }
                self.records.entries.insert(key, entry);
                return;
            }
            self.leave_records(&key, &entry);
            // The name is the same, so its known records stay valid.
            if entry.set.uid == set.uid
                && set.request.as_ref().is_ok_and(|request| entry.asks_like(request))
            {
                entry.class = self.record_class(&set);
                entry.sets.values_mut().for_each(KnownSet::retry_now);
                entry.set = set;
                self.records.entries.insert(key.clone(), entry);
                return self.enter_records(&key);
            }
            let held = entry.held.filter(|_| entry.set.uid == set.uid);
            let mut fresh = RecordEntry::new(set, None);
            fresh.held = held.or(fresh.held);
            fresh.class = self.record_class(&fresh.set);
            self.records.entries.insert(key.clone(), fresh);
        } else {
            let class = self.record_class(&set);
            self.records.entries.insert(key.clone(), RecordEntry::new(set, class));
        }
        self.enter_records(&key);
    }

    /// Removes an object that is gone or no longer asks for records. The records of its name stay.
    pub fn remove_record_set(&mut self, key: &ObjectKey) {
        self.restrictions.forget_records(key);
        if let Some(entry) = self.records.entries.remove(key) {
            self.leave_records(key, &entry);
            self.dirty.insert(key.clone());
        }
    }

    /// An object that asks for records.
    pub fn record_set(&self, key: &ObjectKey) -> Option<&RecordEntry> {
        self.records.entries.get(key)
    }

    /// Every object that asks for records.
    pub fn record_sets(&self) -> impl Iterator<Item = (&ObjectKey, &RecordEntry)> {
        self.records.entries.iter()
    }

    /// Whether every source that record changes depend on has been read.
    pub(crate) fn may_plan_records(&self) -> bool {
        self.is_read() && self.is_read_for(Subject::Records)
    }

    /// The owner of a name: the object that has the records, else the oldest, else the object with
    /// the smallest UID.
    pub(crate) fn record_owner(&self, site: &Site) -> Option<&ObjectKey> {
        let rank = |key: &&ObjectKey| {
            let entry = self.records.entries.get(*key)?;
            Some((!entry.holds(site), entry.set.created_at, entry.set.uid.clone()))
        };
        self.records.claims.get(site)?.iter().min_by_key(rank)
    }

    /// Whether an object of higher rank, whose site is still unknown, may ask for the same name.
    /// Paused objects and names that the host cannot find are not waited for: no read will locate
    /// them soon.
    pub(crate) fn awaits_rival(&self, entry: &RecordEntry, family: Family) -> bool {
        let Some(site) = &entry.site else { return false };
        let rank = |one: &RecordEntry| (one.set.created_at, one.set.uid.clone());
        let found = entry.known(family).at;
        let mut rivals = self.records.unlocated.iter().filter_map(|key| self.record_set(key));
        rivals.any(|rival| {
            rival.set.paused.is_none()
                && rank(rival) < rank(entry)
                && rival.set.request.as_ref().is_ok_and(|request| request.may_be_at(site))
                && !rival.is_lost(found)
        })
    }

    /// Replans the objects of an account that have a site without holding records there: each may
    /// wait for a rival to be located.
    pub(crate) fn touch_unheld(&mut self, account: &AccountId) {
        let waits = |entry: &RecordEntry| {
            let site = entry.site.as_ref().filter(|site| site.account == *account);
            site.is_some_and(|site| !entry.holds(site))
        };
        let waiting = self.records.entries.iter().filter(|(_, entry)| waits(entry));
        self.dirty.extend(waiting.map(|(key, _)| key.clone()));
    }

    /// A change of the set that is under way, or without an answer.
    pub(crate) fn record_write(&self, site: &Site, family: Family) -> Option<RecordWrite> {
        self.records.writes.get(&(site.clone(), family)).copied()
    }

    /// Whether no read is under way, and when the last read was sent, failing sets aside.
    pub(crate) fn record_reads(&self) -> (bool, Time) {
        (self.records.reads == 0, self.records.last_read)
    }

    /// Remembers the records that an object has, from its verdict.
    pub(crate) fn remember_records(&mut self, key: &ObjectKey, held: Option<&Held>) {
        if let Some(entry) = self.records.entries.get_mut(key)
            && entry.held.as_ref() != held
        {
            entry.held = held.cloned();
            self.reclaim_records(key);
        }
    }

    /// Remembers that an object has a set, because a change of ours wrote to the set.
    pub(crate) fn hold_records(&mut self, key: &ObjectKey, site: &Site, family: Family) {
        let Some(entry) = self.records.entries.get(key) else { return };
        let before = entry.held.clone().filter(|held| held.site == *site);
        let none = || Held { site: site.clone(), families: BTreeSet::new() };
        let mut held = before.unwrap_or_else(none);
        held.families.insert(family);
        self.remember_records(key, Some(&held));
    }

    /// Notes that the records of an object are as wanted.
    pub(crate) fn records_rest(&mut self, key: &ObjectKey, family: Family) {
        let entry = self.records.entries.get_mut(key);
        entry.and_then(|entry| entry.sets.get_mut(&family)).into_iter().for_each(KnownSet::rests);
    }

    /// Forgets all records at the start of a term, except for the names in statuses.
    pub(crate) fn take_over_records(&mut self) {
        for account in self.records.accounts.values_mut() {
            account.closed_until = Time::default();
        }
        for entry in self.records.entries.values_mut() {
            *entry = RecordEntry::new(entry.set.clone(), entry.class);
        }
        self.records.writes.clear();
        self.records.reads = 0;
        self.records.claims.clear();
        let keys: Vec<_> = self.records.entries.keys().cloned().collect();
        for key in &keys {
            self.reclaim_records(key);
        }
        self.dirty.extend(keys);
    }

    /// Replans the objects that list a node, if the node's addresses or marks changed.
    pub(crate) fn touch_listed(&mut self, before: &Node, after: &Node) {
        if before.addresses == after.addresses && before.marks == after.marks {
            return;
        }
        let lists = |entry: &RecordEntry| {
            entry.class.is_some_and(|class| self.candidates.is_eligible(class, &after.name))
        };
        let listing = self.records.entries.iter().filter(|(_, entry)| lists(entry));
        self.dirty.extend(listing.map(|(key, _)| key.clone()));
    }

    fn record_class(&mut self, set: &RecordSet) -> Option<ClassId> {
        match &set.request.as_ref().ok()?.source {
            RecordSource::Pool => None,
            RecordSource::Nodes { matching, .. } => {
                Some(self.candidates.join(None, matching, &set.key, &self.nodes))
            }
        }
    }

    fn enter_records(&mut self, key: &ObjectKey) {
        self.reclaim_records(key);
        self.dirty.insert(key.clone());
    }

    fn leave_records(&mut self, key: &ObjectKey, entry: &RecordEntry) {
        if let (None, Ok(request)) = (&entry.site, &entry.set.request) {
            let account = request.account.clone();
            self.touch_unheld(&account);
        }
        if let Some(class) = entry.class {
            self.candidates.leave(class, key);
        }
        self.reclaim_records(key);
    }

    /// Updates the claims after the site of an object changed. Claimants other than the owner
    /// forget the records, since the owner may change them.
    pub(crate) fn reclaim_records(&mut self, key: &ObjectKey) {
        match self.records.entries.get(key).is_some_and(|entry| entry.site.is_none()) {
            true => self.records.unlocated.insert(key.clone()),
            false => self.records.unlocated.remove(key),
        };
        let claim = self.records.entries.get(key).and_then(RecordEntry::claim).cloned();
        let mut touched: BTreeSet<ObjectKey> = BTreeSet::new();
        self.records.claims.retain(|site, claimants| {
            if Some(site) != claim.as_ref() && claimants.remove(key) {
                touched.extend(claimants.iter().cloned());
            }
            !claimants.is_empty()
        });
        if let Some(site) = claim {
            let claimants = self.records.claims.entry(site.clone()).or_default();
            claimants.insert(key.clone());
            touched.extend(claimants.iter().cloned());
            let owner = self.record_owner(&site).cloned();
            for other in touched.iter().filter(|other| Some(*other) != owner.as_ref()) {
                if let Some(entry) = self.records.entries.get_mut(other) {
                    entry.forget();
                }
            }
        }
        self.dirty.extend(touched.into_iter().filter(|other| other != key));
    }

    /// Replans every object that claims a name.
    pub(crate) fn touch_site(&mut self, site: &Site) {
        self.dirty.extend(self.records.claims.get(site).into_iter().flatten().cloned());
    }
}

/// Whether an observed object is older than the known version, or changes nothing that planning
/// reads.
fn keeps(entry: &RecordEntry, seen: &RecordSet) -> bool {
    let same = entry.set.request == seen.request
        && entry.set.created_at == seen.created_at
        && entry.set.paused == seen.paused;
    entry.set.version > seen.version || same
}
