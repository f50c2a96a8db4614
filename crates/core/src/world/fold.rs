//! Folds the start and the outcome of actions into the world.

use std::net::IpAddr;
use std::time::Duration;

use super::observe::marked_addresses;
use super::{Work, World};
use crate::Time;
use crate::action::{
    Action, Done, Eviction, Failure, FailureKind, LedgerWrite, MarkWrite, Outcome, RecordAction,
};
use crate::addresses::{Account, PoolEntry};
use crate::model::{
    AccountId, Family, Mark, MarkPlace, NodeName, ObjectKey, PodId, Remembered, Tells,
};

/// The first mark in the order of marks.
static FIRST: Mark =
    Mark { place: MarkPlace::Annotation, key: "", tells: Tells::Addresses(Family::V4) };

/// Time that an evicted pod may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

impl World {
    /// Notes the start of an action. Facts that the action may change are unknown until the
    /// outcome.
    pub fn begin(&mut self, action: &Action) {
        match action {
            Action::Address(call) => self.call_begins(call),
            Action::Ledger(LedgerWrite { pool, ledger, .. }) => {
                self.with_pool(pool, |entry| entry.write_begins(ledger));
                self.reclaim(pool);
            }
            Action::Mark(MarkWrite { node, mark, .. }) => {
                self.mark_work.entry((node.clone(), mark)).or_default().in_flight = true;
            }
            Action::Evict(eviction) => {
                self.evictions.entry(eviction.pod.clone()).or_default().in_flight = true;
            }
            Action::Record(RecordAction::Read { owner, family, .. }) => {
                self.record_read_begins(owner, *family);
            }
            Action::Record(RecordAction::Change { site, family, .. }) => {
                self.record_change_begins(site, *family);
            }
            Action::Vip(action) => self.vip_begins(action),
        }
    }

    /// Folds in the outcome of an action.
    pub fn finish(&mut self, outcome: Outcome, now: Time) {
        if outcome.result.is_ok() {
            self.worked(&outcome.action);
        }
        match outcome.action.clone() {
            Action::Address(call) => self.call_ends(call, outcome, now),
            Action::Ledger(LedgerWrite { pool, uid, version, ledger, .. }) => {
                self.ledger_written(&pool, (&uid, version), ledger, outcome, now);
            }
            Action::Mark(write) => {
                let owner = write.owner.clone();
                self.dirty.extend(owner.filter(|owner| self.pools.contains_key(owner)));
                self.mark_written(write, outcome, now);
            }
            Action::Evict(eviction) => self.evicted(&eviction, outcome, now),
            Action::Record(RecordAction::Read { owner, request, family }) => {
                self.records_read(&owner, &request, family, outcome, now);
            }
            Action::Record(RecordAction::Change { owner, site, family, change }) => {
                self.records_changed(&owner, (&site, family), &change, outcome, now);
            }
            Action::Vip(action) => self.vip_ends(action, outcome, now),
        }
    }

    /// Notes that an account works. A DNS call says nothing about the credentials for addresses,
    /// but lets a failing listing be tried sooner.
    fn worked(&mut self, action: &Action) {
        if let Some(account) = action.account().and_then(|id| self.accounts.get_mut(id)) {
            account.refused &= !matches!(action, Action::Address(_));
            account.listing.retry_sooner();
        }
    }

    /// Remembers the state of an address from a verdict.
    pub fn remember(&mut self, key: &ObjectKey, ip: IpAddr, memory: Remembered) {
        if let Some(entry) = self.pools.get_mut(key)
            && entry.remembered.get(&ip) != Some(&memory)
        {
            let flips = entry.memory(ip).held != memory.held;
            entry.remembered.insert(ip, memory);
            // The holder owns the address, so replan the other pools that list the address.
            if flips && self.claims.of(ip).nth(1).is_some() {
                self.touch_address(ip);
            }
        }
    }

    /// Ends a pool's tie to a delisted address.
    pub(crate) fn let_go(&mut self, key: &ObjectKey, ip: IpAddr) {
        self.with_pool(key, |entry| entry.let_go(ip));
        self.reclaim(key);
    }

    /// Remembers the time of the last assignment. A plan replaces a future time by its own time.
    pub(crate) fn remember_assignment(&mut self, key: &ObjectKey, at: Option<Time>) {
        if let Some(entry) = self.pools.get_mut(key) {
            entry.last_assignment = at;
        }
    }

    /// Forgets the last attempt to assign an address, since a plan found the address in place.
    pub(crate) fn arrived(&mut self, key: &ObjectKey, ip: IpAddr) {
        let request = self.pools.get(key).and_then(|entry| entry.pool.request.as_ref().ok());
        let account = request.and_then(|request| self.accounts.get_mut(&request.account));
        if let Some(account) = account
            && account.address(ip).is_some_and(|one| one.intended.is_some())
        {
            account.update(ip, |one| one.intended = None);
        }
    }

    /// Notes the outcome of an eviction. An evicted pod is not evicted again while it ends.
    fn evicted(&mut self, eviction: &Eviction, outcome: Outcome, now: Time) {
        let work = self.evictions.entry(eviction.pod.clone()).or_default();
        match outcome.result {
            Ok(_) => *work = Work { not_before: now + ENDS_WITHIN, ..Work::default() },
            // The eviction only waited.
            Err(failure) if failure.kind == FailureKind::NotSent => {
                work.in_flight = false;
                work.not_before = now + self.settings.retry_initial;
            }
            Err(failure) => work.unwritten(failure, now, outcome.jitter, &self.settings),
        }
        self.dirty.insert(eviction.owner.clone());
    }

