//! S10 and S13 for withheld actions: observe mode, paused pools, a competing FLIPOP.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bytes::Bytes;
use pontoon::fronts::flipop::{IPV4_ANNOTATION, IPV6_ANNOTATION};
use pontoon_core::verdict::Restraint;
use serde_json::Value;

use super::Oracle;
use super::cloud::Sent;
use super::front::Front;
use super::pool::{Intent, Pool};
use crate::schedule::{Clock, Millis};
use crate::wire::ApiAction;

/// The processes in observe mode.
#[derive(Debug, Default)]
pub(super) struct Modes {
    observers: BTreeSet<String>,
    /// Whether the latest process of each replica observes.
    last: BTreeMap<char, bool>,
}

impl Modes {
    /// Whether any replica observes.
    pub fn any_observes(&self) -> bool {
        self.last.values().any(|observes| *observes)
    }

    /// Whether a process was ever started.
    pub fn any_started(&self) -> bool {
        !self.last.is_empty()
    }

    /// Whether all replicas observe.
    pub fn all_observe(&self) -> bool {
        self.any_started() && self.last.values().all(|observes| *observes)
    }
}

impl Oracle {
    /// Sets the wall clocks of the replicas.
    pub fn set_clocks(&mut self, clocks: [Clock; 2]) {
        self.clocks = clocks;
    }

    /// Notes the start of a process and its mode.
    pub fn started(&mut self, process: &str, observes: bool) {
        if let Some(replica) = process.chars().next() {
            self.modes.last.insert(replica, observes);
        }
        if observes {
            self.modes.observers.insert(process.to_owned());
        }
    }

