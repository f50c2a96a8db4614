//! Nodes and pods, projected to what planning reads.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::model::{Family, Machine, NodeName, PodId, Text};

/// A label set, shared between the objects that have the same one.
pub type Labels = Arc<BTreeMap<Text, Text>>;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Its identity: an equal name with another UID is another node.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// Its machine, if its provider ID names one of a cloud that we know.
    pub machine: Option<Machine>,
    /// It names a provider ID at all (which may be of a cloud that we do not know).
    pub has_provider_id: bool,
    /// Condition `Ready` is `True`.
    pub ready: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// Its labels.
    pub labels: Labels,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// The addresses that its annotations say it has.
    pub marks: Marks,
    /// The addresses that it reports, for DNS.
    pub addresses: Addresses,
}

/// The addresses that a node reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// `ExternalIP`.
    pub external: Vec<IpAddr>,
    /// `InternalIP`.
    pub internal: Vec<IpAddr>,
}

/// The marks on a node that tell which addresses it serves, by family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The IPv4 mark.
    pub v4: Option<Text>,
    /// The IPv6 mark.
    pub v6: Option<Text>,
}

impl Marks {
    /// The mark of one family.
    pub fn get(&self, family: Family) -> Option<&Text> {
        match family {
            Family::V4 => self.v4.as_ref(),
            Family::V6 => self.v6.as_ref(),
        }
    }

    /// Replaces the mark of one family.
    pub fn set(&mut self, family: Family, mark: Option<Text>) {
        match family {
            Family::V4 => self.v4 = mark,
            Family::V6 => self.v6 = mark,
        }
    }
}

/// A taint on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// Its key.
    pub key: Text,
    /// Its value; empty if it has none.
    pub value: Text,
    /// Its effect.
    pub effect: Effect,
}

/// What a taint does to pods. All effects keep an address away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// `NoSchedule`.
    NoSchedule,
    /// `PreferNoSchedule`.
    PreferNoSchedule,
    /// `NoExecute`.
    NoExecute,
    /// An effect of a later Kubernetes: tolerated only by a toleration for all effects.
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

/// A pod that runs on a node, is ready and is not being deleted. Other pods make no
/// difference to any plan and are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its identity.
    pub id: PodId,
    /// Its namespace.
    pub namespace: Text,
    /// The node that it runs on.
    pub node: NodeName,
    /// Its labels.
    pub labels: Labels,
}
