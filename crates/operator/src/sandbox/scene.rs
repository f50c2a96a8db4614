//! The scenes: what a sandbox begins with.

use super::command::{HELP, KEYS, VIP_HELP, VIP_KEYS};

/// A scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// Pools, and an ingress with a pod on every node.
    Ingress,
    /// An allocation, and a Deployment whose pods run where the addresses are.
    Workload,
    /// A management cluster: Clusters of Cluster API, and VIP pools. No nodes.
    Management,
}

impl Scene {
    /// The provider of the machines, unless the user's objects name others.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Ingress | Self::Management => "digitalocean",
            Self::Workload => "gcp",
        }
    }

    /// The usual number of nodes.
    pub fn nodes(self) -> u64 {
        match self {
            Self::Ingress => 3,
            Self::Workload => 4,
            Self::Management => 0,
        }
    }

    /// The first commands for a user to try.
    pub fn first_commands(self) -> &'static [&'static str] {
        match self {
            Self::Ingress => &["kubectl get floatingippools -A"],
            Self::Workload => &[
                "kubectl get netipallocations,deployments,pods -A -o wide",
                "kubectl get nodes -L ip.ready -o wide",
                "kubectl drain node-1 --ignore-daemonsets",
            ],
            Self::Management => {
                &["kubectl get clusters,ipaddresses,inclusterippools,globalinclusterippools -A"]
            }
        }
    }

    /// The help text.
    pub fn help(self) -> &'static str {
        if self == Self::Management { VIP_HELP } else { HELP }
    }

    /// The keys, on a line.
    pub fn keys(self) -> &'static str {
        if self == Self::Management { VIP_KEYS } else { KEYS }
    }
}
