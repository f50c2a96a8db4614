//! Nodes and pods, reduced to the fields that the sandbox reads and writes.

use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{Node as KubeNode, Pod as KubePod, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Resource};
use serde::{Deserialize, Serialize};

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
    pub node_name: String,
    pub containers: Vec<Container>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Container {
    pub name: String,
    pub image: Option<String>,
}

/// The status of a node or a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    pub conditions: Vec<Condition>,
}

/// A condition of a node or a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
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
