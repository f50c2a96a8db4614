//! Candidate sets, kept up to date event by event.
//!
//! Pools with equal conditions share one *class*: the cost of a node or pod event grows with the
//! number of different conditions, not with the number of pools.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::ready_pods::{ConditionId, Flips, ReadyPods};
use super::{Census, Match, PodMatch, Unfit};
use crate::model::{AccountId, Family, Node, NodeName, ObjectKey, Pod, PodId, Taint, Text};

/// One set of conditions on nodes, for one account or for DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId(u32);

#[derive(Clone, Debug)]
struct Class {
    /// The account and its cloud; none where nodes of every cloud will do.
    account: Option<AccountId>,
    cloud: Option<Text>,
    matching: Arc<Match>,
    /// The condition on pods, for classes that have one.
    pods: Option<ConditionId>,
    pools: BTreeSet<ObjectKey>,
    eligible: BTreeSet<NodeName>,
    /// How many of them have room for an address of each family (vacancy.rs keeps it so).
    vacant: BTreeMap<Family, usize>,
    /// Nodes that match, and are on no machine of the class's cloud, or do not say so.
    homeless: BTreeMap<NodeName, Unfit>,
    /// What rules out each node that is not eligible, and how many nodes each cause rules out.
    /// Nodes of other labels are in neither: they are all the rest.
    ruled_out: BTreeMap<NodeName, Unfit>,
    causes: BTreeMap<Unfit, usize>,
}

/// Every class with its eligible nodes, and the pods that make them so.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    classes: BTreeMap<ClassId, Class>,
    class_ids: BTreeMap<(Option<AccountId>, Arc<Match>), ClassId>,
    /// Classes that ask for a label, by what they ask for; those that do not.
    anchored: BTreeMap<(Text, Text), BTreeSet<ClassId>>,
    unanchored: BTreeSet<ClassId>,
    pods: ReadyPods,
    issued: u32,
    /// How many nodes there are, and whether the number changed since `take_recounted`.
    nodes: usize,
    recounted: bool,
}

impl Candidates {
    /// The eligible nodes of a class, by name.
    pub fn eligible(&self, class: ClassId) -> impl Iterator<Item = &NodeName> {
        self.classes.get(&class).into_iter().flat_map(|class| &class.eligible)
    }

    /// How many nodes of a class are eligible.
    pub fn eligible_count(&self, class: ClassId) -> usize {
        self.classes.get(&class).map_or(0, |class| class.eligible.len())
    }

    /// How many eligible nodes of a class have room for an address.
    pub fn vacant_count(&self, class: ClassId, family: Family) -> usize {
        let class = self.classes.get(&class);
        class.and_then(|class| class.vacant.get(&family)).copied().unwrap_or(0)
    }

    /// Whether a node is eligible in a class.
    pub fn is_eligible(&self, class: ClassId, node: &NodeName) -> bool {
        self.classes.get(&class).is_some_and(|class| class.eligible.contains(node))
    }

    /// Nodes that would match if they were on a machine of the class's cloud, and what is wrong.
    pub(crate) fn homeless(&self, class: ClassId) -> impl Iterator<Item = (&NodeName, &Unfit)> {
        self.classes.get(&class).into_iter().flat_map(|class| &class.homeless)
    }

    /// How many nodes a class may use, and what rules out the others. The counts are kept as
    /// nodes change: asking costs as much as there are different causes.
    pub fn census(&self, class: ClassId) -> Option<Census> {
        let class = self.classes.get(&class)?;
        let judged = class.eligible.len() + class.ruled_out.len();
        let others = (Unfit::Labels, self.nodes.saturating_sub(judged));
        let causes = class.causes.iter().map(|(unfit, count)| (unfit.clone(), *count));
        let counts = (self.nodes, class.eligible.len());
        Some(Census::new(counts, causes.chain([others]), class.matching.pods.clone()))
    }

    /// Whether nodes came or went since the last call: every census differs then, also those
    /// of classes to which the node is none of theirs.
    pub(crate) fn take_recounted(&mut self) -> bool {
        std::mem::take(&mut self.recounted)
    }

    /// Judges a node for a class, with the reason if it is ruled out.
    ///
    /// # Errors
    /// What rules the node out.
    pub fn judge(&self, class: ClassId, node: &Node) -> Result<(), Unfit> {
        let class = self.classes.get(&class).ok_or(Unfit::Labels)?;
        class.judge(node, &self.pods)
    }

    /// The smallest range of pods that covers everything that classes ask for; none if no class
    /// asks for pods.
    pub(crate) fn pods_wanted(&self) -> Option<&PodMatch> {
        self.pods.wanted()
    }

    /// Whether every ready pod that a class asks for is known. Otherwise its eligible nodes are
    /// unknown, and an empty set says nothing.
    pub fn knows_pods(&self, class: ClassId) -> bool {
        let asked = self.classes.get(&class).and_then(|class| class.matching.pods.as_ref());
        asked.is_none_or(|asked| self.pods.knows(asked))
    }

