//! S8: only addresses reserved for a pool are released, and only while the pool is being deleted
//! with the policy `Release`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Oracle;
use super::cloud::{Origin, Sent};
use super::pool::Pool;
use crate::schedule::Millis;

/// The last time each address could be released.
#[derive(Debug, Default)]
pub(super) struct Releasable(BTreeMap<IpAddr, Millis>);

impl Oracle {
    /// Notes the addresses releasable until now.
    pub(super) fn note_releasable(&mut self, now: Millis) {
        let pools = self.cluster.pools.values().filter(|pool| pool.ways.is_giving_back());
        let all: Vec<IpAddr> = pools.flat_map(|pool| pool.ways.created.clone()).collect();
        self.releasable.0.extend(all.into_iter().map(|ip| (ip, now)));
    }

    /// Whether the address could be released at some time since `floor`. The user may have withdrawn the
    /// release while a call that belongs to it was under way.
    pub(super) fn was_releasable(&self, ip: IpAddr, floor: Millis) -> bool {
        self.releasable.0.get(&ip).is_some_and(|time| *time >= floor)
    }

    /// S8: the address was reserved for a pool being deleted with the policy `Release` and our
    /// finalizer, is on no machine, and is not listed.
    pub(super) fn check_release(&mut self, sent: &Sent) {
        let Some(ip) = sent.ip else { return };
        let (api, cloud) = (self.decided_floor(sent), self.cloud_floor());
        let gives = |pool: &&Pool| pool.ways.is_giving_back() && pool.ways.created.contains(&ip);
        let pool = self.cluster.pools.values().find(gives);
        let lately = self.was_releasable(ip, api);
        let problem = match (self.cloud.addresses.get(&ip), pool) {
            // Released before, with a lost answer.
            (None, _) => None,
            (_, None) if !lately => Some("nobody gives it back"),
            (Some(one), _)
                if one.origin == Origin::Others
                    && !one.mistaken
                    && one.handed_over.is_none_or(|time| time < api) =>
            {
                Some("it was not reserved by us")
            }
            (Some(one), Some(pool))
                if !one.mistaken
                    && one.origin != Origin::Ours(None)
                    && one.origin != Origin::Ours(Some(pool.uid.clone())) =>
            {
                Some("it was reserved for another pool")
            }
            (Some(one), _) if one.holder.is_some() && !self.cloud.touched_since(ip, cloud) => {
                Some("it is on a machine")
            }
            _ if self.is_listed(ip, api) => Some("somebody lists it"),
            _ => None,
        };
        if let Some(problem) = problem {
            self.violated("S8", format!("{} gives {ip} back: {problem}", sent.agent));
        }
    }

    /// Whether some pool has listed the address since before `floor`.
    fn is_listed(&self, ip: IpAddr, floor: Millis) -> bool {
        let lists = |pool: &Pool| pool.listed_since.get(&ip).is_some_and(|time| *time <= floor);
        self.cluster.pools.values().any(lists)
    }

    /// Unreleased addresses of pools deleted with the policy `Release`.
    pub(super) fn left_over(&self) -> Vec<String> {
        let left = |(ip, one): (&IpAddr, &super::cloud::Address)| {
            let Origin::Ours(Some(uid)) = &one.origin else { return None };
            let gone = self.cluster.gave_back.contains(uid) && !one.words_lost;
            let claimed = self.cluster.claimants(*ip).next().is_some();
            (gone && !claimed).then(|| format!("{ip} is left over from a pool that gave back"))
        };
        self.cloud.addresses.iter().filter_map(left).collect()
    }
}

impl Pool {
    /// Whether the pool, being deleted, releases an address: reserved for it, and not listed.
    pub fn gives_back(&self, ip: IpAddr) -> bool {
        self.ways.is_giving_back() && self.ways.created.contains(&ip) && !self.listed.contains(&ip)
    }

    /// Whether a replica may think so: the address was not listed all the time since `floor`.
    pub fn might_give_back(&self, ip: IpAddr, floor: Millis) -> bool {
        let lists = self.listed_since.get(&ip).is_some_and(|since| *since <= floor);
        self.ways.is_giving_back() && !lists
    }
}
