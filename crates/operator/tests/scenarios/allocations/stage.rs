//! Allocations, and the Deployments that use their addresses. No controllers run: a Deployment has
//! the ReplicaSet and the pods that a scenario creates.

use std::fmt::Debug;
use std::net::IpAddr;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use pontoon::fronts::net_ip_allocation::{NetIPAllocation, NetIPAllocationStatus, READY_LABEL};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::arena::{ApiServer, Arena, NAMESPACE, On, eventually};

pub const IPS: [&str; 2] = ["198.51.100.1", "198.51.100.2"];

/// The address of most scenarios.
pub const IP: &str = IPS[0];

/// Nodes on droplets 1, 2, ..., two free addresses, and the Deployments `web` and `web-api` without
/// pods.
pub async fn stage(on: On, nodes: &[&str]) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    for (node, droplet) in nodes.iter().zip(1..) {
        arena.serving_node(node, droplet).await;
    }
    for name in ["web", "web-api"] {
        arena.deployment(name).await;
    }
    Some(arena)
}

pub async fn create<K>(api: &Api<K>, object: Value) -> K
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

impl Arena {
    pub fn allocations(&self) -> Api<NetIPAllocation> {
        Api::all(self.client.clone())
    }

    /// An allocation of the first address to the nodes of the pool `edge`, for the Deployment `web`,
    /// with `spec` merged in (`null` removes a field).
    pub async fn allocation(&self, name: &str, spec: Value) {
        let mut whole = json!({
            "reservedIPs": [IP],
            "nodeSelector": {"pool": "edge"},
            "workloadRef": {"kind": "Deployment", "name": "web", "namespace": NAMESPACE},
            "cloud": {"provider": "digitalocean", "region": "nyc3"},
        });
        let whole = whole.as_object_mut().unwrap();
        whole.extend(spec.as_object().unwrap().clone());
        whole.retain(|_, value| !value.is_null());
        create(&self.allocations(), json!({"metadata": {"name": name}, "spec": whole})).await;
    }

