//! The initial content of the cluster and the account, and the actions of kubelets and users.

mod allocations;
pub mod clusters;
mod edits;
mod names;

pub use allocations::{REPLICA_SET, owner};
pub use edits::Spoiled;
pub use names::SOMEBODYS;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fakecloud::FakeCloud;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use pontoon::api::RESOLVE_CREATE_ANNOTATION;
use pontoon::fronts;
use pontoon::fronts::flipop::GROUP;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::{Value, json};

use crate::names::NameSetting;
use crate::schedule::{PoolSetting, Setting, Wish};
use crate::untyped::{create, objects_of};
use crate::vendor::Vendor;

/// The namespace of pods and pools.
pub const NAMESPACE: &str = "ingress";

/// The taint key tolerated by some pools.
pub const TAINT: &str = "dedicated";

/// The number of apps on every node.
pub const APPS: u8 = 2;

/// The number of strangers in a crowded account.
const CROWD: u32 = 203;

/// Nodes, pods and pools, and the machines behind them.
pub struct Cluster {
    user: Client,
    cloud: FakeCloud,
    vendor: Vendor,
    pools: Vec<Value>,
    listings: Vec<Value>,
    allocations: Vec<Value>,
    /// The DNS names of the pools, followed by the DNS names of NodeDNSRecordSets.
    names: Vec<Option<NameSetting>>,
    /// The present machine of each node.
    machines: Vec<u64>,
    made: u64,
}

impl Cluster {
    /// Creates the content of a setting. A lax CRD has no validation rules, like a predecessor's
    /// CRD, so objects refused by our rules can exist.
    pub async fn new(user: Client, cloud: FakeCloud, setting: &Setting, lax: bool) -> Self {
        let (pools, listings, allocations, names) = (vec![], vec![], vec![], vec![]);
        let (vendor, machines) = (setting.vendor, vec![]);
        let mut this =
            Self { user, cloud, vendor, pools, listings, allocations, names, machines, made: 0 };
        // A kind without a definition costs no request.
        let used = |crd: &CustomResourceDefinition| {
            crd.spec.group == GROUP || !setting.allocations.is_empty()
        };
        for crd in fronts::crds().into_iter().filter(used) {
            let mut crd = json!(crd);
            if lax {
                drop_rules(&mut crd);
            }
            this.create::<CustomResourceDefinition>(None, crd).await;
        }
        this.create::<Namespace>(None, named(NAMESPACE)).await;
        for node in 0..setting.nodes {
            this.machines.push(0);
            this.join(usize::from(node)).await;
        }
        for (index, pool) in setting.pools.iter().enumerate() {
            let manifest = this.manifest(index, pool);
            this.pools.push(manifest);
            this.names.push(pool.name);
            this.apply_pool(index).await;
        }
        this.make_names(setting).await;
        this.make_allocations(setting).await;
        this.make_management(setting.management.as_ref()).await;
        for number in 0..if setting.crowded { CROWD } else { 0 } {
            this.cloud.reserve(Ipv4Addr::from(0x0a00_0001 + number), this.region());
        }
        this
    }

    async fn create<K>(&self, namespace: Option<&str>, manifest: Value)
    where
        K: Resource<DynamicType = ()>,
    {
        done(create::<K>(&objects_of::<K>(&self.user, namespace), manifest).await);
    }

    fn node_api(&self) -> Api<DynamicObject> {
        objects_of::<Node>(&self.user, None)
    }

