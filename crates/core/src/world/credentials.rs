//! Credentials that appear or are replaced while the operator runs.

use super::World;
use crate::Time;
use crate::action::FailureKind;
use crate::addresses::{AccountSetup, Unusable};
use crate::model::{AccountId, Finding, ObjectKey};
use crate::records::RecordAbilities;
use crate::world::Work;

impl World {
    /// Opens an account that could not be used until now, or takes another reason why it cannot be
    /// used. Nothing is known of its addresses: no call was ever made.
    pub fn open_account(&mut self, id: &AccountId, setup: Result<AccountSetup, Unusable>) {
        if self.accounts.get(id).is_none_or(|account| account.setup.is_ok()) {
            return;
        }
        self.set_account(id.clone(), setup);
        let users: Vec<ObjectKey> = self.users.get(id).into_iter().flatten().cloned().collect();
        for key in users {
            let Some(pool) = self.pools.get(&key).map(|entry| entry.pool.clone()) else { continue };
            let class = self.class_for(&pool);
            if let Some(entry) = self.pools.get_mut(&key) {
                entry.class = class;
                entry.count_ineligibility_anew();
            }
            self.reclaim(&key);
            self.dirty.insert(key);
        }
        // The account of a pool with an invalid spec is unknown, so it may be this one.
        let invalid = self.pools.iter().filter(|(_, entry)| entry.pool.request.is_err());
        let claimed: Vec<_> = invalid.flat_map(|(key, _)| self.claims.by(key)).collect();
        if let Some(account) = self.accounts.get_mut(id) {
            claimed.into_iter().for_each(|ip| account.expect(ip));
        }
        self.reoccupy_all();
        self.look_again();
    }

    /// The same for an account at a DNS host.
    pub fn open_record_account(&mut self, id: &AccountId, setup: Result<RecordAbilities, Finding>) {
        if let Some(account) = self.records.accounts.get_mut(id)
            && account.setup.is_err()
        {
            account.setup = setup;
            self.touch_records_of(id);
        }
    }

    /// Notes that an account has another token: the back-offs that refusals of the last one caused
    /// end.
    pub fn renew_account(&mut self, id: &AccountId, now: Time) {
        if let Some(account) = self.accounts.get_mut(id) {
            account.listing.ask_now(now);
        }
        let users: Vec<ObjectKey> = self.users.get(id).into_iter().flatten().cloned().collect();
        for key in users {
            if let Some(entry) = self.pools.get_mut(&key) {
                retry_refused(&mut entry.creation, now);
                retry_refused(&mut entry.release, now);
            }
            self.dirty.insert(key);
        }
        for entry in self.records.entries.values_mut() {
            if entry.set.request.as_ref().is_ok_and(|request| request.account == *id) {
                for set in entry.sets.values_mut() {
                    retry_refused(&mut set.read_work, now);
                    retry_refused(&mut set.change_work, now);
                }
            }
        }
        self.touch_records_of(id);
    }

    fn touch_records_of(&mut self, id: &AccountId) {
        let entries = self.records.entries.iter();
        let asks = entries.filter(|(_, entry)| {
            entry.set.request.as_ref().is_ok_and(|request| request.account == *id)
        });
        self.dirty.extend(asks.map(|(key, _)| key.clone()));
    }
}

fn retry_refused(work: &mut Work, now: Time) {
    let refused = work.failure.as_ref().is_some_and(|one| one.kind == FailureKind::Refused);
    if refused {
        work.not_before = work.not_before.min(now);
    }
}
