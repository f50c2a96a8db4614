//! Actions begin, and outcomes come back.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::account::confirm_after;
use super::{Account, IntentProgress, Operation, PATIENCE, PoolEntry, World};
use crate::Time;
use crate::action::{Action, Done, Failure, FailureKind, OperationState, Outcome};
use crate::model::{AccountId, Family, Intent, MachineId, OperationId, PoolKey, Sighting};

impl World {
    /// An action is about to be carried out: what it touches is in doubt until it ends.
    pub fn begin(&mut self, action: &Action) {
        match action {
            Action::List { account, .. } => self.with_account(account, |account| {
                account.listing.in_flight = true;
                account.listing.wanted = None;
            }),
            Action::ReadAddress { account, ip } => {
                self.with_account(account, |account| account.update(*ip, |one| one.reading = true))
            }
            Action::ReadOperation { account, ip, .. } => self.with_account(account, |account| {
                account.update(*ip, |one| operation_is_read(&mut one.operation));
            }),
            Action::Assign { account, ip, machine, .. } => {
                let operation = Operation::Sent { to: Some(machine.clone()) };
                self.with_account(account, |account| {
                    account.update(*ip, |one| one.operation = Some(operation));
                });
            }
            Action::Unassign { account, ip, .. } => self.with_account(account, |account| {
                account.update(*ip, |one| one.operation = Some(Operation::Sent { to: None }));
            }),
            Action::WriteLedger { pool, .. } => {
                self.with_pool(pool, |entry| entry.ledger_work.in_flight = true);
            }
            Action::Create { pool, intent, .. } => self.with_pool(pool, |entry| {
                entry.intents.insert(intent.id.clone(), IntentProgress::Sent);
            }),
            Action::Mark { node, family, .. } => {
                self.mark_work.entry((node.clone(), *family)).or_default().in_flight = true;
            }
        }
    }

    /// An action has ended.
    pub fn finish(&mut self, outcome: Outcome, now: Time) {
        if let (Some(account), Err(failure)) = (account_of(&outcome.action), &outcome.result) {
            let (settings, jitter) = (self.settings, outcome.jitter);
            let is_read = !outcome.action.changes_cloud();
            let (account, failure) = (account.clone(), failure.clone());
            self.with_account(&account, |account| {
                account.suffer(&failure, is_read, now, jitter, &settings);
            });
        }
        match outcome.action.clone() {
            Action::List { account, families } => self.listed(&account, &families, outcome, now),
            Action::ReadAddress { account, ip } => self.address_read(&account, ip, &outcome, now),
            Action::ReadOperation { account, ip, .. } => {
                self.operation_read(&account, ip, &outcome, now);
            }
            Action::Assign { account, pool, ip, machine, .. } => {
                self.moved(&account, &pool, ip, Some(&machine), &outcome, now);
            }
            Action::Unassign { account, pool, ip } => {
                self.moved(&account, &pool, ip, None, &outcome, now);
            }
            Action::WriteLedger { pool, uid, ledger, .. } => {
                let settings = self.settings;
                self.with_pool(&pool, |entry| {
                    if entry.pool.uid == uid {
                        ledger_written(entry, ledger, outcome, now, &settings);
                    }
                });
                self.reclaim(&pool);
            }
            Action::Create { account, pool, intent } => {
                self.created(&account, &pool, &intent, outcome, now);
            }
            Action::Mark { node, uid, family, mark } => {
                self.marked_outcome(&node, &uid, family, mark, outcome, now);
            }
        }
    }

    /// What a plan found out and the next one must remember.
    pub fn remember(&mut self, key: &PoolKey, ip: IpAddr, memory: crate::model::Remembered) {
        if let Some(entry) = self.pools.get_mut(key) {
            entry.remembered.insert(ip, memory);
        }
    }

    /// Whether a node's mark of a family may be written now.
    pub fn mark_writable(&self, node: &crate::model::NodeName, family: Family, now: Time) -> bool {
        self.mark_work.get(&(node.clone(), family)).is_none_or(|work| work.may_start(now))
    }

    /// When a failed mark is worth another attempt.
    pub fn next_mark_attempt(&self) -> Option<Time> {
        self.mark_work
            .values()
            .filter(|work| !work.in_flight && work.failures > 0)
            .map(|work| work.not_before)
            .min()
    }

    fn with_account(&mut self, id: &AccountId, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.accounts.get_mut(id) {
            change(account);
        }
    }

