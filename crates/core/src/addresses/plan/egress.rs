//! Machines get their own address back, which an assigned address displaced.
//!
//! ```text
//! node noted (a mark) ──> address assigned or unassigned ──> own address there again ──> note removed
//! ```
//!
//! At some providers an address takes the place of a machine's own, and both calls take several
//! requests. A crash or a failure in between leaves a machine without any, and so its node without
//! access to the Internet. The note comes first: a machine may have no address of its own by design,
//! so that its absence alone says nothing. A machine without a node has no place for a note: the world
//! remembers it, and it is asked after the call.

use std::net::IpAddr;

use super::gate::{is_made_for, may_change};
use super::heard::is_heard;
use super::notes::{send_note, write_note};
use crate::Time;
use crate::action::{Action, AddressAction};
use crate::addresses::{Account, Knowledge};
use crate::model::{AccountId, Family, Machine, MachineId, Mark, Node, NodeName, ObjectKey, Text};
use crate::plan::Draft;
use crate::world::World;

/// Whether a call may change the address of a machine: its node is noted, or cannot be. Otherwise
/// plans the note.
pub(crate) fn is_noted(
    world: &World,
    (pool, account): (&ObjectKey, &Account),
    machine: &MachineId,
    draft: &mut Draft,
) -> bool {
    let (Some(note), Some(cloud)) = (world.egress_note(account), account.cloud()) else {
        return true;
    };
    // A machine may have two nodes, and either may go.
    let nodes = world.nodes_on(cloud, machine).filter_map(|name| world.node(name));
    let mut noted = true;
    for node in nodes {
        match state_of(world, node, note, draft.now) {
            Note::Stands => continue,
            Note::Writing => {}
            Note::Absent => send_note(pool, node, note, true, draft),
            Note::MayGo(until) => draft.wake_at(until),
        }
        noted = false;
        draft.prepares(pool);
        draft.awaits_notes(machine);
    }
    noted
}

/// The state of a node's note, for a call that needs it.
enum Note {
    /// The note is there, or cannot be written: a failover waits for one attempt, not for an API
    /// server that fails.
    Stands,
    /// A write or a removal is under way.
    Writing,
    /// To be written first.
    Absent,
    /// A removal without an answer may still take effect until this time, or a refused one has taken
    /// effect before.
    MayGo(Time),
}

fn state_of(world: &World, node: &Node, note: &'static Mark, now: Time) -> Note {
    let unanswered = world.mark_unanswered_until(&node.name, note);
    match node.marks.contains_key(note) {
        _ if world.mark_in_flight(&node.name, note) => Note::Writing,
        true if now < unanswered => Note::MayGo(unanswered),
        false if !world.mark_failed_lately(&node.name, note, now) => Note::Absent,
        _ => Note::Stands,
    }
}

/// Settles what the machines of an account are owed: of noted nodes, and those without a node.
pub(crate) fn plan(world: &World, id: &AccountId, account: &Account, draft: &mut Draft) {
    let (Some(note), Some(cloud)) = (world.egress_note(account), account.cloud()) else { return };
    if !is_heard(world, account) {
        return;
    }
    let users = world.users_of(id).filter(|entry| entry.pool.paused.is_none());
    // A call on behalf of a pool that is left to another controller is never made.
    let Some(owner) = users.min_by_key(|entry| world.leaves_alone(&entry.pool)) else { return };
    let owner = &owner.pool.key;
    note_late(world, (id, owner), cloud, note, draft);
    let noted = world.said_to_serve(note).filter_map(|name| world.node(name));
    for node in noted {
        let machine = node.machine.as_ref().filter(|machine| machine.cloud == *cloud);
        let Some(machine) = machine else { continue };
        match exit(world, (id, account), machine, draft) {
            Exit::There => write_note(world, owner, node, note, false, draft),
            Exit::Missing => restore(world, (id, owner), Some(&node.name), &machine.id, draft),
            Exit::InDoubt => {}
        }
    }
    for machine in world.egress_unnoted(id) {
        let machine = Machine { cloud: cloud.clone(), id: machine.clone() };
        let mut nodes = world.nodes_on(cloud, &machine.id).filter_map(|name| world.node(name));
        let tells = |node: &Node| {
            let noted = node.marks.contains_key(note);
            noted || !world.mark_failed_lately(&node.name, note, draft.now)
        };
        let told = nodes.any(tells);
        if !told && matches!(exit(world, (id, account), &machine, draft), Exit::Missing) {
            restore(world, (id, owner), None, &machine.id, draft);
        }
    }
}

