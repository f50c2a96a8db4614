//! What is true in the cluster: who is eligible, and since when; what pools claim.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakekube::Write;
use pontoon::api::{ADDRESSES_ANNOTATION, IPV4_ANNOTATION, IPV6_ANNOTATION};
use serde_json::Value;

use super::SEEN;
use super::formers::Formers;
use super::matching::{Matching, Traits};
use super::ways::{Predecessor, Ways};
use crate::schedule::Millis;

/// The identity of a machine at the cloud.
pub(super) type Machine = u64;

/// The cluster.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub nodes: BTreeMap<String, Node>,
    pods: BTreeMap<String, Pod>,
    pub pools: BTreeMap<String, Pool>,
    /// Since when machines fit, for everything that pools ever asked of nodes.
    judged: BTreeMap<Matching, BTreeMap<Machine, Fit>>,
    /// What pools that are gone could use, by key.
    past_fits: BTreeMap<String, BTreeMap<Machine, Fit>>,
    /// Pools that claimed addresses and do so no more.
    pub formers: Formers,
    /// Since when nothing has gone wrong, and the same one has led.
    pub quiet_since: Millis,
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
    traits: Traits,
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
    /// What it asks of nodes; what it last asked, where that cannot be understood.
    matching: Matching,
    /// Since when it cannot be understood.
    pub unclear: Option<Millis>,
    /// `assignmentCoolOffSeconds`.
    pub cool_off: Millis,
    /// What the annotation says that it reserved and that it keeps; where there is none, what
    /// the status says.
    pub recorded: Vec<IpAddr>,
    /// What its status says that it had, and it names no more.
    pub leaving: Vec<IpAddr>,
    /// Addresses that it uses, or did once, and since when that is so.
    pub used: BTreeMap<IpAddr, Fit>,
    /// Since when its list names each address.
    pub listed_since: BTreeMap<IpAddr, Millis>,
    /// How many addresses it lacked, of late, and until when.
    pub lacked: Vec<(usize, Millis)>,
    pub intents: BTreeMap<String, Intent>,
    /// Every intent that was ever written.
    pub all_intents: BTreeMap<String, Intent>,
    pub status: Value,
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
    /// Since when it was otherwise before.
    pub before: Millis,
    /// It was otherwise for so long, and in such peace, that everybody knew.
    pub seen: bool,
}

impl Fit {
    /// What was never so.
    pub fn never(now: Millis) -> Self {
        Self { eligible: false, since: now, before: now, seen: false }
    }

    /// From now on it is so, or is not.
    pub fn set(&mut self, eligible: bool, now: Millis) {
        if self.eligible != eligible {
            *self = Self { eligible, since: now, before: self.since, seen: false };
        }
    }