    fn with_pool(&mut self, key: &PoolKey, change: impl FnOnce(&mut PoolEntry)) {
        if let Some(entry) = self.pools.get_mut(key) {
            change(entry);
            self.dirty.insert(key.clone());
        }
    }

    fn listed(&mut self, id: &AccountId, families: &[Family], outcome: Outcome, now: Time) {
        let tracked = self.tracked(id);
        let Some(account) = self.accounts.get_mut(id) else { return };
        account.listing.in_flight = false;
        match outcome.result {
            Ok(Done::Listed(listed)) => {
                let first = account.listing.last.is_none();
                let changed = account.fold_listing(
                    outcome.sent_at,
                    families,
                    &listed,
                    now,
                    &self.settings,
                    &tracked,
                );
                for ip in changed {
                    self.touch_address(ip);
                }
                if first {
                    self.touch_account(id);
                }
            }
            Ok(_) => {}
            Err(_) => {
                account.listing.failures += 1;
                let wait = self.settings.back_off(account.listing.failures, outcome.jitter);
                account.listing.not_before = account.listing.not_before.max(now + wait);
                account.want_listing(now + wait);
                self.touch_account(id);
            }
        }
    }

    /// The addresses that pools have in an account.
    fn tracked(&self, id: &AccountId) -> BTreeSet<IpAddr> {
        let of_account =
            |entry: &&PoolEntry| entry.pool.request.as_ref().is_ok_and(|one| one.account == *id);
        self.pools.values().filter(of_account).flat_map(PoolEntry::addresses).collect()
    }

    /// Every pool of an account.
    fn touch_account(&mut self, id: &AccountId) {
        let of_account =
            |entry: &PoolEntry| entry.pool.request.as_ref().is_ok_and(|one| one.account == *id);
        let pools = self.pools.iter().filter(|(_, entry)| of_account(entry));
        let keys: Vec<_> = pools.map(|(key, _)| key.clone()).collect();
        self.dirty.extend(keys);
    }

    fn address_read(&mut self, id: &AccountId, ip: IpAddr, outcome: &Outcome, now: Time) {
        let settings = self.settings;
        self.with_account(id, |account| {
            account.update(ip, |one| one.reading = false);
            match &outcome.result {
                Ok(Done::Read(Some(sighting))) => {
                    account.fold_sighting(ip, outcome.sent_at, sighting, now, &settings);
                }
                Ok(Done::Read(None)) => {
                    account.update(ip, |one| one.knowledge = super::Knowledge::Gone);
                }
                Ok(_) | Err(_) => {
                    let wait = settings.back_off(PATIENCE, outcome.jitter);
                    account.update(ip, |one| one.read_after = now + wait);
                }
            }
        });
        self.touch_address(ip);
    }

    fn operation_read(&mut self, id: &AccountId, ip: IpAddr, outcome: &Outcome, now: Time) {
        let settings = self.settings;
        self.with_account(id, |account| {
            account.update(ip, |one| operation_was_read(&mut one.operation, now));
            let to = account
                .address(ip)
                .and_then(|one| one.operation.as_ref())
                .and_then(|operation| operation.to().cloned());
            match &outcome.result {
                Ok(Done::Operation(OperationState::Done)) => {
                    account.clear_setback(to.as_ref());
                    account.update(ip, |one| one.placed(to, now, &settings));
                }
                Ok(Done::Operation(OperationState::Failed)) => {
                    let message = "the cloud accepted the call and then gave it up";
                    let failure = Failure::plain(FailureKind::Unavailable, message);
                    account.give_back(ip, to.as_ref(), failure, now, outcome.jitter, &settings);
                }
                // Running, unheard of, or no answer: the listings go on looking.
                Ok(_) | Err(_) => {}
            }
        });
        self.touch_address(ip);
    }

    fn moved(
        &mut self,
        id: &AccountId,
        pool: &PoolKey,
        ip: IpAddr,
        to: Option<&MachineId>,
        outcome: &Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        let jitter = outcome.jitter;
        self.with_account(id, |account| match &outcome.result {
            Ok(Done::Accepted(operation)) => account.accept(ip, to, operation, now),
            Ok(_) => {
                account.clear_setback(to);
                account.update(ip, |one| one.placed(to.cloned(), now, &settings));
            }
            Err(failure) if failure.kind == FailureKind::NoAnswer => {
                let until = outcome.sent_at + settings.call_deadline + settings.settle;
                let uncertain = Operation::Uncertain { to: to.cloned(), until };
                account.update(ip, |one| one.operation = Some(uncertain));
                account.want_listing(until);
                if let Some(machine) = to {
                    account.set_back(machine, failure.clone(), now, jitter, &settings);
                }
            }
            Err(failure) => account.give_back(ip, to, failure.clone(), now, jitter, &settings),
        });
        if to.is_some() && effect_possible(&outcome.result) {
            self.with_pool(pool, |entry| entry.assigned(ip, now));
        }
        self.touch_address(ip);
    }

