//! The true state of the cluster: eligible nodes, claims of pools, and the times of changes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakekube::Write;
use pontoon::api::ADDRESSES_ANNOTATION;
use pontoon::fronts::flipop::{IPV4_ANNOTATION, IPV6_ANNOTATION};
use serde_json::Value;

use super::SEEN;
use super::formers::Formers;
use super::matching::{Matching, Traits};
use super::pool::{Fit, Intent, Pool, text};
use super::variations::Predecessor;
use crate::schedule::Millis;

/// The provider's number of a machine.
pub(super) type Machine = u64;

/// The API server's side.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub nodes: BTreeMap<String, Node>,
    pods: BTreeMap<String, Pod>,
    pub pools: BTreeMap<String, Pool>,
    /// The eligibility of machines over time, for every `match` ever requested.
    judged: BTreeMap<Matching, Judged>,
    /// The eligibility at the end of deleted pools, by key.
    past_fits: BTreeMap<String, BTreeMap<Machine, Fit>>,
    /// Pools with former claims.
    pub formers: Formers,
    /// The start of the present period without trouble and with the same leader.
    pub quiet_since: Millis,
    /// Whether any pool was deleted.
    pub lost_a_pool: bool,
    /// Open reservations by region of deleted pools. Their results have no owner.
    pub orphaned: usize,
    /// Intents in ledgers of deleted pools, with the time of deletion.
    pub lost_intents: Vec<(Intent, Millis)>,
    /// The holder of the Lease.
    pub leader: String,
    /// The start of the holder's term.
    pub leader_since: Millis,
    /// The state of the predecessor.
    pub predecessor: Predecessor,
    /// Pools deleted after releasing all their addresses.
    pub gave_back: BTreeSet<String>,
}

/// The eligibility over time by a `match`.
#[derive(Debug, Default)]
struct Judged {
    machines: BTreeMap<Machine, Fit>,
    /// Of each node that was ever eligible, with its machine.
    nodes: BTreeMap<(String, Machine), Fit>,
    /// Machines that passed from one eligible node to another: since when the latter is.
    handed: BTreeMap<Machine, Millis>,
}

impl Judged {
    /// Notes the machines of all nodes, and the eligible nodes.
    fn set(
        &mut self,
        machines: impl Iterator<Item = Machine>,
        eligible: &BTreeSet<(String, Machine)>,
        now: Millis,
    ) {
        for machine in machines {
            self.machines.entry(machine).or_insert(Fit::never(now));
        }
        for one in eligible {
            self.nodes.entry(one.clone()).or_insert(Fit::never(now));
        }
        for (one, fit) in &mut self.nodes {
            fit.set(eligible.contains(one), now);
        }
        self.handed.clear();
        for (machine, fit) in &mut self.machines {
            let on = |((_, on), fit): &(&(String, Machine), &Fit)| on == machine && fit.eligible;
            let since = self.nodes.iter().filter(on).map(|(_, fit)| fit.since).min();
            fit.set(since.is_some(), now);
            // An observer may see the one node go before the other one comes.
            if let Some(since) = since.filter(|since| *since > fit.since) {
                fit.since = since;
                self.handed.insert(*machine, since);
            }
        }
    }
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub machine: Option<Machine>,
    /// The marks for IPv4 and IPv6.
    pub marks: [Option<String>; 2],
    pub external: Vec<IpAddr>,
    pub internal: Vec<IpAddr>,
    traits: Traits,
}

#[derive(Debug)]
struct Pod {
    node: String,
    app: String,
    ready: bool,
}

impl Node {
    /// The IPv4 addresses of the mark.
    pub fn marked(&self) -> impl Iterator<Item = IpAddr> {
        let marks = self.marks[0].iter().flat_map(|mark| mark.split(','));
        marks.filter_map(|mark| mark.parse().ok())
    }
}

impl Cluster {
    /// Applies a write of an object.
    pub fn wrote(&mut self, write: &Write<'_>, now: Millis) {
        let key = write.key.to_owned();
        match (write.plural, write.after) {
            ("nodes", Some(node)) => drop(self.nodes.insert(key, read_node(node))),
            ("nodes", None) => drop(self.nodes.remove(&key)),
            ("pods", Some(pod)) => drop(self.pods.insert(key, read_pod(pod))),
            ("pods", None) => drop(self.pods.remove(&key)),
            ("floatingippools", Some(pool)) => self.read_pool(key, pool, now),
            ("floatingippools", None) => {
                self.lost_a_pool = true;
                if let Some(pool) = self.pools.remove(&key) {
                    self.formers.lost(&pool, pool.claims(), true, now);
                    self.past_fits.insert(key, pool.fits.clone());
                    self.orphaned += pool.open_by_region();
                    if pool.ways.gave_all_back() {
                        self.gave_back.insert(pool.uid);
                    }
                    let open = pool.intents.into_values();
                    self.lost_intents.extend(open.map(|intent| (intent, now)));
                }
            }
            ("leases", Some(lease)) => return self.read_lease(&key, lease, now),
            _ => return,
        }
        self.judge(now);
    }

    /// All addresses claimed by any pool.
    pub fn claims(&self) -> impl Iterator<Item = IpAddr> {
        self.pools.values().flat_map(Pool::claims)
    }

    /// Whether the pool with this UID exists.
    pub fn has(&self, uid: &str) -> bool {
        self.pools.values().any(|pool| pool.uid == uid)
    }

