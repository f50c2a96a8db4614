//! Eligibility of nodes: the rules of pools, and the causes that rule nodes out.

mod candidates;
mod census;
mod ready_pods;
mod selector;

pub use candidates::{Candidates, ClassId};
pub use census::Census;
pub use selector::{Selector, SelectorError};

use std::fmt;

use crate::model::{Effect, Labels, Node, Taint, Text};

/// A pool's rules for nodes. Pools with equal rules share one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Required labels of the node.
    pub nodes: Selector,
    /// Required ready pod on the node, if any.
    pub pods: Option<PodMatch>,
    /// Tolerated taints.
    pub tolerations: Vec<Toleration>,
}

/// A condition on pods: a pod that a node must run, or a range of pods to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodMatch {
    /// Namespace of the pod; `None` accepts any.
    pub namespace: Option<Text>,
    /// Required labels of the pod.
    pub labels: Selector,
}

impl PodMatch {
    /// Whether every pod that `other` accepts is in this range. Selectors are compared as written:
    /// an equivalent selector in other words does not count.
    pub fn covers(&self, other: &Self) -> bool {
        let namespace = self.namespace.is_none() || self.namespace == other.namespace;
        namespace && (self.labels.is_empty() || self.labels == other.labels)
    }

    /// A range that covers both, without the parts that differ.
    #[must_use]
    pub fn widened(&self, other: &Self) -> Self {
        let namespace = self.namespace.clone().filter(|_| self.namespace == other.namespace);
        let labels =
            if self.labels == other.labels { self.labels.clone() } else { Selector::default() };
        Self { namespace, labels }
    }

    /// Whether a pod with these labels in the namespace matches.
    pub fn accepts(&self, namespace: &str, labels: &Labels) -> bool {
        self.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
            && self.labels.accepts(labels)
    }
}

impl fmt::Display for PodMatch {
    /// Text for messages: `app=nginx in ingress`.
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
    /// Whether the toleration covers `taint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.as_ref().is_none_or(|effect| *effect == taint.effect)
    }
}

/// Cause that rules a node out. The first applicable cause is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfit {
    /// The labels do not match.
    Labels,
    /// The node is being deleted.
    Deleting,
    /// The node is not ready.
    NotReady,
    /// A taint is not tolerated.
    Taint(Taint),
    /// The node has no provider ID.
    NoProviderId,
    /// The machine is not at the pool's provider.
    OtherCloud,
    /// No matching ready pod runs on the node.
    NoPod,
}

impl Unfit {
    /// Whether the node's machine is the cause.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            Self::NoProviderId | Self::OtherCloud => true,
            Self::Labels | Self::Deleting | Self::NotReady | Self::Taint(_) | Self::NoPod => false,
        }
    }

    /// The cause as a clause about the named node.
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
    /// Judges a node for a pool of the provider `cloud`; `None` accepts nodes of every provider.
    /// `pods` is the number of matching ready pods on the node.
    ///
    /// # Errors
    /// The cause that rules the node out.
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
        if node.provider_id.is_none() {
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
