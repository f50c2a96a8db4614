//! Addresses that a pool had and names no more: an entry was taken out of the list.
//!
//! | the address is                                    | so it is                     |
//! |---------------------------------------------------|------------------------------|
//! | needed, because more are wanted than are named    | kept, by the ledger          |
//! | named by another pool, gone, or on no machine     | forgotten                    |
//! | on a node, where the pool had it                  | taken off, then forgotten    |
//! | the same, while a named one is not known to exist | left there: it serves        |
//! | on another machine                                | forgotten: somebody moved it |
//! | not known, being worked on, or still a node's mark | waited for                  |
//!
//! The object's status names it until then, so that a crash in between forgets nothing. One that
//! is kept serves all the while: its mark and its place in a name stay.

use super::steps::unassign;
use super::view::{AddressView, Place, PoolView};
use crate::action::Removal;
use crate::addresses::verdict::{AddressVerdict, Note, State};
use crate::model::{Machine, MachineId};
use crate::plan::Draft;
use crate::world::World;

/// What becomes of an address.
enum Fate<'w> {
    /// The ledger keeps it.
    Keep,
    /// It is taken off this machine.
    TakeOff(&'w MachineId),
    /// It serves until the entry that replaces it exists.
    Stay(&'w MachineId),
    /// Nothing can be said yet.
    Wait,
    /// The pool has nothing to do with it.
    Forget,
}

/// Lets go of what a pool names no more. Returns whether that is not over yet.
pub(crate) fn plan(world: &World, view: &PoolView<'_>, draft: &mut Draft) -> bool {
    let mut open = false;
    for one in &view.leaving {
        match fate(world, view, one) {
            Fate::Forget => draft.let_go(view.key, one.ip),
            Fate::Keep | Fate::Wait | Fate::Stay(_) => open = true,
            Fate::TakeOff(machine) => {
                open = true;
                // The object must say that it was ours before it is touched.
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
        // The one who has it marks it.
        Place::Conflict(_) => Fate::Forget,
        Place::Disabled(Some(machine)) if is_where_it_was(world, view, one, machine) => {
            match awaits_replacement(world, view, one) {
                true => Fate::Stay(machine),
                false => Fate::TakeOff(machine),
            }
        }
        Place::Gone
        | Place::Unsupported
        | Place::Disabled(_)
        | Place::Free
        | Place::Home(..)
        | Place::Stranded(..) => {
            match world.marked(one.ip).next() {
                // Nobody else would withdraw the mark.
                Some(_) => Fate::Wait,
                None => Fate::Forget,
            }
        }
        Place::Unknown | Place::Missing | Place::Busy(_) | Place::Moving(_) => Fate::Wait,
    }
}

/// Whether an address serves, and the pool names others that are not known to exist: one of them
/// may be a slip of the pen for it. As many are left where they are as there are of those.
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

/// Whether an address is on a node, and nobody put it there since it was the pool's.
fn is_where_it_was(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
    machine: &MachineId,
) -> bool {
    let was = one.memory.machine.as_ref();
    view.node_on(world, machine).is_some() && was.is_none_or(|was| was == machine)
}

/// What there is to say of an address that is not let go of yet.
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
    Some(AddressVerdict { ip: one.ip, state, node, machine, note, memory })
}
