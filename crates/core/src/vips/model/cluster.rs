//! Clusters and their classes.

use std::collections::BTreeMap;
use std::fmt;

use super::job::Role;
use crate::model::{Family, ObjectKey, Text};

/// A Cluster, which may ask for VIPs. Texts are `None` if absent or empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The object.
    pub key: ObjectKey,
    /// Words for messages about the object.
    pub names: &'static VipNames,
    /// UID of the object.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// The class whose VIP pools serve the Cluster: of its topology, or named to opt in.
    pub class: Option<ClassRef>,
    /// Whether the Cluster has a topology. Only such a Cluster has variables and an ingress VIP.
    pub topology: bool,
    /// VIP pools that the user names, by role.
    pub pools: BTreeMap<Role, Text>,
    /// The family of the first VIP; `None` takes any.
    pub family: Option<Family>,
    /// The family of a second VIP.
    pub second: Option<Family>,
    /// The Cluster is paused.
    pub paused: bool,
    /// The Cluster is being deleted.
    pub deleting: bool,
    /// The Cluster's own controller still has to remove machines before the object may go.
    pub guarded: bool,
    /// The object is deleted here because it lives on in another management cluster.
    pub moved_away: bool,
    /// The endpoint's host.
    pub host: Option<Text>,
    /// The endpoint's port.
    pub port: Option<u16>,
    /// The value of the variable with the endpoint's VIP.
    pub variable: Option<Text>,
    /// Ingress.
    pub ingress: Ingress,
    /// Addresses of both families, as written by us, by role.
    pub listed: BTreeMap<Role, Text>,
}

/// The ingress of a Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingress {
    /// Whether the user wants a VIP for ingress.
    pub enabled: bool,
    /// The VIP in the annotation.
    pub annotation: Option<Text>,
    /// The VIP in the label.
    pub label: Option<Text>,
    /// The value of the variable with the ingress VIP.
    pub variable: Option<Text>,
}

impl Cluster {
    /// Whether the Cluster asks for VIPs: by its class, or by VIP pools that the user names.
    pub fn asks(&self) -> bool {
        self.class.is_some() || !self.pools.is_empty()
    }

    /// The value that the Cluster shows for a role.
    pub(crate) fn shown(&self, role: Role) -> Option<&Text> {
        match role {
            Role::ControlPlane => self.host.as_ref(),
            Role::Ingress => self.ingress.annotation.as_ref().or(self.ingress.label.as_ref()),
        }
    }

    /// The value of a role's variable.
    pub(crate) fn variable(&self, role: Role) -> Option<&Text> {
        match role {
            Role::ControlPlane => self.variable.as_ref(),
            Role::Ingress => self.ingress.variable.as_ref(),
        }
    }
}

/// Names that users know, for messages.
#[derive(Debug, PartialEq, Eq)]
pub struct VipNames {
    /// The label and annotation with the classes of a VIP pool.
    pub classes: &'static str,
    /// The label and annotation with the roles of a VIP pool.
    pub roles: &'static str,
    /// The variable with the endpoint's VIP.
    pub variable: &'static str,
    /// The variable with the ingress VIP.
    pub ingress_variable: &'static str,
}

impl VipNames {
    /// The variable of a role.
    pub(crate) fn variable(&self, role: Role) -> &'static str {
        match role {
            Role::ControlPlane => self.variable,
            Role::Ingress => self.ingress_variable,
        }
    }
}

/// The name of a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassRef {
    /// The namespace of the class, which may differ from the namespace of the Cluster.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

impl fmt::Display for ClassRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A class of Clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterClass {
    /// The name.
    pub name: ClassRef,
    /// Roles for which the class defines a variable, inline or by an extension.
    pub defines: Vec<Role>,
}
