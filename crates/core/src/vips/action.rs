//! Actions on claims, holders and Clusters.

use std::fmt;
use std::net::IpAddr;

use super::model::{Job, ObjectName, PoolId, Role};
use crate::Time;
use crate::model::{Family, ObjectKey, Text};

/// A write for the VIPs of a Cluster. Writes of an existing object have its UID and version as
/// preconditions: an object that changed since the last read is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VipAction {
    /// Create a claim, owned by the Cluster. A claim of the same name counts as a conflict.
    CreateClaim {
        /// Cluster that is to own the claim.
        cluster: ObjectKey,
        /// UID of the Cluster. A new Cluster of the same name is not the owner.
        uid: Text,
        /// The job of the claim.
        job: Job,
        /// VIP pool that the claim asks for an address.
        pool: PoolId,
    },
    /// Write the owners and labels of a claim, in the current API version.
    AdoptClaim {
        /// Cluster that the claim is for.
        cluster: ObjectKey,
        /// The job of the claim.
        job: Job,
        /// The claim as read: the precondition of the write.
        claim: Version,
        /// UID of the owning Cluster.
        owner: Text,
        /// UID of the holder that owns the claim too.
        holder: Option<Text>,
        /// UIDs of Clusters that the API server must no longer have. A Cluster that was not seen may
        /// be one whose event comes later than the claim's.
        gone: Vec<Text>,
    },
    /// Delete a claim that is bound to no address.
    DeleteClaim {
        /// Cluster that the claim is for.
        cluster: ObjectKey,
        /// The job of the claim.
        job: Job,
        /// The claim as read: the precondition of the deletion.
        claim: Version,
        /// Why the claim is deleted, for a new one to follow.
        why: Deletion,
    },
    /// Write the endpoint of a Cluster that has none, and the variable.
    SetEndpoint(EndpointWrite),
    /// Write the missing port or variable of a Cluster whose endpoint has the host already.
    RepairEndpoint(EndpointWrite),
    /// Write the ingress VIP of a Cluster.
    SetIngress(IngressWrite),
    /// Write the addresses of both families as a list.
    ListAddresses {
        /// Cluster that is to show the list.
        cluster: ObjectKey,
        /// The Cluster as read: the precondition of the write.
        object: Version,
        /// The use of the VIPs.
        role: Role,
        /// The addresses, the first VIP first.
        ips: Vec<IpAddr>,
    },
    /// Create a claim's holder, or have the holder name the Cluster.
    KeepHolder {
        /// Cluster that the holder is to name.
        cluster: ObjectKey,
        /// UID of the Cluster.
        uid: Text,
        /// The job of the claim.
        job: Job,
        /// The existing holder as read; `None` creates one.
        holder: Option<Version>,
    },
    /// Delete a holder, so that its claim goes with the Cluster.
    DropHolder {
        /// Cluster that the address was held for.
        cluster: ObjectKey,
        /// The job of the claim.
        job: Job,
        /// The holder as read: the precondition of the deletion.
        holder: Version,
        /// UIDs of Clusters that the API server must no longer have.
        gone: Vec<Text>,
    },
}

/// An object as read: the precondition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Namespace and name of the object.
    pub name: ObjectName,
    /// UID of the object. A new object of the same name is not written.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
}

/// Why a claim is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The VIP pool cannot serve the claim, and another one can.
    FellBack {
        /// The VIP pool of the claim.
        from: PoolId,
        /// The next VIP pool.
        to: PoolId,
    },
    /// The provider refused the claim, and has not tried again since its VIP pool has room.
    Unanswered(PoolId),
}

/// A write of a Cluster's endpoint: host, port and variable together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointWrite {
    /// Cluster that is to have the endpoint.
    pub cluster: ObjectKey,
    /// The Cluster as read: the precondition of the write.
    pub object: Version,
    /// The VIP, which is the host of the endpoint.
    pub host: IpAddr,
    /// Port of the endpoint. Cluster API clears a host without a port.
    pub port: u16,
    /// Whether the variable is written too.
    pub variable: bool,
    /// When the claim was created: the start of the wait for a VIP, which metrics show.
    pub claimed_at: Time,
}

