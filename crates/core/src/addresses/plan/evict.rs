//! Pods that relied on an address are evicted from the node that lost it.
//!
//! ```text
//! address left ──> node noted (a mark) ──> other marks withdrawn ──> pods evicted ──> note removed
//! ```
//!
//! The note comes first, so that a crash after the withdrawal loses no eviction. No pod is evicted
//! while the node has, may have or is about to receive an address: the node may serve again. Nor is a
//! pod evicted while the pods of its pool are unknown.

use std::net::IpAddr;

use super::gate::{attended, is_made_for};
use super::notes::write_note;
use super::view::PoolView;
use super::{doubt, served};
use crate::Time;
use crate::action::{Action, Eviction};
use crate::addresses::verdict::Evicting;
use crate::addresses::{Account, Knowledge, Operation, PoolEntry};
use crate::model::{Mark, Node, NodeName, PodId, Request, Tells, Text};
use crate::plan::Draft;
use crate::world::World;

/// Plans the note of a node that is about to lose the mark of its last address, if pods that relied
/// on the address are to be evicted. Returns whether the withdrawal of the mark must wait.
pub(crate) fn notes_first(
    world: &World,
    node: &Node,
    mark: &'static Mark,
    draft: &mut Draft,
) -> bool {
    let Some(note) = relying(world, node, mark) else { return false };
    let refused = world.mark_refusal(&node.name, note).is_some();
    if node.marks.contains_key(note) || (refused && world.mark_fails(&node.name, note, draft.now)) {
        return false;
    }
    // The pool with the pods may be paused; its pods are evicted afterwards.
    let Some(owner) = attended(world, world.users(mark)) else { return false };
    write_note(world, owner, node, note, true, draft);
    true
}

/// Whether the note that precedes the withdrawal of a mark could not be written.
pub(crate) fn note_fails(world: &World, node: &Node, mark: &'static Mark, now: Time) -> bool {
    relying(world, node, mark).is_some_and(|note| world.mark_fails(&node.name, note, now))
}

