//! Pods, counted by node for each condition of classes on pods.
//!
//! Classes with equal conditions on pods share one count. Pods that are alike in namespace, labels,
//! owner and state share one *kind*, so that a selector is evaluated once per kind and condition.

use std::collections::{BTreeMap, BTreeSet};

use super::PodMatch;
use super::candidates::ClassId;
use crate::model::{Labels, NodeName, Owner, Pod, PodId, PodState, Text};

/// Identifier of a condition on pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConditionId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KindId(u32);

#[derive(Clone, Debug)]
struct Condition {
    pods: PodMatch,
    classes: BTreeSet<ClassId>,
    /// Nodes without a matching pod have no entry.
    counts: BTreeMap<NodeName, usize>,
}

/// Namespace, labels, owner and state of pods.
type Likeness = (Text, Labels, Option<Owner>, PodState);

#[derive(Clone, Debug)]
struct Kind {
    /// A pod of the kind.
    sample: Pod,
    /// Conditions that accept the pods of the kind.
    conditions: Vec<ConditionId>,
    pods: usize,
}

/// Nodes that gained their first matching pod or lost their last, with the classes of the
/// condition.
pub(crate) type Flips = BTreeSet<(ClassId, NodeName)>;

/// Pods by node, as far as classes ask for pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodCounts {
    conditions: BTreeMap<ConditionId, Condition>,
    condition_ids: BTreeMap<PodMatch, ConditionId>,
    kinds: BTreeMap<KindId, Kind>,
    kind_ids: BTreeMap<Likeness, KindId>,
    pods: BTreeMap<PodId, (NodeName, KindId)>,
    /// The smallest range that covers all conditions.
    wanted: Option<PodMatch>,
    /// The range in which every such pod is known.
    known: Option<PodMatch>,
    issued: u32,
}

impl PodCounts {
    /// Number of pods on a node that meet a condition.
    pub fn count(&self, condition: ConditionId, node: &NodeName) -> usize {
        let counts = self.conditions.get(&condition).map(|condition| &condition.counts);
        counts.and_then(|counts| counts.get(node)).copied().unwrap_or(0)
    }

    /// The smallest range of pods that covers all conditions; `None` if no class asks for pods.
    pub fn wanted(&self) -> Option<&PodMatch> {
        self.wanted.as_ref()
    }

    /// The range in which every such pod is known.
    pub fn known(&self) -> Option<&PodMatch> {
        self.known.as_ref()
    }

    /// Whether every such pod that could meet the condition is known.
    pub fn knows(&self, asked: &PodMatch) -> bool {
        self.known.as_ref().is_some_and(|known| known.covers(asked))
    }

    /// Sets the range in which every such pod is known. Returns the classes whose pods became
    /// known.
    pub fn set_known(&mut self, known: Option<PodMatch>) -> Vec<ClassId> {
        let before = std::mem::replace(&mut self.known, known);
        let knew = |asked: &PodMatch| before.as_ref().is_some_and(|before| before.covers(asked));
        let new = self.conditions.values().filter(|one| self.knows(&one.pods) && !knew(&one.pods));
        let classes: BTreeSet<ClassId> = new.flat_map(|one| &one.classes).copied().collect();
        classes.into_iter().collect()
    }

    /// The counted pods.
    pub fn ids(&self) -> impl Iterator<Item = &PodId> {
        self.pods.keys()
    }

    /// Adds a class to the condition that it asks for, and creates the condition if missing.
    pub fn ask(&mut self, pods: &PodMatch, class: ClassId) -> ConditionId {
        let id = match self.condition_ids.get(pods) {
            Some(id) => *id,
            None => self.add_condition(pods),
        };
        if let Some(condition) = self.conditions.get_mut(&id) {
            condition.classes.insert(class);
        }
        id
    }

    /// Removes a class from its condition. A condition without classes is removed.
    pub fn stop_asking(&mut self, id: ConditionId, class: ClassId) {
        let Some(condition) = self.conditions.get_mut(&id) else { return };
        condition.classes.remove(&class);
        if !condition.classes.is_empty() {
            return;
        }
        self.condition_ids.remove(&condition.pods);
        self.conditions.remove(&id);
        for kind in self.kinds.values_mut() {
            kind.conditions.retain(|one| *one != id);
        }
        let mut asked = self.condition_ids.keys();
        let first = asked.next().cloned();
        self.wanted = first.map(|first| asked.fold(first, |all, one| all.widened(one)));
    }

