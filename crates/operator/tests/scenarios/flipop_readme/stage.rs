//! The README's cluster: a node pool `work`, an ingress controller in its own namespace, a zone,
//! and two reserved addresses.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use serde_json::{Value, json};

use crate::arena::{Arena, NAMESPACE, On};

pub const POOL: &str = include_str!("../../flipop_manifests/pool.yaml");
pub const RECORD_SET: &str = include_str!("../../flipop_manifests/record_set.yaml");
pub const LISTED: [&str; 2] = ["192.168.1.1", "192.168.2.1"];

/// The README's label of nodes.
pub const NODE_LABEL: (&str, &str) = ("doks.digitalocean.com/node-pool", "work");

/// The cluster without nodes.
pub async fn cluster(on: On) -> Option<Arena> {
    Some(furnished(Arena::open(on).await?).await)
}

async fn furnished(arena: Arena) -> Arena {
    let ingress = serde_json::from_value(json!({"metadata": {"name": "ingress"}})).unwrap();
    let namespaces: Api<Namespace> = Api::all(arena.client.clone());
    namespaces.create(&PostParams::default(), &ingress).await.unwrap();
    for ip in LISTED {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    arena.cloud.domain("example.com");
    arena
}

/// The cluster with these nodes of the node pool, on droplets 1, 2, ..., each with an ingress
/// controller pod.
pub async fn cluster_of(on: On, nodes: &[&str]) -> Option<Arena> {
    Some(with_nodes(cluster(on).await?, nodes).await)
}

/// The same cluster without our definitions.
pub async fn cluster_without_definitions(on: On, nodes: &[&str]) -> Option<Arena> {
    let arena = Arena::open_without_definitions(on).await?;
    Some(with_nodes(furnished(arena).await, nodes).await)
}

async fn with_nodes(arena: Arena, nodes: &[&str]) -> Arena {
    for (name, droplet) in nodes.iter().zip(1..) {
        arena.worker(name, droplet).await;
        arena.controller(name).await;
    }
    arena
}

/// Parses a manifest of the README.
pub fn manifest(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// The README's pool without its cool-off, with `spec` merged in (`null` removes a field).
pub fn pool(spec: Value) -> Value {
    let mut pool = manifest(POOL);
    pool["spec"]["assignmentCoolOffSeconds"] = Value::Null;
    change(&mut pool["spec"], spec);
    pool
}

/// The README's record set, with `spec` merged in.
pub fn record_set(spec: Value) -> Value {
    let mut set = manifest(RECORD_SET);
    change(&mut set["spec"], spec);
    set
}

fn change(spec: &mut Value, with: Value) {
    let spec = spec.as_object_mut().unwrap();
    spec.extend(with.as_object().unwrap().clone());
    spec.retain(|_, value| !value.is_null());
}

impl Arena {
    /// Creates the object of a manifest, like a client without our types.
    pub async fn manifest(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let types = object.types.clone().unwrap();
        let (group, version) = types.api_version.split_once('/').unwrap();
        let plural = format!("{}s", types.kind.to_lowercase());
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: types.api_version.clone(),
            kind: types.kind.clone(),
            plural,
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), NAMESPACE, &resource);
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// A ready node of the node pool.
    pub async fn worker(&self, name: &str, droplet: u64) {
        self.node(name, droplet).await;
        self.label(name, NODE_LABEL.0, NODE_LABEL.1).await;
    }

    /// A ready pod of the ingress controller on a node.
    pub async fn controller(&self, node: &str) {
        self.pod(node, "ingress", json!({"app": "nginx", "component": "controller"})).await;
    }

    /// A ready pod, named after its node.
    pub async fn pod(&self, node: &str, namespace: &str, labels: Value) {
        let pod = json!({
            "metadata": {"name": node, "labels": labels},
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "i"}],
            },
        });
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let pod = serde_json::from_value(pod).unwrap();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        self.pod_is_ready(node, namespace, true).await;
    }

    /// Sets the readiness of a pod, as its kubelet would.
    pub async fn pod_is_ready(&self, name: &str, namespace: &str, ready: bool) {
        let status = if ready { "True" } else { "False" };
        let conditions = json!([{"type": "Ready", "status": status}]);
        let patch = json!({"status": {"phase": "Running", "conditions": conditions}});
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let params = PatchParams::default();
        pods.patch_status(name, &params, &Patch::Strategic(patch)).await.unwrap();
    }

    /// Deletes the ingress controller pod of a node.
    pub async fn no_controller(&self, node: &str) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "ingress");
        pods.delete(node, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    /// Sets the mark of a node by hand.
    pub async fn annotate(&self, node: &str, ip: &str) {
        let patch = json!({"metadata": {"annotations": {IPV4_ANNOTATION: ip}}});
        let params = PatchParams::default();
        self.nodes().patch(node, &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// Adds a taint to a node.
    pub async fn taint(&self, node: &str, key: &str, effect: &str) {
        let patch = Patch::Merge(json!({"spec": {"taints": [{"key": key, "effect": effect}]}}));
        self.nodes().patch(node, &PatchParams::default(), &patch).await.unwrap();
    }
}
