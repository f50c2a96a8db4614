//! The marks of nodes. A mark tells of addresses confirmed to be on a node that may keep them, and is never
//! withdrawn while the place of an address is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::gate::attended;
use super::served::{held, served};
use super::view::{AddressView, Place, PoolView, owner};
use super::{doubt, evict, release};
use crate::Time;
use crate::action::MarkWrite;
use crate::model::{Family, Machine, Mark, Node, NodeName, ObjectKey, Tells, Text};
use crate::plan::Draft;
use crate::world::World;

/// Plans the marks of every node that holds an address of the pool, or whose mark names one.
/// Returns whether a mark is still wrong.
pub(crate) fn plan(world: &World, view: &PoolView<'_>, draft: &mut Draft) -> bool {
    let wrong = wrong(world, view);
    for ((name, mark), (node, correction)) in &wrong {
        let Correction::Write(value) = correction else {
            continue;
        };
        if value.is_none() && evict::notes_first(world, node, mark, draft) {
            continue;
        }
        if world.mark_writable(name, mark, draft.now) {
            let owner = marked_for(world, node, mark, value.as_ref());
            let (node, uid, value) = ((*name).clone(), node.uid.clone(), value.clone());
            draft.mark(MarkWrite { owner, node, uid, version: None, mark, value });
        }
    }
    !wrong.is_empty()
}

/// The pool that a new value of a mark is for: of an address that the mark gains, else loses; of an
/// address on the node, if the value is a fixed text; else a pool that uses the mark.
fn marked_for(
    world: &World,
    node: &Node,
    mark: &'static Mark,
    value: Option<&Text>,
) -> Option<ObjectKey> {
    let of_address = if mark.is_fixed() {
        let here =
            if value.is_some() { served(world, node, mark) } else { held(world, node, mark) };
        attended(world, here.iter().filter_map(|ip| user_of(world, mark, *ip)))
    } else {
        let named = |value: Option<&Text>| -> BTreeSet<IpAddr> {
            value.into_iter().flat_map(|value| mark.named(value)).collect()
        };
        let (before, after) = (named(node.marks.get(mark)), named(value));
        let mut differing = after.difference(&before).chain(before.difference(&after));
        let of = |ip: &IpAddr| user_of(world, mark, *ip).or_else(|| world.claimants(*ip).next());
        differing.find_map(of)
    };
    of_address.or_else(|| attended(world, world.users(mark))).cloned()
}

/// The owner of an address if the owner uses the mark, else another pool of the address that does.
fn user_of<'w>(world: &'w World, mark: &'static Mark, ip: IpAddr) -> Option<&'w ObjectKey> {
    let uses =
        |key: &&ObjectKey| world.pool(key).is_some_and(|entry| doubt::uses(world, entry, mark));
    owner(world, ip).filter(uses).or_else(|| world.claimants(ip).find(uses))
}

/// A node with a wrong mark that the API server refuses to change, the mark, and the message.
pub(crate) fn refusal(
    world: &World,
    view: &PoolView<'_>,
) -> Option<(NodeName, &'static Mark, Text)> {
    if !world.is_mark_refused() {
        return None;
    }
    wrong(world, view).into_iter().find_map(|((name, mark), (_, correction))| {
        let failure = world.mark_refusal(name, mark)?;
        let open = matches!(correction, Correction::Write(_));
        open.then(|| (name.clone(), mark, failure.message.clone()))
    })
}

/// Whether the mark of a node is about to be withdrawn or changed: the mark is wrong beyond doubt, and
/// neither its last write failed, nor that of the note that must come first.
pub(crate) fn is_withdrawn(world: &World, node: &Node, mark: &'static Mark, now: Time) -> bool {
    node.marks.contains_key(mark)
        && matches!(correction(world, node, mark), Some(Correction::Write(_)))
        && !world.mark_fails(&node.name, mark, now)
        && !evict::note_fails(world, node, mark, now)
}

