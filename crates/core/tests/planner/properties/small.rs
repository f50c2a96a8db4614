//! Small worlds: a cluster, its pools and a provider without faults.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pontoon_core::model::{Node, NodeName, Pod, Pool, Sighting};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::fixture::*;
use super::super::scene::{Scene, scene};
use super::events::{address, name, node_object, plain_pool, pod_object, sighting};

/// The state before the operator starts.
#[derive(Clone, Debug)]
pub struct Small {
    /// Nodes, each on its own machine.
    pub nodes: Vec<Node>,
    pub pods: Vec<Pod>,
    /// Pools; the last pool of a name counts.
    pub pools: Vec<Pool>,
    /// The addresses at the provider.
    pub addresses: BTreeMap<IpAddr, Sighting>,
}

pub fn small() -> impl Strategy<Value = Small> {
    prop_oneof![1 => odd(), 4 => narrow(), 1 => full()]
}

/// Objects that are unlikely to fit together.
fn odd() -> impl Strategy<Value = Small> {
    let cluster = (vec(node_object(), 0..6), vec(pod_object(), 0..3));
    let wishes = (vec(plain_pool(), 1..4), btree_map(address(), sighting(), 0..6));
    (cluster, wishes).prop_map(|((nodes, pods), (pools, addresses))| {
        let nodes: BTreeMap<NodeName, Node> =
            nodes.into_iter().map(|node| (node.name.clone(), node)).collect();
        let machines: BTreeMap<_, _> =
            nodes.into_values().map(|node| (node.machine.clone(), node)).collect();
        Small { nodes: machines.into_values().collect(), pods, pools, addresses }
    })
}

/// Two to five nodes that pools compete for, and about as many addresses. Each address has a random
/// machine and pool; in half of the worlds the first pool lists all addresses.
fn narrow() -> impl Strategy<Value = Small> {
    let nodes = vec((0..5_u8, 0..8_u8), 2..6);
    let conditions = vec(select(vec!["", "role=edge", "role=core", "role!=none"]), 3);
    let address = (option::weighted(0.5, 0..6_usize), 0..3_usize, 0..12_u8);
    let wanted = vec(option::weighted(0.4, 0..4_usize), 3);
    let parts = (nodes, conditions, vec(address, 2..6), wanted, any::<bool>());
    parts.prop_map(|(nodes, conditions, addresses, wanted, shared)| {
        let wishes = conditions.iter().zip(wanted).enumerate();
        let wish = |(n, (conditions, wanted)): (usize, (&&str, Option<usize>))| {
            let pool = pool(&format!("p{n}")).on(conditions);
            pool.ask(|request| request.wanted = wanted)
        };
        let mut pools: Vec<Pool> = wishes.map(wish).collect();
        let mut seen = BTreeMap::new();
        for (n, (on, owner, odd)) in (1..).zip(addresses) {
            let ip = if odd == 0 { ip6(u16::from(n)) } else { ip(n) };
            let holder = on.map(|n| machine(&name(n)).as_str().into());
            let region = Some(REGION.into());
            seen.insert(ip, Sighting { holder, region, busy: odd == 1, ..Sighting::default() });
            // Every twelfth address is a stranger.
            if odd != 2 {
                let owner = if shared { owner } else { 0 };
                let pool = pools[owner].clone();
                pools[owner] = pool.ask(|request| request.listed.push(ip));
            }
        }
        let nodes = nodes.into_iter().enumerate().map(|(n, draw)| plain_node(n, draw));
        Small { nodes: nodes.collect(), pods: vec![], pools, addresses: seen }
    })
}

/// Every node has an address, and an additional address is first in the list of the first pool.
fn full() -> impl Strategy<Value = Small> {
    let held = vec((0..3_u8, any::<bool>()), 2..5);
    (held, 1..4_usize, option::of(0..2_usize)).prop_map(|(held, wanted, other)| {
        let mut first = pool("p0").ips([1]).wants(wanted);
        let mut second = pool("p1").ask(|request| request.wanted = other);
        let mut addresses = BTreeMap::from([(ip(1), Sighting::default())]);
        let mut nodes = vec![];
        for (n, (owner, edge)) in (0..).zip(held) {
            nodes.push(plain_node(n, (if edge { 0 } else { 2 }, 1)));
            let ip = ip(u8::try_from(n).unwrap() + 2);
            let holder = Some(machine(&name(n)).as_str().into());
            addresses.insert(ip, Sighting { holder, ..Sighting::default() });
            let pool = if owner > 0 { &mut first } else { &mut second };
            *pool = pool.clone().ask(|request| request.listed.push(ip));
        }
        Small { nodes, pods: vec![], pools: vec![first, second.on("role=edge")], addresses }
    })
}

fn plain_node(n: usize, (role, ready): (u8, u8)) -> Node {
    let role = ["edge", "edge", "core", "core", "none"][usize::from(role)];
    let node = node(&name(n)).labelled("role", role);
    if ready == 0 { node.not_ready() } else { node }
}

impl Small {
    /// The scene that starts in this state.
    pub fn scene(&self) -> Scene {
        let mut scene = scene();
        scene.cloud.addresses.clone_from(&self.addresses);
        for node in &self.nodes {
            scene.set_node(node.clone());
        }
        for pod in &self.pods {
            scene.set_pod(pod.clone());
        }
        for pool in &self.pools {
            scene.set_pool(pool.clone());
        }
        scene
    }

    /// Limits wanted numbers to listed addresses, so that no address has to be reserved.
    pub fn without_new(mut self) -> Self {
        for pool in &mut self.pools {
            *pool = pool.clone().ask(|request| {
                let listed = request.listed.len();
                request.wanted = request.wanted.map(|all| all.min(listed));
            });
        }
        self
    }
}
