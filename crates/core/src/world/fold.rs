//! Folds the start and the outcome of actions into the world.

use std::net::IpAddr;

use super::observe::marked_addresses;
use super::{Work, World};
use crate::Time;
use crate::action::{Action, Done, Failure, Outcome};
use crate::addresses::{Account, Operation, PoolEntry};
use crate::model::{AccountId, Mark, NodeName, ObjectKey, Remembered, Text};

impl World {
    /// Notes the start of an action. Facts that the action may change are unknown until the
    /// outcome.
    pub fn begin(&mut self, action: &Action) {
        match action {
            Action::List { account, .. } => self.with_account(account, Account::list_begins),
            Action::ReadAddress { account, ip } => {
                self.with_account(account, |account| account.update(*ip, |one| one.reading = true));
            }
            Action::ReadOperation { account, ip, .. } => self.with_account(account, |account| {
                account.update(*ip, |one| {
                    if let Some(Operation::Accepted { reading, .. }) = &mut one.operation {
                        *reading = true;
                    }
                });
            }),
            Action::Assign { account, pool, ip, machine, .. } => {
                self.departs(pool, *ip);
                let operation = Operation::Sent { to: Some(machine.clone()) };
                self.with_account(account, |account| {
                    account.update(*ip, |one| one.operation = Some(operation));
                });
            }
            Action::Unassign { account, pool, ip, .. } => {
                let address = self.accounts.get(account).and_then(|account| account.address(*ip));
                let holder = address.and_then(|address| address.machines()[0].cloned());
                match self.pools.get_mut(pool) {
                    // The last machine tells a delisted address from a stranger.
                    Some(entry) if entry.is_leaving(*ip) => entry.leaves(*ip, holder),
                    _ => self.departs(pool, *ip),
                }
                self.with_account(account, |account| {
                    account.update(*ip, |one| one.operation = Some(Operation::Sent { to: None }));
                });
                // The unassignment may make room for another pool: the verdict of the owner
                // changes.
                self.touch_address(*ip);
            }
            Action::Release { account, ip, .. } => self.with_account(account, |account| {
                account.update(*ip, |one| one.operation = Some(Operation::Sent { to: None }));
            }),
            Action::WriteLedger { pool, ledger, .. } => {
                self.with_pool(pool, |entry| entry.write_begins(ledger));
                self.reclaim(pool);
            }
            Action::Create { account, pool, intent, mark: _ } => {
                self.reserving_begins(account, pool, intent);
                self.with_pool(pool, |entry| entry.sends(intent));
            }
            Action::Mark { node, mark, .. } => {
                self.mark_work.entry((node.clone(), mark)).or_default().in_flight = true;
            }
            Action::ReadRecords { owner, family, .. } => self.record_read_begins(owner, *family),
            Action::ChangeRecords { site, family, .. } => self.record_change_begins(site, *family),
        }
    }

    fn departs(&mut self, pool: &ObjectKey, ip: IpAddr) {
        if let Some(entry) = self.pools.get_mut(pool) {
            entry.departs(ip);
        }
    }

    /// Folds in the outcome of an action.
    pub fn finish(&mut self, outcome: Outcome, now: Time) {
        if outcome.result.is_ok() {
            self.worked(&outcome.action);
        }
        if let (Some(account), Err(failure)) = (outcome.action.account(), &outcome.result) {
            let (settings, jitter) = (self.settings, outcome.jitter);
            let urgent = matches!(outcome.action, Action::Assign { .. } | Action::Unassign { .. });
            self.with_account(account, |account| {
                account.note_failure(failure, urgent, now, jitter, &settings);
            });
        }
        match outcome.action.clone() {
            Action::List { account, families, confirms } => {
                self.listed(&account, (&families, confirms), outcome, now);
            }
            Action::ReadAddress { account, ip } => self.address_read(&account, ip, &outcome, now),
            Action::ReadOperation { account, ip, operation } => {
                self.operation_read(&account, ip, &operation, &outcome, now);
            }
            Action::Assign { account, pool, ip, machine, .. } => {
                self.moved(&account, &pool, ip, Some(&machine), &outcome, now);
            }
            Action::Unassign { account, pool, ip, .. } => {
                self.moved(&account, &pool, ip, None, &outcome, now);
            }
            Action::Release { account, pool, ip } => {
                self.released(&account, &pool, ip, &outcome, now);
            }
            Action::WriteLedger { pool, uid, version, ledger, .. } => {
                self.ledger_written(&pool, (&uid, version), ledger, outcome, now);
            }
            Action::Create { account, pool, intent, mark: _ } => {
                self.created(&account, &pool, &intent, outcome, now);
            }
            Action::Mark { node, uid, mark, value } => {
                self.mark_written(&node, &uid, (mark, value), outcome, now);
            }
            Action::ReadRecords { owner, request, family } => {
                self.records_read(&owner, &request, family, outcome, now);
            }
            Action::ChangeRecords { owner, site, family, change } => {
                self.records_changed(&owner, (&site, family), &change, outcome, now);
            }
        }
    }

    /// Notes that an account works. A DNS call says nothing about the credentials for addresses,
    /// but lets a failing listing be tried sooner.
    fn worked(&mut self, action: &Action) {
        if let Some(account) = action.account().and_then(|id| self.accounts.get_mut(id)) {
            account.refused = false;
            account.listing.retry_sooner();
        }
        if let Some(account) = action.record_account().and_then(|id| self.accounts.get_mut(id)) {
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

    /// Whether a node's mark may be written now.
    pub fn mark_writable(&self, node: &NodeName, mark: &'static Mark, now: Time) -> bool {
        self.mark_work.get(&(node.clone(), mark)).is_none_or(|work| work.may_start(now))
    }

    /// The API server's refusal of a node's mark, if any.
    pub(crate) fn mark_refusal(&self, node: &NodeName, mark: &'static Mark) -> Option<&Failure> {
        if self.mark_work.is_empty() {
            return None;
        }
        self.mark_work.get(&(node.clone(), mark)).and_then(Work::refusal)
    }

    /// Earliest time to retry a failed mark.
    pub fn next_mark_attempt(&self) -> Option<Time> {
        self.mark_work
            .values()
            .filter(|work| !work.in_flight && work.failures > 0)
            .map(|work| work.not_before)
            .min()
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

    fn mark_written(
        &mut self,
        name: &NodeName,
        uid: &Text,
        (mark, value): (&'static Mark, Option<Text>),
        outcome: Outcome,
        now: Time,
    ) {
        let work = self.mark_work.entry((name.clone(), mark)).or_default();
        match outcome.result {
            Ok(Done::Marked { version }) => {
                self.mark_work.remove(&(name.clone(), mark));
                if let Some(node) = self.nodes.get(name).filter(|node| node.uid == *uid) {
                    let mut node = node.clone();
                    match value {
                        Some(value) => node.marks.insert(mark, value),
                        None => node.marks.remove(mark),
                    };
                    node.version = node.version.max(version);
                    self.set_node(node);
                }
            }
            Ok(_) => work.in_flight = false,
            Err(failure) => work.unwritten(failure, now, outcome.jitter, &self.settings),
        }
        // Other facts about the node may have changed during the write.
        let Some(node) = self.nodes.get(name) else {
            self.mark_work.remove(&(name.clone(), mark));
            return;
        };
        let (marks, machine) = (marked_addresses(node), node.machine.clone());
        for ip in marks {
            self.touch_address(ip);
        }
        if let Some(machine) = machine {
            self.touch_machine(&machine);
        }
    }
}
