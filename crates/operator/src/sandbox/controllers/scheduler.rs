//! The scheduler: a pod goes to the node with the fewest pods of its owner, by name, among the nodes
//! that accept it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{NodeSelectorTerm, Taint, Toleration};
use kube::ResourceExt;

use super::steps::Step;
use super::{Controllers, is_alive, key};
use crate::sandbox::nodes::{is_cordoned, taints};
use crate::sandbox::objects::{Node, Pod};

impl Controllers {
    /// The next pod that gets a node, or is told why there is none.
    pub(super) fn schedule(&self) -> Option<Step> {
        let homeless = self.homeless.iter().filter_map(|key| self.pods.get(key));
        homeless.filter(|pod| is_alive(pod)).find_map(|pod| match self.place(pod) {
            Ok(node) => Some(Step::Bind(key(pod), node)),
            Err(why) => {
                let told = pod.status.conditions.iter().find(|one| one.kind == "PodScheduled");
                let is_told = told.is_some_and(|one| one.message == why);
                (!is_told).then(|| Step::Unschedulable(key(pod), why))
            }
        })
    }

    /// The node for a pod, or why there is none, in kube-scheduler's words.
    fn place(&self, pod: &Pod) -> Result<String, String> {
        let mut accepting = Vec::new();
        let mut objections: BTreeMap<&str, usize> = BTreeMap::new();
        for node in self.nodes.values() {
            match self.objection(pod, node) {
                None => accepting.push(node),
                Some(why) => *objections.entry(why).or_default() += 1,
            }
        }
        let crowd = |node: &&&Node| self.siblings(pod, &node.name_any());
        // The first of equals is the first by name.
        accepting.iter().min_by_key(crowd).map(|node| node.name_any()).ok_or_else(|| {
            let each = objections.iter().map(|(why, count)| format!("{count} node(s) {why}"));
            let each: Vec<_> = each.collect();
            format!("0/{} nodes are available: {}.", self.nodes.len(), each.join(", "))
        })
    }

    fn objection(&self, pod: &Pod, node: &Node) -> Option<&'static str> {
        let labels = node.labels();
        let selected = pod
            .spec
            .node_selector
            .iter()
            .all(|(key, value)| labels.get(key).is_some_and(|label| label == value));
        let repels = |taint: &Taint| taint.effect != "PreferNoSchedule" && !tolerates(pod, taint);
        if !node.status.are_ready() {
            Some("were not ready")
        } else if is_cordoned(node) {
            Some("were unschedulable")
        } else if !selected || !is_affine(pod, labels) {
            Some("didn't match Pod's node affinity/selector")
        } else if taints(node).iter().any(repels) {
            Some("had untolerated taint(s)")
        } else if self.ports_on(&node.name_any()).any(|port| ports(pod).contains(&port)) {
            Some("didn't have free ports for the requested pod ports")
        } else {
            None
        }
    }

    /// The ports of a node that its pods hold, until they are gone.
    fn ports_on<'a>(&'a self, node: &'a str) -> impl Iterator<Item = (String, i32)> + 'a {
        self.pods.values().filter(move |one| one.spec.node_name == *node).flat_map(ports)
    }

    /// The number of pods on a node with an owner of the pod's.
    fn siblings(&self, pod: &Pod, node: &str) -> usize {
        let owners = pod.owner_references();
        let is_sibling = |one: &&Pod| {
            one.spec.node_name == node
                && one.owner_references().iter().any(|owner| owners.contains(owner))
        };
        self.pods.values().filter(is_sibling).count()
    }
}

fn ports(pod: &Pod) -> BTreeSet<(String, i32)> {
    let ports = pod.spec.containers.iter().flat_map(|one| &one.ports);
    let held = ports.filter_map(|port| {
        let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
        Some((protocol, port.host_port.filter(|port| *port != 0)?))
    });
    held.collect()
}

fn tolerates(pod: &Pod, taint: &Taint) -> bool {
    let fits = |given: &Option<String>, wanted: &str| {
        given.as_deref().is_none_or(|given| given.is_empty() || given == wanted)
    };
    pod.spec.tolerations.iter().any(|one: &Toleration| {
        let any_value = one.operator.as_deref() == Some("Exists");
        let value = one.value.as_deref().unwrap_or_default();
        fits(&one.key, &taint.key)
            && fits(&one.effect, &taint.effect)
            && (any_value || value == taint.value.as_deref().unwrap_or_default())
    })
}

/// Whether labels fit the required node affinity of a pod.
fn is_affine(pod: &Pod, labels: &BTreeMap<String, String>) -> bool {
    let affinity = pod.spec.affinity.as_ref().and_then(|one| one.node_affinity.as_ref());
    let required =
        affinity.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_ref());
    required.is_none_or(|one| one.node_selector_terms.iter().any(|term| fits(term, labels)))
}

fn fits(term: &NodeSelectorTerm, labels: &BTreeMap<String, String>) -> bool {
    term.match_expressions.iter().flatten().all(|one| {
        let (label, values) = (labels.get(&one.key), one.values.clone().unwrap_or_default());
        let has = |label: &String| values.contains(label);
        match one.operator.as_str() {
            "In" => label.is_some_and(has),
            "NotIn" => !label.is_some_and(has),
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            // Gt and Lt: such pods are not for the sandbox.
            _ => false,
        }
    })
}
