//! A management cluster in a schedule: Clusters, VIP pools and classes, and events around them.

use serde::{Deserialize, Serialize};

use crate::schedule::Millis;

/// The objects of a management cluster, and the pace of its controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagementSetting {
    /// VIP pools.
    pub pools: Vec<VipPoolSetting>,
    /// Clusters.
    pub clusters: Vec<ClusterSetting>,
    /// Whether each of the two classes defines the variables for VIPs.
    pub variables: [bool; 2],
    /// `--hold-vips`.
    #[serde(default)]
    pub holds: bool,
    /// The time from a write to the round of the garbage collector that follows.
    pub lag: Millis,
    /// The longest time between two steps of the controllers.
    pub pace: Millis,
    /// The time that the machines of a deleted Cluster take to go.
    pub machines: Millis,
}

/// A VIP pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VipPoolSetting {
    /// Whether the VIP pool is in the namespace of the Clusters.
    #[serde(default)]
    pub local: bool,
    /// The number of addresses.
    pub size: u8,
    /// The roles.
    pub roles: Roles,
    /// The class. `None`: both.
    pub class: Option<u8>,
}

/// The roles of a VIP pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// The endpoint of the control plane.
    #[default]
    ControlPlane,
    /// Ingress.
    Ingress,
    /// Both.
    Both,
}

/// A Cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterSetting {
    /// The class.
    pub class: u8,
    /// Whether the manifest has a host.
    #[serde(default)]
    pub manual: bool,
    /// Whether the Cluster wants no ingress VIP.
    #[serde(default)]
    pub without_ingress: bool,
}

/// A change to a Cluster by its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterEvent {
    /// The Cluster is deleted, and created again under the same name at the end.
    Deleted(Propagation),
    /// The Cluster is deleted, and created again under the same name as soon as it is gone.
    Replaced(Propagation),
    /// The Cluster is deleted for good.
    Removed(Propagation),
    /// `clusterctl move`: the Cluster is paused, and taken away at the end.
    MovedAway,
    /// The Cluster is paused.
    Paused,
    /// The user writes a host, if the Cluster has none. The host stays.
    Host,
    /// The user writes the variable for the endpoint's VIP, and removes it at the end.
    Variable,
    /// The user removes all variables.
    WithoutVariables,
    /// The Cluster wants no ingress VIP.
    WithoutIngress,
    /// The Cluster has the other class.
    OtherClass,
}

/// The propagation policy of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Propagation {
    /// Dependents go after the Cluster.
    Background,
    /// Dependents go before the Cluster.
    Foreground,
}

/// A change to a VIP pool, undone at the end of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VipPoolEvent {
    /// The VIP pool is paused.
    Paused,
    /// The VIP pool is deleted.
    Deleted,
    /// The VIP pool serves no role.
    WithoutRole,
    /// The VIP pool serves no class.
    WithoutClass,
}

impl ClusterEvent {
    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deleted(Propagation::Background) => "Cluster deleted",
            Self::Deleted(Propagation::Foreground) => "Cluster deleted in the foreground",
            Self::Replaced(Propagation::Background) => "Cluster replaced",
            Self::Replaced(Propagation::Foreground) => "Cluster replaced in the foreground",
            Self::Removed(Propagation::Background) => "Cluster removed",
            Self::Removed(Propagation::Foreground) => "Cluster removed in the foreground",
            Self::MovedAway => "Cluster moved away",
            Self::Paused => "Cluster paused",
            Self::Host => "host by hand",
            Self::Variable => "variable by hand",
            Self::WithoutVariables => "variables removed",
            Self::WithoutIngress => "ingress disabled",
            Self::OtherClass => "class changed",
        }
    }

    /// All events.
    pub const ALL: [Self; 13] = [
        Self::Deleted(Propagation::Background),
        Self::Deleted(Propagation::Foreground),
        Self::Replaced(Propagation::Background),
        Self::Replaced(Propagation::Foreground),
        Self::Removed(Propagation::Background),
        Self::Removed(Propagation::Foreground),
        Self::MovedAway,
        Self::Paused,
        Self::Host,
        Self::Variable,
        Self::WithoutVariables,
        Self::WithoutIngress,
        Self::OtherClass,
    ];
}

impl VipPoolEvent {
    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paused => "VIP pool paused",
            Self::Deleted => "VIP pool deleted",
            Self::WithoutRole => "VIP pool without a role",
            Self::WithoutClass => "VIP pool without a class",
        }
    }

    /// All events.
    pub const ALL: [Self; 4] = [Self::Paused, Self::Deleted, Self::WithoutRole, Self::WithoutClass];
}
