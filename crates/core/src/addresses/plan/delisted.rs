//! Addresses a pool had and no longer names, because the user removed them from the list.
//!
//! | place of the address                                   | action                         |
//! |--------------------------------------------------------|--------------------------------|
//! | any, while the pool wants more addresses than it names | kept by the ledger             |
//! | named by another pool, gone, or on no machine          | forgotten                      |
//! | on its node of before                                  | unassigned, then forgotten     |
//! | the same, while a named address is not known to exist  | none, because it serves        |
//! | on another machine                                     | forgotten, because of drift    |
//! | unknown, busy, or still named by a mark                | decided later                  |
//! | on its node of before, by a listing of before          | decided later                  |
//!
//! The status names the address until then, so that a crash loses no address. A kept address goes
//! on serving: its mark and its place in DNS records stay.

use super::steps::unassign;
use super::view::{AddressView, Place, PoolView};
use crate::action::Removal;
use crate::addresses::verdict::{AddressVerdict, Note, State};
use crate::model::{Machine, MachineId};
use crate::plan::Draft;
use crate::world::World;

/// The next step for an address.
enum Fate<'w> {
    /// The ledger keeps the address.
    Keep,
    /// The address is unassigned from this machine.
    TakeOff(&'w MachineId),
    /// The address serves until its replacement exists.
    Stay(&'w MachineId),
    /// Not decided before more is known.
    Wait,
    /// The pool forgets the address.
    Forget,
}

/// Unassigns or forgets addresses the pool no longer names. Returns whether any is left.
pub(crate) fn plan(world: &World, view: &PoolView<'_>, draft: &mut Draft) -> bool {
    let mut open = false;
    for one in &view.leaving {
        match fate(world, view, one) {
            Fate::Forget => draft.let_go(view.key, one.ip),
            Fate::Keep | Fate::Wait | Fate::Stay(_) => open = true,
            Fate::TakeOff(machine) => {
                open = true;
                // The status must record the address as ours before any call.
                if let (Some(request), Some(cloud)) = (view.request, view.cloud())
                    && view.entry.is_recorded(one.ip)
                {
                    let machine = Machine { cloud: cloud.clone(), id: machine.clone() };
                    let what = (one.ip, Removal::LeavesList);
                    unassign(world, &machine, (view.entry, request), what, draft);
                }
            }
        }
    }
    open
}

fn fate<'w>(world: &World, view: &PoolView<'_>, one: &AddressView<'w>) -> Fate<'w> {
    if view.keeping.contains(&one.ip) {
        return Fate::Keep;
    }
    match one.place {
        // The owner sets the mark.
        Place::Conflict(_) => Fate::Forget,
        Place::Disabled(Some(machine)) if is_where_it_was(world, view, one, machine) => {
            let told = view.account.is_some_and(|account| account.may_leave(one.ip));
            match awaits_replacement(world, view, one) {
                true => Fate::Stay(machine),
                false if told => Fate::TakeOff(machine),
                false => Fate::Wait,
            }
        }
        Place::Gone
        | Place::Unsupported
        | Place::Disabled(_)
        | Place::Free
        | Place::Home(..)
        | Place::Stranded(..) => {
            match world.marked(one.ip).next() {
                // A forgotten address would leave its mark on the node.
                Some(_) => Fate::Wait,
                None => Fate::Forget,
            }
        }
        Place::Unknown | Place::Missing | Place::Busy(_) | Place::Moving(_) => Fate::Wait,
    }
}

/// Whether an address serves while a named address is not known to exist, perhaps because of a
/// typing error. As many addresses stay as named ones are absent.
pub(crate) fn awaits_replacement(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
) -> bool {
    let absent =
        |one: &&AddressView<'_>| matches!(one.place, Place::Unknown | Place::Missing | Place::Gone);
    let absent = view.addresses.iter().take(view.wanted).filter(absent).count();
    let serving = view.leaving.iter().filter(|one| view.serves(world, one));
    serving.take(absent).any(|serving| serving.ip == one.ip)
}

/// Whether an address is on a node, and was not moved since it belonged to the pool.
fn is_where_it_was(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
    machine: &MachineId,
) -> bool {
    view.node_on(world, machine).is_some() && !one.memory.is_moved_to(machine)
}

/// The verdict about an address not yet forgotten.
pub(crate) fn verdict(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
) -> Option<AddressVerdict> {
    let (state, machine, note) = match fate(world, view, one) {
        Fate::Forget => return None,
        Fate::Keep if view.serves(world, one) => {
            (State::Active, one.memory.machine.clone(), Note::Kept)
        }
        Fate::Keep => (State::Leaving, one.memory.machine.clone(), Note::Kept),
        Fate::Stay(machine) => (State::Active, Some(machine.clone()), Note::AwaitsReplacement),
        Fate::TakeOff(machine) => (State::Leaving, Some(machine.clone()), Note::Removed),
        Fate::Wait => {
            let unknown = matches!(one.place, Place::Unknown | Place::Missing);
            let state = if unknown { State::Unknown } else { State::Leaving };
            (state, one.memory.machine.clone(), Note::Removed)
        }
    };
    let node = machine.as_ref().and_then(|machine| view.node_on(world, machine)).cloned();
    let (memory, note) = (one.memory.clone(), Some(note));
    let known = node.as_ref().and_then(|node| world.node(node));
    let provider_id = known.and_then(|node| node.provider_id.clone());
    let cordoned = known.is_some_and(|node| node.cordoned);
    Some(AddressVerdict { ip: one.ip, state, node, machine, provider_id, cordoned, note, memory })
}
