//! Nodes, pods and their workloads, reduced to the fields that the sandbox reads and writes.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::apps::v1::{Deployment as KubeDeployment, ReplicaSet as KubeReplicaSet};
use k8s_openapi::api::core::v1::{
    Affinity, Node as KubeNode, NodeAddress, Pod as KubePod, Taint, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Api, Resource};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::observe::follow::{Event, follow};
use crate::observe::{Followed, Selection};

/// Pause after a failed request.
const PAUSE: Duration = Duration::from_millis(100);

/// A node.
#[derive(Resource, Clone, Debug, Default, Serialize, Deserialize)]
#[resource(inherit = "KubeNode")]
#[serde(default)]
pub struct Node {
    /// Name, labels, annotations.
    pub metadata: ObjectMeta,
    /// Provider ID, cordon and taints.
    pub spec: NodeSpec,
    /// Conditions.
    pub status: Conditions,
}

/// The spec of a node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    pub unschedulable: Option<bool>,
    pub taints: Option<Vec<Taint>>,
}

/// A pod.
#[derive(Resource, Clone, Debug, Default, Serialize, Deserialize)]
#[resource(inherit = "KubePod")]
#[serde(default)]
pub struct Pod {
    /// Name, namespace, owners.
    pub metadata: ObjectMeta,
    /// Node and containers.
    pub spec: PodSpec,
    /// Phase and conditions.
    pub status: Conditions,
}

/// The spec of a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    pub containers: Vec<Container>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Container {
    pub name: String,
    pub image: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Port {
    pub container_port: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_port: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// The status of a node or a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    pub conditions: Vec<Condition>,
    /// Of a node alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<NodeAddress>,
}

/// A condition of a node or a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A Deployment.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "KubeDeployment")]
#[serde(default)]
pub struct Deployment {
    pub metadata: ObjectMeta,
    pub spec: WorkloadSpec,
    pub status: WorkloadStatus,
}

/// A ReplicaSet.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "KubeReplicaSet")]
#[serde(default)]
pub struct ReplicaSet {
    pub metadata: ObjectMeta,
    pub spec: WorkloadSpec,
    pub status: WorkloadStatus,
}

/// The spec of a Deployment or a ReplicaSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkloadSpec {
    pub replicas: Option<i32>,
    pub selector: Value,
    /// Passed on as it is to the objects made from it.
    pub template: Value,
    /// Of a Deployment alone.
    pub strategy: Option<Strategy>,
}

/// How a Deployment replaces its pods.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    pub rolling_update: Option<RollingUpdate>,
}

/// How many pods a Deployment replaces at a time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    pub max_unavailable: Option<IntOrString>,
}

/// The status of a Deployment or a ReplicaSet. The server leaves out counts that are 0.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadStatus {
    pub observed_generation: Option<i64>,
    pub replicas: i32,
    pub updated_replicas: i32,
    pub ready_replicas: i32,
    pub available_replicas: i32,
    pub unavailable_replicas: i32,
    /// Of a Deployment alone.
    pub conditions: Option<Vec<WorkloadCondition>>,
}

/// A condition of a Deployment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadCondition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub last_transition_time: Option<Time>,
}

/// Each object: `Ok` when changed, `Err` when deleted.
pub(super) fn watched<K: Followed>(api: Api<K>) -> impl Stream<Item = Result<K, K>> + Send {
    follow(api, Selection::default()).filter_map(async |event| match event {
        Ok(Event::Seen(object)) => Some(Ok(object)),
        Ok(Event::Gone(object)) => Some(Err(object)),
        Ok(Event::Listing | Event::Answered | Event::Bookmark | Event::Listed) => None,
        Err(_) => {
            tokio::time::sleep(PAUSE).await;
            None
        }
    })
}

impl Conditions {
    /// Whether the condition `Ready` is `True`.
    pub fn are_ready(&self) -> bool {
        self.conditions.iter().any(|one| one.kind == "Ready" && one.status == "True")
    }
}
