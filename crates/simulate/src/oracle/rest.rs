//! Liveness: the final state once trouble is over.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::Oracle;
use super::cloud::Origin;
use super::cluster::Machine;
use super::front::Front;
use super::pool::Pool;
use crate::wire::{ApiAction, CloudAction};

/// Counts of the replicas' actions, to tell rest from work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doings {
    /// Mutating requests to the provider.
    pub changes: u64,
    /// Listings of the account.
    pub listings: u64,
    /// Other reads at the provider.
    pub reads: u64,
    /// Reads of DNS records.
    pub records: u64,
    /// Writes to the API server, except to the Lease.
    pub writes: u64,
}

impl Doings {
    pub(super) fn sent(&mut self, action: CloudAction) {
        match action {
            _ if action.lists() => self.listings += 1,
            _ if action.changes() => self.changes += 1,
            _ if action.is_of_names() => self.records += 1,
            _ => self.reads += 1,
        }
    }

    pub(super) fn asked(&mut self, action: ApiAction) {
        self.writes += u64::from(action.changes() && !action.elects());
    }
}

impl Pool {
    /// Whether a reservation waits for the user's answer. A pool may say so while faults last. Once
    /// all faults are over the user answers, and a pool that goes on waiting has not settled.
    fn awaits_a_word(&self) -> bool {
        let conditions = self.status["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|one| one["reason"] == "CreateOutcomeUnknown")
    }
}

impl Oracle {
    /// The actions so far.
    pub fn doings(&self) -> Doings {
        self.doings
    }

    /// Everything wrong after all deadlines. The targets of lasting faults are exempt: a refused
    /// address, a refusing machine, a paused or unreadable pool, and impossible reservations,
    /// releases and record changes.
    pub fn unsettled(&self) -> Vec<String> {
        let mut all = self.unplaced();
        if !self.modes.all_observe() {
            all.extend(self.misnamed());
        }
        all
    }

    /// The same without DNS names: a change by hand is found only when the name's turn to be read
    /// comes.
    pub fn unplaced(&self) -> Vec<String> {
        if self.modes.all_observe() {
            return self.unsaid();
        }
        let mut all = self.left_over();
        all.extend(self.wrongly_said());
        for (key, pool) in &self.cluster.pools {
            if !pool.is_served() {
                continue;
            }
            if pool.ways.deleting.is_some() {
                // The deletion waits for the user's answer too.
                let releases = pool.ways.releases && !pool.ways.created.is_empty();
                if (self.can_give_back() || !releases) && !pool.awaits_a_word() {
                    all.push(format!("{key} is still being deleted"));
                }
                continue;
            }
            all.extend(self.outlived(pool).map(|ip| format!("{key}: {ip} is gone and recorded")));
            all.extend(self.unserved(pool).into_iter().map(|text| format!("{key}: {text}")));
            let lacking =
                self.lacking(pool).filter(|_| self.can_reserve() && !pool.awaits_a_word());
            all.extend(lacking.map(|text| format!("{key}: {text}")));
            all.extend(self.on_drained(pool).into_iter().map(|text| format!("{key}: {text}")));
            all.extend(self.misreported(pool).into_iter().map(|text| format!("{key}: {text}")));
            all.extend(self.misjudged(key, pool).map(|text| format!("{key} {text}")));
        }
        all.extend(self.untold());
        all.extend(self.mismarked());
        all.extend(self.without_egress());
        all.extend(self.mislabelled());
        all.extend(self.unevicted());
        all.extend(self.unshown());
        all
    }

    /// Pools waiting for the user's answer, with the true answer: the reserved address, or none.
    pub fn unknown_creations(&self) -> Vec<(String, Option<IpAddr>)> {
        // The user attributes each address to at most one pool.
        let mut said = BTreeSet::new();
        let mut word = |(key, pool): (&String, &Pool)| {
            let ours = Origin::Ours(Some(pool.uid.clone()));
            let forgotten = self.cloud.addresses.iter().filter(|(ip, address)| {
                let ours = address.origin == ours || address.origin == Origin::Ours(None);
                // Strangers of the intent are not offered as an answer.
                let alike = pool
                    .intents
                    .values()
                    .any(|intent| intent.six == ip.is_ipv6() && !intent.strangers.contains(ip));
                let free = self.cluster.claimants(**ip).next().is_none() && !said.contains(*ip);
                ours && alike && free && !address.words_lost
            });
            let surely = forgotten.min_by_key(|(_, address)| address.origin != ours);
            let made = surely.map(|(ip, _)| *ip);
            said.extend(made);
            (key.clone(), made)
        };
        self.cluster.pools.iter().filter(|(_, pool)| pool.awaits_a_word()).map(&mut word).collect()
    }

