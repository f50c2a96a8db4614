//! Allocations at Google: calls at rest, and the time that a drained node needs to lose its address.

use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use pontoon::fronts::net_ip_allocation::{NetIPAllocation, READY_LABEL};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::arena::{Arena, NAMESPACE, On, eventually};
use super::replica::Replica;
use super::{QUIET, address, create, print, set_ready};

/// The region of every machine and address.
pub const REGION: &str = "us-central1";

/// A UID of an owner: no controller looks at it.
pub const UID: &str = "0d9c1c1e-3b7f-4f0e-9f59-6f1f0a6f7a01";

/// The interval at which the provider is read, and the number of intervals that are measured.
const INTERVAL: u32 = 10;
const INTERVALS: u32 = 6;

/// Ready nodes on machines at Google, from 1.
pub async fn nodes(arena: &Arena, count: u64) {
    for number in 1..=count {
        let name = node_name(number);
        arena.cloud.machine(number, &name, REGION);
        let labels = json!({"pool": "edge", "topology.kubernetes.io/region": REGION});
        let node = json!({
            "metadata": {
                "name": name, "labels": labels,
                "annotations": {"padding": "x".repeat(1_000)},
            },
            "spec": {"providerID": arena.cloud.provider_id("gcp", number)},
            "status": {"images": [{"names": ["y".repeat(4_000)], "sizeBytes": 1}]},
        });
        create(&arena.nodes(), node).await;
        set_ready(&arena.nodes(), &name, true).await;
    }
}

fn node_name(number: u64) -> String {
    format!("node-{number:04}")
}

pub async fn allocation(arena: &Arena, name: &str, ips: &[IpAddr], workload: Value) {
    let spec = json!({
        "reservedIPs": ips, "workloadRef": workload, "nodeSelector": {"pool": "edge"},
        "cloud": {"provider": "gcp", "region": REGION}, "reconcileInterval": INTERVAL,
    });
    create(&allocations(arena), json!({"metadata": {"name": name}, "spec": spec})).await;
}

fn allocations(arena: &Arena) -> Api<NetIPAllocation> {
    Api::all(arena.client.clone())
}

/// Waits until the status of an allocation counts this many addresses on nodes.
pub async fn attached(arena: &Arena, name: &str, count: &str) {
    eventually(&format!("{name}: {count}"), || async {
        let status = allocations(arena).get(name).await.unwrap().status.unwrap_or_default();
        if status.attached == count { Ok(()) } else { Err(status) }
    })
    .await;
}

/// 100 nodes and 50 addresses, each on its node: calls to the provider for each interval.
pub async fn at_rest() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    nodes(&arena, 100).await;
    let ips: Vec<_> = (0..50).map(address).collect();
    for (ip, machine) in ips.iter().zip(1..) {
        arena.cloud.reserve_on(*ip, machine);
    }
    let workload = json!({"kind": "Deployment", "name": "web", "namespace": NAMESPACE});
    allocation(&arena, "edge", &ips, workload).await;
    for (what, denied) in [("listing", None), ("limited listing", Some("compute.addresses.list"))] {
        arena.cloud.set(|knobs| knobs.denied = denied.map(str::to_owned).into_iter().collect());
        let replica = Replica::start(&arena, "bench", QUIET);
        replica.leads().await;
        attached(&arena, "edge", "50/50").await;
        replica.metric("netipallocation_attached_ips_total{crd_name=\"edge\"}", "50").await;
        let mark = arena.cloud.mark();
        // A plain sleep, because at rest there is no event to wait for.
        tokio::time::sleep(Duration::from_secs(u64::from(INTERVAL * INTERVALS))).await;
        let calls = arena.cloud.log_since(mark);
        let changes = calls.iter().filter(|call| call.mutates).count();
        let each = calls.len() as f64 / f64::from(INTERVALS);
        let what = format!("100 nodes x 50 IPs at rest, {what}");
        println!("{what:<44} {each:.1} calls an interval, {changes} changes");
        replica.terminate().await;
    }
}

/// The last pod of the workload leaves a cordoned node: time from the API server's answer to the end
/// of the call that puts the address on another node. The provider takes no time of its own.
pub async fn drained() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    nodes(&arena, 100).await;
    let ip = address(1);
    arena.cloud.reserve(ip, REGION);
    let owner = |kind: &str, name: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": UID, "controller": true});
    let labels = json!({"app": "web"});
    let containers = json!([{"name": "c", "image": "i"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let metadata = json!({"name": "web-1", "ownerReferences": [owner("Deployment", "web")]});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let sets: Api<ReplicaSet> = arena.namespaced();
    create(&sets, json!({"metadata": metadata, "spec": spec})).await;
    let workload = json!({"kind": "Deployment", "name": "web", "namespace": NAMESPACE});
    allocation(&arena, "edge", &[ip], workload).await;
    let replica = Replica::start(&arena, "bench", QUIET);

    let pods: Api<Pod> = arena.namespaced();
    let mut times = Vec::new();
    for round in 0..50 {
        labelled(&arena, ip).await;
        let holder = arena.cloud.holder(ip).unwrap();
        let node = node_name(holder);
        let (name, owners) = (format!("web-1-{round}"), [owner("ReplicaSet", "web-1")]);
        let spec = json!({"nodeName": node, "containers": containers});
        create(&pods, json!({"metadata": {"name": name, "ownerReferences": owners}, "spec": spec}))
            .await;
        cordon(&arena, &node, true).await;
        replica.metric(&format!("netipallocation_node_cordoned{{node=\"{node}\"}}"), "1").await;
        assert_eq!(arena.cloud.holder(ip), Some(holder), "a pod is on the node");
        pods.delete(&name, &DeleteParams::default().grace_period(0)).await.unwrap();
        let answered = Instant::now();
        let elsewhere = |now: Option<u64>| now.is_some_and(|now| now != holder);
        arena.cloud.wait_for(|state| elsewhere(state.holder(ip))).await;
        times.push(answered.elapsed());
        cordon(&arena, &node, false).await;
    }
    print("last pod's end -> address on another node", times);
}

async fn cordon(arena: &Arena, node: &str, on: bool) {
    let patch = Patch::Merge(json!({"spec": {"unschedulable": on}}));
    arena.nodes().patch(node, &PatchParams::default(), &patch).await.unwrap();
}

/// Waits until the node of an address has the label of nodes that serve.
async fn labelled(arena: &Arena, ip: IpAddr) {
    eventually("the node is labelled", || async {
        let Some(holder) = arena.cloud.holder(ip) else { return Err("no node".to_owned()) };
        let node = arena.nodes().get(&node_name(holder)).await.unwrap();
        let labels = node.metadata.labels.unwrap_or_default();
        if labels.contains_key(READY_LABEL) { Ok(()) } else { Err(format!("{labels:?}")) }
    })
    .await;
}