    /// Counts a pod that appeared or changed.
    pub fn set(&mut self, pod: &Pod) -> Flips {
        let kind = self.kind_of(pod);
        if self.pods.get(&pod.id) == Some(&(pod.node.clone(), kind)) {
            return Flips::new();
        }
        // Count in before counting out: a pod with new labels must not flip a condition that both
        // its old and new labels meet.
        let mut flips = self.count_in(kind, &pod.node);
        let before = self.pods.insert(pod.id.clone(), (pod.node.clone(), kind));
        if let Some((node, kind)) = before {
            flips.extend(self.count_out(kind, &node));
        }
        flips
    }

    /// Removes a pod that is gone or no longer counts.
    pub fn remove(&mut self, pod: &PodId) -> Flips {
        match self.pods.remove(pod) {
            Some((node, kind)) => self.count_out(kind, &node),
            None => Flips::new(),
        }
    }

    fn add_condition(&mut self, pods: &PodMatch) -> ConditionId {
        self.issued += 1;
        let id = ConditionId(self.issued);
        let mut accepted = BTreeSet::new();
        for (kind_id, kind) in &mut self.kinds {
            if pods.accepts(&kind.sample) {
                kind.conditions.push(id);
                accepted.insert(*kind_id);
            }
        }
        let mut counts = BTreeMap::new();
        for (node, _) in self.pods.values().filter(|(_, kind)| accepted.contains(kind)) {
            *counts.entry(node.clone()).or_default() += 1;
        }
        let condition = Condition { pods: pods.clone(), classes: BTreeSet::new(), counts };
        self.conditions.insert(id, condition);
        self.condition_ids.insert(pods.clone(), id);
        self.wanted = Some(self.wanted.as_ref().map_or(pods.clone(), |all| all.widened(pods)));
        id
    }

    fn kind_of(&mut self, pod: &Pod) -> KindId {
        let key = likeness(pod);
        if let Some(id) = self.kind_ids.get(&key) {
            return *id;
        }
        self.issued += 1;
        let id = KindId(self.issued);
        let accepts = |one: &Condition| one.pods.accepts(pod);
        let accepting = self.conditions.iter().filter(|(_, condition)| accepts(condition));
        let conditions = accepting.map(|(id, _)| *id).collect();
        self.kinds.insert(id, Kind { sample: pod.clone(), conditions, pods: 0 });
        self.kind_ids.insert(key, id);
        id
    }

    fn count_in(&mut self, id: KindId, node: &NodeName) -> Flips {
        let Some(kind) = self.kinds.get_mut(&id) else { return Flips::new() };
        kind.pods += 1;
        let mut flips = Flips::new();
        for id in &kind.conditions {
            let Some(condition) = self.conditions.get_mut(id) else { continue };
            let count = condition.counts.entry(node.clone()).or_default();
            *count += 1;
            if *count == 1 {
                flips.extend(condition.flips(node));
            }
        }
        flips
    }

    fn count_out(&mut self, id: KindId, node: &NodeName) -> Flips {
        let Some(kind) = self.kinds.get_mut(&id) else { return Flips::new() };
        kind.pods = kind.pods.saturating_sub(1);
        let mut flips = Flips::new();
        for id in &kind.conditions {
            let Some(condition) = self.conditions.get_mut(id) else { continue };
            let Some(count) = condition.counts.get_mut(node) else { continue };
            *count -= 1;
            if *count == 0 {
                condition.counts.remove(node);
                flips.extend(condition.flips(node));
            }
        }
        if kind.pods == 0
            && let Some(kind) = self.kinds.remove(&id)
        {
            self.kind_ids.remove(&likeness(&kind.sample));
        }
        flips
    }
}

impl Condition {
    fn flips(&self, node: &NodeName) -> impl Iterator<Item = (ClassId, NodeName)> {
        self.classes.iter().map(|class| (*class, node.clone()))
    }
}

fn likeness(pod: &Pod) -> Likeness {
    (pod.namespace.clone(), pod.labels.clone(), pod.owner.clone(), pod.state)
}
