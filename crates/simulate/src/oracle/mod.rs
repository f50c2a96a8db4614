//! Judges a run by the true state. The oracle sees every effect in both emulators, in order, and
//! every request, and knows nothing about the operator's beliefs.
//!
//! The safety invariants (`S1` ... `S13` of the fault model) are checked at every event; liveness
//! is checked once the faults are over (`rest`).

mod calm;
mod cloud;
mod cluster;
mod egress;
mod evictions;
mod formers;
mod front;
mod grace;
mod idle;
mod labels;
mod matching;
mod name_rest;
mod name_safety;
mod names;
mod pace;
mod pacing;
#[cfg(test)]
mod pacing_tests;
mod pods;
mod pool;
mod readiness;
mod release;
mod reservations;
mod rest;
mod restraint;
#[cfg(test)]
mod rule_tests;
mod safety;
#[cfg(test)]
mod start_tests;
mod steps;
mod sticking;
mod variations;
mod vip_requests;
mod vip_rest;
mod vips;

pub use cloud::Sent;
pub use rest::Doings;
pub use sticking::Stuck;

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use fakecloud::{Happening, State};
use fakekube::Write;
use tokio::time::Instant;

use crate::schedule::{Clock, Millis};
use crate::vendor::Vendor;
use crate::wire::ApiAction;
use calm::Calm;
use cloud::Cloud;
use cluster::Cluster;
use front::Front;
use name_safety::Decided;
use names::Names;
use pace::Pace;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub invariant: &'static str,
    /// The time of the violation.
    pub at: Millis,
    /// A description.
    pub text: String,
}

/// The longest lag of a replica behind the API server after trouble: the longest back-off, and a
/// list.
const API_LAG: Millis = 45_000;

/// The longest lag behind the API server without trouble: a slow request.
const API_LAG_IN_CALM: Millis = 3_000;

/// The longest time for which a change by hand at the provider may go unseen: an interval between
/// two listings, a failed listing, and a back-off.
const CLOUD_LAG: Millis = 150_000;

/// The same without trouble: an interval between two listings, and a listing.
const CLOUD_LAG_IN_CALM: Millis = 75_000;

/// The time after which a fact is known and recorded, without trouble and under the same leader.
const SEEN: Millis = 20_000;

/// The oracle.
#[derive(Debug)]
pub struct Oracle {
    started: Instant,
    cluster: Cluster,
    cloud: Cloud,
    names: Names,
    /// The sender's possible knowledge for each call about names, by call identifier.
    decided: BTreeMap<String, Decided>,
    api_calm: Calm,
    cloud_calm: Calm,
    /// Changes at the provider are being made by hand.
    by_hand: bool,
    doings: Doings,
    /// The wall clocks of the replicas.
    clocks: [Clock; 2],
    modes: restraint::Modes,
    releasable: release::Releasable,
    idle: idle::Idle,
    pace: Pace,
    pacing: pacing::Pacing,
    vendor: Vendor,
    egress: egress::Egress,
    steps: steps::Steps,
    vips: vips::Vips,
    /// Lasting refusals, each with the number of its event.
    stuck: Vec<(usize, Stuck)>,
    violation: Option<Violation>,
}

impl Oracle {
    /// An oracle without observations.
    pub fn new(started: Instant) -> Self {
        Self {
            started,
            cluster: Cluster::default(),
            cloud: Cloud::default(),
            names: Names::default(),
            decided: BTreeMap::new(),
            api_calm: Calm::default(),
            cloud_calm: Calm::default(),
            by_hand: false,
            doings: Doings::default(),
            clocks: Default::default(),
            modes: restraint::Modes::default(),
            releasable: release::Releasable::default(),
            idle: idle::Idle::default(),
            pace: Pace::default(),
            pacing: pacing::Pacing::default(),
            vendor: Vendor::default(),
            egress: egress::Egress::default(),
            steps: steps::Steps::default(),
            vips: vips::Vips::default(),
            stuck: vec![],
            violation: None,
        }
    }

