//! Pods, counted by node for each condition of classes on pods.
//!
//! Classes with equal conditions on pods share one count. Pods that are alike in namespace, labels,
//! owner and state share one *kind*, so that a selector is evaluated once per kind and condition.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClassId, PodMatch};
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

#[derive(Clone, Debug, PartialEq, Eq)]
struct Counted {
    node: NodeName,
    kind: KindId,
    name: Text,
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
    pods: BTreeMap<PodId, Counted>,
    /// Owners of the controllers that own pods, by namespace.
    parents: BTreeMap<(Text, Owner), Owner>,
    /// Namespaces in which every such controller is known; `None` stands for all.
    parents_known: BTreeSet<Option<Text>>,
    /// Ranges that cover all conditions.
    wanted: Vec<PodMatch>,
    /// Ranges in which every such pod is known.
    known: Vec<PodMatch>,
    issued: u32,
}

impl PodCounts {
    /// Number of pods on a node that meet a condition.
    pub fn count(&self, condition: ConditionId, node: &NodeName) -> usize {
        let counts = self.conditions.get(&condition).map(|condition| &condition.counts);
        counts.and_then(|counts| counts.get(node)).copied().unwrap_or(0)
    }

    /// Ranges of pods that cover all conditions: one for each namespace, or one for all.
    pub fn wanted(&self) -> &[PodMatch] {
        &self.wanted
    }

    /// Whether every such pod that could meet the condition is known.
    pub fn knows(&self, asked: &PodMatch) -> bool {
        self.known.iter().any(|known| known.covers(asked))
            && (!asked.needs_parents() || self.knows_parents(&asked.namespace))
    }

    /// Notes that every pod of a range is known. Returns the classes whose pods became known.
    pub fn read(&mut self, range: PodMatch) -> Vec<ClassId> {
        self.learn(|pods| {
            pods.known.retain(|known| !range.covers(known));
            pods.known.push(range);
        })
    }

    /// Notes which ranges are watched. Knowledge of other pods is dropped.
    pub fn watched(&mut self, ranges: &[PodMatch]) {
        self.known.retain(|known| ranges.iter().any(|range| range.covers(known)));
    }

    fn knows_parents(&self, namespace: &Option<Text>) -> bool {
        self.parents_known.contains(&None) || self.parents_known.contains(namespace)
    }

    /// Sets the namespaces in which the owner of every controller that owns pods is known. Returns the
    /// classes whose pods became known.
    pub fn set_parents_known(&mut self, known: BTreeSet<Option<Text>>) -> Vec<ClassId> {
        self.learn(|pods| pods.parents_known = known)
    }

    /// The classes whose pods become known by a change.
    fn learn(&mut self, change: impl FnOnce(&mut Self)) -> Vec<ClassId> {
        let all = || self.conditions.iter();
        let knew: BTreeSet<_> =
            all().filter(|(_, one)| self.knows(&one.pods)).map(|(id, _)| *id).collect();
        change(self);
        let new =
            self.conditions.iter().filter(|(id, one)| !knew.contains(id) && self.knows(&one.pods));
        let classes: BTreeSet<ClassId> = new.flat_map(|(_, one)| &one.classes).copied().collect();
        classes.into_iter().collect()
    }

    /// Notes the owner of a controller that owns pods; `None` if it has none or is gone. Its pods
    /// are then counted for that owner.
    pub fn set_parent(&mut self, child: (Text, Owner), parent: Option<Owner>) -> Flips {
        let changed = match parent {
            Some(parent) => self.parents.insert(child.clone(), parent.clone()) != Some(parent),
            None => self.parents.remove(&child).is_some(),
        };
        if !changed {
            return Flips::new();
        }
        let (namespace, owner) = (&child.0, Some(&child.1));
        let is_its = |kind: &Kind| {
            kind.sample.namespace == *namespace && kind.sample.owner.as_ref() == owner
        };
        let its: Vec<_> =
            self.kinds.iter().filter(|(_, kind)| is_its(kind)).map(|(id, _)| *id).collect();
        its.into_iter().flat_map(|id| self.recount(id)).collect()
    }