    /// Whether an address on a machine is claimed and useless to all its claimants there, so that
    /// it can make room. Strangers cannot, nor can the addresses that a deleted pool leaves in
    /// place: these are strangers as soon as the pool is gone.
    fn is_useless_on(&self, machine: Machine, ip: IpAddr) -> bool {
        let mut claimants = self.cluster.claimants(ip).peekable();
        let serves = |pool: &Pool| match pool.ways.is_giving_back() {
            true => !pool.gives_back(ip),
            false => pool.uses(ip) && pool.may_use(machine),
        };
        claimants.peek().is_some() && claimants.all(|pool| pool.is_served() && !serves(pool))
    }

    /// L1, L2: no address is idle while an eligible node has room, for each family separately.
    fn unserved(&self, pool: &Pool) -> Vec<String> {
        let (six, four): (Vec<_>, Vec<_>) =
            self.idle_of(pool).into_iter().partition(IpAddr::is_ipv6);
        let mut wrong = Vec::new();
        for (six, idle) in [(false, four), (true, six)] {
            let free = self.free_for(pool, six);
            if !idle.is_empty() && !free.is_empty() {
                wrong.push(format!("{idle:?} idle while {free:?} could serve"));
            }
        }
        wrong
    }

    /// Addresses of a pool that are on no machine where they serve, and could be moved for the pool.
    pub(super) fn idle_of(&self, pool: &Pool) -> Vec<IpAddr> {
        let idle = |ip: &IpAddr| {
            pool.uses(*ip)
                && self.cloud.addresses.contains_key(ip)
                && self.is_idle(pool, *ip)
                && !self.is_contested(pool, *ip)
                && self.is_movable(*ip)
        };
        pool.claims().into_iter().filter(idle).collect()
    }

    pub(super) fn is_idle(&self, pool: &Pool, ip: IpAddr) -> bool {
        !self.cloud.holder(ip).is_some_and(|machine| pool.may_use(machine))
    }

    /// Eligible machines of a pool with room for an address of the family.
    pub(super) fn free_for(&self, pool: &Pool, six: bool) -> Vec<Machine> {
        let has_room = |machine: &Machine| {
            let held = self.cloud.held_by(*machine).filter(|ip| ip.is_ipv6() == six);
            let stay = held.filter(|ip| !self.is_useless_on(*machine, *ip)).count();
            self.takes(*machine) && stay < self.vendor.profile().per_machine
        };
        let eligible = pool.receivers().iter().filter(|(_, fit)| fit.eligible);
        eligible.map(|(machine, _)| *machine).filter(has_room).collect()
    }

    /// Whether another claimant may be the reason why an address is idle: the owner is not known
    /// here, so every claimant must want the address and have room for it.
    fn is_contested(&self, pool: &Pool, ip: IpAddr) -> bool {
        let mut others = self.cluster.claimants(ip).filter(|one| one.uid != pool.uid);
        let wants = |other: &Pool| {
            other.is_served()
                && other.ways.deleting.is_none()
                && other.uses(ip)
                && self.is_idle(other, ip)
                && !self.free_for(other, ip.is_ipv6()).is_empty()
        };
        self.cluster.is_kept_unread(ip) || !others.all(wants)
    }

    /// Reserved and kept addresses that a pool records although they are deleted. The pool may still
    /// have to notice that, and to reserve others.
    fn outlived(&self, pool: &Pool) -> impl Iterator<Item = IpAddr> {
        pool.recorded.iter().filter(|ip| !self.cloud.addresses.contains_key(ip)).copied()
    }

    /// Missing addresses and open reservations.
    fn lacking(&self, pool: &Pool) -> Option<String> {
        let (have, want) = (pool.claims().len(), pool.wants());
        if have < want {
            return Some(format!("has {have} addresses and wants {want}"));
        }
        let open = pool.intents.len();
        (open > 0).then(|| format!("{open} reservations are still open"))
    }

