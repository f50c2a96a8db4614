//! The sandbox's cluster: nodes with machines at the cloud, an ingress on each, pools.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};

use fakecloud::FakeCloud;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{dns, manifest};
use crate::api::{self, FloatingIPPool};

/// The namespace of the ingress and of its pools.
const NAMESPACE: &str = "ingress";

/// The region of every machine.
const REGION: &str = "nyc3";

/// How many objects are written at once.
const AT_ONCE: usize = 64;

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Nodes.
    pub nodes: u64,
    /// Pools.
    pub pools: u64,
    /// Addresses of each pool.
    pub ips: u64,
}

/// The cluster and its cloud.
pub struct Cluster {
    client: Client,
    cloud: FakeCloud,
}

impl Cluster {
    /// An empty cluster.
    pub fn new(client: Client, cloud: FakeCloud) -> Self {
        Self { client, cloud }
    }

    /// Its API server.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The cloud that its machines are in.
    pub fn cloud(&self) -> &FakeCloud {
        &self.cloud
    }

    /// Defines our kinds.
    pub async fn define(&self) -> Result<(), String> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for crd in api::crds() {
            crds.create(&PostParams::default(), &crd).await.map_err(told)?;
        }
        Ok(())
    }

    /// Nodes with a ready ingress on each.
    pub async fn fill(&self, load: &Load) -> Result<(), String> {
        self.namespace(NAMESPACE).await?;
        let join = |number| self.join(number);
        stream::iter((1..=load.nodes).map(join)).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Pools over those nodes, with addresses that exist.
    pub async fn pools(&self, load: &Load) -> Result<(), String> {
        let make = |number| self.pool(number, load);
        stream::iter((1..=load.pools).map(make)).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn pool(&self, number: u64, load: &Load) -> Result<(), String> {
        let name = if load.pools == 1 { "ingress".to_owned() } else { format!("ingress-{number}") };
        let first = (number - 1) * load.ips;
        let ips: Vec<_> = (first..first + load.ips).map(address).collect();
        let mut spec = json!({
            "provider": "digitalocean", "region": REGION, "ips": ips,
            "match": {"podNamespace": NAMESPACE, "podLabel": "app=nginx"},
        });
        // Under load it is about addresses.
        if load.pools == 1 {
            spec["dnsRecordSet"] = dns::record(&name);
        }
        self.apply(&json!({
            "apiVersion": format!("{}/{}", api::GROUP, api::VERSION), "kind": "FloatingIPPool",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
        }))
        .await
    }

    /// Applies an object of the user's. What it needs outside Kubernetes comes to be: the
    /// addresses that a pool lists, the machine that a node runs on, the zone of a record.
    pub async fn apply(&self, object: &Value) -> Result<(), String> {
        let called = manifest::named(object);
        let problem = |error: kube::Error| format!("{called}: {}", told(error));
        self.provide(object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = text(&object["apiVersion"]);
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let gvk = GroupVersionKind::gvk(group, version, &text(&object["kind"]));
        let found = kube::discovery::pinned_kind(&self.client, &gvk).await;
        let (resource, capabilities) = found.map_err(|_| {
            format!(
                "{called}: the sandbox does not know the kind {} of {group}/{version}",
                gvk.kind
            )
        })?;
        let api: Api<DynamicObject> = match capabilities.scope {
            kube::discovery::Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            kube::discovery::Scope::Namespaced => {
                let given = object["metadata"]["namespace"].as_str().unwrap_or("default");
                self.namespace(given).await?;
                Api::namespaced_with(self.client.clone(), given, &resource)
            }
        };
        let typed =
            serde_json::from_value(object.clone()).map_err(|error| format!("{called}: {error}"))?;
        match api.create(&PostParams::default(), &typed).await {
            Ok(_) => self.settle(object, &api).await.map_err(problem),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let name = typed.name_any();
                let merged = api.patch(&name, &PatchParams::default(), &Patch::Merge(object)).await;
                merged.map(drop).map_err(problem)
            }
            Err(error) => Err(problem(error)),
        }
    }

    /// What the cloud must have for an object to make sense.
    fn provide(&self, object: &Value) {
        dns::provide(&self.cloud, object);
        for ip in object["spec"]["ips"].as_array().into_iter().flatten() {
            let ip: Option<IpAddr> = ip.as_str().and_then(|ip| ip.parse().ok());
            if let Some(ip) = ip.filter(|_| manifest::is_pool(object)) {
                let region = object["spec"]["region"].as_str().filter(|text| !text.is_empty());
                self.cloud.reserve(ip, region.unwrap_or(REGION));
            }
        }
        let machine = object["spec"]["providerID"].as_str();
        let machine = machine.and_then(|id| id.strip_prefix("digitalocean://")?.parse().ok());
        if let Some(machine) = machine {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            self.cloud.droplet(machine, name, REGION);
        }
    }

    /// A kubelet's part: what a manifest says of the status of nodes and pods, comes true.
    async fn settle(&self, object: &Value, api: &Api<DynamicObject>) -> kube::Result<()> {
        let has_kubelet = object["kind"] == "Node" || object["kind"] == "Pod";
        if has_kubelet && object["status"].is_object() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let patch = Patch::Merge(json!({"status": object["status"]}));
            api.patch_status(name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }

    async fn namespace(&self, name: &str) -> Result<(), String> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let object = json!({"metadata": {"name": name}});
        let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
        match namespaces.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            other => other.map(drop).map_err(told),
        }
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// A node joins, with its machine and its part of the ingress.
    async fn join(&self, number: u64) -> Result<(), String> {
        let name = format!("node-{number}");
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"doks.digitalocean.com/node-pool": "work"}},
            "spec": {"providerID": format!("digitalocean://{number}")},
            "status": {
                "conditions": ready(true), "nodeInfo": {"kubeletVersion": "sandbox"},
                "addresses": [
                    {"type": "InternalIP", "address": numbered([10, 0, 0, 0], number)},
                    {"type": "ExternalIP", "address": numbered([203, 0, 113, 0], number)},
                ],
            },
        }))
        .await?;
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("nginx-{name}"), "namespace": NAMESPACE,
                "labels": {"app": "nginx", "component": "controller"},
            },
            "spec": {"nodeName": name, "containers": [{"name": "nginx", "image": "nginx"}]},
            "status": {
                "phase": "Running", "conditions": ready(true),
                "containerStatuses": [{
                    "name": "nginx", "image": "nginx", "imageID": "", "restartCount": 0,
                    "ready": true, "started": true, "state": {"running": {}},
                }],
            },
        }))
        .await
    }

    /// One more node joins.
    pub async fn add(&self) -> Result<String, String> {
        let nodes = self.nodes().list(&ListParams::default()).await.map_err(told)?;
        let number = |node: &Node| node.name_any().strip_prefix("node-")?.parse::<u64>().ok();
        let next = nodes.iter().filter_map(number).max().unwrap_or(0) + 1;
        self.join(next).await?;
        Ok(format!("node-{next}"))
    }

    /// A node, and all that runs on it, stops being ready.
    pub async fn kill(&self, node: Option<String>) -> Result<String, String> {
        let node = self.chosen(node).await?;
        self.set_ready(&node, false).await?;
        Ok(node)
    }

    /// A node takes no more pods.
    pub async fn cordon(&self, node: Option<String>) -> Result<String, String> {
        let node = self.chosen(node).await?;
        self.patch_node(&node, &cordoned(true)).await?;
        Ok(node)
    }

    /// A node, or every node, is as it was.
    pub async fn heal(&self, node: Option<String>) -> Result<Vec<String>, String> {
        let all = self.nodes().list(&ListParams::default()).await.map_err(told)?;
        let ill = |one: &&Node| !is_well(one) && node.as_ref().is_none_or(|n| *n == one.name_any());
        let ill: Vec<_> = all.iter().filter(ill).map(ResourceExt::name_any).collect();
        for name in &ill {
            self.patch_node(name, &cordoned(false)).await?;
            self.set_ready(name, true).await?;
        }
        match node.filter(|name| !all.iter().any(|one| one.name_any() == *name)) {
            Some(unknown) => Err(format!("there is no node \"{unknown}\"")),
            None => Ok(ill),
        }
    }

    /// The node that is meant: the one named, else the first well one that holds an address.
    async fn chosen(&self, node: Option<String>) -> Result<String, String> {
        let all = self.nodes().list(&ListParams::default()).await.map_err(told)?;
        if let Some(name) = node {
            let known = all.iter().any(|one| one.name_any() == name);
            return known.then(|| name.clone()).ok_or(format!("there is no node \"{name}\""));
        }
        let held = |node: &&Node| is_well(node) && self.held_by(node).next().is_some();
        let found = all.iter().find(held).or_else(|| all.iter().find(|node| is_well(node)));
        found.map(ResourceExt::name_any).ok_or_else(|| "no node is well".to_owned())
    }

    fn held_by(&self, node: &Node) -> impl Iterator<Item = IpAddr> + use<> {
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.clone()).unwrap_or_default();
        let machine = id.strip_prefix("digitalocean://").and_then(|id| id.parse().ok());
        let addresses = self.cloud.look(|state| {
            let held = |id| state.held_by(id).map(|address| address.ip).collect::<Vec<_>>();
            machine.map(held).unwrap_or_default()
        });
        addresses.into_iter()
    }

    async fn patch_node(&self, node: &str, patch: &Value) -> Result<(), String> {
        let params = PatchParams::default();
        self.nodes().patch(node, &params, &Patch::Merge(patch)).await.map(drop).map_err(told)
    }

    async fn set_ready(&self, node: &str, is_ready: bool) -> Result<(), String> {
        let patch = Patch::Merge(json!({"status": {"conditions": ready(is_ready)}}));
        let params = PatchParams::default();
        self.nodes().patch_status(node, &params, &patch).await.map_err(told)?;
        let pods: Api<Pod> = Api::all(self.client.clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        for pod in pods.list(&on_node).await.map_err(told)? {
            let namespace = pod.namespace().unwrap_or_default();
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
            pods.patch_status(&pod.name_any(), &params, &patch).await.map_err(told)?;
        }
        Ok(())
    }

    async fn all_pools(&self) -> Result<Vec<FloatingIPPool>, String> {
        let pools: Api<FloatingIPPool> = Api::all(self.client.clone());
        Ok(pools.list(&ListParams::default()).await.map_err(told)?.items)
    }

    /// Pools and record sets that are not ready, or whose status is not true any more.
    pub async fn unready(&self) -> Result<Vec<String>, String> {
        let nodes = self.nodes().list(&ListParams::default()).await.map_err(told)?;
        let well: BTreeMap<_, _> =
            nodes.iter().map(|node| (node.name_any(), is_well(node))).collect();
        let marks: BTreeMap<_, _> =
            nodes.iter().map(|node| (node.name_any(), dns::mark(node))).collect();
        let unready = |pool: &FloatingIPPool| {
            let Some(status) = &pool.status else { return true };
            let is_ready = status
                .conditions
                .iter()
                .any(|one| one.type_ == api::CONDITION_READY && one.status == "True");
            let current = status.observed_generation == pool.metadata.generation;
            let stale = |(ip, one): (&String, &api::IpStatus)| {
                let holder = ip.parse::<IpAddr>().ok().and_then(|ip| self.cloud.holder(ip));
                let holder = holder.map(|machine| format!("digitalocean://{machine}"));
                let moved = holder.as_ref() != Some(&one.provider_id);
                let unmarked =
                    marks.get(&one.node_name).is_none_or(|mark| mark.as_ref() != Some(ip));
                moved || unmarked && !ip.contains(':') || well.get(&one.node_name) != Some(&true)
            };
            let dns = dns::is_current(&self.cloud, pool);
            !is_ready || !current || !dns || status.ips.iter().any(stale)
        };
        let pools = self.all_pools().await?;
        let unready = pools.iter().filter(|pool| unready(pool)).map(ResourceExt::name_any);
        Ok(unready.chain(self.unready_record_sets(&nodes.items).await?).collect())
    }

    /// Nodes with their addresses, then pools, then names in DNS.
    pub async fn status(&self) -> Result<String, String> {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for node in self.nodes().list(&ListParams::default()).await.map_err(told)? {
            let state = if is_well(&node) { "well" } else { "not well" };
            let held: Vec<_> = self.held_by(&node).map(|ip| ip.to_string()).collect();
            let _ = writeln!(text, "{:<12} {state:<9} {}", node.name_any(), held.join(" "));
        }
        for pool in self.all_pools().await? {
            let status = pool.status.clone().unwrap_or_default();
            let ready = status.conditions.iter().find(|one| one.type_ == api::CONDITION_READY);
            let message = ready.map_or("not looked at yet", |one| one.message.as_str());
            let name = format!("{}/{}", pool.namespace().unwrap_or_default(), pool.name_any());
            let _ = writeln!(text, "{name:<22} {:<5} {message}", status.assigned);
        }
        for ((name, kind), listed) in dns::names(&self.cloud) {
            let _ = writeln!(text, "{name:<22} {kind:<5} {}", listed.join(" "));
        }
        Ok(text.trim_end().to_owned())
    }
}

/// The address with this number, from the ranges that are set aside for examples.
fn address(number: u64) -> IpAddr {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let base = if number < 200 {
        u32::from(Ipv4Addr::new(198, 51, 100, 1))
    } else {
        u32::from(Ipv4Addr::new(198, 18, 0, 0))
    };
    Ipv4Addr::from(base.saturating_add(number)).into()
}

/// The address of a node with this number.
fn numbered(base: [u8; 4], number: u64) -> Ipv4Addr {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    Ipv4Addr::from(u32::from(Ipv4Addr::from(base)).saturating_add(number))
}

fn ready(is_ready: bool) -> Value {
    let status = if is_ready { "True" } else { "False" };
    json!([{"type": "Ready", "status": status, "reason": "Sandbox"}])
}

fn cordoned(is_cordoned: bool) -> Value {
    let taint = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
    if is_cordoned {
        json!({"spec": {"unschedulable": true, "taints": taint}})
    } else {
        json!({"spec": {"unschedulable": null, "taints": null}})
    }
}

pub(super) fn is_well(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready =
        conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    ready && node.spec.as_ref().is_none_or(|spec| spec.unschedulable != Some(true))
}

/// The API server's own words.
pub(super) fn told(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    }
}
