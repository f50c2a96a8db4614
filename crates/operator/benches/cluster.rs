//! Speed of the operator on a real API server. Prints figures; fails only if measuring is
//! impossible.
//!
//! ```text
//! cargo bench -p pontoon --bench cluster                  # all
//! cargo bench -p pontoon --bench cluster -- rest drain    # some: pools, big, rest, drain, memory,
//!                                                         # vips
//! ```
//!
//! The provider is emulated over TCP in this process; a call counts as sent on arrival.

// A benchmark, like a test, may panic, and prints its results.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

#[path = "cluster/allocations.rs"]
mod allocations;
#[allow(dead_code, unused_macros, unused_imports)]
#[path = "../tests/scenarios/arena.rs"]
mod arena;
#[path = "cluster/big.rs"]
mod big;
#[allow(dead_code)]
#[path = "../tests/scenarios/clusters/management.rs"]
mod management;
#[path = "cluster/many_clusters.rs"]
mod many_clusters;
#[path = "cluster/many_pods.rs"]
mod many_pods;
#[allow(dead_code)]
#[path = "../tests/scenarios/replica.rs"]
mod replica;
#[allow(dead_code)]
#[path = "../tests/scenarios/clusters/stage.rs"]
mod stage;
#[path = "cluster/vips.rs"]
mod vips;

use std::fmt::Debug;
use std::net::IpAddr;
use std::time::Duration;

use arena::{Arena, NAMESPACE, On, eventually};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use replica::Replica;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

const NODES: u64 = 1000;

/// No debug log, as in production.
const QUIET: &[&str] = &["RUST_LOG=info"];

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // `cargo test --benches` only checks that the benchmark builds.
    if std::env::args().any(|arg| arg == "--bench") {
        // Names of measurements select some; `big`, `rest` and `memory` need no control plane.
        let only: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
        let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
        runtime.block_on(measure(wanted));
    }
}

async fn measure(wanted: impl Fn(&str) -> bool) {
    if wanted("pools") {
        one_pool().await;
        hundred_pools().await;
        storm().await;
    }
    if wanted("big") {
        big::big().await;
    }
    if wanted("rest") {
        allocations::at_rest().await;
    }
    if wanted("drain") {
        allocations::drained().await;
    }
    if wanted("memory") {
        many_pods::many_pods().await;
        many_clusters::many_clusters().await;
    }
    if wanted("vips") {
        vips::vips().await;
    }
}

async fn create<K>(api: &Api<K>, object: serde_json::Value) -> K
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

fn address(number: u64) -> IpAddr {
    IpAddr::from([
        198,
        18,
        u8::try_from(number / 250).unwrap(),
        u8::try_from(number % 250).unwrap(),
    ])
}

/// A cluster of ready nodes with `groups` labels.
async fn cluster(groups: u64) -> Option<Arena> {
    let arena = Arena::open(On::RealServer).await?;
    let mut creating = JoinSet::new();
    for number in 0..NODES {
        let name = format!("node-{number:04}");
        arena.cloud.machine(number + 1, &name, "nyc3");
        let nodes = arena.nodes();
        let node = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"group": format!("g{}", number % groups)}},
            "spec": {"providerID": format!("digitalocean://{}", number + 1)},
        }));
        creating.spawn(async move {
            nodes.create(&Default::default(), &node.unwrap()).await.unwrap();
            set_ready(&nodes, &name, true).await;
        });
    }
    creating.join_all().await;
    Some(arena)
}

async fn set_ready(nodes: &Api<k8s_openapi::api::core::v1::Node>, node: &str, ready: bool) {
    let status = if ready { "True" } else { "False" };
    let patch = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    let params = PatchParams::default();
    nodes.patch_status(node, &params, &Patch::Strategic(patch)).await.unwrap();
}

async fn one_pool() {
    let Some(arena) = cluster(1).await else { return };
    arena.cloud.reserve(address(1), "nyc3");
    arena.raw_pool("pool-0", pool("g0", &[address(1)])).await;
    let replica = Replica::start(&arena, "bench", QUIET);
    arena.ready("pool-0").await;
    let latencies = node_events(&arena, |_| address(1), 100).await;
    print("event -> call, 1,000 nodes, 1 pool", latencies);
    println!("{:<44} {}", "resident memory, 1,000 nodes, 1 pool", memory(&replica, "VmRSS:"));
}

