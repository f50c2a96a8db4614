//! Eligibility of nodes: the rules of pools, and the causes that rule nodes out.

pub(crate) mod action;
mod candidates;
mod census;
mod fitness;
mod pod_counts;
mod pod_match;
mod selector;

pub use candidates::Candidates;
pub(crate) use candidates::Rejudged;
pub use census::Census;
pub use fitness::{Fitness, Unfit};
pub use pod_counts::MOST_NAMESPACES;
pub use pod_match::{OwnerMatch, PodMatch, Workload};
pub use selector::{Selector, SelectorError};

use crate::model::{Effect, Node, Taint, Text};

/// A pool's rules for nodes. Pools with equal rules share one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Required labels of the node.
    pub nodes: Selector,
    /// Required ready pod on the node, if any.
    pub pods: Option<PodMatch>,
    /// Tolerated taints.
    pub tolerations: Vec<Toleration>,
    /// Rule for cordoned nodes.
    pub cordon: Cordon,
}

/// Identifier of a class: one set of rules for nodes, for one account or for DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(u32);

/// Rule for cordoned nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cordon {
    /// The taints decide; Kubernetes taints a cordoned node.
    #[default]
    Tainted,
    /// A cordoned node receives no address, and keeps its address while it runs such a pod. Without
    /// such a pod the node is drained, and loses its address even if no other node can take it.
    KeepsWhile(PodMatch),
}

/// The taint that Kubernetes puts on a cordoned node.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The matching pods on a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodsOnNode {
    /// Number of pods that the rules require.
    pub required: usize,
    /// Number of pods that let a cordoned node keep its address.
    pub keeping: usize,
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

impl Match {
    /// Judges a node for a pool of the provider `cloud`; `None` accepts nodes of every provider.
    pub fn judge<'a>(
        &self,
        cloud: impl Into<Option<&'a str>>,
        node: &Node,
        pods: PodsOnNode,
    ) -> Fitness {
        match self.objection(cloud.into(), node, pods) {
            None => Fitness::Eligible,
            Some(Unfit::Cordoned) if pods.keeping > 0 => Fitness::Holding(Unfit::Cordoned),
            Some(unfit) => Fitness::Unfit(unfit),
        }
    }

    /// The first cause that rules the node out as a target.
    fn objection(&self, cloud: Option<&str>, node: &Node, pods: PodsOnNode) -> Option<Unfit> {
        if !self.nodes.accepts(&node.labels) {
            return Some(Unfit::Labels);
        }
        if node.deleting {
            return Some(Unfit::Deleting);
        }
        if !node.ready {
            return Some(Unfit::NotReady);
        }
        if let Some(taint) = node.taints.iter().find(|taint| !self.tolerates(taint)) {
            return Some(Unfit::Taint(taint.clone()));
        }
        let home = node.machine.as_ref().map(|machine| &*machine.cloud);
        if home.is_none() && node.provider_id.is_none() {
            let unnamed = node.unnamed.as_ref().filter(|one| cloud == Some(&*one.cloud));
            return Some(
                unnamed.map_or(Unfit::NoProviderId, |one| Unfit::Unnamed(one.lacks.clone())),
            );
        }
        if cloud.is_some_and(|cloud| home != Some(cloud)) {
            return Some(Unfit::OtherCloud);
        }
        if self.pods.is_some() && pods.required == 0 {
            return Some(Unfit::NoPod);
        }
        (node.cordoned && self.cordon != Cordon::Tainted).then_some(Unfit::Cordoned)
    }

    fn tolerates(&self, taint: &Taint) -> bool {
        // The rule for cordoned nodes replaces their taint.
        let of_cordon = self.cordon != Cordon::Tainted && *taint.key == *UNSCHEDULABLE;
        of_cordon || self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }

    /// The conditions on pods.
    pub(crate) fn asked_pods(&self) -> impl Iterator<Item = &PodMatch> {
        self.pods.iter().chain(self.keeping_pods())
    }

    /// The pods that let a cordoned node keep its address.
    pub(crate) fn keeping_pods(&self) -> Option<&PodMatch> {
        match &self.cordon {
            Cordon::Tainted => None,
            Cordon::KeepsWhile(pods) => Some(pods),
        }
    }
}
