//! Former claims of pools on addresses, and the actions still allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::cluster::Machine;
use super::front::Front;
use super::pool::{Fit, Pool};
use crate::schedule::Millis;

/// Former claims, by address.
#[derive(Debug, Default)]
pub(super) struct Formers(BTreeMap<IpAddr, Vec<Former>>);

/// A former claim.
#[derive(Clone, Debug)]
pub(super) struct Former {
    pub uid: String,
    /// The end of the claim.
    pub at: Millis,
    pub front: Front,
    /// At the end nothing was done for the pool: paused or unreadable.
    pub idle: bool,
    /// The claim ended by deletion of the pool.
    gone: bool,
    /// At the end the pool did not use the address, or was releasing.
    useless: bool,
    /// The machine that had the address at the end of the claim.
    holder: Option<Machine>,
    /// The eligible machines at the end of the claim.
    fits: BTreeMap<Machine, Fit>,
}

impl Former {
    /// Whether the pool, if it exists, may unassign the delisted address from this machine: the
    /// address was there, or was brought there by us.
    pub fn lets_go_of(&self, machine: Option<Machine>, brought: bool) -> bool {
        !self.gone && (brought || machine == self.holder)
    }

    /// Whether a replica unaware of the end of the claim may unassign the address.
    pub fn might_take_off(&self, machine: Option<Machine>, floor: Millis) -> bool {
        let well = |machine| self.fits.get(&machine).is_some_and(|fit| fit.surely(floor));
        self.at >= floor && (self.useless || !machine.is_some_and(well))
    }
}

impl Formers {
    /// Notes the end of a pool's claims.
    pub fn lost(&mut self, pool: &Pool, ips: BTreeSet<IpAddr>, gone: bool, now: Millis) {
        for ip in ips {
            let all = self.0.entry(ip).or_default();
            all.retain(|one| one.uid != pool.uid);
            let used = pool.used.get(&ip).is_some_and(|used| used.eligible);
            let useless = pool.ways.is_giving_back() || !used;
            let (uid, front, fits) = (pool.uid.clone(), pool.front, pool.fits.clone());
            let idle = !pool.is_served();
            all.push(Former { uid, at: now, front, idle, gone, useless, holder: None, fits });
        }
    }

    /// Notes where the addresses are whose claims end now.
    pub fn note_holders(&mut self, now: Millis, holder: impl Fn(IpAddr) -> Option<Machine>) {
        for (ip, all) in &mut self.0 {
            for former in all.iter_mut().filter(|former| former.at == now) {
                former.holder = holder(*ip);
            }
        }
    }

    /// The latest former claim on an address, and those that ended since `floor`.
    pub fn latest(&self, ip: IpAddr, floor: Millis) -> impl Iterator<Item = &Former> {
        let last = self.of(ip).map(|one| one.at).max().unwrap_or(0);
        self.of(ip).filter(move |one| one.at >= last.min(floor))
    }

    /// Former claims on an address.
    pub fn of(&self, ip: IpAddr) -> impl Iterator<Item = &Former> {
        self.0.get(&ip).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_ended_before_another_one_counts_only_until_everybody_knows() {
        let ip = IpAddr::from([192, 0, 2, 1]);
        let mut formers = Formers::default();
        for (uid, at) in [("first", 10), ("second", 100)] {
            let pool = Pool { uid: uid.to_owned(), ..Pool::default() };
            formers.lost(&pool, [ip].into(), false, at);
        }
        let counted = |floor| formers.latest(ip, floor).count();
        assert_eq!([5, 97, 200].map(counted), [2, 1, 1]);
    }
}
