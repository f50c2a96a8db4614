//! The two steps of a move.

use std::net::IpAddr;

use super::gate::may_change;
use crate::Time;
use crate::action::{Action, Removal};
use crate::addresses::PoolEntry;
use crate::model::{AccountId, Machine, MachineId, NodeName, ObjectKey, Request};
use crate::plan::Draft;
use crate::world::World;

/// Puts an address on a node's machine.
pub(crate) fn assign(
    pool: &ObjectKey,
    account: &AccountId,
    ip: IpAddr,
    node: &NodeName,
    machine: &MachineId,
) -> Action {
    Action::Assign {
        account: account.clone(),
        pool: pool.clone(),
        ip,
        node: node.clone(),
        machine: machine.clone(),
    }
}

/// Takes an address off its machine, if it may be done now.
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
    let next = account.map_or(Time::default(), |one| one.setbacks.next(ip, &machine.id));
    if draft.now < next {
        draft.wake_at(next);
    } else {
        let (account, pool) = (request.account.clone(), entry.pool.key.clone());
        draft.act(Action::Unassign { account, pool, ip, why });
    }
}
