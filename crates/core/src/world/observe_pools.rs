//! Observations of pools, and of the objects that ask for addresses, records or VIPs.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::World;
use crate::addresses::{Account, Changes, PoolEntry};
use crate::model::{AccountId, Kind, ObjectKey, Pool};
use crate::nodes::ClassId;

impl World {
    /// Observes a pool that appeared or changed. Versions older than the known version, or than our
    /// own last write, are ignored.
    pub fn set_pool(&mut self, mut pool: Pool) {
        let key = pool.key.clone();
        if let Some(entry) = self.pools.get_mut(&key).filter(|entry| entry.pool.uid == pool.uid) {
            if entry.pool.version > pool.version {
                return;
            }
            self.restrictions.judge(&mut pool);
            if entry.pool.differs_only_in_memory(&pool) {
                // A write by somebody else may be the reason why a write of ours failed.
                entry.written_to(pool.version);
                entry.pool = pool;
                return;
            }
        } else {
            self.restrictions.judge(&mut pool);
        }
        let class = self.class_for(&pool);
        let account = pool.request.as_ref().ok().map(|request| request.account.clone());
        if let Some(account) = account.as_ref().filter(|id| !self.users.contains_key(*id)) {
            self.account_used_again(account);
        }
        let before = self.pools.remove(&key);
        if let Some(before) = &before {
            self.leave(&key, before, class);
            if before.pool.uid != pool.uid {
                let shown_from = self.shown_from();
                self.orphans.left_by(before, &self.pools, shown_from);
            }
        }
        let reranked = before.as_ref().is_some_and(|before| {
            before.pool.uid != pool.uid
                || before.pool.request != pool.request
                || before.pool.created_at != pool.created_at
                || before.pool.paused != pool.paused
        });
        let entry = PoolEntry::following(before, pool, class);
        if let Ok(request) = &entry.pool.request {
            let account = request.account.clone();
            let interval = request.reread.unwrap_or(self.settings.resync);
            self.rereads.entry(account.clone()).or_default().insert((interval, key.clone()));
            self.users.entry(account).or_default().insert(key.clone());
        }
        let all = || entry.addresses().iter().copied().chain(entry.leaving());
        let disputable: Vec<_> = if reranked { all().collect() } else { Vec::new() };
        self.pools.insert(key.clone(), entry);
        self.reclaim(&key);
        // The pool's UID, spec, age or pause changed, so ownership of shared addresses, and the
        // room that the pool makes for others, may have changed too. Replan every pool that claims
        // one of the addresses.
        for ip in disputable {
            self.touch_address(ip);
        }
        self.dirty.insert(key);
    }

    /// Observes the version of a pool after a write of ours that planning does not read.
    pub fn wrote_pool(&mut self, key: &ObjectKey, uid: &str, version: u64) {
        if let Some(entry) = self.pools.get_mut(key)
            && *entry.pool.uid == *uid
        {
            entry.written_to(version);
        }
    }

    /// Removes a pool. Its addresses and the marks of its nodes stay.
    pub fn remove_pool(&mut self, key: &ObjectKey) {
        self.restrictions.forget_pool(key);
        if let Some(entry) = self.pools.remove(key) {
            self.untidy.remove(key);
            let shown_from = self.shown_from();
            self.orphans.left_by(&entry, &self.pools, shown_from);
            self.leave(key, &entry, None);
            self.reclaim(key);
            self.dirty.insert(key.clone());
        }
    }

    /// Removes all other objects of `kind`, after a watch restarted with a full listing.
    pub fn retain_objects(&mut self, kind: &'static Kind, keys: &BTreeSet<ObjectKey>) {
        for key in self.objects_of(kind).difference(keys) {
            self.remove_pool(key);
            self.remove_record_set(key);
            self.remove_cluster(key);
        }
    }

    /// The objects of a kind that ask for addresses, records or VIPs.
    pub fn objects_of(&self, kind: &'static Kind) -> BTreeSet<ObjectKey> {
        let all = self.pools.keys().chain(self.records.entries.keys());
        let all = all.chain(self.vips.clusters.keys());
        all.filter(|key| key.kind == kind).cloned().collect()
    }