    /// An allocation with exactly this spec, even if our types cannot express the spec.
    pub async fn raw_allocation(&self, name: &str, spec: Value) {
        let resource = ApiResource::erase::<NetIPAllocation>(&());
        let object = json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {"name": name}, "spec": spec,
        });
        create::<DynamicObject>(&Api::all_with(self.client.clone(), &resource), object).await;
    }

    pub async fn allocated(&self, name: &str) -> NetIPAllocationStatus {
        self.allocations().get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Waits until a condition of an allocation has this reason. Returns its message.
    pub async fn tells(&self, name: &str, type_: &str, reason: &str) -> String {
        eventually(&format!("{name}: {type_} because of {reason}"), || async {
            let conditions = self.allocated(name).await.conditions;
            let found = conditions.iter().find(|one| one.type_ == type_ && one.reason == reason);
            found.map(|one| one.message.clone()).ok_or(conditions)
        })
        .await
    }

    /// Waits until an address is active on a node, says the status.
    pub async fn attached(&self, name: &str, ip: &str, node: &str) {
        eventually(&format!("{name}: {ip} on {node}"), || async {
            let status = self.allocated(name).await;
            let one = status.ips.get(ip).cloned().unwrap_or_default();
            let there = (one.state.as_str(), one.node_name.as_str()) == ("active", node);
            if there { Ok(()) } else { Err(status) }
        })
        .await;
    }

    /// Waits until a node has the label of nodes that serve an address, or has it no more.
    pub async fn labelled(&self, node: &str, wanted: bool) {
        eventually(&format!("{node} labelled: {wanted}"), || async {
            let labels = self.nodes().get(node).await.unwrap().metadata.labels.unwrap_or_default();
            let has = labels.get(READY_LABEL).is_some_and(|text| text == "true");
            if has == wanted { Ok(()) } else { Err(labels) }
        })
        .await;
    }

    /// Waits until every change of nodes so far was planned for: labels a node that has no address,
    /// and waits until the label is removed.
    pub async fn considered(&self, spare: &str) {
        self.label(spare, READY_LABEL, "true").await;
        self.labelled(spare, false).await;
    }

    pub async fn cordon(&self, node: &str, on: bool) {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": on}}));
        self.nodes().patch(node, &PatchParams::default(), &patch).await.unwrap();
    }

    /// A Deployment and its ReplicaSet.
    pub async fn deployment(&self, name: &str) {
        let labels = json!({"deployment": name});
        let template = json!({
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let spec = json!({"selector": {"matchLabels": labels}, "template": template});
        let object = json!({"metadata": {"name": name}, "spec": spec});
        let deployment = create(&self.namespaced::<Deployment>(), object).await;
        let owner = owner("Deployment", name, deployment.metadata.uid);
        let metadata = json!({"name": format!("{name}-1"), "ownerReferences": [owner]});
        let object = json!({"metadata": metadata, "spec": spec});
        create(&self.namespaced::<ReplicaSet>(), object).await;
    }

    /// A ready pod of a Deployment on a node, by the name `<deployment>-<node>`.
    pub async fn pod_of(&self, deployment: &str, node: &str) {
        let set = format!("{deployment}-1");
        let uid = self.namespaced::<ReplicaSet>().get(&set).await.unwrap().metadata.uid;
        // The label is that of the other Deployment's name, and does not count.
        let labels = json!({"deployment": deployment, "app": "web"});
        let metadata = json!({
            "name": format!("{deployment}-{node}"), "labels": labels,
            "ownerReferences": [owner("ReplicaSet", &set, uid)],
        });
        self.running_pod(NAMESPACE, node, metadata).await;
    }

    /// A ready pod of a StatefulSet or DaemonSet, by this name.
    pub async fn pod_owned_by(&self, (kind, workload): (&str, &str), name: &str, node: &str) {
        let uid = Some("0d9c1c1e-3b7f-4f0e-9f59-6f1f0a6f7a03".to_owned());
        let owners = [owner(kind, workload, uid)];
        let metadata =
            json!({"name": name, "labels": {"app": workload}, "ownerReferences": owners});
        self.running_pod(NAMESPACE, node, metadata).await;
    }

    /// A ready pod with this metadata.
    pub async fn running_pod(&self, namespace: &str, node: &str, metadata: Value) {
        let name = metadata["name"].as_str().unwrap().to_owned();
        let pod = json!({
            "metadata": metadata,
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "i"}],
            },
        });
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        create(&pods, pod).await;
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let patch = Patch::Strategic(json!({"status": {"phase": "Running", "conditions": ready}}));
        pods.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub async fn delete_pod(&self, name: &str) {
        let now = DeleteParams::default().grace_period(0);
        self.namespaced::<Pod>().delete(name, &now).await.unwrap();
    }

    /// Waits until a pod is gone.
    pub async fn pod_is_gone(&self, name: &str) {
        eventually(&format!("{name} is gone"), || async {
            match self.namespaced::<Pod>().get_opt(name).await.unwrap() {
                None => Ok(()),
                Some(pod) => Err(pod.status),
            }
        })
        .await;
    }

    pub async fn pod_is_there(&self, name: &str) -> bool {
        self.pod_is_there_in(NAMESPACE, name).await
    }

    /// Whether a pod of another namespace is there.
    pub async fn pod_is_there_in(&self, namespace: &str, name: &str) -> bool {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let pod = pods.get_opt(name).await.unwrap();
        pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none())
    }

    /// The bodies of the evictions that were asked for. The API server must be recording.
    pub fn evictions(&self) -> Vec<Value> {
        match &self.server {
            ApiServer::Fake { kube, .. } => {
                let all = kube.exchanges().into_iter();
                let asked =
                    all.filter(|one| one.path.split('?').next().unwrap().ends_with("/eviction"));
                asked.map(|one| serde_json::from_slice(&one.body).unwrap()).collect()
            }
            ApiServer::Real { plane, .. } => {
                let all = plane.audit_log().unwrap().into_iter();
                let asked = all.filter(|one| one.subresource == "eviction");
                asked.map(|one| one.request_object).collect()
            }
        }
    }

    /// The time since the operator's last write to a node. The API server must be recording.
    pub fn since_written(&self, node: &str) -> std::time::Duration {
        let path = format!("/api/v1/nodes/{node}");
        let is_it = |agent: &str, uri: &str| {
            agent.starts_with("pontoon/") && uri.split('?').next() == Some(path.as_str())
        };
        let last = match &self.server {
            ApiServer::Fake { kube, .. } => {
                let all = kube.exchanges().into_iter().filter(|one| one.method == "PATCH");
                all.filter(|one| is_it(&one.user_agent, &one.path)).map(|one| one.at).max()
            }
            ApiServer::Real { plane, .. } => {
                let all = plane.audit_log().unwrap().into_iter();
                let all = all.filter(|one| one.verb == "patch");
                let mine = all.filter(|one| is_it(&one.user_agent, &one.request_uri));
                mine.map(|one| one.received).max()
            }
        };
        jiff::Timestamp::now().duration_since(last.unwrap()).unsigned_abs()
    }
}

fn owner(kind: &str, name: &str, uid: Option<String>) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true})
}
