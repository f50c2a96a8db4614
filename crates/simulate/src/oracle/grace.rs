//! A node that stops being eligible keeps its address for as long as its pool says.

use std::net::IpAddr;

use super::Oracle;
use super::cloud::Sent;
use super::cluster::Machine;
use crate::schedule::Millis;

/// How much faster one clock may run than another, as a part of the time.
const RATE: Millis = 20;

impl Oracle {
    /// An address is taken from a machine that is not eligible: its time is over.
    pub(super) fn check_grace(&mut self, sent: &Sent, ip: IpAddr, holder: Machine) {
        // A node that is deleted does not recover.
        if !self.cluster.nodes.values().any(|node| node.machine == Some(holder)) {
            return;
        }
        let now = self.now();
        let early = |pool: &super::cluster::Pool| {
            let fit = pool.fits.get(&holder).filter(|fit| !fit.eligible && fit.served);
            fit.is_some_and(|fit| now + self.slack(fit.since) < fit.since + grace(pool))
        };
        if self.cluster.claimants(ip).all(early) {
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

fn grace(pool: &super::cluster::Pool) -> Millis {
    pool.ways.grace - pool.ways.grace / RATE
}