/// Whether a machine has an external address.
enum Exit {
    /// The machine has an address of ours, or its own.
    There,
    /// The machine may lack one, and may be asked.
    Missing,
    /// A call about the machine is not over, or no call may be made now.
    InDoubt,
}

fn exit(
    world: &World,
    (id, account): (&AccountId, &Account),
    machine: &Machine,
    draft: &mut Draft,
) -> Exit {
    if is_changing(world, account, machine, draft) {
        return Exit::InDoubt;
    }
    let held_at = last_seen_on(world, account, machine);
    let told_from = world.egress_told_from(&machine.id);
    if held_at.is_some_and(|at| at >= told_from) || world.is_egress_restored(&machine.id) {
        Exit::There
    } else if held_at.is_some() && draft.now < told_from {
        draft.wake_at(told_from);
        Exit::InDoubt
    } else if may_change(world, id, draft.now) {
        Exit::Missing
    } else {
        Exit::InDoubt
    }
}

/// Plans the notes that calls did not wait for, or that had no node to be written on. A call that broke
/// down may have left its machine without an address.
fn note_late(
    world: &World,
    (id, pool): (&AccountId, &ObjectKey),
    cloud: &Text,
    note: &'static Mark,
    draft: &mut Draft,
) {
    let nodes = world.egress_unnoted(id).flat_map(|machine| world.nodes_on(cloud, machine));
    for node in nodes.filter_map(|name| world.node(name)) {
        if !node.marks.contains_key(note) {
            write_note(world, pool, node, note, true, draft);
        }
    }
}

fn restore(
    world: &World,
    (account, pool): (&AccountId, &ObjectKey),
    node: Option<&NodeName>,
    machine: &MachineId,
    draft: &mut Draft,
) {
    let work = world.egress_work(machine);
    if work.is_some_and(|work| work.in_flight) {
        return;
    }
    let next = work.map(|work| work.not_before).filter(|next| draft.now < *next);
    if next.is_some() {
        return draft.wake_at(next);
    }
    draft.act(Action::Address(AddressAction::RestoreEgress {
        account: account.clone(),
        pool: pool.clone(),
        node: node.cloned(),
        machine: machine.clone(),
    }));
}

/// The addresses that a machine holds, may hold or is about to hold.
fn occupants(world: &World, machine: &Machine) -> Vec<IpAddr> {
    let of = |family| world.occupants(&machine.cloud, &machine.id, family);
    Family::ALL.into_iter().flat_map(of).collect()
}

/// Whether an address of the machine is unknown, or a call about one is under way or about to begin.
fn is_changing(world: &World, account: &Account, on: &Machine, draft: &Draft) -> bool {
    let occupants = occupants(world, on);
    let unsure = |ip: &IpAddr| {
        let address = account.address(*ip);
        let known = |knowledge: &Knowledge| matches!(knowledge, Knowledge::Known { .. });
        address.is_none_or(|one| one.operation.is_some() || !known(&one.knowledge))
    };
    if draft.is_awaiting_notes(&on.id) {
        return true;
    }
    let begins = |action: &Action| match action {
        Action::Address(AddressAction::Assign { pool, ip, machine, .. }) => {
            (on.id == *machine || occupants.contains(ip)) && is_made_for(world, pool)
        }
        Action::Address(AddressAction::Unassign { pool, ip, .. }) => {
            occupants.contains(ip) && is_made_for(world, pool)
        }
        _ => false,
    };
    occupants.iter().any(unsure) || draft.plans(begins)
}

/// The time of the latest read that shows an address on a machine, or of our call that brought one
/// there.
fn last_seen_on(world: &World, account: &Account, machine: &Machine) -> Option<Time> {
    let seen = |ip: IpAddr| match &account.address(ip)?.knowledge {
        Knowledge::Known { sighting, at, .. } if sighting.holder.as_ref() == Some(&machine.id) => {
            Some(*at)
        }
        _ => None,
    };
    occupants(world, machine).into_iter().filter_map(seen).max()
}
