//! Pools that claimed an address and do so no more: what they may still do with it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::cluster::{Fit, Machine, Pool};
use crate::schedule::Millis;

/// Who claimed which address, until when.
#[derive(Debug, Default)]
pub(super) struct Formers(BTreeMap<IpAddr, Vec<Former>>);

/// A pool that claimed an address.
#[derive(Clone, Debug)]
pub(super) struct Former {
    pub uid: String,
    /// When it ceased to.
    pub at: Millis,
    /// Because its object went.
    gone: bool,
    /// It had no use for the address then, or was giving it back.
    useless: bool,
    /// The machines that it could use then.
    fits: BTreeMap<Machine, Fit>,
}

impl Former {
    /// Whether it may take the address off a machine because its list names it no more.
    pub fn lets_go(&self) -> bool {
        !self.gone
    }

    /// Whether somebody who has not seen yet that it is no claim any more may take the address
    /// off a machine.
    pub fn might_take_off(&self, machine: Option<Machine>, floor: Millis) -> bool {
        let well = |machine| self.fits.get(&machine).is_some_and(|fit| fit.surely(floor));
        self.at >= floor && (self.useless || !machine.is_some_and(well))
    }
}

impl Formers {
    /// A pool ceases to claim addresses.
    pub fn lost(&mut self, pool: &Pool, ips: BTreeSet<IpAddr>, gone: bool, now: Millis) {
        for ip in ips {
            let all = self.0.entry(ip).or_default();
            all.retain(|one| one.uid != pool.uid);
            let used = pool.used.get(&ip).is_some_and(|used| used.eligible);
            let useless = pool.ways.is_giving_back() || !used;
            let (uid, fits) = (pool.uid.clone(), pool.fits.clone());
            all.push(Former { uid, at: now, gone, useless, fits });
        }
    }

    /// Pools that claimed an address once.
    pub fn of(&self, ip: IpAddr) -> impl Iterator<Item = &Former> {
        self.0.get(&ip).into_iter().flatten()
    }
}
