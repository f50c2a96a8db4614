//! Names and identities. Cheap to clone, ordered, never empty by construction at the edge.

use std::fmt;
use std::sync::Arc;

use super::kind::{Kind, Scope};

/// Shared text.
pub type Text = Arc<str>;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub Text);

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A node's name.
    NodeName
}
name! {
    /// A pod's UID.
    PodId
}
name! {
    /// A machine as its cloud names it.
    MachineId
}
name! {
    /// One credential at one cloud: what shares a listing and a rate budget.
    AccountId
}
name! {
    /// An operation that a cloud works on after it accepted a call.
    OperationId
}

/// A machine, and the cloud that it is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// The cloud's name, as pools name it.
    pub cloud: Text,
    /// The machine there.
    pub id: MachineId,
}

/// A custom resource that we serve.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The kind.
    pub kind: &'static Kind,
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.scope {
            Scope::Cluster => write!(f, "{} {}", self.kind, self.name),
            Scope::Namespaced => write!(f, "{} {}/{}", self.kind, self.namespace, self.name),
        }
    }
}
