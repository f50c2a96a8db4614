//! Candidate sets, kept up to date event by event.
//!
//! Pools with equal rules share one *class*, so that the cost of a node or pod event grows with the
//! number of different rules, not with the number of pools.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::pod_counts::{ConditionId, Flips, MOST_NAMESPACES, PodCounts};
use super::{Census, ClassId, Fitness, Match, PodMatch, PodsOnNode, Unfit};
use crate::model::{AccountId, Family, Node, NodeName, ObjectKey, Owner, Pod, PodId, Taint, Text};

#[derive(Clone, Debug)]
struct Class {
    /// The account and its provider; `None` accepts nodes of every provider.
    account: Option<AccountId>,
    cloud: Option<Text>,
    matching: Arc<Match>,
    /// The condition on required pods, and on pods that let a cordoned node keep its address.
    required: Option<ConditionId>,
    keeping: Option<ConditionId>,
    pools: BTreeSet<ObjectKey>,
    eligible: BTreeSet<NodeName>,
    /// Nodes that may keep their address, and receive none.
    holding: BTreeSet<NodeName>,
    /// Number of eligible nodes with room for an address, by family. Maintained by `addresses/free_nodes.rs`.
    vacant: BTreeMap<Family, usize>,
    /// Nodes ruled out by their machine alone, pods aside.
    homeless: BTreeMap<NodeName, Unfit>,
    /// The cause that rules out each node, and the number of nodes by cause. Nodes whose labels do
    /// not match are in neither map.
    ruled_out: BTreeMap<NodeName, Unfit>,
    causes: BTreeMap<Unfit, usize>,
}

/// Every class with its eligible nodes, and the counted pods.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    classes: BTreeMap<ClassId, Class>,
    class_ids: BTreeMap<(Option<AccountId>, Arc<Match>), ClassId>,
    /// Classes by a label that their rules require, and classes without such a label.
    anchored: BTreeMap<(Text, Text), BTreeSet<ClassId>>,
    unanchored: BTreeSet<ClassId>,
    pods: PodCounts,
    issued: u32,
    /// Number of nodes, and whether the number changed since `take_recounted`.
    nodes: usize,
    recounted: bool,
}

/// A node that is judged otherwise than before.
pub(crate) struct Rejudged {
    pub class: ClassId,
    pub node: NodeName,
    /// Whether the node became eligible, or ceased to be.
    pub eligibility: bool,
}

/// Changes in the judgement on a node.
#[derive(Default, PartialEq, Eq)]
struct News {
    eligibility: bool,
    holding: bool,
    /// The cause that rules the node out.
    cause: bool,
}

impl Candidates {
    /// The eligible nodes of a class, by name.
    pub fn eligible(&self, class: ClassId) -> impl Iterator<Item = &NodeName> {
        self.classes.get(&class).into_iter().flat_map(|class| &class.eligible)
    }

    /// Number of eligible nodes of a class.
    pub fn eligible_count(&self, class: ClassId) -> usize {
        self.classes.get(&class).map_or(0, |class| class.eligible.len())
    }

    /// Number of eligible nodes of a class with room for an address.
    pub fn vacant_count(&self, class: ClassId, family: Family) -> usize {
        let class = self.classes.get(&class);
        class.and_then(|class| class.vacant.get(&family)).copied().unwrap_or(0)
    }

    /// Whether a node is eligible in a class.
    pub fn is_eligible(&self, class: ClassId, node: &NodeName) -> bool {
        self.classes.get(&class).is_some_and(|class| class.eligible.contains(node))
    }

    /// Whether a node of a class may keep its address: eligible, or holding.
    pub fn may_keep(&self, class: ClassId, node: &NodeName) -> bool {
        let keeps = |class: &Class| class.eligible.contains(node) || class.holding.contains(node);
        self.classes.get(&class).is_some_and(keeps)
    }

    /// Nodes ruled out by their machine alone, pods aside, with the cause.
    pub(crate) fn homeless(&self, class: ClassId) -> impl Iterator<Item = (&NodeName, &Unfit)> {
        self.classes.get(&class).into_iter().flat_map(|class| &class.homeless)
    }

    /// Number of eligible nodes of a class, and the causes that rule out the rest. Counts are
    /// maintained as nodes change, so that the cost grows with the number of causes only.
    pub fn census(&self, class: ClassId) -> Option<Census> {
        let class = self.classes.get(&class)?;
        let judged = class.eligible.len() + class.ruled_out.len();
        let others = (Unfit::Labels, self.nodes.saturating_sub(judged));
        let causes = class.causes.iter().map(|(unfit, count)| (unfit.clone(), *count));
        let counts = (self.nodes, class.eligible.len());
        Some(Census::new(counts, causes.chain([others]), class.matching.pods.clone()))
    }

