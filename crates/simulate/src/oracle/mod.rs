//! Judges a run by what really happened: it is told of every effect in both emulators, in
//! order, and of every request, and knows nothing of what the operator believes.
//!
//! The safety invariants (`S1` ... `S13` of the fault model) are checked whenever something
//! happens; liveness is asked for once the faults are over (`rest`).

mod calm;
mod cloud;
mod cluster;
mod grace;
mod name_rest;
mod name_safety;
mod names;
mod pace;
mod release;
mod rest;
mod restraint;
mod safety;
mod ways;

pub use cloud::Sent;
pub use rest::Doings;

use std::collections::BTreeMap;

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
        self.cloud_calm.floor(self.now(), CLOUD_LAG, CLOUD_LAG)
    }

    /// From now on, replicas may see an old API server.
    pub fn api_trouble(&mut self, begins: bool) {
        let now = self.now();
        self.api_calm.change(begins, now, API_LAG);
    }

    /// From now on, replicas may see an old cloud.
    pub fn cloud_trouble(&mut self, begins: bool) {
        let now = self.now();
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
        let new = self.cloud.look(state, self.by_hand, now);
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

    /// An object was written, by whoever.
    pub fn wrote(&mut self, write: &Write<'_>) {
        let now = self.now();
        self.note_releasable(now);
        let of_a_pool = write.plural == "floatingippools";
        if of_a_pool {
            // What is claimed no more was so until now.
            self.note_claims(now);
        }
        self.cluster.wrote(write, now);
        if of_a_pool {
            self.note_claims(now);
            self.note_lost_words(write);
            self.check_addresses();
        }
        self.names.wrote(write, now);
        self.judge_names(now);
    }

    fn note_claims(&mut self, now: Millis) {
        self.cloud.claimed(self.cluster.claims(), now);
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
