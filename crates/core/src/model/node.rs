//! Nodes and pods, reduced to the fields that planning reads.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::model::{Machine, Marks, NodeName, PodId, Text};

/// A label set, shared between objects with equal labels.
pub type Labels = Arc<BTreeMap<Text, Text>>;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub name: NodeName,
    /// UID: an equal name with another UID is another node.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// The machine, if the provider ID is of a known provider, or names tell the machine.
    pub machine: Option<Machine>,
    /// What is missing to tell the machine by names, of a node without a provider ID.
    pub unnamed: Option<Unnamed>,
    /// The provider ID as the node gives it, of any provider.
    pub provider_id: Option<Text>,
    /// Condition `Ready` is `True`.
    pub ready: bool,
    /// The node is being deleted.
    pub deleting: bool,
    /// The node is cordoned (`spec.unschedulable`).
    pub cordoned: bool,
    /// Labels of the node.
    pub labels: Labels,
    /// Taints of the node.
    pub taints: Vec<Taint>,
    /// Marks of the node.
    pub marks: Marks,
    /// Addresses in the node's status, for DNS.
    pub addresses: Addresses,
}

/// What is missing to tell the machine of a node by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    /// The provider that could have the machine.
    pub cloud: Text,
    /// What is missing, in words.
    pub lacks: Text,
}

/// Addresses in a node's status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// `ExternalIP`.
    pub external: Vec<IpAddr>,
    /// `InternalIP`.
    pub internal: Vec<IpAddr>,
}

/// A taint on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// Its key.
    pub key: Text,
    /// Its value, or empty.
    pub value: Text,
    /// Its effect.
    pub effect: Effect,
}

/// Effect of a taint on pods. Every effect rules a node out unless tolerated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// `NoSchedule`.
    NoSchedule,
    /// `PreferNoSchedule`.
    PreferNoSchedule,
    /// `NoExecute`.
    NoExecute,
    /// An effect of a later Kubernetes version, compared by name.
    Other(Text),
}

impl From<&str> for Effect {
    fn from(text: &str) -> Self {
        match text {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            other => Self::Other(other.into()),
        }
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(text) => text,
        })
    }
}

/// A pod on a node that runs or starts, and is not being deleted. Other pods affect no plan and are
/// not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// UID of the pod.
    pub id: PodId,
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// The node of the pod.
    pub node: NodeName,
    /// Its labels.
    pub labels: Labels,
    /// State of the pod.
    pub state: PodState,
    /// The controller that the pod names as its owner.
    pub owner: Option<Owner>,
}

/// State of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodState {
    /// Running, with the condition `Ready`.
    #[default]
    Ready,
    /// Running or pending, and not ready.
    Unready,
}

/// A controller that owns pods, or owns the controller of pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The kind, such as `Deployment`.
    pub kind: Text,
    /// The name.
    pub name: Text,
}
