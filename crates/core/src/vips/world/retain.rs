//! Removes what a full listing does not show, after a watch restarted.

use std::collections::BTreeSet;

use super::super::model::{ClassRef, ObjectName, PoolId, PoolScope};
use crate::world::World;

impl World {
    /// Removes all other claims, after a watch restarted with a full listing.
    pub fn retain_vip_claims(&mut self, names: &BTreeSet<ObjectName>) {
        for name in others(self.vips.claims.keys(), names) {
            self.remove_vip_claim(&name);
        }
    }

    /// Removes all other addresses, after a watch restarted with a full listing.
    pub fn retain_vip_addresses(&mut self, names: &BTreeSet<ObjectName>) {
        for name in others(self.vips.addresses.keys(), names) {
            self.remove_vip_address(&name);
        }
    }

    /// Removes all other holders, after a watch restarted with a full listing.
    pub fn retain_vip_holders(&mut self, names: &BTreeSet<ObjectName>) {
        for name in others(self.vips.holders.keys(), names) {
            self.remove_vip_holder(&name);
        }
    }

    /// Removes all other classes, after a watch restarted with a full listing.
    pub fn retain_cluster_classes(&mut self, names: &BTreeSet<ClassRef>) {
        for name in others(self.vips.classes.keys(), names) {
            self.remove_cluster_class(&name);
        }
    }

    /// Removes all other VIP pools, either of namespaces or global, after a watch restarted with a
    /// full listing.
    pub fn retain_vip_pools(&mut self, global: bool, ids: &BTreeSet<PoolId>) {
        let of_watch = |id: &&PoolId| (id.scope == PoolScope::Global) == global;
        for id in others(self.vips.pools.keys().filter(of_watch), ids) {
            self.remove_vip_pool(&id);
        }
    }
}

fn others<'a, T: Ord + Clone + 'a>(
    known: impl Iterator<Item = &'a T>,
    kept: &BTreeSet<T>,
) -> Vec<T> {
    known.filter(|one| !kept.contains(*one)).cloned().collect()
}
