//! The two steps of a move.

use std::net::IpAddr;

use super::egress;
use super::gate::may_change;
use super::view::{AddressView, Place, PoolView};
use crate::Time;
use crate::action::{Action, AddressAction, Removal};
use crate::addresses::PoolEntry;
use crate::model::{Machine, MachineId, NodeName, Request};
use crate::plan::Draft;
use crate::world::World;

/// The result of bringing an address to a node.
pub(crate) enum Brought {
    /// A call of this plan assigns the address, or unassigns it first, or a note precedes the call.
    Sent,
    /// The pool has begun as many assignments as its cool-off allows.
    Cooling,
    /// Unassigning from the current machine failed, and waits for its back-off.
    Held(Time),
}

/// Brings an address to a node's machine, by one call if the provider can move. Otherwise unassigns
/// first, and the plan that finds the address unassigned makes the second call.
pub(crate) fn bring(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
    (node, machine): (&NodeName, &MachineId),
    draft: &mut Draft,
) -> Brought {
    let (Some(request), Some(account)) = (view.request, view.account) else {
        return Brought::Cooling;
    };
    let (id, pool, ip) = (request.account.clone(), view.key.clone(), one.ip);
    let at_once = account.abilities().is_some_and(|abilities| abilities.moves_at_once);
    if let Place::Stranded(from, _) = one.place
        && !at_once
    {
        let next = account.setbacks.next_off(ip, from);
        // The note comes last: a note without a call would be removed again at once.
        if draft.now < next {
            return Brought::Held(next);
        } else if draft.allowance(view.key) == 0 {
            return Brought::Cooling;
        }
        // Nobody waits for an address that does not come off.
        if !account.setbacks.is_stuck(ip, from) {
            draft.brings(view.key, ip, machine);
        }
        if !egress::is_noted(world, (view.key, account), from, draft) {
            return Brought::Sent;
        }
        draft.spend(view.key);
        draft.act(Action::Address(AddressAction::Unassign {
            account: id,
            pool,
            ip,
            why: Removal::Moves,
        }));
        draft.prepares(view.key);
        return Brought::Sent;
    }
    if draft.allowance(view.key) == 0 {
        return Brought::Cooling;
    }
    draft.brings(view.key, ip, machine);
    if !egress::is_noted(world, (view.key, account), machine, draft) {
        return Brought::Sent;
    }
    draft.spend(view.key);
    let (node, machine) = (node.clone(), machine.clone());
    draft.act(Action::Address(AddressAction::Assign { account: id, pool, ip, node, machine }));
    Brought::Sent
}

/// Unassigns an address, if the account and the back-off allow it now.
pub(crate) fn unassign(
    world: &World,
    machine: &Machine,
    (entry, request): (&PoolEntry, &Request),
    (ip, why): (IpAddr, Removal),
    draft: &mut Draft,
) {
    if !may_change(world, &request.account, draft.now) {
        return;
    }
    let account = world.account(&request.account);
    let next = account.map_or(Time::default(), |one| one.setbacks.next_off(ip, &machine.id));
    let noted = |draft: &mut Draft| {
        account.is_none_or(|account| {
            egress::is_noted(world, (&entry.pool.key, account), &machine.id, draft)
        })
    };
    if draft.now < next {
        draft.wake_at(next);
    } else if noted(draft) {
        let (account, pool) = (request.account.clone(), entry.pool.key.clone());
        draft.act(Action::Address(AddressAction::Unassign { account, pool, ip, why }));
    }
}
