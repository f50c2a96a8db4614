//! Further fields of pools (grace period, deletion policy, pause), and FLIPOP's Lease.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon::api::{ADDRESSES_ANNOTATION, PAUSED_ANNOTATION, RELEASE_FINALIZER};
use pontoon::fronts;
use pontoon::fronts::flipop::FLIPOP;
use pontoon::leadership::LEASE;
use serde_json::Value;

use super::cluster::{Cluster, Machine};
use super::front::Front;
use super::pool::{Intent, text};
use crate::flipop::of_allocations;
use crate::schedule::Millis;

/// Further fields of a pool.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// The grace period.
    pub grace: Millis,
    /// The policy is `Release`.
    pub releases: bool,
    /// The start of the deletion.
    pub deleting: Option<Millis>,
    /// The pool carries our finalizer.
    pub guarded: bool,
    /// The start of the pause.
    pub paused: Option<Millis>,
    /// The end of the last pause.
    resumed: Option<Millis>,
    /// Addresses recorded as reserved.
    pub created: Vec<IpAddr>,
    /// Every address ever recorded as reserved.
    pub recorded: BTreeSet<IpAddr>,
    /// Delisted addresses recorded as kept.
    pub kept: Vec<IpAddr>,
    /// The previous grace period, and the time of the change.
    past_grace: Option<(Millis, Millis)>,
    /// The pool carries our annotation.
    told: bool,
    /// When the annotation was last removed by hand: unrecorded addresses then count as listed, and are
    /// kept.
    pub stripped: Option<Millis>,
}

impl Ways {
    /// Reads an object.
    pub fn read(&mut self, object: &Value, usual_grace: Millis, now: Millis) {
        let (spec, metadata) = (&object["spec"], &object["metadata"]);
        let grace = spec["gracePeriodSeconds"].as_f64();
        let grace = grace.map_or(usual_grace, |seconds| (seconds * 1000.0) as Millis);
        let releases = spec["deletionPolicy"] == "Release";
        let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        let since = |is: bool, before: Option<Millis>| is.then(|| before.unwrap_or(now));
        let paused = since(metadata["annotations"][PAUSED_ANNOTATION].is_string(), self.paused);
        if self.paused.is_some() && paused.is_none() {
            self.resumed = Some(now);
        }
        let deleting = since(metadata["deletionTimestamp"].is_string(), self.deleting);
        let told = metadata["annotations"][ADDRESSES_ANNOTATION].is_string();
        if self.told && !told {
            self.stripped = Some(now);
        }
        self.told = told;
        if self.grace != grace {
            self.past_grace = Some((self.grace, now));
        }
        self.guarded = finalizers.into_iter().any(|one| *one == RELEASE_FINALIZER);
        (self.grace, self.releases, self.deleting, self.paused) =
            (grace, releases, deleting, paused);
    }

    /// The shortest grace period since `floor`.
    pub fn least_grace(&self, floor: Millis) -> Millis {
        let past = self.past_grace.filter(|(_, changed)| *changed >= floor);
        past.map_or(self.grace, |(grace, _)| grace.min(self.grace))
    }

    /// Whether the pool is being deleted with release.
    pub fn is_giving_back(&self) -> bool {
        self.deleting.is_some() && self.guarded && self.releases
    }

    /// Whether the pool, when gone, has released all its reserved addresses.
    pub fn gave_all_back(&self) -> bool {
        self.is_giving_back() && self.stripped.is_none()
    }

    /// Whether the pool was paused at some time since `floor`.
    pub fn was_paused(&self, floor: Millis) -> bool {
        self.paused.is_some() || self.resumed.is_some_and(|at| at >= floor)
    }

    /// Whether the pool has been paused since before `floor`.
    pub fn is_surely_paused(&self, floor: Millis) -> bool {
        self.paused.is_some_and(|since| since < floor)
    }
}

impl Intent {
    /// Whether an address reserved on `target` may be the result of this intent.
    pub fn may_be(&self, target: Option<Machine>, ip: IpAddr) -> bool {
        self.target == target && self.six == ip.is_ipv6()
    }
}

/// A predecessor as visible in its Lease.
#[derive(Debug, Default)]
pub(super) struct Predecessor {
    /// The start of the present tenure, and the last renewal.
    held: Option<(Millis, Millis)>,
}

/// The time after a renewal in which the Lease cannot count as abandoned: the Lease's duration on
/// the fastest clock.
const ALIVE: Millis = 14_000;

impl Predecessor {
    fn read(&mut self, lease: &Value, now: Millis) {
        let holds = text(&lease["spec"]["holderIdentity"]).starts_with("flipop");
        let since =
            self.held.filter(|(_, last)| now <= last + ALIVE).map_or(now, |(since, _)| since);
        self.held = holds.then_some((since, now));
    }

    /// Whether the predecessor has held and renewed its Lease since before `floor`.
    pub fn surely_works(&self, floor: Millis, now: Millis) -> bool {
        self.held.is_some_and(|(since, last)| since < floor && now <= last + ALIVE)
    }
}

impl Cluster {
    /// Applies a write of a Lease.
    pub(super) fn read_lease(&mut self, key: &str, lease: &Value, now: Millis) {
        match key.rsplit('/').next() {
            Some(LEASE) => {
                let leader = text(&lease["spec"]["holderIdentity"]);
                if leader != self.leader {
                    (self.leader, self.leader_since) = (leader.to_owned(), now);
                }
            }
            Some(name) => {
                let front =
                    fronts::predecessors().find(|one| one.lease == name).and_then(
                        |one| match one {
                            one if one == &FLIPOP => Some(Front::Pool),
                            one if Some(one) == of_allocations() => Some(Front::Allocation),
                            _ => None,
                        },
                    );
                if let Some(front) = front {
                    self.predecessors[front as usize].read(lease, now);
                }
            }
            None => {}
        }
    }
}
