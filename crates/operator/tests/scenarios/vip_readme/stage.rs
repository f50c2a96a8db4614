//! Management clusters in both generations of Cluster API, and the IPAM provider's part by hand.

use std::ops::Deref;

pub use control_plane::Generation;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use serde_json::{Value, json};

use crate::arena::{Arena, On, eventually};

/// The page's pool, class and Cluster.
const QUICK_START: &str = include_str!("../../vip_manifests/quick_start.yaml");

/// The namespace of objects whose manifest names none.
pub const NAMESPACE: &str = "default";

/// The page's Cluster, and the claim for its control plane.
pub const CLUSTER: &str = "my-cluster";
pub const CLAIM: &str = "vip-cp-my-cluster";

/// The condition of Clusters.
pub const VIP_READY: &str = "vip.capi.gorizond.io/VIPReady";

/// A management cluster.
pub struct Management {
    arena: Arena,
    pub generation: Generation,
}

impl Deref for Management {
    type Target = Arena;

    fn deref(&self) -> &Arena {
        &self.arena
    }
}

/// The manifest of this kind in the page's quick start.
pub fn printed(kind: &str) -> Value {
    let all: Vec<Value> = serde_saphyr::from_multiple(QUICK_START).unwrap();
    all.into_iter().find(|one| one["kind"] == kind).unwrap()
}

/// The page's class, with a field that the page forgot and every API server asks for.
pub fn class() -> Value {
    let mut class = printed("ClusterClass");
    class["spec"]["variables"][1]["required"] = json!(false);
    class
}

impl Management {
    /// A management cluster without objects; `None` without a control plane or definitions.
    pub async fn open(on: On, generation: Generation) -> Option<Self> {
        let definitions = generation.definitions().await.unwrap()?;
        Self::with(on, generation, definitions).await
    }

    /// A management cluster with these definitions.
    pub async fn with(
        on: On,
        generation: Generation,
        definitions: Vec<CustomResourceDefinition>,
    ) -> Option<Self> {
        let arena = Arena::open_without_definitions(on).await?;
        arena.define(definitions).await;
        Some(Self { arena, generation })
    }

    /// A management cluster with the page's pool and class.
    pub async fn furnished(on: On, generation: Generation) -> Option<Self> {
        let management = Self::open(on, generation).await?;
        management.furnish().await;
        Some(management)
    }

    /// Creates the page's pool and class.
    pub async fn furnish(&self) {
        self.apply(printed("GlobalInClusterIPPool")).await.unwrap();
        self.apply(class()).await.unwrap();
    }

    /// Creates an object from a manifest of the older generation, rewritten for this one as Cluster
    /// API's webhooks would.
    pub async fn apply(&self, manifest: Value) -> Result<DynamicObject, kube::Error> {
        self.create(self.rewritten(manifest)).await
    }

    fn rewritten(&self, mut manifest: Value) -> Value {
        if self.generation == Generation::V1Beta1 {
            return manifest;
        }
        for group in ["cluster.x-k8s.io", "ipam.cluster.x-k8s.io"] {
            if manifest["apiVersion"] == format!("{group}/v1beta1") {
                manifest["apiVersion"] = json!(format!("{group}/v1beta2"));
            }
        }
        let spec = manifest["spec"].as_object_mut().unwrap();
        if let Some(topology) = spec.get_mut("topology").and_then(Value::as_object_mut) {
            let mut class = json!({"name": topology.remove("class")});
            if let Some(namespace) = topology.remove("classNamespace") {
                class["namespace"] = namespace;
            }
            topology.insert("classRef".to_owned(), class);
        }
        if manifest["kind"] == "ClusterClass" {
            let template = |kind: &str| {
                json!({"templateRef": {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "name": "t",
                }})
            };
            let spec = manifest["spec"].as_object_mut().unwrap();
            spec.entry("controlPlane").or_insert_with(|| template("ControlPlaneTemplate"));
            spec.entry("infrastructure").or_insert_with(|| template("ClusterTemplate"));
        }
        manifest
    }

    async fn create(&self, manifest: Value) -> Result<DynamicObject, kube::Error> {
        let object: DynamicObject = serde_json::from_value(manifest).unwrap();
        let types = object.types.clone().unwrap();
        let namespace = object.metadata.namespace.clone().unwrap_or(NAMESPACE.to_owned());
        let api = self.objects_in(&types, &namespace);
        api.create(&PostParams::default(), &object).await
    }

