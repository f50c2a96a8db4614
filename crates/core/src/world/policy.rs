//! The administrator's policy in the world.

use std::collections::BTreeMap;

use super::World;
use crate::model::{ObjectKey, Pool, RecordRequest, RecordSet, Request};
use crate::policy::Policy;

/// The policy, and the requests that it withholds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restrictions {
    policy: Policy,
    pools: BTreeMap<ObjectKey, Request>,
    records: BTreeMap<ObjectKey, RecordRequest>,
}

impl Restrictions {
    /// Judges a pool that was observed.
    pub(super) fn judge(&mut self, pool: &mut Pool) {
        self.pools.remove(&pool.key);
        if let Some(request) = self.policy.withhold(pool) {
            self.pools.insert(pool.key.clone(), request);
        }
    }

    /// Judges records that were observed, after the pool of the same key. A name for the addresses of a
    /// forbidden pool is forbidden too.
    pub(crate) fn judge_records(&mut self, set: &mut RecordSet, of: Option<&Pool>) {
        self.records.remove(&set.key);
        let of_forbidden = of.filter(|pool| self.pools.contains_key(&pool.key));
        let withheld = match (of_forbidden, &mut set.request) {
            (Some(Pool { request: Err(finding), .. }), request @ Ok(_)) => {
                std::mem::replace(request, Err(finding.clone())).ok()
            }
            _ => self.policy.withhold_records(set),
        };
        if let Some(request) = withheld {
            self.records.insert(set.key.clone(), request);
        }
    }

    pub(crate) fn forget_pool(&mut self, key: &ObjectKey) {
        self.pools.remove(key);
    }

    pub(crate) fn forget_records(&mut self, key: &ObjectKey) {
        self.records.remove(key);
    }
}

impl World {
    /// Sets the policy, and judges every object by it. Objects that are forbidden from now on keep what
    /// they have.
    pub fn set_policy(&mut self, policy: Policy) {
        let before = std::mem::replace(
            &mut self.restrictions,
            Restrictions { policy, ..Restrictions::default() },
        );
        let mut pools: Vec<Pool> = self.pools.values().map(|entry| entry.pool.clone()).collect();
        for mut pool in pools.drain(..) {
            if let Some(request) = before.pools.get(&pool.key) {
                pool.request = Ok(request.clone());
                pool.named = None;
            }
            self.set_pool(pool);
        }
        let sets = self.records.entries.values().map(|entry| entry.set.clone());
        for mut set in sets.collect::<Vec<RecordSet>>() {
            if let Some(request) = before.records.get(&set.key) {
                set.request = Ok(request.clone());
            }
            self.set_record_set(set);
        }
    }
}
