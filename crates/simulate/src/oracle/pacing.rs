//! Time between moves: cool-off, hold-down after a move by hand, and no repeated moves without a
//! reason.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fakekube::Write;
use pontoon::api::PAUSED_ANNOTATION;
use pontoon::fronts::net_ip_allocation::READY_LABEL;
use serde_json::Value;

use super::cloud::Sent;
use super::cluster::Machine;
use super::front::Front;
use super::pool::Pool;
use super::{API_LAG_IN_CALM, Oracle, SEEN};
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// The shortest hold-down after an address was moved off its node by hand.
const HOLD: Millis = 10_000;

/// Clock rates differ by at most one part in this many.
const RATE: Millis = 20;

/// The most moves of an address for one reason: unassigned, assigned, and once more after a failed
/// attempt.
pub(super) const MOVES: u32 = 3;

/// Events that delay the next move.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    /// The pool that each assignment was sent for, by call identifier.
    sent_for: BTreeMap<String, String>,
    /// The process and time of the last successful answer to an assignment, by pool.
    assigned: BTreeMap<String, (String, Millis)>,
    /// Addresses moved by hand off a serving node, with time and node.
    drifted: BTreeMap<IpAddr, (Millis, Machine)>,
}

impl Pacing {
    /// Forgets the drift of an address moved by hand again.
    pub fn forget(&mut self, ip: IpAddr) {
        self.drifted.remove(&ip);
    }
}

impl Oracle {
    /// The pool of an assignment, if certain. An assignment for a deleted pool may go on after a pool
    /// of the same name came.
    fn assigned_for(&self, sent: &Sent) -> Option<&Pool> {
        let target = sent.machine;
        let mut pools: Vec<&Pool> = match sent.action {
            CloudAction::Assign => self.cluster.claimants(sent.ip?).collect(),
            action if action.creates() && target.is_some() => {
                let is = |pool: &&Pool| pool.intents.values().any(|one| one.target == target);
                self.cluster.pools.values().filter(is).collect()
            }
            _ => return None,
        };
        let floor = self.decided_floor(sent);
        pools.pop().filter(|pool| pools.is_empty() && pool.born <= floor)
    }

    /// Checks that a pool with a cool-off begins one assignment at a time, a cool-off apart.
    pub(super) fn check_cool_off(&mut self, sent: &Sent) {
        let now = self.now();
        let Some(pool) = self.assigned_for(sent) else { return };
        let last = self.pacing.assigned.get(&pool.uid);
        let last = last.filter(|(process, _)| *process == sent.process);
        let early = last.is_some_and(|(_, at)| now + pool.cool_off / RATE < at + pool.cool_off);
        self.pacing.sent_for.insert(sent.agent.clone(), pool.uid.clone());
        if early {
            self.violated("cool-off", format!("{} comes too early", sent.agent));
        }
    }

    /// Notes an assignment answered with success: under way, or done. The cool-off is that of the
    /// pool that sent the call: the address may belong to another pool by now.
    pub(super) fn note_assigned(&mut self, sent: &Sent) {
        let now = self.now();
        if let Some(uid) = self.pacing.sent_for.remove(&sent.agent) {
            self.pacing.assigned.insert(uid, (sent.process.clone(), now));
        }
    }

    /// Notes a move by hand that ends the service of an address. The hold-down begins, unless the move
    /// looks like the late effect of a failed call of ours.
    pub(super) fn note_drift(&mut self, ip: IpAddr, from: Machine, arrived: Millis) {
        let now = self.now();
        // In the first seconds of a run, nothing has been in place for long enough to be known.
        let Some(seen) = now.checked_sub(SEEN) else { return };
        let mut claimants = self.cluster.claimants(ip);
        let (Some(pool), None) = (claimants.next(), claimants.next()) else { return };
        let holder = self.cloud.holder(ip);
        let served = pool.surely_uses(from, seen) && pool.surely_wants(ip, seen);
        let serves = holder.is_none_or(|holder| pool.may_use(holder));
        let late = self.cloud.may_be_late(ip, now);
        // A pool that could not be read since before its address arrived never saw it in place.
        let told = pool.unclear.is_none_or(|since| arrived + SEEN <= since);
        if served && told && !serves && !late && arrived <= seen && self.quiet_since() <= seen {
            self.pacing.drifted.insert(ip, (now, from));
        }
    }

