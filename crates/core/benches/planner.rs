//! How long a plan takes after one node event, in clusters of all sizes.
//!
//! `cargo bench -p pontoon-core` prints a table: for each cluster, what folding in "this node
//! is not ready" costs, what the plan that answers it costs, and the same for the whole, in
//! milliseconds. The budget is 5 ms for the whole at 10,000 nodes and 1,000 pools. Figures
//! are printed, never asserted: a busy machine must not fail a build.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::print_stdout)]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pontoon_core::Time;
use pontoon_core::action::{Action, AddressAction, Done, Outcome};
use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::{
    Addresses, Families, Family, Kind, Labels, Ledger, Machine, Mark, MarkPlace, Node, ObjectKey,
    Pod, PodState, Pool, PoolNames, Request, Scope, Sighting, Subject, Tells,
};
use pontoon_core::nodes::{Match, PodMatch, Selector};
use pontoon_core::plan::Planner;
use pontoon_core::world::{Settings, Source, World};

/// Words for messages, which no figure depends on.
static NAMES: PoolNames =
    PoolNames { release: "", retain: "", ledger: "", resolution: "", roles: "" };

/// The kind of the pools.
static POOL: Kind = Kind {
    group: "bench",
    version: "v1",
    name: "Pool",
    plural: "pools",
    aliases: &[],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Addresses],
};

/// The mark of nodes that serve addresses.
static MARK: [Mark; 1] =
    [Mark { place: MarkPlace::Annotation, key: "v4", tells: Tells::Addresses(Family::V4) }];

/// A cluster in which every address is where it should be.
#[derive(Clone, Copy)]
struct Cluster {
    name: &'static str,
    nodes: usize,
    pools: usize,
    /// Nodes that a pool may use; all, if it is none.
    per_pool: Option<usize>,
    addresses: usize,
    pods: usize,
    /// Addresses beyond those, for which there is no node.
    waiting: bool,
}

const CLUSTERS: [Cluster; 9] = {
    let one = Cluster {
        name: "1 pool",
        nodes: 100,
        pools: 1,
        per_pool: None,
        addresses: 50,
        pods: 0,
        waiting: false,
    };
    let many = Cluster { nodes: 10_000, pools: 1_000, addresses: 5, ..one };
    [
        one,
        Cluster { nodes: 1_000, addresses: 256, ..one },
        Cluster { nodes: 10_000, addresses: 256, ..one },
        Cluster { name: "100 pools on one label", nodes: 1_000, pools: 100, addresses: 5, ..one },
        Cluster { name: "1,000 pools of 20 nodes each", per_pool: Some(20), ..many },
        Cluster { name: "1,000 pools on one label", ..many },
        Cluster { name: "the same, nearly full", addresses: 9, ..many },
        Cluster { name: "the same, 100,000 pods", addresses: 9, pods: 100_000, ..many },
        Cluster { name: "1,000 pools, every node taken", addresses: 10, waiting: true, ..many },
    ]
};

fn at(micros: i64) -> Time {
    Time::from_micros(1_800_000_000_000_000 + micros)
}

fn node(cluster: &Cluster, n: usize, mark: Option<IpAddr>) -> Node {
    let mut labels = vec![("role".to_owned(), "edge".to_owned())];
    if let Some(size) = cluster.per_pool {
        // Each node is in two pools: one by the label a, one by the label b.
        labels.push(("a".into(), (n / size).to_string()));
        labels.push(("b".into(), ((n / size + n % size) % (cluster.nodes / size)).to_string()));
    }
    let labels: Labels =
        Arc::new(labels.iter().map(|(k, v)| (k.as_str().into(), v.as_str().into())).collect());
    Node {
        name: format!("node-{n:05}").as_str().into(),
        uid: format!("uid-{n}").as_str().into(),
        version: 1,
        machine: Some(Machine { cloud: "cloud".into(), id: machine(n).as_str().into() }),
        unnamed: None,
        provider_id: Some(machine(n).as_str().into()),
        ready: true,
        deleting: false,
        cordoned: false,
        labels,
        taints: vec![],
        marks: mark.map(|ip| (&MARK[0], ip.to_string().as_str().into())).into_iter().collect(),
        addresses: Addresses::default(),
    }
}

fn machine(n: usize) -> String {
    format!("{}", 400_000_000 + n * 7)
}

fn address(n: usize) -> IpAddr {
    Ipv4Addr::from(0x0A00_0000 + u32::try_from(n).expect("few addresses")).into()
}

