//! Folds the start and the outcome of calls about addresses into the world.

use std::net::IpAddr;

use super::{Account, Operation};
use crate::Time;
use crate::action::{AddressAction, Outcome};
use crate::model::ObjectKey;
use crate::world::World;

impl World {
    /// Notes the start of a call about addresses.
    pub(crate) fn call_begins(&mut self, call: &AddressAction) {
        if let Some(machine) = self.egress_changed_by(call) {
            self.egress_in_doubt(call.account(), machine);
        }
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
                self.departs(pool, *ip);
                let operation = Operation::Sent { to: Some(machine.clone()) };
                self.with_account(account, |account| {
                    account.update(*ip, |one| one.operation = Some(operation));
                });
            }
            AddressAction::Unassign { account, pool, ip, .. } => {
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
            AddressAction::RestoreEgress { machine, .. } => {
                self.egress_restoring(machine);
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

    fn departs(&mut self, pool: &ObjectKey, ip: IpAddr) {
        if let Some(entry) = self.pools.get_mut(pool) {
            entry.departs(ip);
        }
    }

    /// Folds in the outcome of a call about addresses.
    pub(crate) fn call_ends(&mut self, call: AddressAction, outcome: Outcome, now: Time) {
        if let Some(machine) = self.egress_changed_by(&call) {
            self.egress_changed(machine, &outcome.result, now);
        }
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
