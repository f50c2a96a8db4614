//! Judges a run by what really happened: it is told of every effect in both emulators, in
//! order, and of every request, and knows nothing of what the operator believes.
//!
//! The safety invariants (`S1` ... `S13` of the fault model) are checked whenever something
//! happens; liveness is asked for once the faults are over (`rest`).

mod calm;
mod cloud;
mod cluster;
mod formers;
mod grace;
mod matching;
mod name_rest;
mod name_safety;
mod names;
mod pace;
mod pacing;
mod release;
mod rest;
mod restraint;
mod safety;
mod sticking;
mod ways;

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
use crate::wire::ApiAction;
use calm::Calm;
use cloud::Cloud;
use cluster::Cluster;
use name_safety::Decided;
use names::Names;
use pace::Pace;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub invariant: &'static str,
    /// When.
    pub at: Millis,
    /// What happened.
    pub text: String,
}

/// How long a replica may lag behind the API server after trouble: its longest back-off, and
/// a list.
const API_LAG: Millis = 45_000;

/// How long a replica may lag behind it otherwise: a slow request.
const API_LAG_IN_CALM: Millis = 3_000;

/// How long a change at the cloud by hand may go unseen: an interval between two listings, a
/// failed one, and a back-off.
const CLOUD_LAG: Millis = 150_000;

/// How long it may go unseen where nothing goes wrong: an interval between two listings, and one.
const CLOUD_LAG_IN_CALM: Millis = 75_000;

/// Once something has been so for this long, with nothing going wrong and the same one leading,
/// it is known, and written down.
const SEEN: Millis = 20_000;

/// The oracle.
#[derive(Debug)]
pub struct Oracle {
    started: Instant,
    cluster: Cluster,
    cloud: Cloud,
    names: Names,
    /// What was known when calls about names were sent, by what names the call.
    decided: BTreeMap<String, Decided>,
    api_calm: Calm,
    cloud_calm: Calm,
    /// Somebody acts by hand at the moment.
    by_hand: bool,
    doings: Doings,
    /// What the wall clocks of the replicas show.
    clocks: [Clock; 2],
    modes: restraint::Modes,
    releasable: release::Releasable,
    pace: Pace,
    pacing: pacing::Pacing,
    /// Refusals that stick to one thing, each with the event that brought it.
    stuck: Vec<(usize, Stuck)>,
    violation: Option<Violation>,
}

impl Oracle {
    /// An oracle that has seen nothing yet.
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
            pace: Pace::default(),
            pacing: pacing::Pacing::default(),
            stuck: vec![],
            violation: None,
        }
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.started.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// The first broken promise.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// A promise is broken. Only the first counts: what follows may be its consequence.
    pub fn violated(&mut self, invariant: &'static str, text: String) {
        let at = self.now();
        self.violation.get_or_insert(Violation { invariant, at, text });
    }

    /// What a replica knows of the API server may be as old as this.
    fn api_floor(&self) -> Millis {
        self.api_calm.floor(self.now(), API_LAG_IN_CALM, API_LAG)
    }

    /// What a replica knows of what others did at the cloud may be as old as this.
    fn cloud_floor(&self) -> Millis {
        self.cloud_calm.floor(self.now(), CLOUD_LAG_IN_CALM, CLOUD_LAG)
    }

    /// Whether what is read at the cloud is what is there.
    fn cloud_is_calm(&self) -> bool {
        self.cloud_calm.is_over(self.now(), CLOUD_LAG)
    }

    /// Whether nothing goes wrong now.
    fn is_quiet(&self) -> bool {
        let now = self.now();
        self.api_calm.is_over(now, 0) && self.cloud_calm.is_over(now, 0)
    }

    /// Since when nothing has gone wrong, and the same one has led.
    fn quiet_since(&self) -> Millis {
        if !self.is_quiet() {
            return self.now();
        }
        let last = self.api_calm.ended().max(self.cloud_calm.ended());
        last.max(self.cluster.leader_since)
    }

    /// From now on, replicas may see an old API server.
    pub fn api_trouble(&mut self, begins: bool) {
        let now = self.now();
        self.note_reason();
        self.api_calm.change(begins, now, API_LAG);
    }

    /// From now on, replicas may see an old cloud.
    pub fn cloud_trouble(&mut self, begins: bool) {
        let now = self.now();
        self.note_reason();
        self.cloud_calm.change(begins, now, CLOUD_LAG);
    }

    /// What happens at the cloud until the second call is done by hand.
    pub fn by_hand(&mut self, is: bool) {
        self.by_hand = is;
    }

    /// Something happened at the cloud.
    pub fn happened(&mut self, what: Happening<'_>, state: &State) {
        let now = self.now();
        let ended = self.cloud.ended(what);
        let before = self.places();
        let new = self.cloud.look(state, self.by_hand, now);
        self.note_moves(&before);
        if self.by_hand {
            self.note_moved_by_hand(state, now);
        }
        if let (Some(sent), false) = (&ended, self.by_hand) {
            for ip in new {
                self.reserved(sent, ip);
            }
        }
        self.zones_changed(ended.as_ref(), state, now);
        self.check_addresses();
    }

    /// Where every address is, and since when.
    fn places(&self) -> Vec<(IpAddr, Option<u64>, Millis)> {
        let place = |(ip, one): (&IpAddr, &cloud::Address)| (*ip, one.holder, one.arrived);
        self.cloud.addresses.iter().map(place).collect()
    }

    /// Addresses are elsewhere now, by somebody's hand or by ours.
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

    /// An object was written, by whoever.
    pub fn wrote(&mut self, write: &Write<'_>) {
        let now = self.now();
        self.note_releasable(now);
        let of_a_pool = write.plural == "floatingippools";
        if of_a_pool {
            // What is claimed no more was so until now.
            self.cloud.still_claimed(self.cluster.claims(), now);
            self.note_keepers();
        }
        self.cluster.quiet_since = self.quiet_since();
        self.cluster.wrote(write, now);
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
        self.names.wrote(write, now);
        self.judge_names(now);
    }

    /// An address that has been in place for a while, and that one pool alone claims, is that
    /// pool's for as long as it claims it.
    fn note_keepers(&mut self) {
        let seen = self.now().saturating_sub(SEEN);
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

    /// A replica asks something of the API server.
    pub fn asked(&mut self, process: &str, action: ApiAction, path: &str, body: &Bytes) {
        self.doings.asked(action);
        self.check_request(process, action, path, body);
    }

    /// A replica asks something of the cloud.
    pub fn sent(&mut self, sent: Sent) {
        self.doings.sent(sent.action);
        self.check_pace(sent.action);
        if sent.action.changes() {
            self.check_call(&sent);
            self.cloud.sent(sent);
        }
    }

    /// Requests under way to change the cloud.
    pub fn under_way(&self) -> impl Iterator<Item = &Sent> {
        self.cloud.flights()
    }
}