    /// Whether an address reserved on `target` is claimed, or can be recognised by an intent.
    pub fn may_be_found(&self, ip: IpAddr, target: Option<Machine>) -> bool {
        let fits = |intent: &Intent| intent.may_be(target, ip) && !intent.strangers.contains(&ip);
        self.pools
            .values()
            .any(|pool| pool.claims().contains(&ip) || pool.intents.values().any(fits))
    }

    /// The pools that claim an address.
    pub fn claimants(&self, ip: IpAddr) -> impl Iterator<Item = &Pool> {
        self.pools.values().filter(move |pool| pool.claims().contains(&ip))
    }

    /// The nodes matching a request.
    pub fn eligible(&self, matching: &Matching) -> impl Iterator<Item = &Node> {
        let accepted = move |(name, node): &(&String, &Node)| self.accepts(matching, name, node);
        self.nodes.iter().filter(accepted).map(|(_, node)| node)
    }

    /// Whether a pool may use a node.
    pub fn may_use(&self, pool: &Pool, name: &str, node: &Node) -> bool {
        node.machine.is_some() && self.accepts(&pool.matching, name, node)
    }

    /// The nodes on a machine that a pool may use.
    pub fn usable_on(&self, pool: &Pool, machine: Machine) -> impl Iterator<Item = &str> {
        let usable = move |(name, node): &(&String, &Node)| {
            node.machine == Some(machine) && self.may_use(pool, name, node)
        };
        self.nodes.iter().filter(usable).map(|(name, _)| name.as_str())
    }

    fn accepts(&self, matching: &Matching, name: &str, node: &Node) -> bool {
        let runs = |app: &String| {
            self.pods.values().any(|pod| pod.ready && pod.node == name && pod.app == *app)
        };
        matching.accepts(&node.traits) && matching.app.as_ref().is_none_or(runs)
    }

    /// Updates the eligibility of all machines.
    fn judge(&mut self, now: Millis) {
        let mut judged = std::mem::take(&mut self.judged);
        for pool in self.pools.values() {
            judged.entry(pool.matching.clone()).or_default();
        }
        for (matching, judged) in &mut judged {
            let accepted = |(name, node): &(&String, &Node)| self.accepts(matching, name, node);
            let eligible = self.nodes.iter().filter(accepted);
            let eligible = eligible.filter_map(|(name, node)| Some((name.clone(), node.machine?)));
            let machines = self.nodes.values().filter_map(|node| node.machine);
            judged.set(machines, &eligible.collect(), now);
        }
        for pool in self.pools.values_mut() {
            let Some(judged) = judged.get(&pool.matching) else { continue };
            for (machine, since) in &judged.handed {
                if let Some(its) = pool.fits.get_mut(machine).filter(|its| its.eligible) {
                    its.since = its.since.max(*since);
                }
            }
            for (machine, fit) in &judged.machines {
                let its = pool.fits.entry(*machine).or_insert(*fit);
                if its.eligible != fit.eligible {
                    its.set(fit.eligible, now);
                    its.seen = its.before.max(self.quiet_since) + SEEN <= now;
                }
            }
        }
        self.judged = judged;
    }

    fn read_pool(&mut self, key: String, object: &Value, now: Millis) {
        let uid = text(&object["metadata"]["uid"]);
        let past = self.past_fits.remove(&key);
        let pool = self.pools.entry(key).or_default();
        if pool.uid != uid {
            self.orphaned += pool.open_by_region();
            self.formers.lost(pool, pool.claims(), true, now);
            let fits = past.unwrap_or_else(|| std::mem::take(&mut pool.fits));
            *pool = Pool { uid: uid.to_owned(), fits, ..Pool::default() };
        }
        let before = pool.claims();
        pool.note_lack(now);
        pool.read_spec(&object["spec"]);
        pool.ways.read(object, now);
        pool.status = object["status"].clone();
        let readable = pool.read_ledger(&object["metadata"]["annotations"][ADDRESSES_ANNOTATION]);
        pool.note_intents(now);
        let matching = Matching::read(&object["spec"]["match"]).filter(|_| readable);
        pool.unclear = matching.is_none().then(|| pool.unclear.unwrap_or(now));
        pool.matching = matching.unwrap_or_else(|| pool.matching.clone());
        pool.note_uses(now);
        let lost = before.difference(&pool.claims()).copied().collect();
        self.formers.lost(pool, lost, false, now);
    }
}

fn read_node(node: &Value) -> Node {
    let machine = text(&node["spec"]["providerID"]);
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let leaving = node["metadata"]["deletionTimestamp"].is_string();
    let marks = [IPV4_ANNOTATION, IPV6_ANNOTATION]
        .map(|name| node["metadata"]["annotations"][name].as_str().map(str::to_owned));
    Node {
        machine: fakecloud::machine_of(machine),
        marks,
        external: reported(node, "ExternalIP"),
        internal: reported(node, "InternalIP"),
        traits: Traits {
            well: is_ready(node) && !leaving,
            labels: node["metadata"]["labels"].clone(),
            taints: taints.map(|one| text(&one["key"]).to_owned()).collect(),
        },
    }
}

/// The node's addresses of a type.
fn reported(node: &Value, kind: &str) -> Vec<IpAddr> {
    let all = node["status"]["addresses"].as_array().into_iter().flatten();
    let such = all.filter(|one| one["type"] == kind);
    such.filter_map(|one| one["address"].as_str()?.parse().ok()).collect()
}

fn read_pod(pod: &Value) -> Pod {
    Pod {
        node: text(&pod["spec"]["nodeName"]).to_owned(),
        app: text(&pod["metadata"]["labels"]["app"]).to_owned(),
        ready: is_ready(pod) && !pod["metadata"]["deletionTimestamp"].is_string(),
    }
}

fn is_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}