    /// The region of all machines and addresses.
    pub fn region(&self) -> &'static str {
        self.vendor.region()
    }

    /// The number of nodes, present or not.
    pub fn nodes(&self) -> usize {
        self.machines.len()
    }

    /// The number of pools, present or not.
    pub fn pools(&self) -> usize {
        self.pools.len()
    }

    /// The present machine of a node.
    pub fn machine(&self, node: usize) -> u64 {
        self.machines[node]
    }

    /// Adds a node with a new machine and its pods.
    pub async fn join(&mut self, node: usize) {
        self.new_machine(node);
        let spec = json!({"providerID": self.provider_id(node)});
        self.register(node, &node_name(node), spec, true).await;
    }

    /// Adds a node with a new machine and its pods. The node does not say which machine it is.
    pub async fn join_nameless(&mut self, node: usize) {
        self.new_machine(node);
        self.register(node, &node_name(node), json!({}), true).await;
    }

    /// Says which machine a node is.
    pub async fn name_machine(&self, node: usize) {
        let spec = json!({"providerID": self.provider_id(node)});
        self.patch_node(node, &json!({"spec": spec})).await;
    }

    /// Adds another node on the machine of a node.
    pub async fn twin(&self, node: usize, ready: bool) {
        let spec = json!({"providerID": self.provider_id(node)});
        self.register(node, &twin_name(node), spec, ready).await;
    }

    /// Deletes the other node on the machine of a node.
    pub async fn end_twin(&self, node: usize) {
        self.remove(&twin_name(node)).await;
    }

    fn new_machine(&mut self, node: usize) {
        self.made += 1;
        let machine = 1000 + self.made;
        self.machines[node] = machine;
        self.cloud.machine(machine, &node_name(node), self.region());
    }

    fn provider_id(&self, node: usize) -> String {
        fakecloud::provider_id(self.vendor.provider(), self.machine(node))
    }

    /// Adds a node object, and its pods if ready.
    async fn register(&self, node: usize, name: &str, spec: Value, ready: bool) {
        let nodes = self.node_api();
        let object = json!({
            "metadata": {"name": name, "labels": {"role": "edge", "half": half(node)}},
            "spec": spec,
        });
        // The twin of a node may be there already.
        drop(create::<Node>(&nodes, object).await);
        let status = json!({"addresses": Self::node_addresses(self.machine(node))});
        self.set_status(&nodes, name, ready, status).await;
        for app in 0..if ready { APPS } else { 0 } {
            self.run_pod_on(name, app).await;
        }
    }

    /// Deletes a node and its pods.
    pub async fn leave(&self, node: usize) {
        self.remove(&node_name(node)).await;
    }

    /// Deletes a node object and its pods.
    async fn remove(&self, name: &str) {
        for app in 0..APPS {
            self.end_pod_on(name, app).await;
        }
        let nodes = self.node_api();
        drop(nodes.delete(name, &DeleteParams::default()).await);
    }

    fn pods(&self) -> Api<DynamicObject> {
        objects_of::<Pod>(&self.user, Some(NAMESPACE))
    }

    /// Starts an app's pod on a node.
    pub async fn run_pod(&self, node: usize, app: u8) {
        self.run_pod_on(&node_name(node), app).await;
    }

    async fn run_pod_on(&self, node: &str, app: u8) {
        let name = pod_name(node, app);
        let object = json!({
            "metadata": {"name": name, "labels": {"app": format!("app-{app}")}},
            "spec": {"nodeName": node, "containers": [{"name": "a", "image": "a"}]},
        });
        // The pod of a twin may be there already.
        drop(create::<Pod>(&self.pods(), object).await);
        self.set_ready(&self.pods(), &name, true).await;
    }

    /// Deletes an app's pod from a node.
    pub async fn end_pod(&self, node: usize, app: u8) {
        self.end_pod_on(&node_name(node), app).await;
    }

    async fn end_pod_on(&self, node: &str, app: u8) {
        let at_once = DeleteParams::default().grace_period(0);
        drop(self.pods().delete(&pod_name(node, app), &at_once).await);
    }

    /// Sets the readiness of an app's pod.
    pub async fn pod_ready(&self, node: usize, app: u8, ready: bool) {
        self.set_ready(&self.pods(), &pod_name(&node_name(node), app % APPS), ready).await;
    }

    /// Sets the readiness of a node.
    pub async fn node_ready(&self, node: usize, ready: bool) {
        self.set_ready(&self.node_api(), &node_name(node), ready).await;
    }

    async fn set_ready(&self, api: &Api<DynamicObject>, name: &str, ready: bool) {
        self.set_status(api, name, ready, json!({})).await;
    }

    async fn set_status(
        &self,
        api: &Api<DynamicObject>,
        name: &str,
        ready: bool,
        mut status: Value,
    ) {
        let ready = if ready { "True" } else { "False" };
        status["conditions"] = json!([{"type": "Ready", "status": ready}]);
        status["phase"] = json!("Running");
        let patch = Patch::Merge(json!({"status": status}));
        // The object may be gone by now.
        drop(api.patch_status(name, &PatchParams::default(), &patch).await);
    }

    /// Changes a node.
    pub async fn patch_node(&self, node: usize, patch: &Value) {
        let nodes = self.node_api();
        drop(nodes.patch(&node_name(node), &PatchParams::default(), &Patch::Merge(patch)).await);
    }

    fn manifest(&self, index: usize, pool: &PoolSetting) -> Value {
        let mut ips: Vec<IpAddr> =
            (0..pool.listed).map(|number| listed(index, number, pool.six)).collect();
        if pool.mixed {
            ips.push(listed(index, 15, !pool.six));
        }
        if pool.covets && index > 0 && !pool.six && !self.is_six(0) {
            ips.push(listed(0, 0, false));
        }
        for ip in &ips {
            if self.cloud.look(|state| state.address(*ip).is_none()) {
                self.cloud.reserve(*ip, self.region());
            }
        }
        let mut spec = json!({
            "provider": self.vendor.provider(),
            "match": matching(pool.app, pool.wish),
            "assignmentCoolOffSeconds": pool.cool_off, "gracePeriodSeconds": pool.grace,
            "deletionPolicy": if pool.releases { "Release" } else { "Retain" },
        });
        if self.vendor.profile().region_required {
            spec["region"] = json!(self.region());
        }
        if !ips.is_empty() {
            spec["ips"] = json!(ips);
        }
        if let Some(wanted) = pool.wanted {
            spec["desiredIPs"] = json!(wanted);
        }
        if let Some(name) = pool.name {
            spec["dnsRecordSet"] = self.record_set(name);
        }
        json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "FloatingIPPool",
            "metadata": {"name": pool_name(index), "namespace": NAMESPACE},
            "spec": spec,
        })
    }

    /// Whether a pool lists IPv6 addresses.
    fn is_six(&self, index: usize) -> bool {
        let first = self.pools.get(index).map(|pool| &pool["spec"]["ips"][0]);
        first.and_then(Value::as_str).is_some_and(|ip| ip.contains(':'))
    }

    fn pool_api(&self) -> Api<FloatingIPPool> {
        Api::namespaced(self.user.clone(), NAMESPACE)
    }

    /// Creates a pool, or restores its manifest's spec, like `kubectl apply`.
    pub async fn apply_pool(&self, index: usize) {
        let manifest = &self.pools[index];
        let Ok(object) = serde_json::from_value(manifest.clone()) else { return };
        if self.pool_api().create(&PostParams::default(), &object).await.is_err() {
            self.patch_pool(index, &json!({"spec": manifest["spec"]})).await;
        }
    }

    /// Recreates missing pools. A pool may vanish after its recreation, when an earlier deletion
    /// completes.
    pub async fn restore_pools(&self) {
        for index in 0..self.pools.len() {
            if let Ok(None) = self.pool_api().get_opt(&pool_name(index)).await {
                self.apply_pool(index).await;
            }
        }
    }

    /// Replaces a pool with its manifest, removing everything else.
    pub async fn replace_pool(&self, index: usize) {
        let Ok(mut object) = serde_json::from_value::<FloatingIPPool>(self.pools[index].clone())
        else {
            return;
        };
        // Retried after conflicts with other writers.
        for _ in 0..10 {
            let Ok(Some(now)) = self.pool_api().get_opt(&pool_name(index)).await else { return };
            // Replacing would strip the finalizer of a pool being deleted, and so prevent the
            // release of its addresses.
            if now.metadata.deletion_timestamp.is_some() {
                return;
            }
            object.metadata.resource_version = now.resource_version();
            object.status = now.status;
            let params = PostParams::default();
            if self.pool_api().replace(&pool_name(index), &params, &object).await.is_ok() {
                return;
            }
        }
    }

    /// Patches a pool, if present.
    pub async fn patch_pool(&self, index: usize, patch: &Value) {
        self.try_patch(index, patch).await;
    }

    /// Patches a pool. Returns whether the patch succeeded.
    async fn try_patch(&self, index: usize, patch: &Value) -> bool {
        let (params, name) = (PatchParams::default(), pool_name(index));
        self.pool_api().patch(&name, &params, &Patch::Merge(patch)).await.is_ok()
    }

    /// Removes the pool's last listed address from its list.
    pub async fn unlist(&self, index: usize) {
        let mut ips = self.pools[index]["spec"]["ips"].as_array().cloned().unwrap_or_default();
        ips.pop();
        if !ips.is_empty() {
            self.patch_pool(index, &json!({"spec": {"ips": ips}})).await;
        }
    }

    /// Deletes a pool.
    pub async fn delete_pool(&self, index: usize) {
        drop(self.pool_api().delete(&pool_name(index), &DeleteParams::default()).await);
    }

    /// Writes the user's answer about a pool's reservation: the address, or none.
    pub async fn resolve(&self, key: &str, made: Option<IpAddr>) {
        let name = key.rsplit('/').next().unwrap_or_default();
        let word = made.map_or_else(|| "none".to_owned(), |ip| ip.to_string());
        let patch = json!({"metadata": {"annotations": {RESOLVE_CREATE_ANNOTATION: word}}});
        let params = PatchParams::default();
        drop(self.pool_api().patch(name, &params, &Patch::Merge(&patch)).await);
    }
}

