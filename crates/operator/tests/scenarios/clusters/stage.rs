//! The namespace of a scenario in a management cluster, with its class, VIP pools and Clusters.

use std::sync::atomic::{AtomicU16, Ordering};

use control_plane::Generation;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::management::{Management, Operator};
use crate::arena::eventually;

pub const CLUSTER: &str = "Cluster";
pub const CLAIM: &str = "IPAddressClaim";
pub const ADDRESS: &str = "IPAddress";

/// The finalizer of Cluster API, until the machines of a Cluster are gone.
pub const GUARD: &str = "cluster.cluster.x-k8s.io";

/// A name under the prefix of annotations and labels.
pub fn vip(name: &str) -> String {
    format!("vip.capi.gorizond.io/{name}")
}

/// A scenario's part of a management cluster.
pub struct Stage {
    pub management: &'static Management,
    pub client: Client,
    /// The namespace, and the class's name: VIP pools for all Clusters serve classes by name.
    pub name: String,
    pub operator: Operator,
}

impl Stage {
    /// A namespace with a class that defines `clusterVip`, and the shared operator.
    pub async fn open(generation: Generation) -> Option<Self> {
        let management = Management::of(generation).await?;
        Some(Self::on(management, management.common().await).await)
    }

    /// A namespace with a class, and an operator of the scenario alone.
    pub async fn alone(generation: Generation, flags: &[&str]) -> Option<Self> {
        let management = Management::of(generation).await?;
        Some(Self::on(management, management.own(flags).await).await)
    }

