//! Memory with allocations: 1,000 nodes, 10,000 pods, 5,500 ReplicaSets, 50 allocations.
//!
//! The operator is a process of its own; the API server and the provider are in this one.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::allocations::{UID, allocation, attached, nodes};
use super::arena::{Arena, On};
use super::replica::Replica;
use super::{QUIET, address, create, memory};

const NODES: u64 = 1_000;
/// More namespaces than have watches of their own, so that the pods of all are watched.
const NAMESPACES: u64 = 50;
/// In each namespace, with ten old ReplicaSets each.
const DEPLOYMENTS: u64 = 10;
const OLD: u64 = 10;
/// Of each Deployment.
const PODS: u64 = 20;

pub async fn many_pods() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    nodes(&arena, NODES).await;
    for namespace in 0..NAMESPACES {
        fill(&arena, namespace).await;
        arena.cloud.reserve_on(address(namespace), namespace + 1);
        let name = format!("team-{namespace}");
        let workload = json!({"kind": "Deployment", "name": "web-0", "namespace": name});
        allocation(&arena, &name, &[address(namespace)], workload).await;
    }
    let replica = Replica::start(&arena, "bench", QUIET);
    for namespace in 0..NAMESPACES {
        attached(&arena, &format!("team-{namespace}"), "1/1").await;
    }
    let what = "1,000 nodes, 10,000 pods, 50 allocations";
    println!(
        "{what:<44} {} resident, {} at most",
        memory(&replica, "VmRSS:"),
        memory(&replica, "VmHWM:")
    );
}

/// The Deployments of a namespace, as their ReplicaSets and pods.
async fn fill(arena: &Arena, namespace: u64) {
    let name = format!("team-{namespace}");
    create(&Api::<Namespace>::all(arena.client.clone()), json!({"metadata": {"name": name}})).await;
    let pods: Api<Pod> = Api::namespaced(arena.client.clone(), &name);
    let sets: Api<ReplicaSet> = Api::namespaced(arena.client.clone(), &name);
    for deployment in 0..DEPLOYMENTS {
        let deployment_name = format!("web-{deployment}");
        let labels = |revision: u64| {
            let hash = format!("{:010x}", deployment * 1_000 + revision);
            json!({"app": deployment_name, "pod-template-hash": hash})
        };
        for revision in 0..=OLD {
            let labels = labels(revision);
            let template = json!({"metadata": {"labels": labels}, "spec": pod_spec(None)});
            let object = json!({
                "metadata": {
                    "name": format!("{deployment_name}-{revision}"), "labels": labels,
                    "ownerReferences": [owner("Deployment", &deployment_name)],
                },
                "spec": {"selector": {"matchLabels": labels}, "template": template},
            });
            create(&sets, object).await;
        }
        let set = format!("{deployment_name}-{OLD}");
        for pod in 0..PODS {
            let number = (namespace * DEPLOYMENTS + deployment) * PODS + pod;
            let node = format!("node-{:04}", number % NODES + 1);
            let name = format!("{set}-{pod}");
            let metadata = json!({
                "name": name, "labels": labels(OLD), "ownerReferences": [owner("ReplicaSet", &set)],
                "annotations": {"padding": "x".repeat(500)},
            });
            create(&pods, json!({"metadata": metadata, "spec": pod_spec(Some(&node))})).await;
            let conditions = json!([{"type": "Ready", "status": "True"}]);
            let status = json!({"phase": "Running", "conditions": conditions});
            let patch = Patch::Merge(json!({"status": status}));
            pods.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
        }
    }
}

/// About as large as a real one.
fn pod_spec(node: Option<&str>) -> Value {
    let env = json!([{"name": "SETTINGS", "value": "v".repeat(2_000)}]);
    let mut spec = json!({"containers": [{"name": "web", "image": "registry/web:1", "env": env}]});
    if let Some(node) = node {
        spec["nodeName"] = json!(node);
    }
    spec
}

fn owner(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": UID, "controller": true})
}