    /// The controllers whose owners are known.
    pub fn children(&self) -> impl Iterator<Item = &(Text, Owner)> {
        self.parents.keys()
    }

    /// The pods on a node that meet a condition, by identifier: namespace and name.
    pub fn on_node<'a>(
        &'a self,
        condition: ConditionId,
        node: &'a NodeName,
    ) -> impl Iterator<Item = (&'a PodId, &'a Text, &'a Text)> {
        let here = self.pods.iter().filter(move |(_, pod)| pod.node == *node);
        here.filter_map(move |(id, pod)| {
            let kind = self.kinds.get(&pod.kind)?;
            let meets = kind.conditions.contains(&condition);
            meets.then_some((id, &kind.sample.namespace, &pod.name))
        })
    }

    /// Judges the pods of a kind anew, whose owner became known or changed.
    fn recount(&mut self, id: KindId) -> Flips {
        let Some(kind) = self.kinds.get(&id) else { return Flips::new() };
        let accepted = self.accepted(&kind.sample);
        if accepted == kind.conditions {
            return Flips::new();
        }
        let nodes: Vec<_> =
            self.pods.values().filter(|pod| pod.kind == id).map(|pod| pod.node.clone()).collect();
        let before = kind.conditions.clone();
        let mut flips = Flips::new();
        for node in &nodes {
            for condition in accepted.iter().filter(|one| !before.contains(one)) {
                flips.extend(self.add_to(*condition, node));
            }
            for condition in before.iter().filter(|one| !accepted.contains(one)) {
                flips.extend(self.take_from(*condition, node));
            }
        }
        if let Some(kind) = self.kinds.get_mut(&id) {
            kind.conditions = accepted;
        }
        flips
    }

    /// The conditions that accept a pod, by the workload at the end of its chain of owners.
    fn accepted(&self, pod: &Pod) -> Vec<ConditionId> {
        let resolved = self.resolved(pod);
        let accepting = self.conditions.iter().filter(|(_, one)| one.pods.accepts(&resolved));
        accepting.map(|(id, _)| *id).collect()
    }

    /// A pod with the workload at the end of its chain of owners.
    fn resolved(&self, pod: &Pod) -> Pod {
        let parent = pod
            .owner
            .clone()
            .and_then(|owner| self.parents.get(&(pod.namespace.clone(), owner)).cloned());
        Pod { owner: parent.or_else(|| pod.owner.clone()), ..pod.clone() }
    }

    fn add_to(&mut self, condition: ConditionId, node: &NodeName) -> Flips {
        let Some(condition) = self.conditions.get_mut(&condition) else { return Flips::new() };
        let count = condition.counts.entry(node.clone()).or_default();
        *count += 1;
        if *count == 1 { condition.flips(node).collect() } else { Flips::new() }
    }

    fn take_from(&mut self, condition: ConditionId, node: &NodeName) -> Flips {
        let Some(condition) = self.conditions.get_mut(&condition) else { return Flips::new() };
        let Some(count) = condition.counts.get_mut(node) else { return Flips::new() };
        *count -= 1;
        if *count > 0 {
            return Flips::new();
        }
        condition.counts.remove(node);
        condition.flips(node).collect()
    }

    /// The counted pods, with their namespaces.
    pub fn ids(&self) -> impl Iterator<Item = (&PodId, &Text)> {
        let namespace = |pod: &Counted| Some(&self.kinds.get(&pod.kind)?.sample.namespace);
        self.pods.iter().filter_map(move |(id, pod)| Some((id, namespace(pod)?)))
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
        self.wanted = ranges(self.condition_ids.keys());
    }

    /// Counts a pod that appeared or changed.
    pub fn set(&mut self, pod: &Pod) -> Flips {
        let kind = self.kind_of(pod);
        let counted = Counted { node: pod.node.clone(), kind, name: pod.name.clone() };
        if self.pods.get(&pod.id) == Some(&counted) {
            return Flips::new();
        }
        // Count in before counting out: a pod with new labels must not flip a condition that both
        // its old and new labels meet.
        let mut flips = self.count_in(kind, &pod.node);
        let before = self.pods.insert(pod.id.clone(), counted);
        if let Some(before) = before {
            flips.extend(self.count_out(before.kind, &before.node));
        }
        flips
    }

    /// Removes a pod that is gone or no longer counts.
    pub fn remove(&mut self, pod: &PodId) -> Flips {
        match self.pods.remove(pod) {
            Some(pod) => self.count_out(pod.kind, &pod.node),
            None => Flips::new(),
        }
    }

    fn add_condition(&mut self, pods: &PodMatch) -> ConditionId {
        self.issued += 1;
        let id = ConditionId(self.issued);
        let accepts = |kind: &Kind| pods.accepts(&self.resolved(&kind.sample));
        let accepted: BTreeSet<_> =
            self.kinds.iter().filter(|(_, kind)| accepts(kind)).map(|(id, _)| *id).collect();
        for kind in self.kinds.iter_mut().filter(|(kind, _)| accepted.contains(kind)) {
            kind.1.conditions.push(id);
        }
        let mut counts = BTreeMap::new();
        for pod in self.pods.values().filter(|pod| accepted.contains(&pod.kind)) {
            *counts.entry(pod.node.clone()).or_default() += 1;
        }
        let condition = Condition { pods: pods.clone(), classes: BTreeSet::new(), counts };
        self.conditions.insert(id, condition);
        self.condition_ids.insert(pods.clone(), id);
        self.wanted = ranges(self.condition_ids.keys());
        id
    }

    fn kind_of(&mut self, pod: &Pod) -> KindId {
        let key = likeness(pod);
        if let Some(id) = self.kind_ids.get(&key) {
            return *id;
        }
        self.issued += 1;
        let id = KindId(self.issued);
        let conditions = self.accepted(pod);
        self.kinds.insert(id, Kind { sample: pod.clone(), conditions, pods: 0 });
        self.kind_ids.insert(key, id);
        id
    }

    fn count_in(&mut self, id: KindId, node: &NodeName) -> Flips {
        let Some(kind) = self.kinds.get_mut(&id) else { return Flips::new() };
        kind.pods += 1;
        let conditions = kind.conditions.clone();
        conditions.into_iter().flat_map(|condition| self.add_to(condition, node)).collect()
    }

    fn count_out(&mut self, id: KindId, node: &NodeName) -> Flips {
        let Some(kind) = self.kinds.get_mut(&id) else { return Flips::new() };
        kind.pods = kind.pods.saturating_sub(1);
        let (left, conditions) = (kind.pods, kind.conditions.clone());
        if left == 0
            && let Some(kind) = self.kinds.remove(&id)
        {
            self.kind_ids.remove(&likeness(&kind.sample));
        }
        conditions.into_iter().flat_map(|condition| self.take_from(condition, node)).collect()
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

/// The most namespaces whose pods, and whose controllers of pods, have a watch of their own.
pub const MOST_NAMESPACES: usize = 16;

/// Ranges of pods that together cover all conditions: a range for each namespace, or a single range over
/// all namespaces, if a condition accepts any namespace or the namespaces are more than
/// [`MOST_NAMESPACES`].
fn ranges<'a>(conditions: impl Iterator<Item = &'a PodMatch>) -> Vec<PodMatch> {
    let mut ranges: BTreeMap<Option<Text>, PodMatch> = BTreeMap::new();
    for pods in conditions {
        let wide = ranges.get(&pods.namespace).map(|range| range.widened(pods));
        ranges.insert(pods.namespace.clone(), wide.unwrap_or_else(|| pods.clone()));
    }
    if ranges.len() <= MOST_NAMESPACES && !ranges.contains_key(&None) {
        return ranges.into_values().collect();
    }
    ranges.into_values().reduce(|all, range| all.widened(&range)).into_iter().collect()
}
