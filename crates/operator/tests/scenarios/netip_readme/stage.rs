//! The README's clusters at Google, its manifests, and the pods of its workloads.

use std::net::IpAddr;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::allocations::stage::create;
use crate::arena::{Arena, On};

const MANIFESTS: &str = include_str!("../../netip_manifests/allocations.yaml");

/// The addresses of the manifests.
pub const IPS: [&str; 2] = ["34.123.45.67", "34.123.45.68"];

/// The first address.
pub const IP: &str = IPS[0];

/// The namespace of the page's workloads.
const WORKLOADS: &str = "default";

/// A manifest of the page: where its nodes are, and their label `role`.
#[derive(Clone, Copy, Debug)]
pub struct Printed {
    pub name: &'static str,
    pub region: &'static str,
    role: &'static str,
}

/// The manifest that describes the fields: two addresses, two zones.
pub const EXAMPLE: Printed =
    Printed { name: "example-allocation", region: "us-west1", role: "external-ip-node" };

/// The manifest of the quick start: one address.
pub const QUICK_START: Printed =
    Printed { name: "my-app-ips", region: "us-central1", role: "public-node" };

impl Printed {
    /// The manifest as printed.
    pub fn manifest(self) -> Value {
        let all: Vec<Value> = serde_saphyr::from_multiple(MANIFESTS).unwrap();
        all.into_iter().find(|one| one["metadata"]["name"] == self.name).unwrap()
    }

    /// The manifest with `spec` merged in.
    pub fn with(self, spec: Value) -> Value {
        let mut manifest = self.manifest();
        let fields = manifest["spec"].as_object_mut().unwrap();
        fields.extend(spec.as_object().unwrap().clone());
        fields.retain(|_, value| !value.is_null());
        manifest
    }
}

/// The cluster of a manifest: its addresses, and nodes on machines 1, 2, ...
pub async fn cluster(on: On, printed: Printed, nodes: &[&str]) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    furnish(&arena, printed, nodes).await;
    Some(arena)
}

/// Adds the addresses and nodes of a manifest.
pub async fn furnish(arena: &Arena, printed: Printed, nodes: &[&str]) {
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), printed.region);
    }
    for (name, machine) in nodes.iter().zip(1..) {
        arena.node_of(printed, name, machine).await;
    }
}

impl Arena {
    /// A ready node that a manifest selects.
    pub async fn node_of(&self, printed: Printed, name: &str, machine: u64) {
        let Printed { region, role, .. } = printed;
        self.cloud.machine(machine, name, region);
        let labels = json!({
            "role": role, "topology.kubernetes.io/region": region,
            "topology.kubernetes.io/zone": format!("{region}-b"),
        });
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": self.cloud.provider_id("gcp", machine)},
        });
        create(&self.nodes(), node).await;
        self.set_ready(name, true).await;
    }

    /// Creates an allocation from a manifest.
    pub async fn printed(&self, manifest: Value) {
        create(&self.allocations(), manifest).await;
    }

    /// A ready pod of a StatefulSet or DaemonSet `my-app`, or of the Deployment through its
    /// ReplicaSet. Create pods before their node: the real server copies labels of the node's place
    /// to a new pod.
    pub async fn pod_of_kind(&self, kind: &str, name: &str, node: &str) {
        let owner = match kind {
            "Deployment" => self.replica_set().await,
            _ => owner(kind, "my-app", "0d9c1c1e-3b7f-4f0e-9f59-6f1f0a6f7a01"),
        };
        self.pod_with(name, node, json!({"ownerReferences": [owner]})).await;
    }

    /// A ready pod with this metadata beside its name.
    pub async fn pod_with(&self, name: &str, node: &str, mut metadata: Value) {
        metadata["name"] = json!(name);
        let pod = json!({
            "metadata": metadata,
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "i"}],
            },
        });
        create(&self.workload_pods(), pod).await;
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let patch = Patch::Strategic(json!({"status": {"phase": "Running", "conditions": ready}}));
        let params = PatchParams::default();
        self.workload_pods().patch_status(name, &params, &patch).await.unwrap();
    }

    /// The owner reference of a new ReplicaSet of the Deployment `my-app`.
    async fn replica_set(&self) -> Value {
        let labels = json!({"app": "my-app"});
        let deployment = owner("Deployment", "my-app", "0d9c1c1e-3b7f-4f0e-9f59-6f1f0a6f7a02");
        let template = json!({
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let set = json!({
            "metadata": {"name": "my-app-1", "ownerReferences": [deployment]},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        });
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), WORKLOADS);
        let uid = create(&sets, set).await.metadata.uid.unwrap();
        owner("ReplicaSet", "my-app-1", &uid)
    }

    pub fn workload_pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), WORKLOADS)
    }

    pub async fn end_pod(&self, name: &str) {
        let now = DeleteParams::default().grace_period(0);
        self.workload_pods().delete(name, &now).await.unwrap();
    }
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true})
}