    fn created(
        &mut self,
        id: &AccountId,
        pool: &PoolKey,
        intent: &Intent,
        outcome: Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        let progress = match &outcome.result {
            Ok(Done::Created { ip, pending }) => {
                let sighting = Sighting {
                    holder: intent.target.clone().filter(|_| pending.is_none()),
                    region: Some(intent.region.clone()),
                    ..Sighting::default()
                };
                self.with_account(id, |account| {
                    account.fold_sighting(*ip, outcome.sent_at, &sighting, now, &settings);
                    if let Some(operation) = pending {
                        account.accept(*ip, intent.target.as_ref(), operation, now);
                    }
                });
                IntentProgress::Made(*ip)
            }
            Ok(_) => IntentProgress::Doubtful { until: now },
            Err(failure) => match failure.kind {
                FailureKind::NotSent | FailureKind::Throttled { .. } => IntentProgress::Ready,
                FailureKind::NoAnswer => IntentProgress::Doubtful {
                    until: outcome.sent_at + settings.call_deadline + settings.settle,
                },
                // Answered, so it is over; after a breakdown a listing shows whether it made
                // one after all.
                FailureKind::Unavailable => IntentProgress::Doubtful { until: now },
                // Refused, so it made none. An address that is on the target now is not ours.
                FailureKind::Refused
                | FailureKind::NotFound
                | FailureKind::Busy
                | FailureKind::Quota
                | FailureKind::Rejected
                | FailureKind::Conflict => IntentProgress::Ready,
            },
        };
        match progress {
            IntentProgress::Doubtful { until } => {
                self.with_account(id, |account| account.want_listing(until));
            }
            // Whatever refused it, a fresh look shows what is in the way.
            IntentProgress::Ready => self.with_account(id, |account| account.want_listing(now)),
            IntentProgress::Sent | IntentProgress::Made(_) => {}
        }
        self.with_pool(pool, |entry| {
            entry.intents.insert(intent.id.clone(), progress);
            match outcome.result {
                Ok(_) => entry.creation = super::Work::default(),
                Err(failure) => entry.creation.failed(failure, now, outcome.jitter, &settings),
            }
            if let (IntentProgress::Made(ip), Some(_)) = (progress, &intent.target) {
                entry.assigned(ip, now);
            }
        });
        self.reclaim(pool);
    }

    fn marked_outcome(
        &mut self,
        name: &crate::model::NodeName,
        uid: &crate::model::Text,
        family: Family,
        mark: Option<crate::model::Text>,
        outcome: Outcome,
        now: Time,
    ) {
        match outcome.result {
            Ok(Done::Marked { version }) => {
                self.mark_work.remove(&(name.clone(), family));
                if let Some(node) = self.nodes.get(name).filter(|node| node.uid == *uid) {
                    let mut node = node.clone();
                    node.marks.set(family, mark);
                    node.version = node.version.max(version);
                    self.set_node(node);
                }
            }
            Ok(_) => {}
            Err(failure) => {
                let work = self.mark_work.entry((name.clone(), family)).or_default();
                work.failed(failure, now, outcome.jitter, &self.settings);
            }
        }
        // Whatever else changed while the write was under way is looked at again.
        let marks = self.nodes.get(name).map(super::marked_addresses).unwrap_or_default();
        let machine = self.nodes.get(name).and_then(|node| node.machine.clone());
        for ip in marks {
            self.touch_address(ip);
        }
        if let Some(machine) = machine {
            self.touch_machine(&machine);
        }
    }
}

impl PoolEntry {
    fn assigned(&mut self, ip: IpAddr, now: Time) {
        let memory = self.remembered.entry(ip).or_default();
        memory.held = true;
        memory.assigned_at = Some(now);
        memory.ineligible_since = None;
        self.last_assignment = Some(now);
    }
}

