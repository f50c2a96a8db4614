//! Conditions on pods.

use std::fmt;

use super::Selector;
use crate::model::{Owner, Pod, PodState, Text};

/// A condition on pods: a pod that a node must run, or a range of pods to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodMatch {
    /// Namespace of the pod; `None` accepts any.
    pub namespace: Option<Text>,
    /// Required labels of the pod.
    pub labels: Selector,
    /// Required owner of the pod.
    pub owner: OwnerMatch,
    /// Whether pods count that run or start and are not ready.
    pub unready: bool,
}

/// A condition on the owner of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnerMatch {
    /// Any owner, or none.
    #[default]
    Any,
    /// The named owner.
    Is(Owner),
    /// Any owner but one of this kind, or none.
    NotOfKind(Text),
}

impl OwnerMatch {
    fn accepts(&self, owner: Option<&Owner>) -> bool {
        match self {
            Self::Any => true,
            Self::Is(wanted) => owner == Some(wanted),
            Self::NotOfKind(kind) => owner.is_none_or(|owner| owner.kind != *kind),
        }
    }
}

impl PodMatch {
    /// The range of all pods that run or start.
    pub fn every_pod() -> Self {
        Self { unready: true, ..Self::default() }
    }

    /// Whether every pod that `other` accepts is in this range. Selectors are compared as written:
    /// an equivalent selector in other words does not count.
    pub fn covers(&self, other: &Self) -> bool {
        let namespace = self.namespace.is_none() || self.namespace == other.namespace;
        let labels = self.labels.is_empty() || self.labels == other.labels;
        let owner = self.owner == OwnerMatch::Any || self.owner == other.owner;
        namespace && labels && owner && (self.unready || !other.unready)
    }

    /// A range that covers both, without the parts that differ.
    #[must_use]
    pub fn widened(&self, other: &Self) -> Self {
        let namespace = self.namespace.clone().filter(|_| self.namespace == other.namespace);
        let labels =
            if self.labels == other.labels { self.labels.clone() } else { Selector::default() };
        let owner =
            if self.owner == other.owner { self.owner.clone() } else { OwnerMatch::default() };
        Self { namespace, labels, owner, unready: self.unready || other.unready }
    }

    /// Whether a pod matches.
    pub fn accepts(&self, pod: &Pod) -> bool {
        self.namespace.as_ref().is_none_or(|wanted| *wanted == pod.namespace)
            && self.labels.accepts(&pod.labels)
            && self.owner.accepts(pod.owner.as_ref())
            && (pod.state == PodState::Ready || self.unready)
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
