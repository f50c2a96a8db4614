//! Allocations: the sandbox's own with its Deployment, and whether allocations are at rest.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::cluster::{Cluster, Load, address, listed, told};
use super::nodes::is_cordoned;
use super::objects::{Node, Pod};
use crate::api::CONDITION_READY;
use crate::fronts::address_status::IpStatus;
use crate::fronts::net_ip_allocation::{NET_IP_ALLOCATION, NetIPAllocation, READY_LABEL};

/// The namespace of the Deployment.
pub(super) const NAMESPACE: &str = "voice";

/// The Deployment that uses the addresses.
const WORKLOAD: &str = "kamailio";

/// A grace period, and the time between two reads of the provider, for somebody who watches.
const GRACE_SECONDS: u64 = 3;
const INTERVAL_SECONDS: u64 = 5;

/// The zones and the labels of nodes that an allocation asks for.
pub fn wishes(object: &Value) -> (Vec<String>, BTreeMap<String, String>) {
    if object["kind"] != NET_IP_ALLOCATION.name {
        return Default::default();
    }
    let allocation = serde_json::from_value::<NetIPAllocation>(object.clone());
    let spec = allocation.map(|allocation| allocation.spec).unwrap_or_default();
    (spec.cloud.zones, spec.node_selector)
}

/// A Deployment whose pods run on nodes with an address, one on each, and its disruption budget.
pub(super) fn workload(load: &Load) -> [Value; 2] {
    let (metadata, labels) =
        (json!({"name": WORKLOAD, "namespace": NAMESPACE}), json!({"app": WORKLOAD}));
    let ports =
        json!([{"name": "sip", "containerPort": 5060, "hostPort": 5060, "protocol": "UDP"}]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": load.ips, "selector": {"matchLabels": labels},
            // A new pod needs the port of an old one.
            "strategy": {
                "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
            },
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {READY_LABEL: "true"},
                    "containers": [{"name": WORKLOAD, "image": "kamailio:5", "ports": ports}],
                },
            },
        },
    });
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
    });
    [deployment, budget]
}

/// The sandbox's own allocation.
pub(super) fn allocation(load: &Load, provider: &str, region: &str) -> Value {
    let kind = &NET_IP_ALLOCATION;
    json!({
        "apiVersion": format!("{}/{}", kind.group, kind.version), "kind": kind.name,
        "metadata": {"name": "sip"},
        "spec": {
            "reservedIPs": (0..load.ips).map(address).collect::<Vec<_>>(),
            "workloadRef": {"kind": "Deployment", "name": WORKLOAD, "namespace": NAMESPACE},
            "cloud": {"provider": provider, "region": region},
            "gracePeriodSeconds": GRACE_SECONDS, "reconcileInterval": INTERVAL_SECONDS,
        },
    })
}

impl Cluster {
    async fn all_allocations(&self) -> Result<Vec<NetIPAllocation>, String> {
        let all: Api<NetIPAllocation> = Api::all(self.client().clone());
        Ok(listed(all.list(&ListParams::default()).await)?.unwrap_or_default())
    }

    /// Allocations that are not ready, or have an outdated status.
    pub(super) async fn unready_allocations(&self, nodes: &[Node]) -> Result<Vec<String>, String> {
        let all = self.all_allocations().await?;
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let pods: Api<Pod> = Api::all(self.client().clone());
        let pods = pods.list(&ListParams::default()).await.map_err(told)?.items;
        let unready = all.iter().filter(|one| !self.is_at_rest(one, nodes, &pods));
        Ok(unready.map(ResourceExt::name_any).collect())
    }

    fn is_at_rest(&self, one: &NetIPAllocation, nodes: &[Node], pods: &[Pod]) -> bool {
        let Some(status) = &one.status else { return false };
        let says = |kind: &str| {
            status.conditions.iter().any(|one| one.type_ == kind && one.status == "True")
        };
        let current = status.observed_generation == one.metadata.generation;
        let settled = |(ip, place): (&String, &IpStatus)| {
            let holder = ip.parse::<IpAddr>().ok().and_then(|ip| self.cloud().holder(ip));
            let node = nodes.iter().find(|node| node.name_any() == place.node_name);
            holder.is_some()
                && holder == fakecloud::machine_of(&place.provider_id)
                && node.is_some_and(|node| serves(one, node, pods))
        };
        current && says(CONDITION_READY) && !says("Evicting") && status.ips.iter().all(settled)
    }

    /// A line for each allocation.
    pub(super) async fn tell_allocations(&self, text: &mut String) -> Result<(), String> {
        for one in self.all_allocations().await? {
            let status = one.status.clone().unwrap_or_default();
            let ready = status.conditions.iter().find(|one| one.type_ == CONDITION_READY);
            let message = ready.map_or("not looked at yet", |one| one.message.as_str());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:<22} {:<5} {message}", one.name_any(), status.attached);
        }
        Ok(())
    }
}

/// Whether a node may keep its address: ready, and if cordoned with a pod in the namespace of the
/// workload. The operator looks more closely: at the owner of the pod.
fn serves(one: &NetIPAllocation, node: &Node, pods: &[Pod]) -> bool {
    let workload = one.spec.workload_ref.as_ref();
    let namespace = workload.map(|workload| match workload.namespace.as_str() {
        "" => "default",
        given => given,
    });
    let keeps = |pod: &Pod| {
        pod.spec.node_name == node.name_any()
            && pod.metadata.deletion_timestamp.is_none()
            && namespace.is_none_or(|namespace| pod.namespace().as_deref() == Some(namespace))
    };
    let is_labelled = node.labels().get(READY_LABEL).is_some_and(|value| value == "true");
    is_labelled && node.status.are_ready() && (!is_cordoned(node) || pods.iter().any(keeps))
}
