//! The true state of the cluster: eligible nodes, claims of pools, and the times of changes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakekube::Write;
use pontoon::api::ADDRESSES_ANNOTATION;
use pontoon::fronts::flipop::{IPV4_ANNOTATION, IPV6_ANNOTATION};
use pontoon::fronts::net_ip_allocation::{EVICT_ANNOTATION, READY_LABEL};
use serde_json::Value;

use super::SEEN;
use super::egress::is_noted;
use super::formers::Formers;
use super::front::Front;
use super::matching::{Matching, Traits};
use super::pods::{Keeping, Owner, Pods};
use super::pool::{Fit, Intent, Pool, text};
use super::variations::Predecessor;
use crate::schedule::Millis;

/// The provider's number of a machine.
pub(super) type Machine = u64;

/// The API server's side.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub nodes: BTreeMap<String, Node>,
    pub pods: Pods,
    pub pools: BTreeMap<String, Pool>,
    /// The eligibility of machines over time, for every `match` ever requested.
    judged: BTreeMap<(Matching, Use), Judged>,
    /// The eligibility at the end of deleted pools, by key.
    past_fits: BTreeMap<String, BTreeMap<Machine, Fit>>,
    /// Pools with former claims.
    pub formers: Formers,
    /// The start of the present period without trouble and with the same leader.
    pub quiet_since: Millis,
    /// The last deletion of a pool.
    pub lost_a_pool: Option<Millis>,
    /// Open reservations by region of deleted pools. Their results have no owner.
    pub orphaned: usize,
    /// Intents in ledgers of deleted pools, with the time of deletion.
    pub lost_intents: Vec<(Intent, Millis)>,
    /// Deleted nodes with a note about evictions, by name, with the time of deletion. An old view
    /// may show such a node beside the pods of a new node of the same name.
    lost_notes: BTreeMap<String, Millis>,
    /// Workloads that deleted allocations evicted, with the time of deletion.
    pub lost_workloads: Vec<(Owner, Millis)>,
    /// The holder of the Lease.
    pub leader: String,
    /// The start of the holder's term.
    pub leader_since: Millis,
    /// The state of the predecessor of each kind.
    pub predecessors: [Predecessor; 2],
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

impl Cluster {
    /// Whether a node could keep an address of a pool all the time since `floor`. Its machine may have
    /// another node.
    pub fn surely_keeps(&self, pool: &Pool, name: &str, machine: Machine, floor: Millis) -> bool {
        let judged = self.judged.get(&(pool.matching.clone(), Use::Keep));
        let fit = judged.and_then(|judged| judged.nodes.get(&(name.to_owned(), machine)));
        fit.is_some_and(|fit| fit.surely(floor))
    }
}

impl Judged {
    /// Tells a pool the eligibility of machines.
    fn tell(&self, fits: &mut BTreeMap<Machine, Fit>, quiet_since: Millis, now: Millis) {
        for (machine, since) in &self.handed {
            if let Some(its) = fits.get_mut(machine).filter(|its| its.eligible) {
                its.since = its.since.max(*since);
            }
        }
        for (machine, fit) in &self.machines {
            let its = fits.entry(*machine).or_insert(*fit);
            if its.eligible != fit.eligible {
                its.set(fit.eligible, now);
                its.seen = its.before.max(quiet_since) + SEEN <= now;
            } else if !its.eligible && fit.ended() {
                // The machine was eligible by this `match` before the pool had it, or before the pool was
                // created again.
                its.since = its.since.max(fit.since);
            }
        }
    }

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

/// The use of a node by a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// The node may keep an address.
    Keep,
    /// The node may receive an address. Only where that is not the same.
    Receive,
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub machine: Option<Machine>,
    /// The marks for IPv4 and IPv6.
    pub marks: [Option<String>; 2],
    pub external: Vec<IpAddr>,
    pub internal: Vec<IpAddr>,
    /// The node is noted as owed an address.
    pub owed: bool,
    /// The node has the label of nodes that serve an address.
    pub labelled: bool,
    /// Pods are noted as to be evicted from the node; the last time of the note.
    pub evicting: bool,
    pub evicted: Option<Millis>,
    /// The last time at which the node was cordoned.
    pub cordoned: Option<Millis>,
    /// The time since when the node names its machine.
    pub named_since: Millis,
    traits: Traits,
}