impl Account {
    fn accept(&mut self, ip: IpAddr, to: Option<&MachineId>, id: &OperationId, now: Time) {
        let accepted = Operation::Accepted {
            to: to.cloned(),
            id: id.clone(),
            since: now,
            checks: 0,
            next_check: now + confirm_after(0),
            reading: false,
            read_after: now,
        };
        self.update(ip, |one| {
            one.operation = Some(accepted);
            one.intended = None;
        });
    }

    /// A call is over without effect: the address stays where it was, and the attempt is
    /// worth repeating on the same machine for a while.
    fn give_back(
        &mut self,
        ip: IpAddr,
        to: Option<&MachineId>,
        failure: Failure,
        now: Time,
        jitter: u16,
        settings: &super::Settings,
    ) {
        self.update(ip, |one| one.operation = None);
        if let Some(sighting) = &failure.seen {
            self.fold_sighting(ip, now, sighting, now, settings);
        }
        let Some(machine) = to else {
            return self.want_listing(now);
        };
        let kind = failure.kind;
        if matches!(kind, FailureKind::Throttled { .. }) {
            return self.update(ip, |one| one.intended = Some(machine.clone()));
        }
        let failures = self.set_back(machine, failure, now, jitter, settings);
        let lasting = matches!(kind, FailureKind::NotFound | FailureKind::Rejected);
        let again = failures < PATIENCE && !lasting;
        self.update(ip, |one| one.intended = again.then(|| machine.clone()));
        self.want_listing(now);
    }

    fn clear_setback(&mut self, machine: Option<&MachineId>) {
        if let Some(machine) = machine {
            self.setbacks.remove(machine);
        }
    }

    /// A call on this account failed: what does that say of the account?
    fn suffer(
        &mut self,
        failure: &Failure,
        is_read: bool,
        now: Time,
        jitter: u16,
        settings: &super::Settings,
    ) {
        match failure.kind {
            // Reads are held back first, to leave room for failover.
            FailureKind::Throttled { wait } if is_read => {
                self.listing.not_before = self.listing.not_before.max(now + wait);
                self.trouble = Some(failure.clone());
            }
            FailureKind::Throttled { wait } => {
                let until = now + wait;
                self.closed_until = Some(self.closed_until.map_or(until, |time| time.max(until)));
                self.trouble = Some(failure.clone());
            }
            FailureKind::Refused => {
                self.listing.failures += 1;
                let wait = settings.back_off(self.listing.failures, jitter);
                self.closed_until = Some(now + wait);
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
}

fn ledger_written(
    entry: &mut PoolEntry,
    ledger: crate::model::Ledger,
    outcome: Outcome,
    now: Time,
    settings: &super::Settings,
) {
    match outcome.result {
        Ok(Done::LedgerWritten { version }) => {
            for intent in &ledger.intents {
                let known = entry.pool.ledger.intents.iter().any(|one| one.id == intent.id);
                if !known {
                    entry.intents.insert(intent.id.clone(), IntentProgress::Ready);
                }
            }
            entry.intents.retain(|id, _| ledger.intents.iter().any(|intent| intent.id == *id));
            entry.pool.ledger = ledger;
            entry.pool.version = entry.pool.version.max(version);
            entry.pool.resolution = None;
            entry.ledger_work = super::Work::default();
        }
        Ok(_) => {}
        Err(failure) => entry.ledger_work.failed(failure, now, outcome.jitter, settings),
    }
}

fn effect_possible(result: &Result<Done, Failure>) -> bool {
    match result {
        Ok(_) => true,
        Err(failure) => failure.kind == FailureKind::NoAnswer,
    }
}

fn operation_is_read(operation: &mut Option<Operation>) {
    if let Some(Operation::Accepted { reading, .. }) = operation {
        *reading = true;
    }
}

fn operation_was_read(operation: &mut Option<Operation>, now: Time) {
    if let Some(Operation::Accepted { reading, read_after, .. }) = operation {
        *reading = false;
        *read_after = now + confirm_after(u32::MAX);
    }
}

fn account_of(action: &Action) -> Option<&AccountId> {
    match action {
        Action::List { account, .. }
        | Action::ReadAddress { account, .. }
        | Action::ReadOperation { account, .. }
        | Action::Assign { account, .. }
        | Action::Unassign { account, .. }
        | Action::Create { account, .. } => Some(account),
        Action::WriteLedger { .. } | Action::Mark { .. } => None,
    }
}
