//! A node that stops being eligible keeps its address for as long as its pool says.

use std::net::IpAddr;

use super::cloud::Sent;
use super::cluster::{Machine, Pool};
use super::{Oracle, SEEN};
use crate::schedule::Millis;

/// How much faster one clock may run than another, as a part of the time.
const RATE: Millis = 20;

impl Oracle {
    /// An address is taken from a machine that is not eligible: its time is over. Counted from
    /// when the node ceased to be eligible, if it surely was known to serve until then.
    pub(super) fn check_grace(&mut self, sent: &Sent, ip: IpAddr, holder: Machine) {
        // A node that is deleted does not recover.
        if !self.cluster.nodes.values().any(|node| node.machine == Some(holder)) {
            return;
        }
        let (now, api) = (self.now(), self.api_floor());
        let arrived = self.cloud.addresses.get(&ip).map_or(now, |one| one.arrived);
        let settled = arrived.max(self.cloud.claimed_since(ip)) + SEEN;
        let early = |pool: &Pool| {
            let fit = pool.fits.get(&holder).filter(|fit| !fit.eligible && fit.seen);
            let grace = pool.ways.least_grace(api);
            fit.is_some_and(|fit| {
                let ends = fit.since + grace - grace / RATE;
                settled <= fit.since && now + self.slack(fit.since) < ends
            })
        };
        let claimants: Vec<&Pool> = self.cluster.claimants(ip).collect();
        if !claimants.is_empty() && claimants.into_iter().all(early) {
            let text = format!("{}: {ip} is taken from {holder} too early", sent.agent);
            self.violated("grace", text);
        }
    }

    /// How much too early somebody may rightly believe it to be over, that has led since then,
    /// or has read what another wrote down.
    fn slack(&self, since: Millis) -> Millis {
        // An observer writes down what it sees, by its own clock.
        if self.cluster.leader_since <= since && !self.modes.any_observes() {
            return 0;
        }
        let [first, second] = self.clocks.map(|clock| i64::from(clock.ahead));
        first.abs_diff(second) * 1000 + self.now() / RATE
    }
}
