//! Liveness while a fault lasts: how long an address may be idle beside a node that could serve it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::Oracle;
use super::cluster::Machine;
use super::pool::Pool;
use crate::schedule::Millis;

/// The longest back-off of an address or an account.
const BACK_OFF: Millis = 60_000;

/// The time that reads and calls take: two listings, and an assignment that is confirmed.
const WORK: Millis = 75_000;

/// The time after a move by hand in which the hold-down may last: five minutes at most.
const HELD: Millis = 6 * 60_000;

/// Since when an address of a pool is idle while a machine could serve it.
#[derive(Debug, Default)]
pub(super) struct Idle(BTreeMap<(String, IpAddr, Machine), Millis>);

impl Oracle {
    /// L1: an address is idle beside a machine that could serve it for no longer than the back-off,
    /// the grace period and the cool-offs of all assignments before.
    pub fn check_idle(&mut self) {
        let now = self.now();
        let since = std::mem::take(&mut self.idle.0);
        if !self.is_quiet() || self.modes.all_observe() {
            return;
        }
        let mut late = None;
        for (key, pool) in &self.cluster.pools {
            for (ip, machine) in self.idle_beside(pool) {
                let one = (key.clone(), ip, machine);
                let begun = since.get(&one).copied().unwrap_or(now).max(self.quiet_since());
                if begun + self.patience(pool, machine) < now {
                    late =
                        Some(format!("{key}: {ip} idle for {} ms beside {machine}", now - begun));
                }
                self.idle.0.insert(one, begun);
            }
        }
        if let Some(text) = late {
            self.violated("L1", text);
        }
    }

    /// Idle addresses of a pool, each with the machines that could serve it.
    fn idle_beside(&self, pool: &Pool) -> Vec<(IpAddr, Machine)> {
        if !pool.is_served() || pool.ways.deleting.is_some() {
            return vec![];
        }
        let touched = self.now().saturating_sub(HELD);
        let idle = self.idle_of(pool);
        let idle = idle.into_iter().filter(|ip| !self.cloud.touched_since(*ip, touched));
        idle.flat_map(|ip| self.free_for(pool, ip.is_ipv6()).into_iter().map(move |one| (ip, one)))
            .collect()
    }

    /// The longest time that an idle address may wait for a machine: every other address that lacks
    /// one may come first, a cool-off apart. The machine may be free because an address of another
    /// pool is useless there, but in its grace period.
    fn patience(&self, pool: &Pool, machine: Machine) -> Millis {
        let others = self.cloud.held_by(machine).flat_map(|ip| self.cluster.claimants(ip));
        let grace = others.chain([pool]).map(|one| one.ways.grace).max().unwrap_or(0);
        let turns = Millis::try_from(pool.wants()).unwrap_or(Millis::MAX);
        // Where an attempt costs a machine its own address, back-offs are three times as long, and
        // attempts with refused addresses keep the machine busy in between.
        let back_off = if self.vendor.displaces_own() { 3 * BACK_OFF } else { BACK_OFF };
        back_off + WORK + grace + pool.cool_off.saturating_mul(turns)
    }
}
