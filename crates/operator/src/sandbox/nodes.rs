//! Nodes with machines at the provider, and their failures.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures::future::try_join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::cluster::{Cluster, NAMESPACE, told};
use super::machines::Ground;
use super::objects::{Node, Pod};
use super::scene::Scene;
use super::workload;

/// The taint of a cordoned node.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Time between two attempts to evict a pod.
const EVICTION_INTERVAL: Duration = Duration::from_millis(200);

impl Cluster {
    pub(super) fn nodes(&self) -> Api<Node> {
        Api::all(self.client().clone())
    }

    pub(super) async fn all_nodes(&self) -> Result<Vec<Node>, String> {
        Ok(self.nodes().list(&ListParams::default()).await.map_err(told)?.items)
    }

    /// All ingress pods; `None` without an ingress.
    pub(super) async fn ingress(&self) -> Result<Option<Vec<Pod>>, String> {
        if self.scene() != Scene::Ingress {
            return Ok(None);
        }
        let pods: Api<Pod> = Api::namespaced(self.client().clone(), NAMESPACE);
        let ours = ListParams::default().labels(workload::SELECTOR);
        Ok(Some(pods.list(&ours).await.map_err(told)?.items))
    }

    /// Adds a node with its machine, and with an ingress pod in the scene with an ingress.
    pub(super) async fn join(&self, ground: &Ground, number: u64) -> Result<(), String> {
        let name = format!("node-{number}");
        let (site, mut labels) = ground.spot(number);
        self.cloud().machine(number, &name, &site);
        let id = self.cloud().provider_id(&ground.provider, number);
        let external = self.cloud().external(&id);
        let external = external.unwrap_or_else(|| numbered([203, 0, 113, 0], number).into());
        labels.insert("kubernetes.io/hostname".to_owned(), name.clone());
        labels.insert("kubernetes.io/os".to_owned(), "linux".to_owned());
        let room = json!({"cpu": "2", "memory": "4Gi", "ephemeral-storage": "80Gi", "pods": "110"});
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": id},
            "status": {
                "capacity": room, "allocatable": room, "conditions": conditions(true),
                "nodeInfo": {
                    "kubeletVersion": "v1.36.4", "operatingSystem": "linux",
                    "osImage": "Pontoon sandbox", "containerRuntimeVersion": "sandbox://1",
                },
                "addresses": [
                    {"type": "Hostname", "address": name},
                    {"type": "InternalIP", "address": numbered([10, 0, 0, 0], number)},
                    {"type": "ExternalIP", "address": external},
                ],
            },
        }))
        .await?;
        if self.scene() != Scene::Ingress {
            return Ok(());
        }
        let mut pod = workload::pod(&name);
        pod["metadata"]["name"] = json!(format!("nginx-{name}"));
        pod["status"] = workload::running();
        self.apply(&pod).await
    }

    /// Adds a node at the first provider.
    pub async fn add(&self, number: u64) -> Result<(), String> {
        match self.machines().grounds().next() {
            Some(ground) => self.join(ground, number).await,
            None => Ok(()),
        }
    }

    /// The number of the next node.
    pub async fn next(&self) -> Result<u64, String> {
        let number = |node: &Node| node.name_any().strip_prefix("node-")?.parse::<u64>().ok();
        Ok(self.all_nodes().await?.iter().filter_map(number).max().unwrap_or(0) + 1)
    }

    /// Makes a node and then its pods unready, in the order of a real cluster.
    pub async fn kill(&self, node: &str) -> Result<(), String> {
        self.set_node_ready(node, false).await?;
        self.set_pods_ready(node, false).await
    }

    /// Cordons a node.
    pub async fn cordon(&self, node: &str) -> Result<(), String> {
        let mut taints = taints(&self.nodes().get(node).await.map_err(told)?);
        if !taints.iter().any(|taint| taint.key == UNSCHEDULABLE) {
            let (key, effect) = (UNSCHEDULABLE.to_owned(), "NoSchedule".to_owned());
            taints.push(Taint { key, effect, ..Taint::default() });
        }
        self.patch_node(node, &json!({"spec": {"unschedulable": true, "taints": taints}})).await
    }

    /// Cordons a node and evicts its pods, as `kubectl drain` does. A refused eviction is repeated,
    /// until the budget allows it. Returns the number of pods.
    pub async fn drain(&self, node: &str) -> Result<usize, String> {
        self.cordon(node).await?;
        let all: Api<Pod> = Api::all(self.client().clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let stays = |pod: &&Pod| pod.owner_references().iter().any(|one| one.kind == "DaemonSet");
        let pods = all.list(&on_node).await.map_err(told)?.items;
        let pods: Vec<_> = pods.iter().filter(|pod| !stays(pod)).collect();
        for pod in &pods {
            let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
            let api: Api<Pod> = Api::namespaced(self.client().clone(), &namespace);
            let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
            // Not `Api::evict`: its object is none that the API server knows.
            let eviction = Eviction { metadata, delete_options: None };
            let params = PostParams::default();
            let evict =
                || api.create_subresource::<_, Value>("eviction", &name, &params, &eviction);
            while let Err(error) = evict().await {
                match error {
                    kube::Error::Api(status) if status.code == 404 => break,
                    kube::Error::Api(status) if status.code == 429 => {
                        tokio::time::sleep(EVICTION_INTERVAL).await;
                    }
                    other => return Err(told(other)),
                }
            }
        }
        Ok(pods.len())
    }

    /// The nodes with ailments: among all nodes, or the named node only.
    pub async fn ill(&self, node: Option<&str>) -> Result<Vec<String>, String> {
        let (all, pods) = (self.all_nodes().await?, self.ingress().await?);
        if let Some(unknown) = node.filter(|name| !all.iter().any(|one| one.name_any() == *name)) {
            return Err(no_node(unknown));
        }
        let meant = |one: &&Node| node.is_none_or(|name| name == one.name_any());
        let ill = all.iter().filter(meant).filter(|one| !ailments(one, pods.as_deref()).is_empty());
        Ok(ill.map(ResourceExt::name_any).collect())
    }

    /// Heals nodes concurrently.
    pub async fn heal(&self, nodes: &[String]) -> Result<(), String> {
        let open = json!({"spec": {"unschedulable": null, "taints": null}});
        let heal = async |node: &String| {
            self.patch_node(node, &open).await?;
            // A ready node has ready pods.
            self.set_pods_ready(node, true).await?;
            self.set_node_ready(node, true).await
        };
        try_join_all(nodes.iter().map(heal)).await.map(drop)
    }

    /// The named node, else the first healthy node with an address, else the first healthy node.
    pub async fn chosen(&self, node: Option<String>) -> Result<String, String> {
        let all = self.all_nodes().await?;
        if let Some(name) = node {
            let known = all.iter().any(|one| one.name_any() == name);
            return known.then(|| name.clone()).ok_or_else(|| no_node(&name));
        }
        let held = |node: &&Node| is_well(node) && !self.held_by(node).is_empty();
        let found = all.iter().find(held).or_else(|| all.iter().find(|node| is_well(node)));
        found.map(ResourceExt::name_any).ok_or_else(|| "no node is well".to_owned())
    }

    /// The addresses on a node's machine.
    pub(super) fn held_by(&self, node: &Node) -> Vec<IpAddr> {
        let held =
            |id| self.cloud().look(|state| state.held_by(id).map(|address| address.ip).collect());
        machine(node).map(held).unwrap_or_default()
    }

    async fn patch_node(&self, node: &str, patch: &Value) -> Result<(), String> {
        let params = PatchParams::default();
        self.nodes().patch(node, &params, &Patch::Merge(patch)).await.map(drop).map_err(told)
    }

    async fn set_node_ready(&self, node: &str, is_ready: bool) -> Result<(), String> {
        let patch = Patch::Merge(json!({"status": {"conditions": conditions(is_ready)}}));
        let params = PatchParams::default();
        self.nodes().patch_status(node, &params, &patch).await.map(drop).map_err(told)
    }

    async fn set_pods_ready(&self, node: &str, is_ready: bool) -> Result<(), String> {
        let params = PatchParams::default();
        let pods: Api<Pod> = Api::all(self.client().clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        for pod in pods.list(&on_node).await.map_err(told)? {
            let namespace = pod.namespace().unwrap_or_default();
            let pods: Api<Pod> = Api::namespaced(self.client().clone(), &namespace);
            let patch = Patch::Merge(json!({"status": {"conditions": workload::ready(is_ready)}}));
            pods.patch_status(&pod.name_any(), &params, &patch).await.map_err(told)?;
        }
        Ok(())
    }
}

fn no_node(name: &str) -> String {
    format!("there is no node \"{name}\"")
}

/// The address of the node with this number.
fn numbered(base: [u8; 4], number: u64) -> Ipv4Addr {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    Ipv4Addr::from(u32::from(Ipv4Addr::from(base)).saturating_add(number))
}

/// The conditions of a node with a healthy or a silent kubelet.
fn conditions(is_ready: bool) -> Value {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let one = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let pressures = [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ];
    let silent = ("NodeStatusUnknown", "Kubelet stopped posting node status.");
    let mut all: Vec<_> = pressures
        .iter()
        .map(|(kind, reason, message)| match is_ready {
            true => one(kind, "False", reason, message),
            false => one(kind, "Unknown", silent.0, silent.1),
        })
        .collect();
    all.push(match is_ready {
        true => one("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        false => one("Ready", "Unknown", silent.0, silent.1),
    });
    json!(all)
}

/// The machine ID of a node.
pub(super) fn machine(node: &Node) -> Option<u64> {
    fakecloud::machine_of(node.spec.provider_id.as_ref()?)
}

pub(super) fn taints(node: &Node) -> Vec<Taint> {
    node.spec.taints.clone().unwrap_or_default()
}

pub(super) fn is_cordoned(node: &Node) -> bool {
    node.spec.unschedulable == Some(true)
}

/// Whether a node is ready, not cordoned and without taints that repel pods.
pub(super) fn is_well(node: &Node) -> bool {
    let keeps_away = |taint: &Taint| taint.effect != "PreferNoSchedule";
    node.status.are_ready() && !is_cordoned(node) && !taints(node).iter().any(keeps_away)
}

/// The problems of a node; empty for a healthy node. With an ingress, its pod counts.
pub(super) fn ailments(node: &Node, ingress: Option<&[Pod]>) -> Vec<String> {
    let mut found = Vec::new();
    if !node.status.are_ready() {
        found.push("not ready".to_owned());
    }
    if is_cordoned(node) {
        found.push("cordoned".to_owned());
    }
    let other = |taint: &&Taint| taint.key != UNSCHEDULABLE && taint.effect != "PreferNoSchedule";
    found.extend(taints(node).iter().filter(other).map(|taint| format!("taint {}", taint.key)));
    let name = node.name_any();
    let serves = |pod: &Pod| workload::is_on(pod, &name) && pod.status.are_ready();
    if node.status.are_ready() && ingress.is_some_and(|pods| !pods.iter().any(serves)) {
        found.push("no ready ingress".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(spec: &Value) -> Value {
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        json!({"metadata": {"name": "n"}, "spec": spec, "status": status})
    }

    #[test]
    fn a_taint_and_a_missing_ingress_ail_a_node() {
        let node = |effect: &str| -> Node {
            let spec = json!({"taints": [{"key": "maint", "effect": effect}]});
            serde_json::from_value(ready(&spec)).unwrap()
        };
        let pod: Pod = serde_json::from_value(ready(&json!({"nodeName": "n"}))).unwrap();
        let serving = [pod];
        assert!(ailments(&node("PreferNoSchedule"), Some(&serving)).is_empty());
        assert_eq!(ailments(&node("NoSchedule"), Some(&serving)), ["taint maint"]);
        assert_eq!(ailments(&node("PreferNoSchedule"), Some(&[])), ["no ready ingress"]);
        assert!(ailments(&node("PreferNoSchedule"), None).is_empty(), "without an ingress");
    }
}