    /// Addresses with a wrong status.
    fn misreported(&self, pool: &Pool) -> Vec<String> {
        let status = &pool.status["ips"];
        let wrong = |ip: &IpAddr| {
            let entry = &status[ip.to_string()];
            let holder = self.cloud.holder(*ip).into_iter();
            let truth: Vec<&str> =
                holder.flat_map(|machine| self.cluster.usable_on(pool, machine)).collect();
            let told = (entry["state"] == "active").then(|| entry["nodeName"].as_str()).flatten();
            let right = told.map_or(truth.is_empty(), |told| truth.contains(&told));
            let alone =
                self.cluster.claimants(*ip).count() == 1 && !self.cluster.is_kept_unread(*ip);
            (!right && alone && pool.uses(*ip))
                .then(|| format!("{ip} is on {truth:?}, the status says {told:?}"))
        };
        pool.claims().iter().filter_map(wrong).collect()
    }

    /// Addresses claimed by several pools and in place for each, shown as active by none of them.
    fn untold(&self) -> Vec<String> {
        let tells = |pool: &Pool, ip: &IpAddr| {
            pool.status["ips"][ip.to_string()]["state"] == "active" || !pool.is_served()
        };
        let untold = |ip: &&IpAddr| {
            let holder = self.cloud.holder(**ip);
            let claimants: Vec<&Pool> = self.cluster.claimants(**ip).collect();
            let fits =
                |pool: &&Pool| holder.is_some_and(|one| pool.may_use(one)) && pool.uses(**ip);
            claimants.len() > 1
                && claimants.iter().all(fits)
                && !claimants.iter().any(|pool| tells(pool, ip))
        };
        let all = self.cloud.addresses.keys().filter(untold);
        all.map(|ip| format!("{ip} is in place, and nobody says so")).collect()
    }

    /// Nodes with a wrong mark.
    fn mismarked(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let each = self.cluster.nodes.iter().flat_map(|one| [(one, false), (one, true)]);
        for ((name, node), six) in each {
            let Some(machine) = node.machine else { continue };
            // The first holder among several claimants decides.
            let may_use = |pool: &Pool| self.cluster.may_use(pool, name, node);
            let serves = |ip: &IpAddr| {
                let mut claimants = self.cluster.claimants(*ip).peekable();
                claimants.peek().is_some()
                    && claimants
                        .all(|pool| pool.front == Front::Pool && may_use(pool) && pool.uses(*ip))
            };
            let here = self.cloud.held_by(machine).filter(|ip| ip.is_ipv6() == six);
            let held: Vec<IpAddr> = here.filter(serves).collect();
            let marked = node.marks[usize::from(six)].as_deref().unwrap_or_default();
            let named: Vec<IpAddr> = marked.split(',').filter_map(|one| one.parse().ok()).collect();
            let concerned = self.cloud.held_by(machine).chain(named.iter().copied());
            // If not all claimants may use the machine, the result depends on the first holder.
            let unclear = |ip: IpAddr| {
                let pools: Vec<&Pool> = self.cluster.claimants(ip).collect();
                let fronts = pools.iter().filter(|pool| pool.front == Front::Pool).count();
                let differ = fronts > 0
                    && pools.iter().any(|pool| may_use(pool))
                    && !(fronts == pools.len()
                        && pools.iter().all(|pool| may_use(pool) && pool.uses(ip)));
                pools.iter().any(|pool| !pool.is_served()) || (pools.len() > 1 && differ)
            };
            if concerned.into_iter().any(unclear) {
                continue;
            }
            // A deleted pool leaves its mark, also to an allocation that has the address now.
            let settled = named.iter().all(|ip| {
                let pools = self.cluster.claimants(*ip).filter(|pool| pool.front == Front::Pool);
                let mut pools = pools.peekable();
                pools.peek().is_none() || pools.any(|pool| !pool.uses(*ip))
            });
            if held != named && !(held.is_empty() && settled) {
                wrong.push(format!("{name} has {held:?} and is marked {marked:?}"));
            }
        }
        wrong
    }
}
