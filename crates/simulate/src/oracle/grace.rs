//! The grace period: an ineligible node keeps its address for the time set by its pool.

use std::net::IpAddr;

use super::cloud::Sent;
use super::cluster::Machine;
use super::pool::Pool;
use super::{Oracle, SEEN};
use crate::schedule::Millis;

/// Clock rates differ by at most one part in this many.
const RATE: Millis = 20;

impl Oracle {
    /// Checks that an address is taken from an ineligible machine only after the grace period. The
    /// period counts from the loss of eligibility, if the node was surely known to be eligible
    /// until then.
    pub(super) fn check_grace(&mut self, sent: &Sent, ip: IpAddr, holder: Machine) {
        // A deleted node does not recover.
        if !self.cluster.nodes.values().any(|node| node.machine == Some(holder)) {
            return;
        }
        let (now, api) = (self.now(), self.api_floor());
        // A drained node loses its address at once.
        if self.cluster.was_cordoned(holder, api)
            && self.cluster.claimants(ip).any(|pool| pool.matching.keeping.is_some())
        {
            return;
        }
        let arrived = self.cloud.addresses.get(&ip).map_or(now, |one| one.arrived);
        let settled = arrived.max(self.cloud.claimed_since(ip)) + SEEN;
        let early = |pool: &Pool| {
            let fit = pool.fits.get(&holder).filter(|fit| !fit.eligible && fit.seen);
            let grace = pool.ways.least_grace(api);
            fit.is_some_and(|fit| {
                let ends = fit.own + grace - grace / RATE;
                settled <= fit.own && now + self.slack(fit.own) < ends
            })
        };
        let claimants: Vec<&Pool> = self.cluster.claimants(ip).collect();
        if !claimants.is_empty() && claimants.into_iter().all(early) {
            let text = format!("{}: {ip} is taken from {holder} too early", sent.agent);
            self.violated("grace", text);
        }
    }

    /// The most by which a replica may rightly end the period early, if it has led since then or
    /// has read a time written by another replica.
    fn slack(&self, since: Millis) -> Millis {
        // An observer writes times too, by its own clock.
        if self.cluster.leader_since <= since && !self.modes.any_observes() {
            return 0;
        }
        let [first, second] = self.clocks.map(|clock| i64::from(clock.ahead));
        first.abs_diff(second) * 1000 + self.now() / RATE
    }
}
