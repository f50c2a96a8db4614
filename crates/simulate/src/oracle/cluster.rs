//! What is true in the cluster: who is eligible, and since when; what pools claim.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakekube::Write;
use pontoon::api::{ADDRESSES_ANNOTATION, IPV4_ANNOTATION, IPV6_ANNOTATION};
use serde_json::Value;

use super::ways::{Predecessor, Ways, tells_of_service};
use crate::schedule::Millis;

/// The identity of a machine at the cloud.
pub(super) type Machine = u64;

/// The cluster.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub nodes: BTreeMap<String, Node>,
    pods: BTreeMap<String, Pod>,
    pub pools: BTreeMap<String, Pool>,
    /// Whether a pool was ever deleted.
    pub lost_a_pool: bool,
    /// Reservations by region that pools took with them when they went: what they made is
    /// nobody's.
    pub orphaned: usize,
    /// Reservations that pools had written down when they were deleted, and when that was.
    pub lost_intents: Vec<(Intent, Millis)>,
    /// Who the Lease names.
    pub leader: String,
    /// Since when.
    pub leader_since: Millis,
    /// What the predecessor does.
    pub predecessor: Predecessor,
    /// Pools that went after they had given back what they had.
    pub gave_back: BTreeSet<String>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub machine: Option<Machine>,
    /// What it is marked with: of IPv4, and of IPv6.
    pub marks: [Option<String>; 2],
    pub external: Vec<IpAddr>,
    pub internal: Vec<IpAddr>,
    /// Ready, and without a taint.
    well: bool,
    edge: bool,
}

#[derive(Debug)]
struct Pod {
    node: String,
    app: String,
    ready: bool,
}

/// A pool.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub uid: String,
    pub listed: Vec<IpAddr>,
    pub wanted: Option<usize>,
    app: Option<String>,
    /// What the annotation says that it reserved and that it keeps; where there is none, what
    /// the status says.
    pub recorded: Vec<IpAddr>,
    /// What its status says that it had, and it names no more.
    pub leaving: Vec<IpAddr>,
    pub intents: BTreeMap<String, Intent>,
    /// Every intent that was ever written.
    pub all_intents: BTreeMap<String, Intent>,
    /// The most addresses that it ever had to have reserved for it.
    pub most_lacking: usize,
    pub status: Value,
    /// When what it asks for last changed.
    pub changed: Millis,
    /// Machines that it may use, or might once, and since when that is so.
    pub fits: BTreeMap<Machine, Fit>,
    /// What else its object says.
    pub ways: Ways,
}

/// Whether a pool may use a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    pub eligible: bool,
    pub since: Millis,
    /// When it stopped being eligible, the status told of an address that served on it.
    pub served: bool,
}

impl Node {
    /// The IPv4 addresses that it is marked with.
    pub fn marked(&self) -> impl Iterator<Item = IpAddr> {
        let marks = self.marks[0].iter().flat_map(|mark| mark.split(','));
        marks.filter_map(|mark| mark.parse().ok())
    }
}

/// A reservation that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intent {
    pub target: Option<Machine>,
    pub six: bool,
    pub strangers: BTreeSet<IpAddr>,
}

impl Pool {
    /// Every address that it names as its own.
    pub fn claims(&self) -> BTreeSet<IpAddr> {
        self.listed.iter().chain(&self.recorded).copied().collect()
    }

    /// Every address that it names, in the order in which they are used.
    fn in_order(&self) -> Vec<IpAddr> {
        let mut all = Vec::new();
        for ip in self.listed.iter().chain(&self.recorded) {
            if !all.contains(ip) {
                all.push(*ip);
            }
        }
        all
    }

    /// Whether an address is one of those that it uses, and not one too many.
    pub fn uses(&self, ip: IpAddr) -> bool {
        self.in_order().into_iter().take(self.wants()).any(|one| one == ip)
    }

    /// The addresses that its list names no more and that it keeps, because it wants at least
    /// as many more as these.
    pub fn keeps(&self) -> impl Iterator<Item = IpAddr> {
        let has = self.claims().len() + self.intents.len();
        let lacks = self.wanted.unwrap_or(0).saturating_sub(has);
        let all = (self.leaving.len() <= lacks).then_some(&self.leaving);
        all.into_iter().flatten().copied()
    }

    fn open_by_region(&self) -> usize {
        self.intents.values().filter(|intent| intent.target.is_none()).count()
    }

    /// How many addresses it wants.
    pub fn wants(&self) -> usize {
        self.wanted.unwrap_or_else(|| self.claims().len())
    }

    /// Whether it may use a machine.
    pub fn may_use(&self, machine: Machine) -> bool {
        self.fits.get(&machine).is_some_and(|fit| fit.eligible)
    }

    /// Whether it could use a machine at some time since `floor`.
    pub fn might_use(&self, machine: Machine, floor: Millis) -> bool {
        self.fits.get(&machine).is_some_and(|fit| fit.eligible || fit.since >= floor)
    }

    /// Whether it could use a machine at all times since `floor`.
    pub fn surely_uses(&self, machine: Machine, floor: Millis) -> bool {
        self.fits.get(&machine).is_some_and(|fit| fit.eligible && fit.since <= floor)
    }
}