    /// The time since the start of the run.
    fn elapsed(&self) -> Millis {
        Millis::try_from(self.started.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// The time of an observation. Zero is before the first process: a change at the very start is
    /// younger than the content that every process finds, and an old view may lack the change.
    fn now(&self) -> Millis {
        self.elapsed().saturating_add(Millis::from(self.modes.any_started()))
    }

    /// The first violation.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Notes a violation. Only the first counts, because later ones may be consequences.
    pub fn violated(&mut self, invariant: &'static str, text: String) {
        let at = self.elapsed();
        self.violation.get_or_insert(Violation { invariant, at, text });
    }

    /// The oldest possible time of a replica's view of the API server.
    fn api_floor(&self) -> Millis {
        self.api_calm.floor(self.now(), API_LAG_IN_CALM, API_LAG)
    }

    /// The oldest possible time of a replica's view of foreign changes at the provider.
    fn cloud_floor(&self) -> Millis {
        self.cloud_calm.floor(self.now(), CLOUD_LAG_IN_CALM, CLOUD_LAG)
    }

    /// Whether reads at the provider show the present state.
    fn cloud_is_calm(&self) -> bool {
        self.cloud_calm.is_over(self.now(), CLOUD_LAG)
    }

    /// Whether there is no trouble now.
    fn is_quiet(&self) -> bool {
        let now = self.now();
        self.api_calm.is_over(now, 0) && self.cloud_calm.is_over(now, 0)
    }

    /// The start of the present period without trouble and with the same leader.
    fn quiet_since(&self) -> Millis {
        if !self.is_quiet() {
            return self.now();
        }
        let last = self.api_calm.ended().max(self.cloud_calm.ended());
        last.max(self.cluster.leader_since)
    }

    /// Trouble at the API server begins or ends: replicas may see an old state.
    pub fn api_trouble(&mut self, begins: bool) {
        let now = self.now();
        self.note_reason();
        self.api_calm.change(begins, now, API_LAG);
    }

    /// Trouble at the provider begins or ends: replicas may see an old state.
    pub fn cloud_trouble(&mut self, begins: bool) {
        let now = self.now();
        self.note_reason();
        self.cloud_calm.change(begins, now, CLOUD_LAG);
    }

    /// Begins or ends changes by hand at the provider.
    pub fn by_hand(&mut self, is: bool) {
        self.by_hand = is;
    }

    /// Applies an event at the provider.
    pub fn happened(&mut self, what: Happening<'_>, state: &State) {
        let now = self.now();
        let ended = self.cloud.ended(what);
        let before = self.places();
        let new = self.cloud.look(state, self.by_hand, now);
        self.note_exits(state, now);
        self.note_moves(&before);
        if self.by_hand {
            self.note_moved_by_hand(state, now);
        }
        for ip in if self.by_hand { vec![] } else { new } {
            let name = state.address(ip).and_then(|one| one.name.clone());
            match (name, &ended) {
                (Some(name), sent) => {
                    let target = sent.as_ref().and_then(|sent| sent.machine);
                    self.reserved_as(&name, ip, target);
                }
                (None, Some(sent)) => self.reserved(sent, ip),
                (None, None) => {}
            }
        }
        self.zones_changed(ended.as_ref(), state, now);
        self.check_addresses();
    }

    /// The holder and arrival time of every address.
    fn places(&self) -> Vec<(IpAddr, Option<u64>, Millis)> {
        let place = |(ip, one): (&IpAddr, &cloud::Address)| (*ip, one.holder, one.arrived);
        self.cloud.addresses.iter().map(place).collect()
    }

    /// Handles changes of holder, by hand or by us.
    fn note_moves(&mut self, before: &[(IpAddr, Option<u64>, Millis)]) {
        let moved = |(ip, holder, _): &&(IpAddr, Option<u64>, Millis)| {
            self.cloud.addresses.get(ip).is_some_and(|one| one.holder != *holder)
        };
        let moved: Vec<_> = before.iter().filter(moved).copied().collect();
        if self.by_hand {
            self.note_reason();
            for (ip, from, arrived) in moved {
                self.pacing.forget(ip);
                if let Some(from) = from {
                    self.note_drift(ip, from, arrived);
                }
            }
        } else if !moved.is_empty() {
            let moved: Vec<IpAddr> = moved.into_iter().map(|(ip, ..)| ip).collect();
            self.check_moves(&moved);
        }
    }

    /// Applies a write of an object by anybody.
    pub fn wrote(&mut self, write: &Write<'_>) {
        let now = self.now();
        self.note_releasable(now);
        let of_a_pool = Front::of(write.plural).is_some();
        if of_a_pool {
            // Claims ending with this write lasted until now.
            self.cloud.still_claimed(self.cluster.claims(), now);
            self.note_keepers();
        }
        self.cluster.quiet_since = self.quiet_since();
        self.cluster.wrote(write, now);
        self.check_note_removed(write);
        self.cluster.formers.note_holders(now, |ip| self.cloud.holder(ip));
        if pacing::is_reason(write) {
            self.note_reason();
        }
        if of_a_pool {
            let floor = self.api_floor();
            self.cloud.claimed(self.cluster.claims(), floor, now);
            self.note_lost_words(write);
            self.note_handed_over();
            self.check_ledger(write);
            self.check_addresses();
        }
        self.vips_changed(write, now);
        self.names.wrote(write, now);
        self.judge_names(now);
    }

    /// Notes the certain owner: the only claimant of an address in place for a while, until the
    /// claim ends.
    fn note_keepers(&mut self) {
        // In the first seconds of a run no owner is certain.
        let Some(seen) = self.now().checked_sub(SEEN) else { return };
        let quiet = self.quiet_since() <= seen;
        for (ip, address) in &mut self.cloud.addresses {
            let mut claimants = self.cluster.claimants(*ip);
            let (first, second) = (claimants.next(), claimants.next());
            let keeps = |uid: &String| self.cluster.claimants(*ip).any(|pool| pool.uid == *uid);
            address.kept_by = address.kept_by.take().filter(keeps);
            if let (Some(pool), None, Some(holder)) = (first, second, address.holder)
                && quiet
                && address.arrived <= seen
                && pool.surely_uses(holder, seen)
                && pool.surely_wants(*ip, seen)
            {
                address.kept_by = Some(pool.uid.clone());
            }
        }
    }

    /// Checks a replica's request to the API server.
    pub fn asked(&mut self, process: &str, action: ApiAction, path: &str, body: &Bytes) {
        self.doings.asked(action);
        self.check_request(process, action, path, body);
    }

    /// Checks a replica's request to the provider.
    pub fn sent(&mut self, sent: Sent) {
        self.doings.sent(sent.action);
        self.check_pace(&sent);
        self.note_step(&sent);
        if sent.action.changes() {
            self.check_call(&sent);
            let now = self.now();
            self.cloud.sent(sent, now);
        }
    }

    /// Mutating requests under way to the provider.
    pub fn under_way(&self) -> impl Iterator<Item = &Sent> {
        self.cloud.flights()
    }
}
