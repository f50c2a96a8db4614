//! DNS as the world knows it: who asks for which name, and what each name lists.
//!
//! Knowledge is kept with the object that asks for it. A set is unknown until it was read, and
//! again after a change that failed; what a change of ours answered is known without reading.

use std::collections::{BTreeMap, BTreeSet};

use super::drift::{RecordDrift, Stubborn};
use crate::Time;
use crate::action::FailureKind;
use crate::model::{
    AccountId, Family, Finding, Held, Node, ObjectKey, Record, RecordRequest, RecordSet,
    RecordSource, Site, Subject,
};
use crate::nodes::ClassId;
use crate::world::{Settings, Work, World};

/// Everything that is known of DNS.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) entries: BTreeMap<ObjectKey, RecordEntry>,
    pub(crate) accounts: BTreeMap<AccountId, RecordAccount>,
    claims: BTreeMap<Site, BTreeSet<ObjectKey>>,
    /// Objects of which it is not known yet where their records are.
    unlocated: BTreeSet<ObjectKey>,
    /// Changes under way, and those that had no answer.
    pub(crate) writes: BTreeMap<(Site, Family), RecordWrite>,
    /// How many reads are under way, and when the last one was sent.
    pub(crate) reads: usize,
    pub(crate) last_read: Time,
}

/// An account that hosts DNS.
#[derive(Clone, Debug)]
pub struct RecordAccount {
    /// Why it cannot be used, if it cannot.
    pub setup: Result<(), Finding>,
    /// Nothing is sent before.
    pub closed_until: Time,
    /// We pace ourselves until then; else the host has said that nothing, or little, is left.
    pub pacing: bool,
}

/// An object that asks for records, with its progress.
#[derive(Clone, Debug)]
pub struct RecordEntry {
    /// As it was last seen.
    pub set: RecordSet,
    /// The nodes that it lists, if it lists nodes.
    pub class: Option<ClassId>,
    /// Where its records are, once the host has said so.
    pub site: Option<Site>,
    /// The records that it has: from the status at first, then our own doing.
    pub held: Option<Held>,
    /// What is known of each kind of record.
    pub(crate) sets: BTreeMap<Family, KnownSet>,
}

/// What is known of one kind of record at a name.
#[derive(Clone, Debug, Default)]
pub struct KnownSet {
    /// What the name lists; none if that is not known.
    pub records: Option<Vec<Record>>,
    /// When that was true: a read is as old as the moment it was sent.
    pub at: Time,
    /// A read that was sent before this is late: our own change is younger.
    pub(crate) firm_until: Time,
    /// A read is under way.
    pub reading: bool,
    /// Reads that failed.
    pub read_work: Work,
    /// Changes that failed.
    pub change_work: Work,
    /// Somebody else changed it.
    pub drift: Option<RecordDrift>,
    /// The host does not store what it is asked for.
    pub stubborn: Option<Stubborn>,
}

/// A change that is under way, or may still take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordWrite {
    /// It is under way.
    pub in_flight: bool,
    /// It had no answer: a read that is sent from then on tells.
    pub until: Time,
}

const NOTHING_KNOWN: &KnownSet = &KnownSet {
    records: None,
    at: Time::from_micros(0),
    firm_until: Time::from_micros(0),
    reading: false,
    read_work: NO_WORK,
    change_work: NO_WORK,
    drift: None,
    stubborn: None,
};

const NO_WORK: Work =
    Work { in_flight: false, failures: 0, not_before: Time::from_micros(0), failure: None };

impl KnownSet {
    /// When a read of what is not known may be sent: one that is sent earlier is late.
    pub(crate) fn readable_from(&self) -> Time {
        self.read_work.not_before.max(self.firm_until)
    }

    /// A new wish is worth a new attempt, at once.
    fn retry_now(&mut self) {
        (self.read_work, self.change_work) = (Work::default(), Work::default());
        self.stubborn = None;
        self.mend();
    }
}

impl RecordEntry {
    fn new(set: RecordSet, class: Option<ClassId>) -> Self {
        Self { held: set.held.clone(), class, site: None, sets: BTreeMap::new(), set }
    }

    /// What is known of one kind of record.
    pub fn known(&self, family: Family) -> &KnownSet {
        self.sets.get(&family).unwrap_or(NOTHING_KNOWN)
    }

    /// The name that it stands up for: where its records are, else where its status says that
    /// they were.
    fn claim(&self) -> Option<&Site> {
        self.site.as_ref().or(self.held.as_ref().map(|held| &held.site))
    }

    fn holds(&self, site: &Site) -> bool {
        self.held.as_ref().is_some_and(|held| held.site == *site)
    }

    /// Whether it asks for the same name in the same words.
    pub(crate) fn asks_like(&self, other: &RecordRequest) -> bool {
        let words = |one: &RecordRequest| (one.account.clone(), one.zone.clone(), one.name.clone());
        self.set.request.as_ref().is_ok_and(|request| words(request) == words(other))
    }

    /// Its name cannot be found, and could not be at `found` or later, when another one was.
    fn is_lost(&self, found: Time, settings: &Settings) -> bool {
        let lost = |work: &Work| match work.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::NotFound) => work.not_before >= found + settings.retry_max,
            kind => kind == Some(FailureKind::Rejected),
        };
        self.sets.values().any(|set| lost(&set.read_work))
    }

    /// The records must be read before the next change.
    pub(crate) fn forget(&mut self) {
        self.sets.values_mut().for_each(|set| set.records = None);
    }
}