    async fn on(management: &'static Management, operator: Operator) -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(1);
        let name = format!("stage-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let client = management.plane.client().unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": &name}})).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let stage = Self { management, client, name, operator };
        stage.class(&stage.name, &["clusterVip"]).await;
        stage
    }

    pub fn is_newer(&self) -> bool {
        self.management.generation == Generation::V1Beta2
    }

    fn resource(&self, kind: &str) -> ApiResource {
        let (group, version) = match kind {
            "ConfigMap" => ("", "v1"),
            CLUSTER | "ClusterClass" => ("cluster.x-k8s.io", self.management.generation.version()),
            CLAIM | ADDRESS => ("ipam.cluster.x-k8s.io", self.management.generation.version()),
            _ => ("ipam.cluster.x-k8s.io", "v1alpha2"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }

    /// The objects of a kind, in the scenario's namespace if the kind has namespaces.
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let resource = self.resource(kind);
        match kind {
            "GlobalInClusterIPPool" => Api::all_with(self.client.clone(), &resource),
            _ => Api::namespaced_with(self.client.clone(), &self.name, &resource),
        }
    }

    pub async fn create(&self, kind: &str, metadata: Value, spec: Value) -> DynamicObject {
        let version = self.resource(kind).api_version;
        let object =
            json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        let object = serde_json::from_value(object).unwrap();
        self.api(kind).create(&PostParams::default(), &object).await.unwrap()
    }

    /// A class with these variables, all texts that are empty by default.
    pub async fn class(&self, name: &str, variables: &[&str]) {
        let reference = |kind: &str| {
            let (newer, older) = ("templateRef", "ref");
            let template = json!({"apiVersion": "example.com/v1", "kind": kind, "name": "any"});
            json!({if self.is_newer() { newer } else { older }: template})
        };
        let variable = |name: &&str| {
            let schema = json!({"openAPIV3Schema": {"type": "string", "default": ""}});
            json!({"name": name, "required": false, "schema": schema})
        };
        let mut spec = json!({
            "infrastructure": reference("AnyClusterTemplate"),
            "controlPlane": reference("AnyControlPlaneTemplate"),
        });
        if !variables.is_empty() {
            spec["variables"] = variables.iter().map(variable).collect();
        }
        self.create("ClusterClass", json!({"name": name}), spec).await;
    }

    /// A VIP pool for all Clusters of the scenario's class, in a role. Returns its name.
    pub async fn pool(&self, name: &str, role: &str, addresses: &[&str]) -> String {
        let name = format!("{}-{name}", self.name);
        self.raw_pool(&name, role, json!({"addresses": addresses, "prefix": prefix(addresses)}))
            .await;
        name
    }

    pub async fn raw_pool(&self, name: &str, role: &str, spec: Value) {
        let labels = json!({vip("cluster-class"): &self.name, vip("role"): role});
        self.create("GlobalInClusterIPPool", json!({"name": name, "labels": labels}), spec).await;
    }

    /// A Cluster of the scenario's class.
    pub async fn cluster(&self, name: &str) -> DynamicObject {
        self.cluster_with(name, json!({}), json!({})).await
    }

    /// A Cluster of the scenario's class, with more in its metadata and spec.
    pub async fn cluster_with(&self, name: &str, metadata: Value, spec: Value) -> DynamicObject {
        let mut whole = json!({"name": name});
        extend(&mut whole, metadata);
        let mut topology = json!({"version": "v1.35.0"});
        match self.is_newer() {
            true => topology["classRef"] = json!({"name": &self.name}),
            false => topology["class"] = json!(&self.name),
        }
        let mut own = json!({"topology": topology});
        extend(&mut own, spec);
        self.create(CLUSTER, whole, own).await
    }

    pub async fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let object = self.api(kind).get_opt(name).await.unwrap()?;
        Some(serde_json::to_value(object).unwrap())
    }

    /// Merges a patch into an object.
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let params = PatchParams::default();
        self.api(kind).patch(name, &params, &Patch::Merge(&patch)).await.unwrap();
    }

    /// Applies a part of a Cluster's status, as another controller.
    pub async fn apply_status(&self, name: &str, status: &Value) {
        let version = format!("cluster.x-k8s.io/{}", self.management.generation.version());
        let metadata = json!({"name": name, "namespace": &self.name});
        let part = json!({
            "apiVersion": version, "kind": CLUSTER, "metadata": metadata, "status": status,
        });
        let params = PatchParams::apply("another").force();
        self.api(CLUSTER).patch_status(name, &params, &Patch::Apply(&part)).await.unwrap();
    }

    pub async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &DeleteParams::background()).await.unwrap();
    }

    /// Waits until an object looks as wanted; returns the object.
    pub async fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        looks: impl Fn(&Value) -> bool,
    ) -> Value {
        let (api, looks) = (self.api(kind), &looks);
        eventually(&format!("{kind} {}/{name}: {what}", self.name), || async {
            let object = api.get_opt(name).await.unwrap();
            let object = serde_json::to_value(object).unwrap();
            if looks(&object) { Ok(object) } else { Err(object) }
        })
        .await
    }

    /// Waits until an object is gone.
    pub async fn gone(&self, kind: &str, name: &str) {
        self.until(kind, name, "gone", Value::is_null).await;
    }

    /// Waits until a Cluster has this endpoint; returns the Cluster.
    pub async fn endpoint(&self, name: &str, host: &str, port: u16) -> Value {
        let endpoint = json!({"host": host, "port": port});
        let what = format!("endpoint {endpoint}");
        self.until(CLUSTER, name, &what, |one| one["spec"]["controlPlaneEndpoint"] == endpoint)
            .await
    }

    /// Waits until a Cluster's ingress VIP is in annotation and label.
    pub async fn ingress(&self, name: &str, ip: &str) {
        let key = vip("ingress-vip");
        let shows = |one: &Value| {
            let metadata = &one["metadata"];
            metadata["annotations"][&key] == ip && metadata["labels"][&key] == ip
        };
        self.until(CLUSTER, name, &format!("ingress {ip}"), shows).await;
    }

    /// Waits until our condition has this status and reason; returns its message.
    pub async fn says(&self, name: &str, status: &str, reason: &str) -> String {
        let conditions =
            if self.is_newer() { "/status/conditions" } else { "/status/v1beta2/conditions" };
        let found = |one: &Value| {
            let all = one.pointer(conditions).and_then(Value::as_array)?;
            let ours = all.iter().find(|one| one["type"] == vip("VIPReady"))?;
            let is_it = ours["status"] == status && ours["reason"] == reason;
            is_it.then(|| ours["message"].as_str().unwrap_or_default().to_owned())
        };
        let what = format!("VIPReady {status} {reason}");
        let cluster = self.until(CLUSTER, name, &what, |one| found(one).is_some()).await;
        found(&cluster).unwrap_or_default()
    }

    /// Waits for an event about a Cluster with this reason; returns its note and type.
    pub async fn event(&self, name: &str, reason: &str) -> (String, String) {
        let api: Api<Event> = Api::namespaced(self.client.clone(), &self.name);
        eventually(&format!("event {reason} on {}/{name}", self.name), || async {
            let all = api.list(&ListParams::default()).await.unwrap().items;
            let about = |one: &&Event| {
                one.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some(name)
            };
            let mine: Vec<_> = all.iter().filter(about).collect();
            let found = mine.iter().find(|one| one.reason.as_deref() == Some(reason));
            let told = |one: &&Event| {
                (one.note.clone().unwrap_or_default(), one.type_.clone().unwrap_or_default())
            };
            found.map(told).ok_or_else(|| mine.iter().map(told).collect::<Vec<_>>())
        })
        .await
    }

    /// Waits until the provider counts so many used addresses of a VIP pool.
    pub async fn used(&self, pool: &str, number: i64) {
        let used = |one: &Value| one["status"]["ipAddresses"]["used"] == number;
        self.until("GlobalInClusterIPPool", pool, &format!("{number} used"), used).await;
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() && matches!(self.operator, Operator::Common(_)) {
            let log = self.management.log();
            let own: Vec<_> = log.lines().filter(|line| line.contains(&self.name)).collect();
            eprintln!("--- the operator, of {}\n{}", self.name, own.join("\n"));
        }
    }
}

/// Adds the fields of an object to another one. Objects of the same name are merged.
pub fn extend(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(value), Value::Object(more)) => {
            for (name, one) in more {
                extend(value.entry(name).or_insert(Value::Null), one);
            }
        }
        (value, more) => *value = more,
    }
}

fn prefix(addresses: &[&str]) -> u8 {
    if addresses.iter().any(|one| one.contains(':')) { 64 } else { 24 }
}