/// Removes all validation rules from a definition.
fn drop_rules(definition: &mut Value) {
    match definition {
        Value::Object(map) => {
            map.remove("x-kubernetes-validations");
            map.values_mut().for_each(drop_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_rules),
        _ => {}
    }
}

/// A user's setup requests must succeed: no faults apply to them.
fn done<T, E: std::fmt::Debug>(result: Result<T, E>) {
    assert!(result.is_ok(), "the setting is refused: {:?}", result.err());
}

/// The `half` label: even or odd.
fn half(node: usize) -> &'static str {
    if node.is_multiple_of(2) { "even" } else { "odd" }
}

/// The `match` of a pool.
fn matching(app: Option<u8>, wish: Wish) -> Value {
    let mut matching = match app {
        Some(app) => {
            json!({"podNamespace": NAMESPACE, "podLabel": format!("app=app-{}", app % APPS)})
        }
        None => json!({"nodeLabel": "role=edge"}),
    };
    match wish {
        Wish::Plain => {}
        Wish::Tolerant => {
            matching["tolerations"] = json!([{"key": TAINT, "operator": "Exists"}]);
        }
        Wish::Even => matching["nodeLabel"] = json!("half in (even, none)"),
        Wish::Odd => matching["nodeLabel"] = json!("half notin (even)"),
    }
    matching
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

/// The name of a node.
pub fn node_name(node: usize) -> String {
    format!("node-{node}")
}

/// The name of the other node on a node's machine. It comes before or after that of the node.
fn twin_name(node: usize) -> String {
    let word = if node.is_multiple_of(2) { "new" } else { "other" };
    format!("{word}-node-{node}")
}

fn pod_name(node: &str, app: u8) -> String {
    format!("app-{app}-{node}")
}

fn pool_name(pool: usize) -> String {
    format!("pool-{pool}")
}

/// The listed address number `number` of a pool.
fn listed(pool: usize, number: u8, six: bool) -> IpAddr {
    let pool = u8::try_from(pool).unwrap_or(u8::MAX);
    if six {
        let last = u16::from(1 + pool * 16 + number);
        return Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, last).into();
    }
    Ipv4Addr::new(192, 0, 2, 1 + pool * 16 + number).into()
}
