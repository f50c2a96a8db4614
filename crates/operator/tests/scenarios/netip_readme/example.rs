//! The page's example, field by field.

use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::stage::{EXAMPLE, IP, IPS, QUICK_START, cluster};
use crate::arena::{Arena, On, on_both};

/// The nodes that the page's command lists: `kubectl get nodes -l ip.ready=true`.
pub async fn labelled_nodes(arena: &Arena) -> Vec<String> {
    let labelled = arena.nodes().list(&ListParams::default().labels("ip.ready=true")).await;
    let name = |node: Node| node.metadata.name.unwrap();
    labelled.unwrap().items.into_iter().map(name).collect()
}

async fn the_example_puts_each_address_on_a_node_of_its_labels_region_and_zones(on: On) {
    let nodes = ["a-elsewhere", "b-unlabelled", "c-other-zone", "d", "e", "f"];
    let Some(arena) = cluster(on, EXAMPLE, &nodes).await else { return };
    arena.label("a-elsewhere", "topology.kubernetes.io/region", "us-east1").await;
    arena.label("b-unlabelled", "role", "web").await;
    arena.label("c-other-zone", "topology.kubernetes.io/zone", "us-west1-c").await;
    arena.printed(EXAMPLE.manifest()).await;
    let _replica = arena.replica("only");
    arena.attached(EXAMPLE.name, IPS[0], "d").await;
    arena.attached(EXAMPLE.name, IPS[1], "e").await;
    arena.tells(EXAMPLE.name, "Ready", "AllAssigned").await;
    for node in ["d", "e"] {
        arena.labelled(node, true).await;
    }
    arena.considered("f").await;
    assert_eq!(labelled_nodes(&arena).await, ["d", "e"]);
    assert_eq!(IPS.map(|ip| arena.droplet_of(ip)), [Some(4), Some(5)]);
}

async fn a_restart_moves_nothing(on: On) {
    let Some(arena) = cluster(on, EXAMPLE, &["a", "b", "c"]).await else { return };
    arena.printed(EXAMPLE.manifest()).await;
    let first = arena.replica("first");
    arena.tells(EXAMPLE.name, "Ready", "AllAssigned").await;
    for node in ["a", "b"] {
        arena.labelled(node, true).await;
    }
    first.terminate().await;
    let mark = arena.cloud.mark();
    let second = arena.replica("second");
    second.metric("netipallocation_attached_ips_total{crd_name=\"example-allocation\"}", "2").await;
    arena.considered("c").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!(labelled_nodes(&arena).await, ["a", "b"]);
}

/// "Migration from v1.0.x": the Deployment is named in the old way, and then in the new one.
async fn an_object_of_the_first_version_is_edited_to_the_second_and_nothing_moves(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.pod_of_kind("Deployment", "my-app-1-x", "a").await;
    super::stage::furnish(&arena, QUICK_START, &["a", "b", "c"]).await;
    let before = json!({"name": "my-app", "namespace": "default"});
    arena.printed(QUICK_START.with(json!({"workloadRef": null, "deploymentRef": before}))).await;
    let _replica = arena.replica("only");
    arena.node_event(QUICK_START.name, "DeprecatedField").await;
    arena.labelled("a", true).await;
    arena.attached(QUICK_START.name, IP, "a").await;
    arena.cordon("a", true).await;
    arena.considered("c").await;
    let mark = arena.cloud.mark();
    let after = QUICK_START.manifest()["spec"]["workloadRef"].take();
    let edit = json!({"spec": {"deploymentRef": null, "workloadRef": after}});
    let params = PatchParams::default();
    arena.allocations().patch(QUICK_START.name, &params, &Patch::Merge(edit)).await.unwrap();
    arena.considered("c").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0, "a pod is on the node");
    arena.end_pod("my-app-1-x").await;
    arena.labelled("b", true).await;
    arena.held_by(IP, Some(2)).await;
}

on_both! {
    the_example_puts_each_address_on_a_node_of_its_labels_region_and_zones,
    a_restart_moves_nothing,
    an_object_of_the_first_version_is_edited_to_the_second_and_nothing_moves,
}
