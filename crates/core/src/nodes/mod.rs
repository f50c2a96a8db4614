//! Which nodes a pool may use, and what rules the others out.

mod candidates;
mod census;
mod ready_pods;
mod selector;

pub use candidates::{Candidates, ClassId};
pub use census::Census;
pub use selector::{Selector, SelectorError};

use std::fmt;

use crate::model::{Effect, Labels, Node, Taint, Text};

/// A pool's conditions on nodes. Pools with equal conditions share one candidate set.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// The node's labels.
    pub nodes: Selector,
    /// A ready pod that must run there, if any must.
    pub pods: Option<PodMatch>,
    /// Taints that are tolerated.
    pub tolerations: Vec<Toleration>,
}

/// The pod that a node must run; or, as a range, every pod that would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodMatch {
    /// Its namespace; `None` is any.
    pub namespace: Option<Text>,
    /// Its labels.
    pub labels: Selector,
}

impl PodMatch {
    /// Whether every pod that `other` accepts is in this range. A range that is written in other
    /// words than `other` does not count as covering, even where it would.
    pub fn covers(&self, other: &Self) -> bool {
        let namespace = self.namespace.is_none() || self.namespace == other.namespace;
        namespace && (self.labels.is_empty() || self.labels == other.labels)
    }

    /// A range that covers both: each part on which they do not agree is left out.
    #[must_use]
    pub fn widened(&self, other: &Self) -> Self {
        let namespace = self.namespace.clone().filter(|_| self.namespace == other.namespace);
        let labels =
            if self.labels == other.labels { self.labels.clone() } else { Selector::default() };
        Self { namespace, labels }
    }

    /// Whether a pod of this namespace with these labels will do.
    pub fn accepts(&self, namespace: &str, labels: &Labels) -> bool {
        self.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
            && self.labels.accepts(labels)
    }
}

impl fmt::Display for PodMatch {
    /// As a person would ask for it: `app=nginx in ingress`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.labels.is_empty(), &self.namespace) {
            (true, Some(namespace)) => write!(f, "in {namespace}"),
            (false, Some(namespace)) => write!(f, "{} in {namespace}", self.labels),
            (true, None) => f.write_str("in any namespace"),
            (false, None) => write!(f, "{} in any namespace", self.labels),
        }
    }
}

/// A toleration, as on pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toleration {
    /// The taint's key; `None` tolerates every key.
    pub key: Option<Text>,
    /// The taint's value; `None` tolerates every value (operator `Exists`).
    pub value: Option<Text>,
    /// The taint's effect; `None` tolerates every effect.
    pub effect: Option<Effect>,
}

impl Toleration {
    /// Whether this toleration covers `taint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.as_ref().is_none_or(|effect| *effect == taint.effect)
    }
}

/// What rules a node out. The first that applies is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfit {
    /// Its labels do not match.
    Labels,
    /// It is being deleted.
    Deleting,
    /// It is not ready.
    NotReady,
    /// A taint that is not tolerated.
    Taint(Taint),
    /// It does not say which machine it is.
    NoProviderId,
    /// Its machine is not in the pool's cloud.
    OtherCloud,
    /// No ready pod that matches runs there.
    NoPod,
}

impl Unfit {
    /// Whether it is for want of a machine, whatever pods run there.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            Self::NoProviderId | Self::OtherCloud => true,
            Self::Labels | Self::Deleting | Self::NotReady | Self::Taint(_) | Self::NoPod => false,
        }
    }

    /// What rules out the node of this name, as a sentence of its own.
    pub fn said_of(&self, node: &str) -> String {
        match self {
            Self::Labels => format!("the labels of {node} do not match"),
            Self::Deleting => format!("{node} is being deleted"),
            Self::NotReady => format!("{node} is not ready"),
            Self::Taint(taint) => {
                format!("{node} has the taint {}:{}, not tolerated", taint.key, taint.effect)
            }
            Self::NoProviderId => format!("{node} has no spec.providerID"),
            Self::OtherCloud => format!("the spec.providerID of {node} is of another cloud"),
            Self::NoPod => format!("no ready pod on {node} matches"),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels => f.write_str("its labels do not match"),
            Self::Deleting => f.write_str("it is being deleted"),
            Self::NotReady => f.write_str("it is not ready"),
            Self::Taint(taint) => {
                write!(f, "taint {}:{} is not tolerated", taint.key, taint.effect)
            }
            Self::NoProviderId => f.write_str("it has no spec.providerID"),
            Self::OtherCloud => f.write_str("its spec.providerID is of another cloud"),
            Self::NoPod => f.write_str("no ready pod on it matches"),
        }
    }
}

impl Match {
    /// Judges one node for a pool in `cloud`, or for what is in no cloud and does not mind
    /// where a node is. `pods` is how many ready pods there match.
    ///
    /// # Errors
    /// What rules the node out.
    pub fn judge<'a>(
        &self,
        cloud: impl Into<Option<&'a str>>,
        node: &Node,
        pods: usize,
    ) -> Result<(), Unfit> {
        if !self.nodes.accepts(&node.labels) {
            return Err(Unfit::Labels);
        }
        if node.deleting {
            return Err(Unfit::Deleting);
        }
        if !node.ready {
            return Err(Unfit::NotReady);
        }
        if let Some(taint) = node.taints.iter().find(|taint| !self.tolerates(taint)) {
            return Err(Unfit::Taint(taint.clone()));
        }
        if !node.has_provider_id {
            return Err(Unfit::NoProviderId);
        }
        let home = node.machine.as_ref().map(|machine| &*machine.cloud);
        if cloud.into().is_some_and(|cloud| home != Some(cloud)) {
            return Err(Unfit::OtherCloud);
        }
        if self.pods.is_some() && pods == 0 {
            return Err(Unfit::NoPod);
        }
        Ok(())
    }

    fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }
}