    /// The state of a pod's eviction, if any was tried.
    pub(crate) fn eviction(&self, pod: &PodId) -> Option<&Work> {
        self.evictions.get(pod)
    }

    /// Whether a node's mark may be written now.
    pub fn mark_writable(&self, node: &NodeName, mark: &'static Mark, now: Time) -> bool {
        self.mark_work.get(&(node.clone(), mark)).is_none_or(|work| work.may_start(now))
    }

    /// Whether the API server refuses the mark of any node.
    pub(crate) fn is_mark_refused(&self) -> bool {
        self.mark_work.values().any(|work| work.refusal().is_some())
    }

    /// The API server's refusal of a node's mark, if any.
    pub(crate) fn mark_refusal(&self, node: &NodeName, mark: &'static Mark) -> Option<&Failure> {
        self.mark_work.get(&(node.clone(), mark)).and_then(Work::refusal)
    }

    /// Whether the last attempt to write a node's mark failed, and the next one is not due yet. A
    /// failure says nothing of an attempt that could be made now.
    pub(crate) fn mark_fails(&self, node: &NodeName, mark: &'static Mark, now: Time) -> bool {
        let fails = |work: &Work| work.failures > 0 && !work.in_flight && now < work.not_before;
        self.mark_work.get(&(node.clone(), mark)).is_some_and(fails)
    }

    /// Whether a write of a node's mark failed a moment ago.
    pub(crate) fn mark_failed_lately(
        &self,
        node: &NodeName,
        mark: &'static Mark,
        now: Time,
    ) -> bool {
        self.mark_work.get(&(node.clone(), mark)).is_some_and(|work| work.failed_lately(now))
    }

    /// End of the time in which a write of a node's mark without an answer, or a refused one, may take
    /// effect or show its effect.
    pub(crate) fn mark_unanswered_until(&self, node: &NodeName, mark: &'static Mark) -> Time {
        let work = self.mark_work.get(&(node.clone(), mark));
        work.map_or(Time::default(), |work| work.unanswered_until)
    }

    /// Whether a write of any mark of a node is under way.
    pub(crate) fn is_being_marked(&self, name: &NodeName) -> bool {
        let of_node = self.mark_work.range((name.clone(), &FIRST)..);
        let mut of_node = of_node.take_while(|((node, _), _)| node == name);
        of_node.any(|(_, work)| work.in_flight)
    }

    /// Observes that a node has a newer version: a removal of a note that names an older one has no
    /// effect any more.
    pub(crate) fn late_removals_end(&mut self, name: &NodeName) {
        let of_node = self.mark_work.range_mut((name.clone(), &FIRST)..);
        for (_, work) in of_node.take_while(|((node, _), _)| node == name) {
            work.unanswered_until = Time::default();
        }
    }

    /// Whether a write of a node's mark is under way.
    pub(crate) fn mark_in_flight(&self, node: &NodeName, mark: &'static Mark) -> bool {
        self.mark_work.get(&(node.clone(), mark)).is_some_and(|work| work.in_flight)
    }

    /// Earliest time after `now` to retry a failed mark.
    pub fn next_mark_attempt(&self, now: Time) -> Option<Time> {
        let failing = self.mark_work.values().filter(|work| !work.in_flight && work.failures > 0);
        failing.map(|work| work.not_before).filter(|time| *time > now).min()
    }

    pub(crate) fn with_account(&mut self, id: &AccountId, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.accounts.get_mut(id) {
            change(account);
            self.reoccupy_touched(id);
        }
    }

    pub(crate) fn with_pool(&mut self, key: &ObjectKey, change: impl FnOnce(&mut PoolEntry)) {
        if let Some(entry) = self.pools.get_mut(key) {
            change(entry);
            self.dirty.insert(key.clone());
        }
    }

    fn mark_written(&mut self, write: MarkWrite, outcome: Outcome, now: Time) {
        let MarkWrite { owner: _, node: name, uid, version: replaced, mark, value } = write;
        let node = self.nodes.get(&name);
        let shown = node.is_some_and(|node| node.marks.get(mark) == value.as_ref());
        let work = self.mark_work.entry((name.clone(), mark)).or_default();
        match outcome.result {
            // The write took effect.
            Err(_) if shown => drop(self.mark_work.remove(&(name.clone(), mark))),
            Ok(Done::Marked { version }) => {
                self.mark_work.remove(&(name.clone(), mark));
                if let Some(node) = self.nodes.get(&name).filter(|node| node.uid == uid) {
                    let mut node = node.clone();
                    match value {
                        Some(value) => node.marks.insert(mark, value),
                        None => node.marks.remove(mark),
                    };
                    node.version = node.version.max(version);
                    self.keep_node(node);
                }
            }
            Ok(_) => work.in_flight = false,
            Err(failure) => {
                // An earlier attempt may have removed the note, and the node not show it yet.
                let overtaken = replaced.is_some() && failure.kind == FailureKind::Conflict;
                work.unwritten(failure, now, outcome.jitter, &self.settings);
                if overtaken {
                    work.unanswered_until = now + self.settings.settle;
                }
            }
        }
        // Other facts about the node may have changed during the write.
        let Some(node) = self.nodes.get(&name) else {
            self.mark_work.remove(&(name, mark));
            return;
        };
        let (marks, machine) = (marked_addresses(node), node.machine.clone());
        // The removal of a note waits for the other marks of its node.
        let notes = node.marks.keys().copied().chain([mark]).filter(|mark| mark.is_fixed());
        let users: Vec<_> = notes.flat_map(|note| self.users(note)).cloned().collect();
        self.dirty.extend(users);
        for ip in marks {
            self.touch_address(ip);
        }
        if let Some(machine) = machine {
            self.touch_machine(&machine);
        }
    }
}