    /// Checks the hold-down: an address moved by hand stays, unless its former node is lost,
    /// or a call that was not about the address took it off its machine.
    pub(super) fn check_drift(&mut self, sent: &Sent) {
        let (now, api) = (self.now(), self.api_floor());
        // A move in two steps begins with the unassignment.
        let undoes = sent.action == CloudAction::Assign
            || (!self.vendor.profile().moves_at_once && sent.action == CloudAction::Unassign);
        let Some(ip) = sent.ip.filter(|_| undoes) else { return };
        let Some((at, from)) = self.pacing.drifted.get(&ip).copied() else { return };
        let floor = api.min(at);
        let keeps = |pool: &Pool| pool.surely_uses(from, floor) && pool.surely_wants(ip, floor);
        // A move that was seen during a pause of the pool is no drift (decision 14).
        let paused = |pool: &Pool| pool.ways.was_paused(at.saturating_sub(API_LAG_IN_CALM));
        // A pool that gives back an address takes it off whatever machine it is on.
        let unassigns = sent.action == CloudAction::Unassign;
        let gives = |pool: &Pool| {
            unassigns && pool.ways.is_giving_back() && pool.ways.created.contains(&ip)
        };
        // The machine that the person chose may be fit meanwhile, and lost again.
        let holder = self.cloud.holder(ip);
        let served = |pool: &Pool| holder.is_some_and(|holder| pool.might_use(holder, at));
        let held = |pool: &Pool| keeps(pool) && !paused(pool) && !gives(pool) && !served(pool);
        let kept = self.cluster.claimants(ip).all(held);
        let early = now + HOLD / RATE < at + HOLD && self.decided_at(sent) >= at;
        // A call that names a machine may meet an address that a person put there just now. An
        // address on no machine is put back at once (decision 11). A call meant for the address has
        // been judged itself.
        let off = self.vendor.displaces_own() && holder.is_none();
        if early && kept && !off && self.is_meant(sent) && self.quiet_since() <= at {
            self.violated("drift", format!("{}: {ip} was moved by hand just now", sent.agent));
        }
    }

    /// L3: repeated moves of an address each need a reason.
    pub(super) fn check_moves(&mut self, moved: &[IpAddr]) {
        let quiet = self.is_quiet();
        let mut found = None;
        for ip in moved {
            let Some(address) = self.cloud.addresses.get_mut(ip) else { continue };
            address.moves = if quiet { address.moves + 1 } else { 0 };
            if address.moves > MOVES {
                found = Some(format!("{ip} moved {} times, and nothing happened", address.moves));
            }
        }
        if let Some(text) = found {
            self.violated("L3", text);
        }
    }

    /// Notes a possible reason for moves.
    pub(super) fn note_reason(&mut self) {
        self.cloud.addresses.values_mut().for_each(|address| address.moves = 0);
    }
}

/// Whether a write is a possible reason for moves: a change beyond our own fields.
pub(super) fn is_reason(write: &Write<'_>) -> bool {
    let part = |object: Option<&Value>| {
        let object = object.unwrap_or(&Value::Null);
        let metadata = &object["metadata"];
        match write.plural {
            "nodes" => {
                let mut labels = metadata["labels"].clone();
                labels.as_object_mut().map(|labels| labels.remove(READY_LABEL));
                [object["spec"].clone(), labels, object["status"]["conditions"].clone()]
            }
            _ => [
                &object["spec"],
                &metadata["deletionTimestamp"],
                &metadata["annotations"][PAUSED_ANNOTATION],
            ]
            .map(Value::clone),
        }
    };
    match write.plural {
        "pods" => true,
        plural if plural == "nodes" || Front::of(plural).is_some() => {
            part(write.before) != part(write.after)
        }
        _ => false,
    }
}