    fn objects_in(&self, types: &TypeMeta, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::try_from(types).unwrap();
        let resource = ApiResource::from_gvk(&kind);
        match types.kind.starts_with("Global") {
            true => Api::all_with(self.client.clone(), &resource),
            false => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    /// The objects of a kind of Cluster API in this generation.
    pub fn objects(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        let version = match kind.ends_with("IPPool") {
            true => "v1alpha2",
            false => self.generation.version(),
        };
        let types = TypeMeta { api_version: format!("{group}/{version}"), kind: kind.to_owned() };
        self.objects_in(&types, NAMESPACE)
    }

    /// The objects of a kind in all namespaces.
    pub fn everywhere(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, self.generation.version(), kind);
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind))
    }

    pub fn clusters(&self) -> Api<DynamicObject> {
        self.objects("cluster.x-k8s.io", "Cluster")
    }

    pub fn claims(&self) -> Api<DynamicObject> {
        self.objects("ipam.cluster.x-k8s.io", "IPAddressClaim")
    }

    pub fn addresses(&self) -> Api<DynamicObject> {
        self.objects("ipam.cluster.x-k8s.io", "IPAddress")
    }

    /// A claim for a Cluster as the predecessor creates it: with a label for the role alone, and owned
    /// by the Cluster in its API version.
    pub async fn legacy_claim(&self, cluster: &DynamicObject, role: &str, pool: &str) {
        let short = if role == "ingress" { "ingress" } else { "cp" };
        let name = cluster.metadata.name.as_deref().unwrap();
        let owner = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": name,
            "uid": cluster.metadata.uid, "controller": true, "blockOwnerDeletion": true,
        });
        let claim = json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim",
            "metadata": {
                "name": format!("vip-{short}-{name}"),
                "labels": {"vip.capi.gorizond.io/role": role}, "ownerReferences": [owner],
            },
            "spec": {"poolRef": {
                "apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool", "name": pool,
            }},
        });
        self.apply(claim).await.unwrap();
    }

    /// Waits for a claim.
    pub async fn claim(&self, name: &str) -> DynamicObject {
        eventually(&format!("claim {name}"), || async {
            self.claims().get_opt(name).await.unwrap().ok_or("none")
        })
        .await
    }

    /// Binds a claim to an address, as the IPAM provider would.
    pub async fn bind(&self, name: &str, ip: &str) {
        let claim = self.claim(name).await;
        let types = self.addresses();
        let owner = json!({
            "apiVersion": format!("ipam.cluster.x-k8s.io/{}", self.generation.version()),
            "kind": "IPAddressClaim", "name": name, "uid": claim.metadata.uid, "controller": true,
        });
        let address = json!({
            "apiVersion": format!("ipam.cluster.x-k8s.io/{}", self.generation.version()),
            "kind": "IPAddress",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "claimRef": {"name": name}, "poolRef": claim.data["spec"]["poolRef"],
                "address": ip, "prefix": 24, "gateway": "10.0.0.1",
            },
        });
        let address: DynamicObject = serde_json::from_value(address).unwrap();
        types.create(&PostParams::default(), &address).await.unwrap();
        let status = Patch::Merge(json!({"status": {"addressRef": {"name": name}}}));
        self.claims().patch_status(name, &PatchParams::default(), &status).await.unwrap();
    }

    /// Waits until a Cluster satisfies `wanted`.
    pub async fn cluster(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{name}: {what}"), || async {
            let cluster = serde_json::to_value(self.clusters().get(name).await.unwrap()).unwrap();
            if wanted(&cluster) { Ok(cluster) } else { Err(cluster) }
        })
        .await
    }

    /// Waits until a Cluster has this host, and returns it.
    pub async fn endpoint(&self, name: &str, host: &str) -> Value {
        let is = |cluster: &Value| cluster["spec"]["controlPlaneEndpoint"]["host"] == host;
        self.cluster(name, host, is).await
    }

    /// Waits until the condition of a Cluster has this reason, and returns its message.
    pub async fn told(&self, name: &str, reason: &str) -> String {
        let has = |cluster: &Value| self.condition(cluster)["reason"] == reason;
        let cluster = self.cluster(name, reason, has).await;
        self.condition(&cluster)["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Our condition of a Cluster.
    pub fn condition(&self, cluster: &Value) -> Value {
        let status = match self.generation {
            Generation::V1Beta1 => &cluster["status"]["v1beta2"],
            Generation::V1Beta2 => &cluster["status"],
        };
        let all = status["conditions"].as_array();
        all.into_iter().flatten().find(|one| one["type"] == VIP_READY).cloned().unwrap_or_default()
    }
}

/// The value of a variable of a Cluster's topology.
pub fn variable(cluster: &Value, name: &str) -> Value {
    let all = cluster["spec"]["topology"]["variables"].as_array();
    let found = all.into_iter().flatten().find(|one| one["name"] == name);
    found.map(|one| one["value"].clone()).unwrap_or_default()
}
