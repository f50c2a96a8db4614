//! The provider that binds claims, and the garbage collector.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon_core::vips::model::{ClaimOwner, ObjectName, Room, VipAddress, VipClaim};

use super::management::Management;

impl Management {
    /// Deletes a claim with its address.
    pub fn drop_claim(&mut self, name: &ObjectName) {
        self.claims.remove(name);
        self.addresses.remove(name);
        self.count();
    }

    /// Deletes what has lost all its owners. The collector cannot judge an owner of an outdated
    /// version.
    pub fn collect(&mut self) {
        let uids: BTreeSet<_> = self.clusters.values().map(|one| one.uid.clone()).collect();
        let holders: BTreeSet<_> = self.holders.values().map(|one| one.uid.clone()).collect();
        let mut gone = vec![];
        for claim in self.claims.values_mut() {
            let lost = |owner: &ClaimOwner| !owner.outdated && !uids.contains(&owner.uid);
            let owner_lost = claim.owner.as_ref().is_some_and(lost);
            let holder_lost = claim.holder.as_ref().is_some_and(|uid| !holders.contains(uid));
            if !owner_lost && !holder_lost {
                continue;
            }
            self.version += 1;
            claim.version = self.version;
            claim.owner = claim.owner.take().filter(|_| !owner_lost);
            claim.holder = claim.holder.take().filter(|_| !holder_lost);
            if claim.owner.is_none() && claim.holder.is_none() {
                gone.push(claim.name.clone());
            }
        }
        gone.iter().for_each(|name| self.drop_claim(name));
    }

    /// Binds every claim that can be served, in order.
    pub fn provide(&mut self) {
        if self.provider_down {
            return;
        }
        let open = |claim: &&VipClaim| !claim.is_bound() && !claim.deleting && !claim.exhausted;
        let names: Vec<_> = self.claims.values().filter(open).map(|one| one.name.clone()).collect();
        for name in names {
            let claim = &self.claims[&name];
            let cluster = claim.cluster.as_ref().or(claim.label.as_ref());
            let cluster =
                cluster.and_then(|cluster| self.clusters.get(&super::fixture::key(cluster)));
            let Some(pool) = claim.pool.as_ref().and_then(|pool| self.pools.get(pool)) else {
                continue;
            };
            if pool.pool.paused || cluster.is_some_and(|cluster| cluster.paused) {
                continue;
            }
            let taken: BTreeSet<_> = self.addresses.values().filter_map(|one| one.ip).collect();
            let ip = pool.addresses.iter().copied().find(|ip| !taken.contains(ip));
            if ip.is_none() && !self.provider_gives_up {
                continue;
            }
            let version = self.next();
            let claim = self.claims.get_mut(&name).expect("it is there");
            (claim.version, claim.exhausted) = (version, ip.is_none());
            claim.bound = ip.map(|_| name.name.clone());
            if let Some(ip) = ip {
                let (claim, deleting) = (name.name.clone(), false);
                let address =
                    VipAddress { name: name.clone(), version, ip: Some(ip), claim, deleting };
                self.addresses.insert(name, address);
            }
        }
        self.count();
    }

    /// Counts the room of each VIP pool.
    pub fn count(&mut self) {
        for pool in self.pools.values_mut() {
            let taken = |ip: &&IpAddr| self.addresses.values().any(|one| one.ip == Some(**ip));
            let used = i64::try_from(pool.addresses.iter().filter(taken).count()).expect("few");
            let total = i64::try_from(pool.addresses.len()).expect("few");
            let room = Room { total, free: total - used, used };
            if pool.pool.room != Some(room) {
                self.version += 1;
                pool.pool.version = self.version;
                pool.pool.room = Some(room);
            }
        }
    }
}