/// The wrong marks of the nodes that hold an address of the pool, or whose mark names one. Most marks
/// are right, so only wrong ones are put in order.
fn wrong<'w>(
    world: &'w World,
    view: &PoolView<'w>,
) -> BTreeMap<(&'w NodeName, &'static Mark), (&'w Node, Correction)> {
    let mut wrong = BTreeMap::new();
    let mut look = |node: &'w Node, mark: &'static Mark| {
        if let Some(correction) = correction(world, node, mark) {
            wrong.insert((&node.name, mark), (node, correction));
        }
    };
    let node = |name| world.node(name);
    let marks = view.request.map_or(&[][..], |request| request.marks);
    for one in view.addresses.iter().chain(&view.leaving) {
        let family = Family::of(one.ip);
        for mark in marks.iter().filter(|mark| mark.families().contains(&family)) {
            // The owner sets the mark, if the owner uses it.
            if let Place::Conflict(owner) = one.place
                && world.pool(owner).is_some_and(|entry| doubt::uses(world, entry, mark))
            {
                continue;
            }
            let home = home(world, view, one);
            let unsure = home.filter(|node| !is_right_at_home(world, one, node, mark));
            unsure.into_iter().for_each(|node| look(node, mark));
            let at_home = |name: &NodeName| home.is_some_and(|home| home.name == *name);
            let elsewhere = world.marked(one.ip).filter(|name| !at_home(name));
            elsewhere.filter_map(node).for_each(|node| look(node, mark));
        }
    }
    for mark in marks {
        world.said_to_serve(mark).filter_map(node).for_each(|node| look(node, mark));
    }
    wrong
}

/// The node of an address that serves, or goes on to serve when its pool is deleted.
fn home<'w>(world: &'w World, view: &PoolView<'w>, one: &AddressView<'w>) -> Option<&'w Node> {
    match one.place {
        Place::Home(node, _) => Some(node),
        Place::Disabled(Some(machine))
            if release::outlives(world, view.entry, view.request?, one.ip) =>
        {
            world.node(view.node_on(world, machine)?)
        }
        _ => None,
    }
}

/// Whether the mark of a node is right because of a single address at home there: the usual case,
/// which needs no further look at the address.
fn is_right_at_home(world: &World, one: &AddressView<'_>, node: &Node, mark: &Mark) -> bool {
    let alone = || {
        let on = |at: &Machine| world.occupants(&at.cloud, &at.id, Family::of(one.ip));
        node.machine.as_ref().map(on).is_some_and(|all| all == [one.ip])
    };
    matches!(one.place, Place::Home(..))
        && mark.is_right(node.marks.get(mark), &[one.ip])
        && (mark.is_fixed() || alone())
}

/// The change a wrong mark needs.
enum Correction {
    /// No change before the place of an address is known.
    InDoubt,
    /// The mark must become this value.
    Write(Option<Text>),
}

/// The change needed by a node's mark, if the mark is wrong.
fn correction(world: &World, node: &Node, mark: &'static Mark) -> Option<Correction> {
    let current = node.marks.get(mark);
    let serves = served(world, node, mark);
    if mark.is_right(current, &serves) {
        return None;
    }
    let wanted = mark.value(&serves);
    let doubtful = match (mark.tells, current) {
        (_, None) => false,
        (Tells::Addresses(_), Some(current)) => {
            let said = mark.named(current);
            let ours = |ip: &IpAddr| world.is_claimed(*ip);
            // A mark that names only addresses of others is theirs.
            if wanted.is_none() && !said.iter().any(ours) {
                return None;
            }
            let unserved = said.iter().filter(|ip| ours(ip) && !serves.contains(ip));
            unserved.into_iter().any(|ip| doubt::is_in_doubt(world, node, *ip))
        }
        (Tells::Serving(_) | Tells::Evicting(_) | Tells::OwesEgress(_), Some(_)) => {
            wanted.is_none() && doubt::may_serve(world, node, mark)
        }
    };
    Some(if doubtful { Correction::InDoubt } else { Correction::Write(wanted) })
}
