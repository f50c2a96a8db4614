//! Candidate sets, kept up to date event by event.
//!
//! Pools with equal rules share one *class*, so that the cost of a node or pod event grows with the
//! number of different rules, not with the number of pools.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::ready_pods::{ConditionId, Flips, ReadyPods};
use super::{Census, Match, PodMatch, Unfit};
use crate::model::{AccountId, Family, Node, NodeName, ObjectKey, Pod, PodId, Taint, Text};

/// Identifier of a class: one set of rules for nodes, for one account or for DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(u32);

#[derive(Clone, Debug)]
struct Class {
    /// The account and its provider; `None` accepts nodes of every provider.
    account: Option<AccountId>,
    cloud: Option<Text>,
    matching: Arc<Match>,
    /// The condition on pods, if any.
    pods: Option<ConditionId>,
    pools: BTreeSet<ObjectKey>,
    eligible: BTreeSet<NodeName>,
    /// Number of eligible nodes with room for an address, by family. Maintained by vacancy.rs.
    vacant: BTreeMap<Family, usize>,
    /// Nodes ruled out by their machine alone, pods aside.
    homeless: BTreeMap<NodeName, Unfit>,
    /// The cause that rules out each node, and the number of nodes by cause. Nodes whose labels do
    /// not match are in neither map.
    ruled_out: BTreeMap<NodeName, Unfit>,
    causes: BTreeMap<Unfit, usize>,
}

/// Every class with its eligible nodes, and the ready pods.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    classes: BTreeMap<ClassId, Class>,
    class_ids: BTreeMap<(Option<AccountId>, Arc<Match>), ClassId>,
    /// Classes by a label that their rules require, and classes without such a label.
    anchored: BTreeMap<(Text, Text), BTreeSet<ClassId>>,
    unanchored: BTreeSet<ClassId>,
    pods: ReadyPods,
    issued: u32,
    /// Number of nodes, and whether the number changed since `take_recounted`.
    nodes: usize,
    recounted: bool,
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
    ///
    /// # Errors
    /// The cause that rules the node out.
    pub fn judge(&self, class: ClassId, node: &Node) -> Result<(), Unfit> {
        let class = self.classes.get(&class).ok_or(Unfit::Labels)?;
        class.judge(node, &self.pods)
    }

    /// The smallest range of pods that covers every class; `None` if no class asks for pods.
    pub(crate) fn pods_wanted(&self) -> Option<&PodMatch> {
        self.pods.wanted()
    }

    /// Whether every ready pod that a class asks for is known. Otherwise the eligible nodes are
    /// unknown, and an empty set means nothing.
    pub fn knows_pods(&self, class: ClassId) -> bool {
        let asked = self.classes.get(&class).and_then(|class| class.matching.pods.as_ref());
        asked.is_none_or(|asked| self.pods.knows(asked))
    }

    /// Sets the range in which every ready pod is known. Returns the classes whose pods became
    /// known.
    pub(crate) fn set_known_pods(&mut self, known: Option<PodMatch>) -> Vec<ClassId> {
        self.pods.set_known(known)
    }

    /// The range in which every ready pod is known.
    pub(crate) fn known_pods(&self) -> Option<&PodMatch> {
        self.pods.known()
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
                if let Some(condition) = class.pods {
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
        let news = |class: &mut Class| class.rejudge(node, pods) != (false, false);
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
            (class.eligible.remove(node) || ruled_out).then_some(*id)
        };
        self.classes.iter_mut().filter_map(changed).collect()
    }

    /// Counts a ready pod that appeared or changed. Returns the nodes whose eligibility changed, by
    /// class.
    pub(crate) fn pod_set(
        &mut self,
        pod: &Pod,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> BTreeSet<(ClassId, NodeName)> {
        let flips = self.pods.set(pod);
        self.rejudge(flips, nodes)
    }

    /// Removes a pod that is gone or no longer ready. Returns the nodes whose eligibility changed,
    /// by class.
    pub(crate) fn pod_removed(
        &mut self,
        pod: &PodId,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> BTreeSet<(ClassId, NodeName)> {
        let flips = self.pods.remove(pod);
        self.rejudge(flips, nodes)
    }

    /// Judges nodes again that gained their first matching pod or lost their last. Returns the
    /// nodes whose eligibility changed, by class.
    fn rejudge(
        &mut self,
        mut flips: Flips,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> BTreeSet<(ClassId, NodeName)> {
        flips.retain(|(class, node)| {
            let (class, node) = (self.classes.get_mut(class), nodes.get(node));
            class.zip(node).is_some_and(|(class, node)| class.rejudge(node, &self.pods).0)
        });
        flips
    }

    /// The counted pods.
    pub(crate) fn pod_ids(&self) -> impl Iterator<Item = &PodId> {
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
        let pods = matching.pods.as_ref().map(|pods| self.pods.ask(pods, id));
        let mut class = Class {
            account: account.clone(),
            cloud,
            matching: matching.clone(),
            pods,
            pools: BTreeSet::new(),
            eligible: BTreeSet::new(),
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
    fn judge(&self, node: &Node, pods: &ReadyPods) -> Result<(), Unfit> {
        let ready = self.pods.map_or(0, |condition| pods.count(condition, &node.name));
        self.matching.judge(self.cloud.as_deref(), node, ready)
    }

    /// Judges a node again. Returns whether eligibility changed, and whether the cause that rules
    /// the node out changed.
    fn rejudge(&mut self, node: &Node, pods: &ReadyPods) -> (bool, bool) {
        let unfit = self.judge(node, pods).err();
        let eligible = match unfit {
            None => self.eligible.insert(node.name.clone()),
            Some(_) => self.eligible.remove(&node.name),
        };
        // Classes of every provider need no machine.
        self.homeless.remove(&node.name);
        if let Some(unfit) =
            unfit.as_ref().filter(|one| self.cloud.is_some() && one.is_of_machine())
        {
            self.homeless.insert(node.name.clone(), unfit.clone());
        }
        (eligible, self.rule_out(&node.name, unfit))
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