fn pool(cluster: &Cluster, p: usize) -> Pool {
    let selector = match cluster.per_pool {
        None => "role=edge".to_owned(),
        Some(size) => {
            let groups = cluster.nodes / size;
            format!("{}={}", if p < groups { 'a' } else { 'b' }, p % groups)
        }
    };
    let pods = (cluster.pods > 0).then(|| PodMatch {
        namespace: Some("ingress".into()),
        labels: Selector::parse("app=web").expect("a selector"),
        ..PodMatch::default()
    });
    let nodes = Selector::parse(&selector).expect("a selector");
    let extra = usize::from(cluster.waiting);
    let first = p * (cluster.addresses + extra);
    Pool {
        key: ObjectKey {
            kind: &POOL,
            namespace: "default".into(),
            name: format!("pool-{p:04}").as_str().into(),
        },
        uid: format!("uid-{p}").as_str().into(),
        version: 1,
        created_at: at(0),
        request: Ok(Request {
            account: "account".into(),
            region: None,
            listed: (first..first + cluster.addresses + extra).map(address).collect(),
            wanted: None,
            matching: Arc::new(Match { nodes, pods, ..Match::default() }),
            unreadable: None,
            marks: &MARK,
            evicts: None,
            reread: None,
            cool_off: Duration::ZERO,
            grace: Duration::ZERO,
        }),
        named: None,
        ledger: Ledger::default(),
        ledger_stripped: false,
        resolution: None,
        deleting: false,
        releases: false,
        finalizers: vec![],
        paused: None,
        remembered: [].into(),
        last_assignment: None,
        names: &NAMES,
    }
}

/// The node that each address is on.
fn placed(cluster: &Cluster, p: usize, index: usize) -> usize {
    match cluster.per_pool {
        None => p * cluster.addresses + index,
        Some(size) => {
            let groups = cluster.nodes / size;
            // The first nodes of a row for the one, nodes of the second half for the other.
            let (row, column) = match p.checked_sub(groups) {
                None => (p, index),
                Some(p) => ((p + groups - size / 2 - index) % groups, size / 2 + index),
            };
            row * size + column
        }
    }
}

fn build(cluster: &Cluster) -> (World, Planner) {
    let mut world = World::new(Settings::default(), &[&POOL]);
    let setup = AccountSetup {
        cloud: "cloud".into(),
        project: None,
        abilities: Abilities {
            moves_at_once: true,
            families: Families::V4,
            per_machine: 1,
            places_new: Families::V4,
            marks_new: false,
            region_required: false,
            lists_by_machine: false,
            displaces_own: false,
        },
    };
    world.set_account("account".into(), Ok(setup));
    let mut marks = vec![None; cluster.nodes];
    let mut listed = vec![];
    for p in 0..cluster.pools {
        let pool = pool(cluster, p);
        let addresses = pool.request.as_ref().map(|one| one.listed.clone()).unwrap_or_default();
        for (index, ip) in addresses.into_iter().enumerate() {
            let mut sighting = Sighting::default();
            if index < cluster.addresses {
                let n = placed(cluster, p, index);
                assert!(marks[n].replace(ip).is_none(), "one address a node");
                sighting.holder = Some(machine(n).as_str().into());
            }
            listed.push((ip, sighting));
        }
        world.set_pool(pool);
    }
    for (n, mark) in marks.iter().enumerate() {
        world.set_node(node(cluster, n, *mark));
    }
    add_pods(cluster, &mut world);
    for source in [Source::Nodes, Source::Pods, Source::Objects(&POOL)] {
        world.source_read(source);
    }
    let action = Action::Address(AddressAction::List {
        account: "account".into(),
        families: vec![Family::V4],
        confirms: false,
        scope: Default::default(),
    });
    world.begin(&action);
    let outcome = Outcome { action, sent_at: at(1), result: Ok(Done::Listed(listed)), jitter: 0 };
    world.finish(outcome, at(2));
    let mut planner = Planner::default();
    let first = planner.next(&mut world, at(3));
    assert!(first.actions.is_empty(), "{:?}", &first.actions[..1]);
    quiet(&mut world, &mut planner);
    (world, planner)
}

fn add_pods(cluster: &Cluster, world: &mut World) {
    let labels: Labels = Arc::new([("app".into(), "web".into())].into());
    for n in 0..cluster.pods {
        world.set_pod(&Pod {
            id: format!("0b54a3c1-7b1e-4b52-9e5f-{n:012}").as_str().into(),
            namespace: "ingress".into(),
            name: format!("web-{n}").as_str().into(),
            node: format!("node-{:05}", n % cluster.nodes).as_str().into(),
            labels: labels.clone(),
            state: PodState::Ready,
            owner: None,
        });
    }
}