    /// Whether nodes were added or removed since the last call. Every census changes then, even
    /// where the node does not match.
    pub(crate) fn take_recounted(&mut self) -> bool {
        std::mem::take(&mut self.recounted)
    }

    /// Judges a node for a class.
    pub fn judge(&self, class: ClassId, node: &Node) -> Fitness {
        let class = self.classes.get(&class);
        class.map_or(Fitness::Unfit(Unfit::Labels), |class| class.judge(node, &self.pods))
    }

    /// Ranges of pods that cover every class: one for each namespace, or one for all.
    pub(crate) fn pods_wanted(&self) -> &[PodMatch] {
        self.pods.wanted()
    }

    /// Whether every ready pod that a class asks for is known. Otherwise the eligible nodes are
    /// unknown, and an empty set means nothing.
    pub fn knows_pods(&self, class: ClassId) -> bool {
        let class = self.classes.get(&class);
        class.is_none_or(|class| class.matching.asked_pods().all(|asked| self.pods.knows(asked)))
    }

    /// Notes that every pod of a range is known. Returns the classes whose pods became known.
    pub(crate) fn pods_read(&mut self, range: PodMatch) -> Vec<ClassId> {
        self.pods.read(range)
    }

    /// Notes which ranges of pods are watched. Knowledge of other pods is dropped.
    pub(crate) fn pods_watched(&mut self, ranges: &[PodMatch]) {
        self.pods.watched(ranges);
    }

    /// The provider and the eligible nodes of a class; `None` for a class of every provider.
    pub(crate) fn class(&self, class: ClassId) -> Option<(&Text, &BTreeSet<NodeName>)> {
        let class = self.classes.get(&class)?;
        Some((class.cloud.as_ref()?, &class.eligible))
    }

    /// Whether a class with these rules exists.
    pub(crate) fn has_class(&self, account: &AccountId, matching: &Arc<Match>) -> bool {
        self.class_ids.contains_key(&(Some(account.clone()), matching.clone()))
    }

    /// Sets the number of eligible nodes of a class with room.
    pub(crate) fn set_vacant(&mut self, class: ClassId, family: Family, count: usize) {
        if let Some(class) = self.classes.get_mut(&class) {
            class.vacant.insert(family, count);
        }
    }

    /// Counts a node that gained or lost room for an address.
    pub(crate) fn room_changed(&mut self, node: &Node, cloud: &Text, family: Family, has: bool) {
        for id in self.concerned([node]) {
            if let Some(class) = self.classes.get_mut(&id)
                && class.cloud.as_ref() == Some(cloud)
                && class.eligible.contains(&node.name)
            {
                let count = class.vacant.entry(family).or_default();
                *count = if has { *count + 1 } else { count.saturating_sub(1) };
            }
        }
    }

    /// The classes in which a node is eligible.
    pub(crate) fn classes_of(&self, node: &Node) -> Vec<ClassId> {
        let has = |id: &ClassId| self.is_eligible(*id, &node.name);
        self.concerned([node]).into_iter().filter(has).collect()
    }

    /// Number of pools of a class.
    pub(crate) fn pool_count(&self, class: ClassId) -> usize {
        self.classes.get(&class).map_or(0, |class| class.pools.len())
    }

    /// The pools of a class after `last`, in order.
    pub(crate) fn pools_after(
        &self,
        class: ClassId,
        last: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &ObjectKey> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let pools = self.classes.get(&class).map(|class| &class.pools);
        pools.into_iter().flat_map(move |pools| pools.range((from, Bound::Unbounded)))
    }

    /// The pools of a class.
    pub(crate) fn pools(&self, class: ClassId) -> impl Iterator<Item = &ObjectKey> {
        self.classes.get(&class).into_iter().flat_map(|class| &class.pools)
    }