impl World {
    /// An account that hosts DNS. Given once, before any object that names it.
    pub fn set_record_account(&mut self, id: AccountId, setup: Result<(), Finding>) {
        let account = RecordAccount { setup, closed_until: Time::default(), pacing: false };
        self.records.accounts.insert(id, account);
    }

    /// An account that hosts DNS.
    pub fn record_account(&self, id: &AccountId) -> Option<&RecordAccount> {
        self.records.accounts.get(id)
    }

    /// An object that asks for records appeared or changed. An older version than the one that
    /// we know is not news.
    pub fn set_record_set(&mut self, set: RecordSet) {
        let key = set.key.clone();
        let before = self.records.entries.remove(&key);
        if let Some(mut entry) = before {
            if entry.set.uid == set.uid && keeps(&entry, &set) {
                if entry.set.version <= set.version {
                    entry.set = set;
                }
                self.records.entries.insert(key, entry);
                return;
            }
            self.leave_records(&key, &entry);
            // Another wish for the same name knows what the name lists.
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

    /// An object asks for no records any more, or is gone. What its name lists stays.
    pub fn remove_record_set(&mut self, key: &ObjectKey) {
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

    /// Whether everything has been read that a change of records rests on.
    pub(crate) fn may_plan_records(&self) -> bool {
        self.is_read() && self.is_read_for(Subject::Records)
    }

    /// The object that a name belongs to: the one that has it, else the older, else the one
    /// with the smaller UID.
    pub(crate) fn record_owner(&self, site: &Site) -> Option<&ObjectKey> {
        let rank = |key: &&ObjectKey| {
            let entry = self.records.entries.get(*key)?;
            Some((!entry.holds(site), entry.set.created_at, entry.set.uid.clone()))
        };
        self.records.claims.get(site)?.iter().min_by_key(rank)
    }

    /// Whether an object that would go first may ask for the same name, and it is not known yet
    /// which one it asks for. One whose name cannot be found is not waited for, nor one that is
    /// paused: neither is going to be read soon.
    pub(crate) fn awaits_rival(&self, entry: &RecordEntry, family: Family) -> bool {
        let Some(site) = &entry.site else { return false };
        let rank = |one: &RecordEntry| (one.set.created_at, one.set.uid.clone());
        let found = entry.known(family).at;
        let mut rivals = self.records.unlocated.iter().filter_map(|key| self.record_set(key));
        rivals.any(|rival| {
            rival.set.paused.is_none()
                && rank(rival) < rank(entry)
                && rival.set.request.as_ref().is_ok_and(|request| request.may_be_at(site))
                && !rival.is_lost(found, &self.settings)
        })
    }

    /// Those who wait for others of an account to find their names look again.
    pub(crate) fn touch_unheld(&mut self, account: &AccountId) {
        let waits = |entry: &RecordEntry| {
            let site = entry.site.as_ref().filter(|site| site.account == *account);
            site.is_some_and(|site| !entry.holds(site))
        };
        let waiting = self.records.entries.iter().filter(|(_, entry)| waits(entry));
        self.dirty.extend(waiting.map(|(key, _)| key.clone()));
    }

    /// A change of these records that is under way, or may still take effect.
    pub(crate) fn record_write(&self, site: &Site, family: Family) -> Option<RecordWrite> {
        self.records.writes.get(&(site.clone(), family)).copied()
    }

    /// Whether no read is under way, and when the last one was sent.
    pub(crate) fn record_reads(&self) -> (bool, Time) {
        (self.records.reads == 0, self.records.last_read)
    }

    /// A plan found out which records an object has.
    pub(crate) fn remember_records(&mut self, key: &ObjectKey, held: Option<&Held>) {
        if let Some(entry) = self.records.entries.get_mut(key)
            && entry.held.as_ref() != held
        {
            entry.held = held.cloned();
            self.reclaim_records(key);
        }
    }

    /// What an object wrote to a name is its own, also if there is nothing to list by now.
    pub(crate) fn hold_records(&mut self, key: &ObjectKey, site: &Site, family: Family) {
        let Some(entry) = self.records.entries.get(key) else { return };
        let before = entry.held.clone().filter(|held| held.site == *site);
        let none = || Held { site: site.clone(), families: BTreeSet::new() };
        let mut held = before.unwrap_or_else(none);
        held.families.insert(family);
        self.remember_records(key, Some(&held));
    }

    /// Nothing that was known of DNS counts any more; what the objects remember does.
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

    /// A node changed: objects that list it have something new to list, perhaps.
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

    /// Brings the claims in line with the name that an object stands up for now. Whoever does
    /// not own its name forgets what it lists: the owner changes it.
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

    /// Everybody who stands up for a name.
    pub(crate) fn touch_site(&mut self, site: &Site) {
        self.dirty.extend(self.records.claims.get(site).into_iter().flatten().cloned());
    }
}

/// Whether an object as it is seen now says nothing new, or is an old story.
fn keeps(entry: &RecordEntry, seen: &RecordSet) -> bool {
    let same = entry.set.request == seen.request
        && entry.set.created_at == seen.created_at
        && entry.set.paused == seen.paused;
    entry.set.version > seen.version || same
}