    /// Drops what was known of an account that no pool named until now: the account was not listed
    /// in the meantime.
    fn account_used_again(&mut self, id: &AccountId) {
        if let Some(account) = self.accounts.get_mut(id) {
            account.read_all_anew();
        }
    }

    pub(super) fn class_for(&mut self, pool: &Pool) -> Option<ClassId> {
        let request = pool.request.as_ref().ok()?;
        let cloud = self.accounts.get(&request.account)?.cloud()?.clone();
        let account = Some((&request.account, &cloud));
        let is_new = !self.candidates.has_class(&request.account, &request.matching);
        let class = self.candidates.join(account, &request.matching, &pool.key, &self.nodes);
        if is_new {
            self.count_vacant(class);
        }
        Some(class)
    }

    /// Removes a pool from its account, and from its class unless `class` is the same.
    fn leave(&mut self, key: &ObjectKey, entry: &PoolEntry, class: Option<ClassId>) {
        if let Ok(request) = &entry.pool.request
            && let Some(users) = self.users.get_mut(&request.account)
        {
            users.remove(key);
            if users.is_empty() {
                self.users.remove(&request.account);
            }
            if let Some(rereads) = self.rereads.get_mut(&request.account) {
                rereads.remove(&(request.reread.unwrap_or(self.settings.resync), key.clone()));
            }
        }
        if let Some(old) = entry.class.filter(|old| Some(*old) != class) {
            self.candidates.leave(old, key);
        }
    }

    /// Updates the claims to the addresses that a pool has now.
    pub(crate) fn reclaim(&mut self, key: &ObjectKey) {
        let has = self.pools.get(key).map(|entry| {
            let named = entry.addresses().iter().chain(&entry.writing.created).copied();
            named.chain(entry.leaving()).chain(entry.claimed_unplanned())
        });
        let changes = self.claims.replace(key, has.into_iter().flatten().collect());
        let held_by_others = self.held_by_others(key);
        if let Some(entry) = self.pools.get_mut(key) {
            let listed: BTreeSet<IpAddr> = entry.named().collect();
            entry.listed_unread.extend(changes.flipped.iter().filter(|ip| listed.contains(ip)));
            entry.listed_unread.retain(|ip| !held_by_others.contains(ip));
            let request = entry.pool.request.as_ref().ok();
            let account = request.and_then(|request| self.accounts.get_mut(&request.account));
            let Some(account) = account else {
                if entry.pool.request.is_err() {
                    look_everywhere(self.accounts.values_mut(), &changes);
                }
                return self.claims_changed(changes);
            };
            // Knowledge from before the claim may be out of date.
            for ip in std::mem::take(&mut entry.listed_unread) {
                account.read_anew(ip);
            }
            for ip in std::mem::take(&mut entry.leaving_unread) {
                account.look_before_leaving(ip);
            }
            entry.addresses().iter().copied().chain(entry.leaving()).for_each(|ip| {
                account.expect(ip);
            });
        }
        self.claims_changed(changes);
    }

    /// The unread addresses of a pool that another pool has on a node: the list of one pool does not
    /// delay a move by another.
    fn held_by_others(&self, key: &ObjectKey) -> BTreeSet<IpAddr> {
        let unread = self.pools.get(key).into_iter().flat_map(|entry| &entry.listed_unread);
        let holds = |other: &ObjectKey, ip: IpAddr| {
            let has = |entry: &PoolEntry| entry.memory(ip).held && !entry.is_leaving(ip);
            other != key && self.pools.get(other).is_some_and(has)
        };
        let held = |ip: &&IpAddr| self.claims.of(**ip).any(|other| holds(other, **ip));
        unread.filter(held).copied().collect()
    }
}

/// Looks for new addresses of a pool whose account is unknown, because its spec is invalid. Only what
/// is read from now on counts.
fn look_everywhere<'w>(accounts: impl Iterator<Item = &'w mut Account>, changes: &Changes) {
    for account in accounts.filter(|account| account.setup.is_ok()) {
        for ip in &changes.gained {
            account.expect(*ip);
        }
        for ip in changes.flipped.iter().filter(|ip| changes.gained.contains(ip)) {
            account.read_anew(*ip);
        }
    }
}
