//! Counts for metrics.

use std::collections::BTreeMap;

use super::super::model::{Job, Role};
use crate::model::Text;
use crate::world::World;

/// Number of claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All claims.
    pub total: usize,
    /// Bound claims.
    pub ready: usize,
    /// Claims that are neither bound nor being deleted.
    pub pending: usize,
}

impl World {
    /// Number of claims by role and namespace. Goes through all claims.
    pub fn tally_vip_claims(&self) -> BTreeMap<(Role, Text), Tally> {
        let mut tallies: BTreeMap<(Role, Text), Tally> = BTreeMap::new();
        for claim in self.vips.claims.values() {
            let Some((job, _)) = Job::of_claim(&claim.name.name).next() else { continue };
            let place = (job.role, claim.name.namespace.clone());
            let tally = tallies.entry(place).or_default();
            tally.total += 1;
            tally.ready += usize::from(claim.is_bound());
            tally.pending += usize::from(!claim.is_bound() && !claim.deleting);
        }
        tallies
    }

    /// Number of VIP pools that may serve a Cluster, by the name of each class in use and role.
    /// VIP pools that are paused or being deleted do not count.
    pub fn tally_vip_pools(&self) -> BTreeMap<(Text, Role), usize> {
        let mut counts: BTreeMap<(Text, Role), usize> = BTreeMap::new();
        for class in self.vips.by_class.keys() {
            for role in Role::ALL {
                let open = self.vips.pools.values().filter(|pool| !pool.paused && !pool.deleting);
                let number = open.filter(|pool| pool.serves(class, role)).count();
                let count = counts.entry((class.name.clone(), role)).or_default();
                *count = number.max(*count);
            }
        }
        counts
    }
}
