//! Observations of nodes, pods and their owners, from watches and listings.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::World;
use crate::addresses::Changes;
use crate::model::{Family, Machine, Mark, Node, NodeName, ObjectKey, Owner, Pod, PodId, Text};
use crate::nodes::{ClassId, PodMatch, Rejudged};

/// Largest class whose pools are all planned again when a node changes. In larger classes only
/// pools with an address on the node, and pools that wait for room, are planned at once: the other
/// verdicts change in nothing but the number of nodes.
const MOST_REPLANNED_AT_ONCE: usize = 32;

impl World {
    /// Observes a node that appeared or changed. A change that planning does not read touches no
    /// pool.
    pub fn set_node(&mut self, node: Node) {
        let known = self.nodes.get(&node.name);
        if known.is_some_and(|known| known.uid == node.uid && known.version < node.version) {
            self.late_removals_end(&node.name);
        }
        self.keep_node(node);
    }

    /// Keeps a node as observed, or as our own write of a mark left it.
    pub(crate) fn keep_node(&mut self, node: Node) {
        let mut before = None;
        if let Some(known) = self.nodes.get_mut(&node.name) {
            if known.uid == node.uid && node.version < known.version {
                return;
            }
            known.version = node.version;
            if *known == node {
                return;
            }
            before = Some(known.clone());
        }
        if let Some(before) = &before {
            // A mark that changed leaves the failures to write it behind.
            self.mark_work.retain(|(name, mark), work| {
                *name != node.name
                    || work.in_flight
                    || before.marks.get(mark) == node.marks.get(mark)
            });
            self.touch_listed(before, &node);
            if before.machine != node.machine || before.marks != node.marks {
                self.unlink(before);
            } else if let Some(machine) = &before.machine {
                self.forget_room(before, machine);
            }
        }
        self.egress_note_seen(&node);
        let (name, machine) = (node.name.clone(), node.machine.clone());
        for ip in marked_addresses(&node) {
            self.marked.entry(ip).or_default().insert(name.clone());
            self.touch_address(ip);
        }
        for mark in said_to_serve(&node) {
            self.said_to_serve.entry(mark).or_default().insert(name.clone());
            self.touch_users(mark);
        }
        let changed = self.candidates.node_set(&node, before.as_ref());
        self.nodes.insert(name.clone(), node);
        if let Some(machine) = machine {
            self.machines.entry(machine.clone()).or_default().insert(name.clone());
            self.reoccupy(&machine);
            self.touch_machine(&machine);
        }
        if !changed.is_empty() {
            self.opened.insert(name);
        }
        self.touch_classes(changed);
    }

    /// Observes that a node is gone.
    pub fn remove_node(&mut self, name: &NodeName) {
        if let Some(node) = self.nodes.remove(name) {
            self.unlink(&node);
            let changed = self.candidates.node_removed(name);
            self.touch_classes(changed);
            self.mark_work.retain(|(node, _), _| node != name);
        }
    }

