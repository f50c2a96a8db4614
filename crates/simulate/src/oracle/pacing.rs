//! Time between moves: cool-off, the time that somebody's own move is left alone for, and that
//! nothing moves again and again without a reason.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fakekube::Write;
use pontoon::api::PAUSED_ANNOTATION;
use serde_json::Value;

use super::cloud::Sent;
use super::cluster::{Machine, Pool};
use super::{Oracle, SEEN};
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// How long an address that somebody moved off its node is left alone, at least.
const HOLD: Millis = 10_000;

/// How much faster one clock may run than another, as a part of the time.
const RATE: Millis = 20;

/// More often than this an address is not moved for one reason: off a node, onto one, and once
/// more for an attempt that came to nothing.
const MOVES: u32 = 3;

/// When what last happened that the next move has to wait for.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    /// When a process was told that an assignment for a pool is under way or done.
    assigned: BTreeMap<String, (String, Millis)>,
    /// Addresses that somebody moved off a node where they served, when, and off which.
    drifted: BTreeMap<IpAddr, (Millis, Machine)>,
}

impl Pacing {
    /// Somebody moved an address once more.
    pub fn forget(&mut self, ip: IpAddr) {
        self.drifted.remove(&ip);
    }
}

impl Oracle {
    /// The pool that an assignment is for, if there is no doubt.
    fn assigned_for(&self, sent: &Sent) -> Option<&Pool> {
        let target = sent.machine();
        let mut pools: Vec<&Pool> = match sent.action {
            CloudAction::Assign => self.cluster.claimants(sent.ip()?).collect(),
            CloudAction::CreateOn => {
                let is = |pool: &&Pool| pool.intents.values().any(|one| one.target == target);
                self.cluster.pools.values().filter(is).collect()
            }
            _ => return None,
        };
        pools.pop().filter(|_| pools.is_empty())
    }

    /// A pool with a cool-off begins one assignment at a time, each so long after the last.
    pub(super) fn check_cool_off(&mut self, sent: &Sent) {
        let now = self.now();
        let Some(pool) = self.assigned_for(sent).filter(|pool| pool.cool_off > 0) else { return };
        let last = self.pacing.assigned.get(&pool.uid);
        let last = last.filter(|(process, _)| *process == sent.process);
        let early = last.is_some_and(|(_, at)| now + pool.cool_off / RATE < at + pool.cool_off);
        if early {
            self.violated("cool-off", format!("{} comes too early", sent.agent));
        }
    }

    /// A call was answered with success: an assignment is under way, or done.
    pub(super) fn note_assigned(&mut self, sent: &Sent) {
        let uid = self.assigned_for(sent).map(|pool| pool.uid.clone());
        let now = self.now();
        if let Some(uid) = uid {
            self.pacing.assigned.insert(uid, (sent.process.clone(), now));
        }
    }

    /// Somebody moved an address by hand. Where it served, and does not any more, whoever did
    /// that is not fought at once.
    pub(super) fn note_drift(&mut self, ip: IpAddr, from: Machine, arrived: Millis) {
        let now = self.now();
        let seen = now.saturating_sub(SEEN);
        let mut claimants = self.cluster.claimants(ip);
        let (Some(pool), None) = (claimants.next(), claimants.next()) else { return };
        let holder = self.cloud.holder(ip);
        let served = pool.surely_uses(from, seen) && pool.surely_wants(ip, seen);
        let serves = holder.is_none_or(|holder| pool.may_use(holder));
        if served && !serves && arrived <= seen && self.quiet_since() <= seen {
            self.pacing.drifted.insert(ip, (now, from));
        }
    }

    /// What somebody moved is left alone for a while, unless the node that it served on is lost.
    pub(super) fn check_drift(&mut self, sent: &Sent) {
        let (now, api) = (self.now(), self.api_floor());
        let Some(ip) = sent.ip().filter(|_| sent.action == CloudAction::Assign) else { return };
        let Some((at, from)) = self.pacing.drifted.get(&ip).copied() else { return };
        let floor = api.min(at);
        let keeps = |pool: &Pool| pool.surely_uses(from, floor) && pool.surely_wants(ip, floor);
        let kept = self.cluster.claimants(ip).all(keeps);
        let early = now + HOLD / RATE < at + HOLD;
        if early && kept && self.quiet_since() <= at {
            self.violated("drift", format!("{}: {ip} was moved by hand just now", sent.agent));
        }
    }

    /// L3: an address that is moved again and again needs a reason each time.
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

    /// Something happened that can be a reason for moves.
    pub(super) fn note_reason(&mut self) {
        self.cloud.addresses.values_mut().for_each(|address| address.moves = 0);
    }
}

/// Whether a write can be a reason for moves: it changes more than what we write.
pub(super) fn is_reason(write: &Write<'_>) -> bool {
    let part = |object: Option<&Value>| {
        let object = object.unwrap_or(&Value::Null);
        let metadata = &object["metadata"];
        match write.plural {
            "nodes" => [&object["spec"], &metadata["labels"], &object["status"]["conditions"]]
                .map(Value::clone),
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
        "nodes" | "floatingippools" => part(write.before) != part(write.after),
        _ => false,
    }
}