    /// Adds a pool to the class of its rules, and creates the class if missing. Without an account,
    /// nodes of every provider match.
    pub(crate) fn join(
        &mut self,
        account: Option<(&AccountId, &Text)>,
        matching: &Arc<Match>,
        pool: &ObjectKey,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> ClassId {
        let key = (account.map(|(account, _)| account.clone()), matching.clone());
        let id = match self.class_ids.get(&key) {
            Some(id) => *id,
            None => self.add_class(key, account.map(|(_, cloud)| cloud.clone()), nodes),
        };
        if let Some(class) = self.classes.get_mut(&id) {
            class.pools.insert(pool.clone());
        }
        id
    }

    /// Removes a pool from its class. A class without pools is removed.
    pub(crate) fn leave(&mut self, id: ClassId, pool: &ObjectKey) {
        let Some(class) = self.classes.get_mut(&id) else {
            return;
        };
        class.pools.remove(pool);
        if class.pools.is_empty() {
            let matching = class.matching.clone();
            self.anchor(id, &matching, false);
            if let Some(class) = self.classes.remove(&id) {
                for condition in class.required.into_iter().chain(class.keeping) {
                    self.pods.stop_asking(condition, id);
                }
                self.class_ids.remove(&(class.account, matching));
            }
        }
    }

    /// Judges a node that appeared or changed. Returns the classes in which eligibility, or the
    /// cause that rules the node out, changed.
    pub(crate) fn node_set(&mut self, node: &Node, before: Option<&Node>) -> BTreeSet<ClassId> {
        if before.is_none() {
            self.nodes += 1;
            self.recounted = true;
        }
        let mut concerned = self.concerned([node].into_iter().chain(before));
        let pods = &self.pods;
        let news = |class: &mut Class| class.rejudge(node, pods) != News::default();
        concerned.retain(|id| self.classes.get_mut(id).is_some_and(news));
        concerned
    }

    /// The classes whose required label is on one of these nodes, and the classes that require
    /// none.
    fn concerned<'n>(&self, nodes: impl IntoIterator<Item = &'n Node>) -> BTreeSet<ClassId> {
        let mut concerned = self.unanchored.clone();
        for (key, value) in nodes.into_iter().flat_map(|node| &*node.labels) {
            concerned
                .extend(self.anchored.get(&(key.clone(), value.clone())).into_iter().flatten());
        }
        concerned
    }

    /// Removes a node. Returns the classes in which the node was eligible or counted under a cause.
    pub(crate) fn node_removed(&mut self, node: &NodeName) -> Vec<ClassId> {
        self.nodes = self.nodes.saturating_sub(1);
        self.recounted = true;
        let changed = |(id, class): (&ClassId, &mut Class)| {
            class.homeless.remove(node);
            let ruled_out = class.rule_out(node, None);
            let kept = class.holding.remove(node);
            (class.eligible.remove(node) || kept || ruled_out).then_some(*id)
        };
        self.classes.iter_mut().filter_map(changed).collect()
    }

    /// Counts a pod that appeared or changed. Returns the nodes that are judged otherwise now.
    pub(crate) fn pod_set(&mut self, pod: &Pod, nodes: &BTreeMap<NodeName, Node>) -> Vec<Rejudged> {
        let flips = self.pods.set(pod);
        self.rejudge(flips, nodes)
    }