    /// Removes all other nodes, after a watch restarted with a full listing.
    pub fn retain_nodes(&mut self, names: &BTreeSet<NodeName>) {
        let gone: Vec<_> =
            self.nodes.keys().filter(|name| !names.contains(*name)).cloned().collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// Observes a pod.
    pub fn set_pod(&mut self, pod: &Pod) {
        let changed = self.candidates.pod_set(pod, &self.nodes);
        self.touch_judged(changed);
    }

    /// Observes that a pod is gone or no longer counts.
    pub fn remove_pod(&mut self, pod: &PodId) {
        let changed = self.candidates.pod_removed(pod, &self.nodes);
        self.touch_judged(changed);
        self.evictions.remove(pod);
    }

    /// Removes all other pods in the namespace of a range, after a watch restarted with a full
    /// listing.
    pub fn retain_pods(&mut self, range: &PodMatch, ids: &BTreeSet<PodId>) {
        self.remove_pods(|id, namespace| range.is_in(namespace) && !ids.contains(id));
    }

    fn remove_pods(&mut self, gone: impl Fn(&PodId, &Text) -> bool) {
        let known = self.candidates.pod_ids();
        let gone: Vec<_> =
            known.filter(|(id, namespace)| gone(id, namespace)).map(|(id, _)| id.clone()).collect();
        for id in gone {
            self.remove_pod(&id);
        }
    }

    /// Observes the owner of a controller that owns pods, such as a ReplicaSet; `None` if it has none
    /// or is gone.
    pub fn set_parent(&mut self, namespace: Text, child: Owner, parent: Option<Owner>) {
        let changed = self.candidates.parent_set((namespace, child), parent, &self.nodes);
        self.touch_judged(changed);
    }

    /// Removes all other controllers of a namespace, or of all, after a watch restarted with a full
    /// listing.
    pub fn retain_parents(&mut self, namespace: Option<&Text>, children: &BTreeSet<(Text, Owner)>) {
        let inside = |child: &&(Text, Owner)| namespace.is_none_or(|one| *one == child.0);
        let known = self.candidates.children().filter(inside);
        let gone: Vec<_> = known.filter(|child| !children.contains(*child)).cloned().collect();
        for (namespace, child) in gone {
            self.set_parent(namespace, child, None);
        }
    }

    /// Observes in which namespaces all controllers have been read; `None` stands for all namespaces.
    /// Replans the objects whose pods became known.
    pub fn parents_read(&mut self, namespaces: BTreeSet<Option<Text>>) {
        for class in self.candidates.set_parents_known(namespaces) {
            self.touch_known(class);
        }
    }

    /// The namespaces whose controllers are to be watched; `None` alone stands for all.
    pub fn parents_wanted(&self) -> BTreeSet<Option<Text>> {
        self.candidates.parents_wanted()
    }

    /// The pods to watch: ranges that cover every object's rules, one for each namespace or one for
    /// all. Empty if no object asks for pods.
    pub fn pods_wanted(&self) -> &[PodMatch] {
        self.candidates.pods_wanted()
    }

    /// Observes that the watched ranges of pods changed. Knowledge of pods is dropped unless a new
    /// range covers the known range.
    pub fn pods_watched(&mut self, ranges: &[PodMatch]) {
        self.candidates.pods_watched(ranges);
        self.remove_pods(|_, namespace| !ranges.iter().any(|range| range.is_in(namespace)));
    }

    /// Observes that all pods of a range have been read. Replans the objects whose pods became
    /// known.
    pub fn pods_read(&mut self, range: PodMatch) {
        for class in self.candidates.pods_read(range) {
            self.touch_known(class);
        }
    }

    /// Replans the objects of a class whose pods became known, and the pools that wait for a node with
    /// an address of theirs: only now is it known whether the address serves there.
    fn touch_known(&mut self, class: ClassId) {
        let keys: Vec<_> = self.candidates.pools(class).cloned().collect();
        let entries = keys.iter().filter_map(|key| self.pools.get(key));
        let held =
            entries.flat_map(|entry| entry.addresses().iter().copied().chain(entry.leaving()));
        for ip in held.collect::<Vec<_>>() {
            self.touch_address(ip);
        }
        self.dirty.extend(keys);
    }

    /// Whether the eligible nodes of an object are known, as far as eligibility depends on pods.
    pub(crate) fn knows_pods_for(&self, key: &ObjectKey) -> bool {
        let classes = [
            self.pools.get(key).and_then(|entry| entry.class),
            self.records.entries.get(key).and_then(|entry| entry.class),
        ];
        classes.into_iter().flatten().all(|class| self.candidates.knows_pods(class))
    }

    /// Replans the pools and machines concerned by new or ended claims.
    pub(super) fn claims_changed(&mut self, changes: Changes) {
        for ip in changes.flipped {
            for machine in self.machines_of(ip) {
                self.reoccupy(&machine);
                self.touch_machine(&machine);
                self.touch_classes(self.classes_on(&machine));
            }
        }
        self.dirty.extend(changes.others);
    }

    /// Replans the pools that use a mark.
    fn touch_users(&mut self, mark: &'static Mark) {
        let users: Vec<_> = self.users(mark).cloned().collect();
        self.dirty.extend(users);
    }

    fn unlink(&mut self, node: &Node) {
        for ip in marked_addresses(node) {
            if let Some(nodes) = self.marked.get_mut(&ip) {
                nodes.remove(&node.name);
                if nodes.is_empty() {
                    self.marked.remove(&ip);
                }
            }
            self.touch_address(ip);
        }
        for mark in said_to_serve(node) {
            if let Some(nodes) = self.said_to_serve.get_mut(mark) {
                nodes.remove(&node.name);
            }
            self.touch_users(mark);
        }
        if let Some(machine) = &node.machine {
            if let Some(nodes) = self.machines.get_mut(machine) {
                nodes.remove(&node.name);
                if nodes.is_empty() {
                    self.machines.remove(machine);
                }
            }
            self.forget_room(node, machine);
            self.touch_machine(machine);
        }
    }

    /// Replans after nodes were judged again because of their pods.
    fn touch_judged(&mut self, changed: Vec<Rejudged>) {
        for Rejudged { class, node: name, eligibility } in changed {
            if eligibility {
                self.recount_vacant(class, &name);
            }
            if let Some(machine) = self.nodes.get(&name).and_then(|node| node.machine.clone()) {
                self.touch_machine(&machine);
            }
            self.opened.insert(name);
            self.touch_classes([class]);
        }
    }

    /// The classes in which the nodes of a machine are eligible: an address on the machine may take
    /// up their room.
    fn classes_on(&self, machine: &Machine) -> Vec<ClassId> {
        let names = self.machines.get(machine).into_iter().flatten();
        let nodes = names.filter_map(|name| self.nodes.get(name));
        nodes.flat_map(|node| self.candidates.classes_of(node)).collect()
    }

    fn touch_classes(&mut self, classes: impl IntoIterator<Item = ClassId>) {
        for class in classes {
            if self.candidates.pool_count(class) <= MOST_REPLANNED_AT_ONCE {
                self.dirty.extend(self.candidates.pools(class).cloned());
            } else {
                self.stale.insert(class, None);
            }
        }
    }

    /// Whether nodes were added or removed since the last call.
    pub(crate) fn take_recounted(&mut self) -> bool {
        self.candidates.take_recounted()
    }

    /// Replans the pools of classes whose census changed.
    pub(crate) fn retell(&mut self, classes: BTreeSet<ClassId>) {
        if classes.len() <= MOST_REPLANNED_AT_ONCE {
            self.touch_classes(classes);
        } else {
            self.stale.extend(classes.into_iter().map(|class| (class, None)));
        }
    }

    pub(crate) fn touch_address(&mut self, ip: IpAddr) {
        self.dirty.extend(self.claims.of(ip).cloned());
        // An address that does not serve may take up room that another pool waits for.
        for machine in self.machines_of(ip) {
            self.opened.extend(self.machines.get(&machine).into_iter().flatten().cloned());
        }
    }

    pub(crate) fn touch_machine(&mut self, machine: &Machine) {
        for family in Family::ALL {
            for ip in self.occupants(&machine.cloud, &machine.id, family) {
                self.touch_address(ip);
            }
        }
    }
}

/// The addresses named by a node's marks.
pub(crate) fn marked_addresses(node: &Node) -> Vec<IpAddr> {
    node.marks.iter().flat_map(|(mark, value)| mark.named(value)).collect()
}

/// The marks of a node with a fixed text.
fn said_to_serve(node: &Node) -> impl Iterator<Item = &'static Mark> {
    node.marks.keys().copied().filter(|mark| mark.is_fixed())
}