/// The note about the eviction of pods on a node that rely on the mark, if there are such pods.
fn relying(world: &World, node: &Node, mark: &'static Mark) -> Option<&'static Mark> {
    if !matches!(mark.tells, Tells::Serving(_)) {
        return None;
    }
    let evicting = world.users(mark).filter_map(|key| world.pool(key));
    let mut evicting = evicting.filter_map(|entry| Some((entry, request(entry)?.evicts?.note)));
    let (_, note) = evicting.find(|(entry, _)| pods(world, entry, node).next().is_some())?;
    Some(note)
}

/// Plans the evictions from every noted node. Returns what is left to evict.
pub(crate) fn plan(world: &World, view: &PoolView<'_>, draft: &mut Draft) -> Vec<Evicting> {
    let Some((request, note)) = view.request.and_then(|one| Some((one, one.evicts?.note))) else {
        return Vec::new();
    };
    let noted = world.said_to_serve(note).filter_map(|name| world.node(name));
    noted.filter_map(|node| on_node(world, view, (request, note), node, draft)).collect()
}

fn on_node(
    world: &World,
    view: &PoolView<'_>,
    (request, note): (&Request, &'static Mark),
    node: &Node,
    draft: &mut Draft,
) -> Option<Evicting> {
    let marks = || request.marks.iter().filter(|mark| matches!(mark.tells, Tells::Serving(_)));
    // The end of a pod touches the pools of the pod alone, and the pools that share the note decide together.
    draft.wait(view.key, None);
    // The address may have come back.
    let serves = marks().any(|mark| served::serves(world, node, mark));
    let marked = marks().any(|mark| node.marks.contains_key(mark));
    let users = || world.users(note).filter_map(|key| world.pool(key));
    let is_known =
        |entry: &PoolEntry| doubt::is_elsewhere(world, node, entry) || knows_pods(world, entry);
    if !is_known(view.entry) || (marked && !serves) {
        return None;
    }
    let over = || users().all(|entry| is_known(entry) && pods(world, entry, node).next().is_none());
    if serves || over() {
        if !is_made_for(world, view.key) {
            return None;
        }
        write_note(world, view.key, node, note, false, draft);
        draft.wait(view.key, None);
        return None;
    }
    // The address may not have left: a node that is not ready keeps it for the grace period, and
    // until another node can take it. Or another address is about to come.
    let may_serve = |mark| {
        doubt::may_hold(world, node, mark)
            || may_come(world, node, mark)
            || expects(world, node, mark, draft)
            || is_next(world, node, mark)
    };
    if marks().any(may_serve) {
        if pods(world, view.entry, node).next().is_some() {
            draft.wait(view.key, None);
        }
        return None;
    }
    let mut left = Evicting { node: node.name.clone(), pods: 0, failure: None };
    for (pod, namespace, name) in pods(world, view.entry, node) {
        left.pods += 1;
        let work = world.eviction(pod);
        if let Some(failure) = work.and_then(|work| work.failure.as_ref()) {
            left.failure = Some(format!("{namespace}/{name}: {}", failure.message).into());
        }
        let next = work.map_or(Time::default(), |work| work.not_before);
        if draft.now < next {
            draft.wake_at(next);
        } else if work.is_none_or(|work| !work.in_flight) {
            evict(view, (pod, namespace, name), &node.name, draft);
        }
    }
    (left.pods > 0).then_some(left)
}

/// Whether a pool that is not planned, because its pods are not known yet, has an address on no machine:
/// the address may be about to come.
fn may_come(world: &World, node: &Node, mark: &'static Mark) -> bool {
    let entries = world.users(mark).filter(|key| is_made_for(world, key));
    let mut entries = entries.filter_map(|key| world.pool(key));
    entries.any(|entry| {
        let Some((_, account)) = doubt::planned(world, entry) else { return false };
        let loose = |ip: &IpAddr| {
            let known = account.address(*ip).map(|address| &address.knowledge);
            entry.uses(*ip)
                && matches!(known, Some(Knowledge::Known { sighting, .. }) if sighting.holder.is_none())
        };
        !knows_pods(world, entry)
            && !doubt::is_elsewhere(world, node, entry)
            && entry.addresses().iter().any(loose)
    })
}

/// Whether this plan brings an address of a pool that uses the mark to the machine of a node. Another
/// node may have the same machine.
fn expects(world: &World, node: &Node, mark: &'static Mark, draft: &Draft) -> bool {
    let coming = node.machine.iter().flat_map(|machine| draft.coming_to(&machine.id));
    let mut coming = coming.filter(|pool| is_made_for(world, pool));
    coming.any(|pool| world.users(mark).any(|user| user == pool))
}

/// Whether a pool that uses the mark has an address between two nodes, and the node may be the second.
/// At a provider that moves in two steps, the plan after the first step chooses the node.
fn is_next(world: &World, node: &Node, mark: &'static Mark) -> bool {
    let entries = world.users(mark).filter(|key| is_made_for(world, key));
    let mut entries = entries.filter_map(|key| world.pool(key));
    entries.any(|entry| {
        let Some((class, account)) = doubt::planned(world, entry) else { return false };
        let in_two_steps = account.abilities().is_some_and(|one| !one.moves_at_once);
        in_two_steps
            && world.candidates().is_eligible(class, &node.name)
            && !entry.is_ending()
            && entry.addresses().iter().any(|ip| entry.uses(*ip) && leaves(account, *ip))
    })
}

/// Whether an address is being unassigned, and seems to come off its machine.
fn leaves(account: &Account, ip: IpAddr) -> bool {
    use Operation::{Accepted, Sent, Uncertain};
    let Some(address) = account.address(ip) else { return false };
    let stuck = address.machines()[0].is_some_and(|machine| account.setbacks.is_stuck(ip, machine));
    let unassigns = matches!(
        address.operation,
        Some(Sent { to: None } | Accepted { to: None, .. } | Uncertain { to: None, .. })
    );
    unassigns && !stuck
}

fn evict(
    view: &PoolView<'_>,
    (pod, namespace, name): (&PodId, &Text, &Text),
    node: &NodeName,
    draft: &mut Draft,
) {
    let same = |action: &Action| matches!(action, Action::Evict(one) if one.pod == *pod);
    if !draft.plans(same) {
        draft.act(Action::Evict(Eviction {
            owner: view.key.clone(),
            pod: pod.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            node: node.clone(),
        }));
    }
}

/// The pods of a pool's workload on a node. None while the pods are unknown.
fn pods<'w>(
    world: &'w World,
    entry: &PoolEntry,
    node: &'w Node,
) -> impl Iterator<Item = (&'w PodId, &'w Text, &'w Text)> {
    let evicts = request(entry).and_then(|request| request.evicts);
    let enabled = evicts.is_some_and(|evicts| evicts.enabled) && knows_pods(world, entry);
    let class = entry.class.filter(|_| enabled);
    class.into_iter().flat_map(|class| world.candidates().keeping_pods(class, &node.name))
}

fn knows_pods(world: &World, entry: &PoolEntry) -> bool {
    entry.class.is_some_and(|class| world.candidates().knows_pods(class))
}

fn request(entry: &PoolEntry) -> Option<&Request> {
    entry.pool.request.as_ref().ok()
}