/// A write of a Cluster's ingress VIP: annotation, label and variable together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressWrite {
    /// Cluster that is to show the ingress VIP.
    pub cluster: ObjectKey,
    /// The Cluster as read: the precondition of the write.
    pub object: Version,
    /// The ingress VIP.
    pub ip: IpAddr,
    /// Whether the variable is written too.
    pub variable: bool,
    /// When the claim was created: the start of the wait for a VIP, which metrics show.
    pub claimed_at: Time,
}

impl IngressWrite {
    /// Whether the label is written too. A label cannot hold an IPv6 address.
    pub fn label(&self) -> bool {
        Family::of(self.ip) == Family::V4
    }
}

/// The subject of an action: of each at most one runs at a time for a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// The claim of a job: create, adopt or delete.
    Claim(Job),
    /// The holder of a job's claim: create, change or delete.
    Holder(Job),
    /// The VIP of a role, on the Cluster.
    Show(Role),
    /// The addresses of both families, on the Cluster.
    List(Role),
}

impl Task {
    /// Whether the task writes the Cluster itself.
    pub fn writes_cluster(self) -> bool {
        matches!(self, Self::Show(_) | Self::List(_))
    }
}

impl VipAction {
    /// The Cluster that the write is for.
    pub fn cluster(&self) -> &ObjectKey {
        match self {
            Self::CreateClaim { cluster, .. }
            | Self::AdoptClaim { cluster, .. }
            | Self::DeleteClaim { cluster, .. }
            | Self::ListAddresses { cluster, .. }
            | Self::KeepHolder { cluster, .. }
            | Self::DropHolder { cluster, .. } => cluster,
            Self::SetEndpoint(write) | Self::RepairEndpoint(write) => &write.cluster,
            Self::SetIngress(write) => &write.cluster,
        }
    }

    pub(crate) fn task(&self) -> Task {
        match self {
            Self::CreateClaim { job, .. }
            | Self::AdoptClaim { job, .. }
            | Self::DeleteClaim { job, .. } => Task::Claim(*job),
            Self::KeepHolder { job, .. } | Self::DropHolder { job, .. } => Task::Holder(*job),
            Self::SetEndpoint(_) | Self::RepairEndpoint(_) => Task::Show(Role::ControlPlane),
            Self::SetIngress(_) => Task::Show(Role::Ingress),
            Self::ListAddresses { role, .. } => Task::List(*role),
        }
    }
}

impl fmt::Display for VipAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateClaim { cluster, job, pool, .. } => {
                write!(f, "claim an address of {pool} for the {job} of {}", cluster.name)
            }
            Self::AdoptClaim { cluster, claim, .. } => {
                write!(f, "tie the claim {} to {}", claim.name, cluster.name)
            }
            Self::DeleteClaim { claim, why, .. } => {
                write!(f, "delete the unbound claim {}: {why}", claim.name)
            }
            Self::SetEndpoint(EndpointWrite { cluster, host, port, .. }) => {
                write!(f, "set the endpoint of {} to {host}, port {port}", cluster.name)
            }
            Self::RepairEndpoint(EndpointWrite { cluster, host, port, .. }) => {
                write!(f, "complete the endpoint of {}: {host}, port {port}", cluster.name)
            }
            Self::SetIngress(IngressWrite { cluster, ip, .. }) => {
                write!(f, "set the ingress VIP of {} to {ip}", cluster.name)
            }
            Self::ListAddresses { cluster, role, ips, .. } => {
                let ips: Vec<_> = ips.iter().map(ToString::to_string).collect();
                write!(f, "list {} for the {role} of {}", ips.join(" and "), cluster.name)
            }
            Self::KeepHolder { cluster, job, .. } => {
                write!(f, "hold the {job} address of {} until its machines are gone", cluster.name)
            }
            Self::DropHolder { cluster, job, .. } => {
                write!(f, "no longer hold the {job} address of {}", cluster.name)
            }
        }
    }
}

impl fmt::Display for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FellBack { from, to } => {
                write!(f, "{from} has no free address; {to} is tried")
            }
            Self::Unanswered(pool) => {
                write!(f, "{pool} has room again, and the claim is not served")
            }
        }
    }
}
