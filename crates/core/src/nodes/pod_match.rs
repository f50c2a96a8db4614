//! Conditions on pods.

use std::collections::BTreeSet;
use std::fmt;

use super::Selector;
use crate::model::{Owner, Pod, PodState, Text};

/// A condition on pods: a pod that a node must run, or a range of pods to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodMatch {
    /// Namespace of the pod; `None` accepts any.
    pub namespace: Option<Text>,
    /// Namespaces whose pods do not count, in order.
    pub except: Vec<Text>,
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
    /// The pods of a workload.
    Is(Workload),
    /// Any owner but one of these kinds, or none.
    NotOfKinds(Vec<Text>),
}

/// The pods of a workload, told by their owners and never by a part of their name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// Kind and name of the workload.
    pub owner: Owner,
    /// The kind of the controllers between the workload and its pods, if any.
    pub through: Option<Text>,
    /// Labels with the name of the workload, for pods without an owner.
    pub labels: Vec<Text>,
}

impl OwnerMatch {
    fn accepts(&self, pod: &Pod) -> bool {
        match self {
            Self::Any => true,
            Self::Is(workload) => workload.has(pod),
            Self::NotOfKinds(kinds) => {
                pod.owner.as_ref().is_none_or(|owner| !kinds.contains(&owner.kind))
            }
        }
    }

    /// Whether the owners of the pods' owners decide.
    fn needs_parents(&self) -> bool {
        matches!(self, Self::Is(Workload { through: Some(_), .. }))
    }
}

impl Workload {
    fn has(&self, pod: &Pod) -> bool {
        match &pod.owner {
            Some(owner) => *owner == self.owner,
            None => self.labels.iter().any(|key| pod.labels.get(key) == Some(&self.owner.name)),
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
        let except = self.except.iter().all(|one| !other.accepts_namespace(one));
        let labels = self.labels.is_empty() || self.labels == other.labels;
        let owner = self.owner == OwnerMatch::Any || self.owner == other.owner;
        namespace && except && labels && owner && (self.unready || !other.unready)
    }

    /// A range that covers both, without the parts that differ.
    #[must_use]
    pub fn widened(&self, other: &Self) -> Self {
        let namespace = self.namespace.clone().filter(|_| self.namespace == other.namespace);
        let labels =
            if self.labels == other.labels { self.labels.clone() } else { Selector::default() };
        let owner =
            if self.owner == other.owner { self.owner.clone() } else { OwnerMatch::default() };
        let both = |one: &&Text| !self.accepts_namespace(one) && !other.accepts_namespace(one);
        let except = self.except.iter().chain(&other.except).filter(both);
        let except: BTreeSet<_> = except.filter(|_| namespace.is_none()).cloned().collect();
        let (except, unready) = (except.into_iter().collect(), self.unready || other.unready);
        Self { namespace, except, labels, owner, unready }
    }

    /// Whether the range is in a namespace, or in all.
    pub(crate) fn is_in(&self, namespace: &Text) -> bool {
        self.namespace.as_ref().is_none_or(|one| one == namespace)
    }

    fn accepts_namespace(&self, namespace: &Text) -> bool {
        self.is_in(namespace) && !self.except.contains(namespace)
    }

    /// Whether the owners of the pods' owners decide which pods match.
    pub fn needs_parents(&self) -> bool {
        self.owner.needs_parents()
    }

    /// Whether a pod matches, whose owner is the workload at the end of the chain of owners.
    pub fn accepts(&self, pod: &Pod) -> bool {
        self.accepts_namespace(&pod.namespace)
            && self.labels.accepts(&pod.labels)
            && self.owner.accepts(pod)
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
