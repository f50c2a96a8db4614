//! NetIPAllocations in a schedule, the workloads that use them, and events around both.

use serde::{Deserialize, Serialize};

use crate::schedule::Wish;

/// A NetIPAllocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationSetting {
    /// The number of listed addresses, existing from the start.
    pub listed: u8,
    /// `workloadRef`, if set.
    pub workload: Option<Workload>,
    /// The nodes by `nodeSelector`. Only the choices of labels count.
    #[serde(default)]
    pub wish: Wish,
    /// `reconcileInterval`, if not 0.
    #[serde(default)]
    pub interval: u8,
    /// `gracePeriodSeconds`, if set.
    #[serde(default)]
    pub grace: Option<u8>,
    /// `eviction: Disabled`.
    #[serde(default)]
    pub stays: bool,
    /// Whether the allocation also lists the first address of the first pool, or else of the first
    /// allocation.
    #[serde(default)]
    pub covets: bool,
}

/// A workload, with a pod for each node at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// A Deployment, whose pods belong to a ReplicaSet.
    Deployment,
    /// A StatefulSet.
    StatefulSet,
    /// A DaemonSet.
    DaemonSet,
}

impl Workload {
    /// All workloads.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet];

    /// The kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
        }
    }

    /// The name, which is also the label `app` of its pods.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "web",
            Self::StatefulSet => "db",
            Self::DaemonSet => "agent",
        }
    }
}

/// A user's change to an allocation, undone at the end of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationEvent {
    /// The last listed address is delisted.
    Unlisted,
    /// The first address of a pool or of another allocation is listed too.
    Adopts(u8),
    /// The allocation is deleted.
    Deleted,
    /// The allocation asks for other nodes.
    Reselected(Wish),
    /// The allocation names another workload, or none.
    Reworked(Option<Workload>),
    /// Sets `reconcileInterval`.
    Interval(u8),
    /// Sets `gracePeriodSeconds`.
    Grace(u8),
    /// Sets `eviction` to `Disabled`, or else to `Enabled`.
    Stays(bool),
    /// The allocation is paused.
    Paused,
}