impl Node {
    /// The IPv4 addresses of the mark.
    pub fn marked(&self) -> impl Iterator<Item = IpAddr> {
        let marks = self.marks[0].iter().flat_map(|mark| mark.split(','));
        marks.filter_map(|mark| mark.parse().ok())
    }

    /// Takes over the times of the node as it was until now.
    fn follows(&mut self, before: &Self, now: Millis) {
        if before.machine == self.machine {
            self.named_since = before.named_since;
        }
        self.evicted = if before.evicting { Some(now) } else { before.evicted };
        self.cordoned = if before.traits.cordoned { Some(now) } else { before.cordoned };
    }
}

impl Cluster {
    /// Applies a write of an object.
    pub fn wrote(&mut self, write: &Write<'_>, now: Millis) {
        let key = write.key.to_owned();
        match (write.plural, write.after) {
            ("nodes", Some(node)) => {
                let mut node = read_node(node, now);
                if let Some(before) = self.nodes.get(&key) {
                    node.follows(before, now);
                } else {
                    node.evicted = self.lost_notes.get(&key).copied();
                }
                self.nodes.insert(key, node);
            }
            ("nodes", None) => {
                let noted = self.nodes.remove(&key).filter(|node| node.evicting);
                self.lost_notes.extend(noted.map(|_| (key, now)));
            }
            ("pods" | "replicasets", object) => self.pods.wrote(write.plural, key, object),
            (plural, Some(pool)) if Front::of(plural).is_some() => {
                self.read_pool(key, (Front::of(plural).unwrap_or_default(), pool), now);
            }
            (plural, None) if Front::of(plural).is_some() => {
                self.lost_a_pool = Some(now);
                if let Some(pool) = self.pools.remove(&key) {
                    self.formers.lost(&pool, pool.claims(), true, now);
                    self.past_fits.insert(key, pool.fits.clone());
                    self.orphaned += pool.open_by_region();
                    if pool.ways.gave_all_back() {
                        self.gave_back.insert(pool.uid);
                    }
                    let workloads = pool.evicting.lately(0).cloned();
                    self.lost_workloads.extend(workloads.map(|one| (one, now)));
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

    /// Whether a pool was deleted since `floor`.
    pub fn lost_lately(&self, floor: Millis) -> bool {
        self.lost_a_pool.is_some_and(|time| time >= floor)
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

    /// Whether an object that cannot be read may keep an address: the object had the address when it
    /// became unreadable, and its list lost the address since.
    pub fn is_kept_unread(&self, ip: IpAddr) -> bool {
        let mut formers = self.formers.of(ip);
        formers.any(|former| {
            let mut its = self.pools.values().filter(|pool| pool.uid == former.uid);
            its.any(|pool| pool.unclear.is_some_and(|since| since <= former.at))
        })
    }

    /// The nodes matching a request.
    pub fn eligible(&self, matching: &Matching) -> impl Iterator<Item = (&String, &Node)> {
        let accepted = move |(name, node): &(&String, &Node)| self.accepts(matching, name, node);
        self.nodes.iter().filter(accepted)
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
        let runs = |app: &String| self.pods.runs(app, name);
        let keeps = |keeping: &Keeping| !node.traits.cordoned || self.pods.keep(keeping, name);
        matching.accepts(&node.traits)
            && matching.app.as_ref().is_none_or(runs)
            && matching.keeping.as_ref().is_none_or(keeps)
    }

    /// Whether a node may receive an address, not only keep it.
    fn receives(&self, matching: &Matching, name: &str, node: &Node) -> bool {
        let open = matching.keeping.is_none() || !node.traits.cordoned;
        open && self.accepts(matching, name, node)
    }

    /// Whether a node is drained by the rules of a pool: cordoned, and fit otherwise.
    pub fn is_drained(&self, pool: &Pool, name: &str, node: &Node) -> bool {
        let fit = pool.matching.accepts(&node.traits);
        pool.matching.keeping.is_some()
            && fit
            && node.traits.cordoned
            && !self.accepts(&pool.matching, name, node)
    }

    /// Whether a node on a machine was cordoned at some time since `floor`.
    pub fn was_cordoned(&self, machine: Machine, floor: Millis) -> bool {
        let mut nodes = self.nodes.values().filter(|node| node.machine == Some(machine));
        nodes.any(|node| node.traits.cordoned || node.cordoned.is_some_and(|time| time >= floor))
    }

    /// Updates the eligibility of all machines.
    fn judge(&mut self, now: Millis) {
        let mut judged = std::mem::take(&mut self.judged);
        for pool in self.pools.values() {
            judged.entry((pool.matching.clone(), Use::Keep)).or_default();
            if pool.matching.keeping.is_some() {
                judged.entry((pool.matching.clone(), Use::Receive)).or_default();
            }
        }
        for ((matching, use_), judged) in &mut judged {
            let accepted = |(name, node): &(&String, &Node)| match use_ {
                Use::Keep => self.accepts(matching, name, node),
                Use::Receive => self.receives(matching, name, node),
            };
            let eligible = self.nodes.iter().filter(accepted);
            let eligible = eligible.filter_map(|(name, node)| Some((name.clone(), node.machine?)));
            let machines = self.nodes.values().filter_map(|node| node.machine);
            judged.set(machines, &eligible.collect(), now);
        }
        for pool in self.pools.values_mut() {
            let key = |use_| (pool.matching.clone(), use_);
            for (key, fits) in
                [(key(Use::Keep), &mut pool.fits), (key(Use::Receive), &mut pool.receives)]
            {
                let Some(judged) = judged.get(&key) else { continue };
                judged.tell(fits, self.quiet_since, now);
            }
        }
        self.judged = judged;
    }

    fn read_pool(&mut self, key: String, (front, object): (Front, &Value), now: Millis) {
        let uid = text(&object["metadata"]["uid"]);
        let past = self.past_fits.remove(&key);
        let pool = self.pools.entry(key).or_default();
        if pool.uid != uid {
            self.orphaned += pool.open_by_region();
            self.formers.lost(pool, pool.claims(), true, now);
            let fits = past.unwrap_or_else(|| std::mem::take(&mut pool.fits));
            *pool = Pool { uid: uid.to_owned(), born: now, front, fits, ..Pool::default() };
        }
        let before = pool.claims();
        pool.note_lack(now);
        pool.read_spec(&object["spec"], now);
        pool.ways.read(object, front.usual_grace(), now);
        pool.status = object["status"].clone();
        let readable = pool.read_ledger(&object["metadata"]["annotations"][ADDRESSES_ANNOTATION]);
        pool.note_intents(now);
        let matching = front.matching(&object["spec"]).filter(|_| readable);
        pool.unclear = matching.is_none().then(|| pool.unclear.unwrap_or(now));
        pool.matching = matching.unwrap_or_else(|| pool.matching.clone());
        pool.note_uses(now);
        let lost = before.difference(&pool.claims()).copied().collect();
        self.formers.lost(pool, lost, false, now);
    }
}

fn read_node(node: &Value, now: Millis) -> Node {
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
        owed: is_noted(node),
        labelled: node["metadata"]["labels"][READY_LABEL].is_string(),
        evicting: node["metadata"]["annotations"][EVICT_ANNOTATION].is_string(),
        evicted: None,
        cordoned: None,
        named_since: now,
        traits: Traits {
            well: is_ready(node) && !leaving,
            labels: node["metadata"]["labels"].clone(),
            taints: taints.map(|one| text(&one["key"]).to_owned()).collect(),
            cordoned: node["spec"]["unschedulable"] == true,
        },
    }
}

/// The node's addresses of a type.
fn reported(node: &Value, kind: &str) -> Vec<IpAddr> {
    let all = node["status"]["addresses"].as_array().into_iter().flatten();
    let such = all.filter(|one| one["type"] == kind);
    such.filter_map(|one| one["address"].as_str()?.parse().ok()).collect()
}

/// Whether the condition `Ready` is true.
pub(super) fn is_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}
