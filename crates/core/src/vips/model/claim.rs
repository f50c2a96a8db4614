//! Claims, the addresses that they are bound to, and their holders.

use std::fmt;
use std::net::IpAddr;

use super::pool::PoolId;
use crate::Time;
use crate::model::Text;

/// The name of an object in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

impl ObjectName {
    /// A name in a namespace.
    pub fn new(namespace: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A claim of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipClaim {
    /// The name.
    pub name: ObjectName,
    /// UID of the object.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// Creation time.
    pub created_at: Time,
    /// The owning Cluster.
    pub owner: Option<ClaimOwner>,
    /// UID of the holder that owns the claim too.
    pub holder: Option<Text>,
    /// Another controller, neither a Cluster nor a holder, owns the claim.
    pub foreign: bool,
    /// The Cluster that the claim's label names.
    pub label: Option<Text>,
    /// The Cluster that the claim's spec names, which cannot be changed.
    pub cluster: Option<Text>,
    /// The VIP pool; `None` for a pool of a kind that we do not know.
    pub pool: Option<PoolId>,
    /// The address that the claim is bound to, by name.
    pub bound: Option<Text>,
    /// The provider says that the VIP pool has no free address.
    pub exhausted: bool,
    /// The claim is being deleted.
    pub deleting: bool,
    /// The object is deleted here because it lives on in another management cluster.
    pub moved_away: bool,
}

impl VipClaim {
    /// Whether the claim is bound.
    pub fn is_bound(&self) -> bool {
        self.bound.is_some()
    }
}

/// The Cluster that owns a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOwner {
    /// UID of the Cluster.
    pub uid: Text,
    /// Name of the Cluster.
    pub name: Text,
    /// The reference has an API version that is out of date: once the version is no longer served,
    /// the claim is not deleted with its Cluster.
    pub outdated: bool,
    /// The Cluster is the controlling owner.
    pub controller: bool,
}

/// An address that a claim is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipAddress {
    /// The name.
    pub name: ObjectName,
    /// The object's resource version, counted.
    pub version: u64,
    /// The address; `None` if unreadable.
    pub ip: Option<IpAddr>,
    /// The claim, by name.
    pub claim: Text,
    /// The object is being deleted.
    pub deleting: bool,
}

/// A second owner of a claim, which keeps the address of a Cluster until its machines are gone. The
/// holder has the name of the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The name.
    pub name: ObjectName,
    /// UID of the object.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// Name of the Cluster that the address is held for.
    pub cluster: Text,
    /// UID of that Cluster.
    pub cluster_uid: Text,
    /// The holder is being deleted.
    pub deleting: bool,
    /// The object is deleted here because it lives on in another management cluster.
    pub moved_away: bool,
}
