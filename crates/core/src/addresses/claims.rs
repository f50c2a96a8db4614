//! The addresses each pool claims.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

use crate::model::ObjectKey;

/// Claims in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    by_address: BTreeMap<IpAddr, BTreeSet<ObjectKey>>,
    by_pool: BTreeMap<ObjectKey, BTreeSet<IpAddr>>,
}

/// The effect of changed claims.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Addresses that the pool did not claim before.
    pub gained: BTreeSet<IpAddr>,
    /// Other pools with a claim to a changed address.
    pub others: BTreeSet<ObjectKey>,
    /// Addresses that got their first claim, or lost their last.
    pub flipped: Vec<IpAddr>,
}

impl Claims {
    /// Pools that claim `ip`.
    pub fn of(&self, ip: IpAddr) -> impl Iterator<Item = &ObjectKey> {
        self.by_address.get(&ip).into_iter().flatten()
    }

    /// Addresses that a pool claims.
    pub fn by(&self, pool: &ObjectKey) -> impl Iterator<Item = IpAddr> {
        self.by_pool.get(pool).into_iter().flatten().copied()
    }

    /// Whether any pool claims `ip`.
    pub fn any(&self, ip: IpAddr) -> bool {
        self.by_address.contains_key(&ip)
    }

    /// Pools that claim an IPv6 address.
    pub fn of_v6(&self) -> impl Iterator<Item = &ObjectKey> {
        // IPv6 addresses are ordered after all IPv4 ones.
        let first = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        self.by_address.range(first..).flat_map(|(_, pools)| pools)
    }

    /// Replaces the claims of a pool.
    pub fn replace(&mut self, pool: &ObjectKey, addresses: BTreeSet<IpAddr>) -> Changes {
        let mut changes = Changes::default();
        let before = self.by_pool.remove(pool).unwrap_or_default();
        for ip in before.difference(&addresses) {
            if let Some(claimants) = self.by_address.get_mut(ip) {
                claimants.remove(pool);
                changes.others.extend(claimants.iter().cloned());
                if claimants.is_empty() {
                    self.by_address.remove(ip);
                    changes.flipped.push(*ip);
                }
            }
        }
        for ip in addresses.difference(&before) {
            changes.gained.insert(*ip);
            let claimants = self.by_address.entry(*ip).or_default();
            if claimants.is_empty() {
                changes.flipped.push(*ip);
            }
            changes.others.extend(claimants.iter().cloned());
            claimants.insert(pool.clone());
        }
        if !addresses.is_empty() {
            self.by_pool.insert(pool.clone(), addresses);
        }
        changes
    }
}