impl Cluster {
    /// An object was written.
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
                    self.orphaned += pool.open_by_region();
                    if pool.ways.gave_all_back() {
                        self.gave_back.insert(pool.uid);
                    }
                    let open = pool.intents.into_values();
                    self.lost_intents.extend(open.map(|intent| (intent, now)));
                }
            }
            ("leases", Some(lease)) => self.read_lease(&key, lease, now),
            _ => return,
        }
        self.judge(now);
    }

    /// Every address that a pool names as its own.
    pub fn claims(&self) -> impl Iterator<Item = IpAddr> {
        self.pools.values().flat_map(Pool::claims)
    }

    /// Whether the pool with this UID is still there.
    pub fn has(&self, uid: &str) -> bool {
        self.pools.values().any(|pool| pool.uid == uid)
    }

    /// Whether an address that was reserved, on this machine or on none, is somebody's, or
    /// can be found again by what somebody wrote down.
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

    /// Whether a pool has yet to let go of an address that it names no more.
    pub fn is_leaving(&self, ip: IpAddr) -> bool {
        self.pools.values().any(|pool| pool.leaving.contains(&ip))
    }

    /// The nodes that are well, and run the app or else have the label.
    pub fn eligible(&self, app: Option<&str>) -> impl Iterator<Item = &Node> {
        let accepted = move |(name, node): &(&String, &Node)| node.accepted(name, app, &self.pods);
        self.nodes.iter().filter(accepted).map(|(_, node)| node)
    }

    /// Who may use what, now.
    fn judge(&mut self, now: Millis) {
        let Self { nodes, pods, pools, .. } = self;
        for pool in pools.values_mut() {
            let eligible: BTreeSet<Machine> = nodes
                .iter()
                .filter(|(name, node)| node.accepted(name, pool.app.as_deref(), pods))
                .filter_map(|(_, node)| node.machine)
                .collect();
            for machine in nodes.values().filter_map(|node| node.machine) {
                let unknown = Fit { eligible: false, since: now, served: false };
                pool.fits.entry(machine).or_insert(unknown);
            }
            for (machine, fit) in &mut pool.fits {
                let is = eligible.contains(machine);
                if fit.eligible != is {
                    let served = !is && tells_of_service(&pool.status, *machine);
                    *fit = Fit { eligible: is, since: now, served };
                }
            }
        }
    }

    fn read_pool(&mut self, key: String, object: &Value, now: Millis) {
        let uid = text(&object["metadata"]["uid"]);
        let pool = self.pools.entry(key).or_default();
        if pool.uid != uid {
            self.orphaned += pool.open_by_region();
            *pool = Pool { uid: uid.to_owned(), ..Pool::default() };
        }
        let spec = &object["spec"];
        let listed = addresses(&spec["ips"]);
        let wanted = spec["desiredIPs"].as_u64().and_then(|count| usize::try_from(count).ok());
        if (&listed, wanted) != (&pool.listed, pool.wanted) {
            (pool.listed, pool.wanted, pool.changed) = (listed, wanted, now);
        }
        if pool.ways.read(object, now) {
            pool.changed = now;
        }
        let app = spec["match"]["podLabel"].as_str();
        pool.app = app.and_then(|label| label.strip_prefix("app=")).map(str::to_owned);
        let ledger = &object["metadata"]["annotations"][ADDRESSES_ANNOTATION];
        let is_told = ledger.is_string();
        let ledger: Value = serde_json::from_str(text(ledger)).unwrap_or_default();
        pool.intents = intents(&ledger["intents"]);
        pool.all_intents.extend(pool.intents.clone());
        pool.status = object["status"].clone();
        pool.ways.created = addresses(&ledger["created"]);
        pool.recorded = if is_told {
            let both = [&ledger["created"], &ledger["kept"]];
            both.into_iter().flat_map(addresses).collect()
        } else {
            addresses(&pool.status["createdIPs"])
        };
        let had = pool.status["ips"].as_object().into_iter().flat_map(|ips| ips.keys());
        let had = had.filter_map(|ip| ip.parse().ok());
        let claims = pool.claims();
        pool.leaving = had.filter(|ip| !claims.contains(ip)).collect();
        let lacking = pool.wanted.unwrap_or(0).saturating_sub(pool.listed.len());
        pool.most_lacking = pool.most_lacking.max(lacking);
    }
}

impl Node {
    /// Whether it is well, and runs the app or else has the label.
    fn accepted(&self, name: &str, app: Option<&str>, pods: &BTreeMap<String, Pod>) -> bool {
        let runs = |app| pods.values().any(|pod| pod.ready && pod.node == name && pod.app == app);
        self.well && app.map_or(self.edge, runs)
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn addresses(value: &Value) -> Vec<IpAddr> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|ip| ip.as_str()?.parse().ok()).collect()
}

fn intents(value: &Value) -> BTreeMap<String, Intent> {
    let intent = |intent: &Value| {
        let target = intent["target"].as_str().and_then(|target| target.parse().ok());
        let strangers = addresses(&intent["strangers"]).into_iter().collect();
        let six = intent["v6"] == true;
        (text(&intent["id"]).to_owned(), Intent { target, six, strangers })
    };
    value.as_array().into_iter().flatten().map(intent).collect()
}

fn read_node(node: &Value) -> Node {
    let machine = text(&node["spec"]["providerID"]);
    let tainted = node["spec"]["taints"].as_array().is_some_and(|taints| !taints.is_empty());
    let leaving = node["metadata"]["deletionTimestamp"].is_string();
    let marks = [IPV4_ANNOTATION, IPV6_ANNOTATION]
        .map(|name| node["metadata"]["annotations"][name].as_str().map(str::to_owned));
    Node {
        machine: machine.strip_prefix("digitalocean://").and_then(|id| id.parse().ok()),
        marks,
        external: reported(node, "ExternalIP"),
        internal: reported(node, "InternalIP"),
        well: is_ready(node) && !tainted && !leaving,
        edge: node["metadata"]["labels"]["role"] == "edge",
    }
}

/// The addresses of a type that a node reports.
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