    /// Whether it was so at all times since `floor`.
    pub fn surely(&self, floor: Millis) -> bool {
        self.eligible && self.since <= floor
    }
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
        self.fits.get(&machine).is_some_and(|fit| fit.surely(floor))
    }

    /// Whether it used an address at all times since `floor`.
    pub fn surely_wants(&self, ip: IpAddr, floor: Millis) -> bool {
        self.used.get(&ip).is_some_and(|used| used.surely(floor))
    }

    /// Whether its object can be understood.
    pub fn is_understood(&self) -> bool {
        self.unclear.is_none()
    }

    /// The most addresses that it lacked at some time since `floor`.
    pub fn most_lacked(&self, floor: Millis) -> usize {
        let past = self.lacked.iter().filter(|(_, until)| *until >= floor);
        past.map(|(count, _)| *count).chain([self.lacks()]).max().unwrap_or(0)
    }

    /// How many addresses it has to have beyond those that it lists.
    fn lacks(&self) -> usize {
        self.wanted.unwrap_or(0).saturating_sub(self.listed.len())
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

    /// The nodes that an object asks for.
    pub fn eligible(&self, matching: &Matching) -> impl Iterator<Item = &Node> {
        let accepted = move |(name, node): &(&String, &Node)| self.accepts(matching, name, node);
        self.nodes.iter().filter(accepted).map(|(_, node)| node)
    }

    fn accepts(&self, matching: &Matching, name: &str, node: &Node) -> bool {
        let runs = |app: &String| {
            self.pods.values().any(|pod| pod.ready && pod.node == name && pod.app == *app)
        };
        matching.accepts(&node.traits) && matching.app.as_ref().is_none_or(runs)
    }

    /// Who may use what, now.
    fn judge(&mut self, now: Millis) {
        let mut judged = std::mem::take(&mut self.judged);
        for pool in self.pools.values() {
            judged.entry(pool.matching.clone()).or_default();
        }
        for (matching, fits) in &mut judged {
            let eligible: BTreeSet<Machine> =
                self.eligible(matching).filter_map(|node| node.machine).collect();
            for machine in self.nodes.values().filter_map(|node| node.machine) {
                fits.entry(machine).or_insert(Fit::never(now));
            }
            for (machine, fit) in fits {
                fit.set(eligible.contains(machine), now);
            }
        }
        for pool in self.pools.values_mut() {
            for (machine, fit) in judged.get(&pool.matching).into_iter().flatten() {
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
        let matching = Matching::read(&object["spec"]["match"]).filter(|_| readable);
        pool.unclear = matching.is_none().then(|| pool.unclear.unwrap_or(now));
        pool.matching = matching.unwrap_or_else(|| pool.matching.clone());
        pool.note_uses(now);
        let lost = before.difference(&pool.claims()).copied().collect();
        self.formers.lost(pool, lost, false, now);
    }
}

impl Pool {
    /// So many addresses it has lacked until now.
    fn note_lack(&mut self, now: Millis) {
        let lacks = self.lacks();
        match self.lacked.last_mut() {
            Some((count, until)) if *count == lacks => *until = now,
            _ => self.lacked.push((lacks, now)),
        }
    }

    fn read_spec(&mut self, spec: &Value) {
        self.listed = addresses(&spec["ips"]);
        self.wanted = spec["desiredIPs"].as_u64().and_then(|count| usize::try_from(count).ok());
        self.cool_off =
            (spec["assignmentCoolOffSeconds"].as_f64().unwrap_or(0.0) * 1000.0) as Millis;
    }

    /// Reads what was written down. What cannot be read says nothing new.
    fn read_ledger(&mut self, annotation: &Value) -> bool {
        let parsed = annotation.as_str().map(serde_json::from_str::<Value>);
        let readable = |ledger: &Value| ledger.is_object();
        match parsed {
            Some(Ok(ledger)) if readable(&ledger) => {
                self.intents = intents(&ledger["intents"]);
                self.all_intents.extend(self.intents.clone());
                self.ways.created = addresses(&ledger["created"]);
                self.ways.kept = addresses(&ledger["kept"]);
                let both = self.ways.created.iter().chain(&self.ways.kept);
                self.recorded = both.copied().collect();
            }
            Some(_) => return false,
            None => {
                self.intents.clear();
                self.ways.created.clear();
                self.ways.kept.clear();
                self.recorded = addresses(&self.status["createdIPs"]);
            }
        }
        true
    }

    /// Which addresses it uses, and lists, from now on.
    fn note_uses(&mut self, now: Millis) {
        let had = self.status["ips"].as_object().into_iter().flat_map(|ips| ips.keys());
        let had = had.filter_map(|ip| ip.parse().ok());
        let claims = self.claims();
        self.leaving = had.filter(|ip| !claims.contains(ip)).collect();
        let in_use: BTreeSet<IpAddr> = self.in_order().into_iter().take(self.wants()).collect();
        for ip in &claims {
            self.used.entry(*ip).or_insert(Fit::never(now));
        }
        for (ip, used) in &mut self.used {
            used.set(in_use.contains(ip), now);
        }
        self.listed_since.retain(|ip, _| self.listed.contains(ip));
        for ip in &self.listed {
            self.listed_since.entry(*ip).or_insert(now);
        }
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
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let leaving = node["metadata"]["deletionTimestamp"].is_string();
    let marks = [IPV4_ANNOTATION, IPV6_ANNOTATION]
        .map(|name| node["metadata"]["annotations"][name].as_str().map(str::to_owned));
    Node {
        machine: machine.strip_prefix("digitalocean://").and_then(|id| id.parse().ok()),
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
