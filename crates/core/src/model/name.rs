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
    /// The provider's identifier of a machine.
    MachineId
}
name! {
    /// One credential at one provider, with its listings and its rate limit.
    AccountId
}
name! {
    /// An operation that a provider carries out after its answer.
    OperationId
}

/// A machine, with its provider. Machines are ordered by their identifier first: most have the same
/// provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// The provider's identifier.
    pub id: MachineId,
    /// The provider's name, as in pools.
    pub cloud: Text,
}

/// Key of an object.
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
