//! Folds the start and the outcome of calls about addresses into the world.

use std::net::IpAddr;

use super::{Account, Operation};
use crate::Time;
use crate::action::{AddressAction, Done, Outcome};
use crate::model::{MachineId, ObjectKey};
use crate::world::{Work, World};

impl World {
    /// Notes the start of a call about addresses.
    pub(crate) fn call_begins(&mut self, call: &AddressAction) {
        match call {
            AddressAction::List { account, .. } => {
                self.with_account(account, Account::list_begins);
            }
            AddressAction::Read { account, ip } => {
                self.with_account(account, |account| account.update(*ip, |one| one.reading = true));
            }
            AddressAction::ReadOperation { account, ip, .. } => {
                self.with_account(account, |account| {
                    account.update(*ip, |one| {
                        if let Some(Operation::Accepted { reading, .. }) = &mut one.operation {
                            *reading = true;
                        }
                    });
                });
            }
            AddressAction::Assign { account, pool, ip, machine, .. } => {
                self.egress_restored.remove(machine);
                self.departs(pool, *ip);
                let operation = Operation::Sent { to: Some(machine.clone()) };
                self.with_account(account, |account| {
                    account.update(*ip, |one| one.operation = Some(operation));
                });
            }
            AddressAction::Unassign { account, pool, ip, .. } => {
                let address = self.accounts.get(account).and_then(|account| account.address(*ip));
                let holder = address.and_then(|address| address.machines()[0].cloned());
                if let Some(machine) = &holder {
                    self.egress_restored.remove(machine);
                }
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
            AddressAction::RestoreEgress { machine, .. } => {
                self.egress_work.entry(machine.clone()).or_default().in_flight = true;
            }
            AddressAction::Release { account, ip, .. } => self.with_account(account, |account| {
                account.update(*ip, |one| one.operation = Some(Operation::Sent { to: None }));
            }),
            AddressAction::Create { account, pool, intent, mark: _ } => {
                self.reserving_begins(account, pool, intent);
                self.with_pool(pool, |entry| entry.sends(intent));
            }
        }
    }

    /// Notes the outcome of restoring a machine's own address.
    fn egress_restored(&mut self, machine: &MachineId, outcome: Outcome, now: Time) {
        match outcome.result {
            // An accepted operation may still fail. The next attempt tells.
            Ok(Done::Accepted(_)) => {
                let work = self.egress_work.entry(machine.clone()).or_default();
                work.repeats(now, outcome.jitter, &self.settings);
            }
            Ok(_) => {
                self.egress_work.remove(machine);
                self.egress_restored.insert(machine.clone());
            }
            Err(failure) => {
                let work = self.egress_work.entry(machine.clone()).or_default();
                work.failed(failure, now, outcome.jitter, &self.settings);
            }
        }
    }

    /// Attempts to restore the own address of a machine.
    pub(crate) fn egress_work(&self, machine: &MachineId) -> Option<&Work> {
        self.egress_work.get(machine)
    }

    /// Whether a machine has its own address again since the last call about it.
    pub(crate) fn is_egress_restored(&self, machine: &MachineId) -> bool {
        self.egress_restored.contains(machine)
    }

    fn departs(&mut self, pool: &ObjectKey, ip: IpAddr) {
        if let Some(entry) = self.pools.get_mut(pool) {
            entry.departs(ip);
        }
    }

    /// Folds in the outcome of a call about addresses.
    pub(crate) fn call_ends(&mut self, call: AddressAction, outcome: Outcome, now: Time) {
        if let Err(failure) = &outcome.result {
            let (settings, jitter) = (self.settings, outcome.jitter);
            let urgent =
                matches!(call, AddressAction::Assign { .. } | AddressAction::Unassign { .. });
            self.with_account(call.account(), |account| {
                account.note_failure(failure, urgent, now, jitter, &settings);
            });
        }
        match call {
            AddressAction::List { account, families, confirms, .. } => {
                self.listed(&account, (&families, confirms), outcome, now);
            }
            AddressAction::Read { account, ip } => self.address_read(&account, ip, &outcome, now),
            AddressAction::ReadOperation { account, ip, operation } => {
                self.operation_read(&account, ip, &operation, &outcome, now);
            }
            AddressAction::Assign { account, pool, ip, machine, .. } => {
                self.moved(&account, &pool, ip, Some(&machine), &outcome, now);
            }
            AddressAction::Unassign { account, pool, ip, .. } => {
                self.moved(&account, &pool, ip, None, &outcome, now);
            }
            AddressAction::RestoreEgress { pool, machine, .. } => {
                self.egress_restored(&machine, outcome, now);
                self.dirty.insert(pool);
            }
            AddressAction::Release { account, pool, ip } => {
                self.released(&account, &pool, ip, &outcome, now);
            }
            AddressAction::Create { account, pool, intent, mark: _ } => {
                self.created(&account, &pool, &intent, outcome, now);
            }
        }
    }
}