async fn hundred_pools() {
    let Some(arena) = cluster(100).await else { return };
    for number in 0..100 {
        // Placed already: with another hundred calls the moves would reach the provider's limit of
        // 250 calls a minute, and wait.
        arena.cloud.reserve_on(address(number), number + 1);
        let spec = pool(&format!("g{number}"), &[address(number)]);
        arena.raw_pool(&format!("pool-{number}"), spec).await;
    }
    let replica = Replica::start(&arena, "bench", QUIET);
    for number in 0..100 {
        arena.ready(&format!("pool-{number}")).await;
    }
    let latencies = node_events(&arena, |round| address(round % 100), 100).await;
    print("event -> call, 1,000 nodes, 100 pools", latencies);
    println!("{:<44} {}", "resident memory, 1,000 nodes, 100 pools", memory(&replica, "VmRSS:"));
}

fn pool(group: &str, ips: &[IpAddr]) -> serde_json::Value {
    json!({"provider": "digitalocean", "ips": ips, "match": {"nodeLabel": format!("group={group}")}})
}

/// Time from the API server's answer to the PATCH that makes a node unready, to the arrival of the
/// call that moves its address.
async fn node_events(arena: &Arena, ip: impl Fn(u64) -> IpAddr, rounds: u64) -> Vec<Duration> {
    let nodes = arena.nodes();
    let mut latencies = Vec::new();
    let start = arena.cloud.mark();
    for round in 0..rounds {
        let ip = ip(round);
        let holder = arena.cloud.holder(ip).unwrap();
        let node = format!("node-{:04}", holder - 1);
        let mark = arena.cloud.mark();
        set_ready(&nodes, &node, false).await;
        let answered = Instant::now();
        arena.cloud.wait_for(|state| state.holder(ip) != Some(holder)).await;
        let call = &arena.cloud.mutations_since(mark)[0];
        latencies.push(call.arrived.saturating_duration_since(answered));
        let next = format!("node-{:04}", arena.cloud.holder(ip).unwrap() - 1);
        arena.marked(&next, Some(&ip.to_string())).await;
        set_ready(&nodes, &node, true).await;
    }
    let calls = format!("{rounds} events, calls to the provider");
    println!("{calls:<44} {}", arena.cloud.log_since(start).len());
    latencies
}

/// A hundred addresses lose their nodes by a single edit of their pool.
async fn storm() {
    let Some(arena) = cluster(2).await else { return };
    let ips: Vec<_> = (0..100).map(address).collect();
    for ip in &ips {
        arena.cloud.reserve(*ip, "nyc3");
    }
    arena.raw_pool("pool", pool("g0", &ips)).await;
    let _replica = Replica::start(&arena, "bench", QUIET);
    arena.ready("pool").await;
    arena.cloud.set(|knobs| knobs.latency_before = Duration::from_millis(100));
    let mark = arena.cloud.mark();
    let api: Api<FloatingIPPool> = Api::namespaced(arena.client.clone(), NAMESPACE);
    let patch = json!({"spec": {"match": {"nodeLabel": "group=g1"}}});
    api.patch("pool", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let answered = Instant::now();
    eventually("all moved", || async {
        let left =
            ips.iter().filter(|ip| arena.cloud.holder(**ip).is_none_or(|holder| holder % 2 == 1));
        match left.count() {
            0 => Ok(()),
            left => Err(left),
        }
    })
    .await;
    let moved = answered.elapsed();
    let mut arrivals: Vec<_> = arena
        .cloud
        .mutations_since(mark)
        .iter()
        .map(|call| call.arrived.saturating_duration_since(answered))
        .collect();
    arrivals.sort();
    let calls = arrivals.len();
    println!("{:<44} {calls} calls", "100 addresses lose their nodes at once");
    println!("{:<44} {:?}", "  edit -> first assign call", arrivals[0]);
    println!("{:<44} {:?}", "  edit -> last assign call", arrivals[calls - 1]);
    println!("{:<44} {:?}", "  edit -> all moved (cloud latency 100 ms)", moved);
    arena.ready("pool").await;
    println!("{:<44} {:?}", "  edit -> status says so", answered.elapsed());
}

fn print(what: &str, mut latencies: Vec<Duration>) {
    latencies.sort();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    println!("{what:<44} p50 {:?}  p90 {:?}  p99 {:?}  max {:?}", at(50), at(90), at(99), at(100));
}

fn memory(replica: &Replica, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", replica.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    format!("{:.1} MiB", kib / 1024.0)
}