/// Says whatever is left to say.
fn quiet(world: &mut World, planner: &mut Planner) {
    for _ in 0..100 {
        planner.next(world, at(3));
    }
}

/// One node after the other is lost, answered and back.
fn measure(cluster: &Cluster) {
    let begun = Instant::now();
    let (mut world, mut planner) = build(cluster);
    let built = begun.elapsed();
    let (mut fold, mut plan, mut whole) = (vec![], vec![], vec![]);
    for round in 0..60 {
        let n = placed(cluster, round * 13 % cluster.pools, round % cluster.addresses);
        let healthy = world.node(&format!("node-{n:05}").as_str().into()).expect("a node").clone();
        let lost = Node { ready: false, version: healthy.version + 1, ..healthy.clone() };
        let (start, sent) = (Instant::now(), Instant::now);
        world.set_node(lost);
        let folded = sent();
        let answer = planner.next(&mut world, at(4));
        let end = sent();
        fold.push(folded - start);
        plan.push(end - folded);
        whole.push(end - start);
        let moved = answer
            .actions
            .iter()
            .any(|one| matches!(one, Action::Address(AddressAction::Assign { .. })));
        assert_eq!(moved, !cluster.waiting, "{:?}", answer.actions);
        world.set_node(Node { version: healthy.version + 2, ..healthy });
        quiet(&mut world, &mut planner);
    }
    let [fold, plan, whole] = [fold, plan, whole].map(Spread::of);
    println!(
        "{:<32} {:>6} {:>6} {:>7} | {:>6.3} | {:>6.3} | {:>6.3} {:>7.3} {:>7.3} | {:>6.0}",
        cluster.name,
        cluster.nodes,
        cluster.pools * cluster.addresses,
        cluster.pods,
        fold.median,
        plan.median,
        whole.median,
        whole.ninth,
        whole.worst,
        built.as_secs_f64() * 1e3,
    );
}

/// Nodes join a cluster in which every pool lacks one: the time to the plan that uses it, and the
/// longest plan of all until nothing is left to say.
fn measure_joining(cluster: &Cluster) {
    let (mut world, mut planner) = build(cluster);
    let (mut whole, mut longest) = (vec![], Duration::ZERO);
    for round in 0..60 {
        let start = Instant::now();
        world.set_node(node(cluster, cluster.nodes + round, None));
        let answer = planner.next(&mut world, at(4));
        whole.push(start.elapsed());
        let moves: Vec<_> = answer
            .actions
            .iter()
            .filter(|one| matches!(one, Action::Address(AddressAction::Assign { .. })))
            .collect();
        assert_eq!(moves.len(), 1, "{moves:?}");
        answer.actions.iter().for_each(|action| world.begin(action));
        for action in answer.actions {
            let outcome =
                Outcome { action, sent_at: at(4), result: Ok(Done::Effective), jitter: 0 };
            world.finish(outcome, at(4));
        }
        for _ in 0..100 {
            let start = Instant::now();
            planner.next(&mut world, at(4));
            longest = longest.max(start.elapsed());
        }
    }
    let whole = Spread::of(whole);
    println!(
        "{:<32} {:>6} {:>6} | a node joins: {:.3} {:.3} {:.3} | longest plan after: {:.3}",
        cluster.name,
        cluster.nodes,
        cluster.pools * cluster.addresses,
        whole.median,
        whole.ninth,
        whole.worst,
        longest.as_secs_f64() * 1e3,
    );
}

/// In milliseconds.
struct Spread {
    median: f64,
    ninth: f64,
    worst: f64,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let share = |tenths: usize| times[(times.len() - 1) * tenths / 10].as_secs_f64() * 1e3;
        Self { median: share(5), ninth: share(9), worst: share(10) }
    }
}

/// Peak resident memory of this process, in MiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!("milliseconds from one node that is not ready to the plan that moves its address");
    println!(
        "{:<32} {:>6} {:>6} {:>7} | {:>6} | {:>6} | {:>6} {:>7} {:>7} | {:>6}",
        "cluster", "nodes", "IPs", "pods", "fold", "plan", "p50", "p90", "max", "build"
    );
    for cluster in &CLUSTERS {
        if wanted.as_ref().is_none_or(|wanted| cluster.name.contains(wanted.as_str())) {
            measure(cluster);
            if cluster.waiting {
                measure_joining(cluster);
            }
        }
    }
    if let Some(peak) = peak_memory() {
        println!("peak resident memory of all of them: {peak} MiB");
    }
}
