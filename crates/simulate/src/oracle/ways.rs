//! What else objects say: how long a node keeps its address, what becomes of addresses when a
//! pool goes, whether it is paused; and what FLIPOP's Lease says.

use std::net::IpAddr;

use pontoon::api::{ADDRESSES_ANNOTATION, PAUSED_ANNOTATION, RELEASE_FINALIZER};
use pontoon::leadership::{LEASE, PREDECESSORS_LEASE};
use serde_json::Value;

use super::cluster::{Cluster, Intent, Machine, text};
use crate::schedule::Millis;

/// What a pool says beyond which addresses it wants.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// How long a node that stops being eligible keeps its address.
    pub grace: Millis,
    /// Its policy is `Release`.
    pub releases: bool,
    /// It is being deleted, and since when that is so.
    pub deleting: Option<Millis>,
    /// It carries our finalizer.
    pub guarded: bool,
    /// It is paused, and since when that is so.
    pub paused: Option<Millis>,
    /// What its annotation says was reserved for it.
    pub created: Vec<IpAddr>,
    /// What its annotation says that it keeps although the list names it no more.
    pub kept: Vec<IpAddr>,
    /// How long a node kept its address before that changed, and when that was.
    past_grace: Option<(Millis, Millis)>,
    /// It carries our annotation.
    told: bool,
    /// Somebody took that from it: what was nowhere else passes for listed once, and is kept.
    stripped: bool,
}

impl Ways {
    /// Reads an object.
    pub fn read(&mut self, object: &Value, now: Millis) {
        let (spec, metadata) = (&object["spec"], &object["metadata"]);
        let grace = (spec["gracePeriodSeconds"].as_f64().unwrap_or(0.0) * 1000.0) as Millis;
        let releases = spec["deletionPolicy"] == "Release";
        let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        let since = |is: bool, before: Option<Millis>| is.then(|| before.unwrap_or(now));
        let paused = since(metadata["annotations"][PAUSED_ANNOTATION].is_string(), self.paused);
        let deleting = since(metadata["deletionTimestamp"].is_string(), self.deleting);
        let told = metadata["annotations"][ADDRESSES_ANNOTATION].is_string();
        self.stripped |= self.told && !told;
        self.told = told;
        if self.grace != grace {
            self.past_grace = Some((self.grace, now));
        }
        self.guarded = finalizers.into_iter().any(|one| *one == RELEASE_FINALIZER);
        (self.grace, self.releases, self.deleting, self.paused) =
            (grace, releases, deleting, paused);
    }

    /// The shortest time that it gave a node at some time since `floor`.
    pub fn least_grace(&self, floor: Millis) -> Millis {
        let past = self.past_grace.filter(|(_, changed)| *changed >= floor);
        past.map_or(self.grace, |(grace, _)| grace.min(self.grace))
    }

    /// Whether it is being deleted, and gives back first what was reserved for it.
    pub fn is_giving_back(&self) -> bool {
        self.deleting.is_some() && self.guarded && self.releases
    }

    /// Whether it goes after it has given back all that was reserved for it.
    pub fn gave_all_back(&self) -> bool {
        self.is_giving_back() && !self.stripped
    }

    /// Whether it has been paused since `floor`, at least.
    pub fn is_surely_paused(&self, floor: Millis) -> bool {
        self.paused.is_some_and(|since| since < floor)
    }
}

impl Intent {
    /// Whether an address that was reserved, on this machine or on none, may have come of it.
    pub fn may_be(&self, target: Option<Machine>, ip: IpAddr) -> bool {
        self.target == target && self.six == ip.is_ipv6()
    }
}

/// FLIPOP, as its Lease tells of it.
#[derive(Debug, Default)]
pub(super) struct Predecessor {
    /// Since when it has held its Lease, and when it last renewed that.
    held: Option<(Millis, Millis)>,
}

/// How long nobody may take its Lease for abandoned after it was renewed: as long as it lasts,
/// on the fastest clock.
const ALIVE: Millis = 14_000;

impl Predecessor {
    fn read(&mut self, lease: &Value, now: Millis) {
        let holds = text(&lease["spec"]["holderIdentity"]).starts_with("flipop");
        let since =
            self.held.filter(|(_, last)| now <= last + ALIVE).map_or(now, |(since, _)| since);
        self.held = holds.then_some((since, now));
    }

    /// Whether it has held and renewed its Lease since `floor`, at least.
    pub fn surely_works(&self, floor: Millis, now: Millis) -> bool {
        self.held.is_some_and(|(since, last)| since < floor && now <= last + ALIVE)
    }
}

impl Cluster {
    /// A Lease was written.
    pub(super) fn read_lease(&mut self, key: &str, lease: &Value, now: Millis) {
        match key.rsplit('/').next() {
            Some(LEASE) => {
                let leader = text(&lease["spec"]["holderIdentity"]);
                if leader != self.leader {
                    (self.leader, self.leader_since) = (leader.to_owned(), now);
                }
            }
            Some(PREDECESSORS_LEASE) => self.predecessor.read(lease, now),
            _ => {}
        }
    }
}