    /// Removes a pod that is gone or no longer counts. Returns the nodes that are judged otherwise
    /// now.
    pub(crate) fn pod_removed(
        &mut self,
        pod: &PodId,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> Vec<Rejudged> {
        let flips = self.pods.remove(pod);
        self.rejudge(flips, nodes)
    }

    /// Judges nodes again that gained their first matching pod or lost their last. Returns those
    /// that are judged otherwise now.
    fn rejudge(&mut self, flips: Flips, nodes: &BTreeMap<NodeName, Node>) -> Vec<Rejudged> {
        let judge = |(id, name): (ClassId, NodeName)| {
            let news = self.classes.get_mut(&id)?.rejudge(nodes.get(&name)?, &self.pods);
            let rejudged = Rejudged { class: id, node: name, eligibility: news.eligibility };
            (news.eligibility || news.holding).then_some(rejudged)
        };
        flips.into_iter().filter_map(judge).collect()
    }

    /// Notes the owner of a controller that owns pods. Returns the nodes that are judged otherwise
    /// now.
    pub(crate) fn parent_set(
        &mut self,
        child: (Text, Owner),
        parent: Option<Owner>,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> Vec<Rejudged> {
        let flips = self.pods.set_parent(child, parent);
        self.rejudge(flips, nodes)
    }

    /// Sets whether the owner of every controller that owns pods is known. Returns the classes whose
    /// pods became known.
    pub(crate) fn set_parents_known(&mut self, known: BTreeSet<Option<Text>>) -> Vec<ClassId> {
        self.pods.set_parents_known(known)
    }

    /// The controllers whose owners are known.
    pub(crate) fn children(&self) -> impl Iterator<Item = &(Text, Owner)> {
        self.pods.children()
    }

    /// The namespaces in which the owners of controllers decide which pods match; `None` alone for all
    /// namespaces, or for more than [`MOST_NAMESPACES`].
    pub(crate) fn parents_wanted(&self) -> BTreeSet<Option<Text>> {
        let rules = self.classes.values().flat_map(|class| class.matching.asked_pods());
        let rules = rules.filter(|pods| pods.needs_parents());
        let wanted: BTreeSet<_> = rules.map(|pods| pods.namespace.clone()).collect();
        if wanted.len() <= MOST_NAMESPACES && !wanted.contains(&None) {
            return wanted;
        }
        [None].into()
    }

    /// The pods that keep a cordoned node's address, on any node of the class: identifier, namespace
    /// and name.
    pub(crate) fn keeping_pods<'a>(
        &'a self,
        class: ClassId,
        node: &'a NodeName,
    ) -> impl Iterator<Item = (&'a PodId, &'a Text, &'a Text)> {
        let condition = self.classes.get(&class).and_then(|class| class.keeping);
        condition.into_iter().flat_map(|condition| self.pods.on_node(condition, node))
    }

    /// The counted pods, with their namespaces.
    pub(crate) fn pod_ids(&self) -> impl Iterator<Item = (&PodId, &Text)> {
        self.pods.ids()
    }

    fn add_class(
        &mut self,
        (account, matching): (Option<AccountId>, Arc<Match>),
        cloud: Option<Text>,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> ClassId {
        self.issued += 1;
        let id = ClassId(self.issued);
        let required = matching.pods.as_ref().map(|pods| self.pods.ask(pods, id));
        let keeping = matching.keeping_pods().map(|pods| self.pods.ask(pods, id));
        let mut class = Class {
            account: account.clone(),
            cloud,
            matching: matching.clone(),
            required,
            keeping,
            pools: BTreeSet::new(),
            eligible: BTreeSet::new(),
            holding: BTreeSet::new(),
            homeless: BTreeMap::new(),
            ruled_out: BTreeMap::new(),
            causes: BTreeMap::new(),
            vacant: BTreeMap::new(),
        };
        for node in nodes.values() {
            class.rejudge(node, &self.pods);
        }
        self.anchor(id, &matching, true);
        self.class_ids.insert((account, matching), id);
        self.classes.insert(id, class);
        id
    }

    /// Adds a class to the index by required label, or removes the class from the index.
    fn anchor(&mut self, id: ClassId, matching: &Match, belongs: bool) {
        let Some((key, values)) = matching.nodes.anchor() else {
            if belongs {
                self.unanchored.insert(id);
            } else {
                self.unanchored.remove(&id);
            }
            return;
        };
        for value in values {
            let anchor = (key.clone(), value.clone());
            let classes = self.anchored.entry(anchor.clone()).or_default();
            if belongs {
                classes.insert(id);
            } else {
                classes.remove(&id);
            }
            if classes.is_empty() {
                self.anchored.remove(&anchor);
            }
        }
    }
}

impl Class {
    fn judge(&self, node: &Node, pods: &PodCounts) -> Fitness {
        let count = |condition: Option<ConditionId>| {
            condition.map_or(0, |condition| pods.count(condition, &node.name))
        };
        let pods = PodsOnNode { required: count(self.required), keeping: count(self.keeping) };
        self.matching.judge(self.cloud.as_deref(), node, pods)
    }

    /// Judges a node again. Returns what changed.
    fn rejudge(&mut self, node: &Node, pods: &PodCounts) -> News {
        let fitness = self.judge(node, pods);
        let is_in = |set: &mut BTreeSet<NodeName>, belongs: bool| match belongs {
            true => set.insert(node.name.clone()),
            false => set.remove(&node.name),
        };
        let eligibility = is_in(&mut self.eligible, fitness.is_eligible());
        let holding = is_in(&mut self.holding, matches!(fitness, Fitness::Holding(_)));
        let unfit = fitness.objection();
        // Classes of every provider need no machine.
        self.homeless.remove(&node.name);
        if let Some(unfit) =
            unfit.as_ref().filter(|one| self.cloud.is_some() && one.is_of_machine())
        {
            self.homeless.insert(node.name.clone(), unfit.clone());
        }
        News { eligibility, holding, cause: self.rule_out(&node.name, unfit) }
    }

    /// Counts the cause that rules a node out; `None` for an eligible node. Returns whether the
    /// cause changed.
    fn rule_out(&mut self, node: &NodeName, unfit: Option<Unfit>) -> bool {
        let unfit = match unfit {
            Some(Unfit::Labels) => None,
            // Taints that differ only in value count as one cause.
            Some(Unfit::Taint(taint)) => Some(Unfit::Taint(Taint { value: "".into(), ..taint })),
            other => other,
        };
        let before = match &unfit {
            Some(unfit) => self.ruled_out.insert(node.clone(), unfit.clone()),
            None => self.ruled_out.remove(node),
        };
        if before == unfit {
            return false;
        }
        if let Some(before) = before
            && let Some(count) = self.causes.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                self.causes.remove(&before);
            }
        }
        if let Some(unfit) = unfit {
            *self.causes.entry(unfit).or_default() += 1;
        }
        true
    }
}