    /// Every ready pod in this range is known from now on, and none outside it. Returns the
    /// classes whose pods became known.
    pub(crate) fn set_known_pods(&mut self, known: Option<PodMatch>) -> Vec<ClassId> {
        self.pods.set_known(known)
    }

    /// The range of pods that are known.
    pub(crate) fn known_pods(&self) -> Option<&PodMatch> {
        self.pods.known()
    }

    /// The cloud of a class, and its eligible nodes; none for a class without a cloud.
    pub(crate) fn class(&self, class: ClassId) -> Option<(&Text, &BTreeSet<NodeName>)> {
        let class = self.classes.get(&class)?;
        Some((class.cloud.as_ref()?, &class.eligible))
    }

    /// Whether there is a class of these conditions.
    pub(crate) fn has_class(&self, account: &AccountId, matching: &Arc<Match>) -> bool {
        self.class_ids.contains_key(&(Some(account.clone()), matching.clone()))
    }

    /// So many eligible nodes of a class have room.
    pub(crate) fn set_vacant(&mut self, class: ClassId, family: Family, count: usize) {
        if let Some(class) = self.classes.get_mut(&class) {
            class.vacant.insert(family, count);
        }
    }

    /// A node has room for an address that it had not, or no more.
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

    /// The classes that have a node eligible.
    pub(crate) fn classes_of(&self, node: &Node) -> Vec<ClassId> {
        let has = |id: &ClassId| self.is_eligible(*id, &node.name);
        self.concerned([node]).into_iter().filter(has).collect()
    }

    /// How many pools a class has.
    pub(crate) fn pool_count(&self, class: ClassId) -> usize {
        self.classes.get(&class).map_or(0, |class| class.pools.len())
    }

    /// The pools of a class that come after `last`, in order.
    pub(crate) fn pools_after(
        &self,
        class: ClassId,
        last: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &ObjectKey> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let pools = self.classes.get(&class).map(|class| &class.pools);
        pools.into_iter().flat_map(move |pools| pools.range((from, Bound::Unbounded)))
    }

    /// Pools of a class.
    pub(crate) fn pools(&self, class: ClassId) -> impl Iterator<Item = &ObjectKey> {
        self.classes.get(&class).into_iter().flat_map(|class| &class.pools)
    }

    /// Puts a pool into the class of its conditions, which is made if there is none yet.
    /// Without an account, nodes of every cloud will do.
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

    /// Takes a pool out of its class; an empty class is forgotten.
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

    /// A node appeared or changed. Returns the classes to which that is news.
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

    /// The classes that may have a node eligible that looks, or looked, like one of these.
    fn concerned<'n>(&self, nodes: impl IntoIterator<Item = &'n Node>) -> BTreeSet<ClassId> {
        let mut concerned = self.unanchored.clone();
        for (key, value) in nodes.into_iter().flat_map(|node| &*node.labels) {
            concerned
                .extend(self.anchored.get(&(key.clone(), value.clone())).into_iter().flatten());
        }
        concerned
    }

    /// A node is gone. Returns the classes to which that is news.
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

    /// A ready pod appeared or changed. Returns where that changed a node's eligibility.
    pub(crate) fn pod_set(
        &mut self,
        pod: &Pod,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> BTreeSet<(ClassId, NodeName)> {
        let flips = self.pods.set(pod);
        self.rejudge(flips, nodes)
    }

    /// A pod is gone, or no longer ready. Returns where that changed a node's eligibility.
    pub(crate) fn pod_removed(
        &mut self,
        pod: &PodId,
        nodes: &BTreeMap<NodeName, Node>,
    ) -> BTreeSet<(ClassId, NodeName)> {
        let flips = self.pods.remove(pod);
        self.rejudge(flips, nodes)
    }

    /// Judges nodes again that got their first matching pod, or lost their last one. Returns where
    /// the eligible set changed.
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

    /// The pods that are counted.
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

    /// Files a class under the label that it asks for, or takes it out.
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

    /// Judges a node again; returns whether that changed the eligible set, and whether it changed
    /// what rules the node out.
    fn rejudge(&mut self, node: &Node, pods: &ReadyPods) -> (bool, bool) {
        let unfit = self.judge(node, pods).err();
        let eligible = match unfit {
            None => self.eligible.insert(node.name.clone()),
            Some(_) => self.eligible.remove(&node.name),
        };
        // Where no machine is needed, none is missed.
        self.homeless.remove(&node.name);
        if let Some(unfit) =
            unfit.as_ref().filter(|one| self.cloud.is_some() && one.is_of_machine())
        {
            self.homeless.insert(node.name.clone(), unfit.clone());
        }
        (eligible, self.rule_out(&node.name, unfit))
    }

    /// Counts what rules a node out, or that nothing does any more. Returns whether that is news.
    fn rule_out(&mut self, node: &NodeName, unfit: Option<Unfit>) -> bool {
        let unfit = match unfit {
            Some(Unfit::Labels) => None,
            // One taint with many values is one cause.
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
