//! Liveness: the condition `Ready` of pools.

use std::net::IpAddr;

use pontoon::api::CONDITION_READY;

use super::Oracle;
use super::front::Front;
use super::pool::Pool;

impl Pool {
    /// Whether the condition `Ready` is true.
    fn says_ready(&self) -> bool {
        let mut all = self.status["conditions"].as_array().into_iter().flatten();
        all.any(|one| one["type"] == CONDITION_READY && one["status"] == "True")
    }
}

impl Oracle {
    /// A wrong condition `Ready`: true although an address is missing or out of place, or not true
    /// although nothing is. A record in DNS has an effect of its own.
    pub(super) fn misjudged(&self, key: &str, pool: &Pool) -> Option<String> {
        let lacks = self.falls_short(pool);
        match (pool.says_ready(), lacks) {
            (true, Some(what)) => Some(format!("is said to be ready, and {what}")),
            (false, None) if self.is_undisputed(key, pool) => {
                Some("is not said to be ready, and lacks nothing".to_owned())
            }
            _ => None,
        }
    }

    /// The lack of a pool: addresses, or an address in place.
    fn falls_short(&self, pool: &Pool) -> Option<String> {
        let (have, want) = (pool.claims().len(), pool.wants());
        if have < want {
            return Some(format!("has {have} of {want} addresses"));
        }
        let claims = pool.claims();
        let off = claims.iter().find(|ip| pool.uses(**ip) && self.is_idle(pool, **ip));
        off.map(|ip| format!("{ip} is out of place"))
    }

    /// Whether nothing but its addresses decides whether a pool is ready: it shares none of them, all
    /// exist, no reservation is open, and it has no name in DNS.
    fn is_undisputed(&self, key: &str, pool: &Pool) -> bool {
        let its_own = |ip: &IpAddr| {
            self.cloud.addresses.contains_key(ip)
                && self.cluster.claimants(*ip).count() == 1
                && !self.cluster.is_kept_unread(*ip)
        };
        pool.claims().iter().all(its_own)
            && pool.intents.is_empty()
            && !(pool.front == Front::Pool && self.names.concern(key))
    }
}