    /// The reason for which a process may change nothing of objects of these kinds. A predecessor
    /// concerns its own kinds alone.
    fn restrained(&self, process: &str, fronts: &[Front], floor: Millis) -> Option<&'static str> {
        let now = self.now();
        let works =
            |front: &Front| self.cluster.predecessors[*front as usize].surely_works(floor, now);
        match () {
            () if self.modes.observers.contains(process) => Some("it only observes"),
            () if !fronts.is_empty() && fronts.iter().all(works) => {
                Some("a predecessor is at work")
            }
            () => None,
        }
    }

    /// Whether a process only observes.
    pub(super) fn modes_observe(&self, process: &str) -> bool {
        self.modes.observers.contains(process)
    }

    /// The kinds of the claimants of an address; without one, every kind there is.
    fn fronts(&self, ip: Option<IpAddr>) -> Vec<Front> {
        let claimants = ip.into_iter().flat_map(|ip| self.cluster.claimants(ip));
        let fronts: Vec<_> = claimants.map(|pool| pool.front).collect();
        if !fronts.is_empty() {
            return fronts;
        }
        self.cluster.pools.values().map(|pool| pool.front).collect()
    }

    /// S10: a restrained process changes nothing at the provider, and nothing of a paused or
    /// unreadable pool is changed.
    pub(super) fn check_restraint(&mut self, sent: &Sent) {
        let mut fronts = match sent.ip {
            _ if sent.action.is_of_names() => vec![Front::Pool],
            ip => self.fronts(ip),
        };
        let floor = self.decided_floor(sent);
        // A call of several steps may have been decided for a pool that is gone now.
        let formers = sent.ip.into_iter().flat_map(|ip| self.cluster.formers.of(ip));
        let lately: Vec<_> = formers.filter(|former| former.at >= floor).collect();
        fronts.extend(lately.iter().map(|former| former.front));
        let served = lately.iter().any(|former| !former.idle);
        if let Some(why) = self.restrained(&sent.process, &fronts, floor) {
            self.violated("S10", format!("{} writes, and {why}", sent.agent));
        }
        let (target, six) = (sent.machine, sent.is_six());
        let is = |intent: &Intent| intent.target == target && intent.six == six;
        let reserves = |pool: &&Pool| pool.intents.values().any(is);
        // Without a waiting intent, the pool of a reservation is unknown.
        let about: Vec<&Pool> = match sent.ip {
            _ if sent.action.is_of_names() => self.named_by(sent, floor).collect(),
            Some(_) if served => vec![],
            Some(ip) => self.cluster.claimants(ip).collect(),
            None if sent.action.creates() => self.cluster.pools.values().filter(reserves).collect(),
            None => vec![],
        };
        if !about.is_empty() && about.iter().all(|pool| pool.ways.is_surely_paused(floor)) {
            let text = format!("{} {}: its pool is paused", sent.agent, sent.path);
            return self.violated("S10", text);
        }
        // The loser of a name conflict has no records, so calls about names are exempt.
        let unclear = |pool: &&Pool| pool.unclear.is_some_and(|since| since < floor);
        let goes = |pool: &&Pool| pool.ways.deleting.is_some();
        let named = sent.action.is_of_names();
        if !named && !about.is_empty() && about.iter().all(|pool| unclear(pool) && !goes(pool)) {
            let text = format!("{} {}: nobody understands its pool", sent.agent, sent.path);
            self.violated("S10", text);
        }
    }

    /// S13: a restrained process writes only statuses and events; the ledger and marks of a paused
    /// pool stay.
    pub(super) fn check_restrained_write(
        &mut self,
        process: &str,
        action: ApiAction,
        path: &str,
        body: &Bytes,
    ) {
        let held =
            matches!(action, ApiAction::WriteLedger | ApiAction::HoldTheirs | ApiAction::Evict);
        if !held && !action.marks() {
            return;
        }
        let fronts = match action {
            ApiAction::Label | ApiAction::NoteEviction | ApiAction::Evict => {
                vec![Front::Allocation]
            }
            ApiAction::NoteEgress => self.fronts(None),
            ApiAction::WriteLedger if path.contains("netipallocations") => vec![Front::Allocation],
            _ => vec![Front::Pool],
        };
        let observes = self.modes.observers.contains(process);
        let floor = self.api_floor();
        let restrained = self
            .restrained(process, &fronts, floor)
            .filter(|_| action != ApiAction::HoldTheirs || observes);
        if let Some(why) = restrained {
            self.violated("S13", format!("{process} {path}: {why}"));
        }
        let paused = match action {
            ApiAction::WriteLedger => self.is_ledger_paused(path),
            ApiAction::Mark => self.is_mark_paused(path, body),
            _ => false,
        };
        if paused {
            let text = String::from_utf8_lossy(body);
            self.violated("S13", format!("{process} {path} {text}: the pool is paused"));
        }
    }

    fn is_ledger_paused(&self, path: &str) -> bool {
        let segments: Vec<_> = path.trim_matches('/').split('/').collect();
        let [.., namespace, _, name] = segments.as_slice() else { return false };
        let pool = self.cluster.pools.get(&format!("{namespace}/{name}"));
        pool.is_some_and(|pool| pool.ways.is_surely_paused(self.api_floor()))
    }

    /// A changed mark belongs to the claimant of the added address, or else of the removed one.
    fn is_mark_paused(&self, path: &str, body: &Bytes) -> bool {
        let patch: Value = serde_json::from_slice(body).unwrap_or_default();
        let Some(node) = path.rsplit('/').next().and_then(|name| self.cluster.nodes.get(name))
        else {
            return false;
        };
        let annotations = &patch["metadata"]["annotations"];
        [IPV4_ANNOTATION, IPV6_ANNOTATION].iter().zip(&node.marks).any(|(name, before)| {
            let Some(after) = annotations.get(name) else { return false };
            let (before, after) = (marked(before.as_deref()), marked(after.as_str()));
            let mut differing = after.difference(&before).chain(before.difference(&after));
            let claimed = differing.find(|ip| self.cluster.claimants(**ip).next().is_some());
            claimed.is_some_and(|ip| self.is_paused(*ip))
        })
    }

    fn is_paused(&self, ip: IpAddr) -> bool {
        let floor = self.api_floor();
        self.cluster.claimants(ip).all(|pool| pool.ways.is_surely_paused(floor))
    }

    /// Served pools whose status says that actions are withheld.
    pub(super) fn wrongly_said(&self) -> Vec<String> {
        let said = |pool: &Pool| {
            let mut all = pool.status["conditions"].as_array().into_iter().flatten();
            all.any(|one| {
                one["reason"].as_str().is_some_and(|word| Restraint::WORDS.contains(&word))
            })
        };
        let served = self.cluster.pools.iter().filter(|(_, pool)| pool.is_served());
        let wrong = served.filter(|(_, pool)| said(pool));
        wrong.map(|(key, _)| format!("{key}: nobody restrains us, and it is said")).collect()
    }

    /// Pools whose status does not say that they are only observed.
    pub(super) fn unsaid(&self) -> Vec<String> {
        let says = |pool: &Pool| {
            let mut all = pool.status["conditions"].as_array().into_iter().flatten();
            all.any(|one| one["type"] == "Ready" && one["reason"] == "Observing")
        };
        let unsaid = self.cluster.pools.iter().filter(|(_, pool)| !says(pool));
        unsaid.map(|(key, _)| format!("{key}: nobody says that it is only observed")).collect()
    }
}

fn marked(mark: Option<&str>) -> BTreeSet<IpAddr> {
    let parts = mark.into_iter().flat_map(|mark| mark.split(','));
    parts.filter_map(|ip| ip.trim().parse().ok()).collect()
}
