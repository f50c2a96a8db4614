//! Releases the addresses reserved for a pool when the pool is deleted, if its policy asks for
//! release.
//!
//! ```text
//! guarded while there are any ──> deleted ──> unassigned ──> released ──> gone ──> not guarded
//! ```
//!
//! Only addresses the ledger records as reserved, and that no pool lists, are released. Kept
//! addresses were once listed by the user, and are never released.

use std::net::IpAddr;

use super::gate::may_change;
use super::steps::unassign;
use super::view::{AddressView, Place, PoolView};
use crate::action::{Action, AddressAction, Removal};
use crate::addresses::verdict::Reason;
use crate::addresses::{Account, Operation, PoolEntry};
use crate::model::{Ledger, Machine, MachineId, Request};
use crate::plan::Draft;
use crate::world::World;

/// Whether an object with this ledger needs our finalizer.
pub(crate) fn guards(world: &World, view: &PoolView<'_>, ledger: &Ledger, draft: &Draft) -> bool {
    let pool = &view.entry.pool;
    let any = !ledger.created.is_empty() || !ledger.intents.is_empty();
    // A finalizer cannot be added to an object being deleted.
    let releases = pool.releases && any && (pool.ledger.guarded || !pool.deleting);
    releases || (pool.ledger.guarded && pool.deleting && has_calls(world, view, ledger, draft))
}

/// Whether a call about a reserved address begins now or has no answer yet, in any account: the spec may
/// have become invalid since. The user may have withdrawn the release too, and the object stays until its
/// last call has ended.
fn has_calls(world: &World, view: &PoolView<'_>, ledger: &Ledger, draft: &Draft) -> bool {
    let sent = |account: &Account, ip: &IpAddr| {
        let operation = account.address(*ip).and_then(|one| one.operation.as_ref());
        matches!(operation, Some(Operation::Sent { .. }))
    };
    let mut accounts = world.accounts().map(|(_, account)| account);
    view.entry.is_reserving()
        || ledger.created.iter().any(|ip| draft.moves(*ip))
        || accounts.any(|account| ledger.created.iter().any(|ip| sent(account, ip)))
}

/// Releases the reserved addresses of a pool being deleted. Listed addresses are removed from
/// `next` instead.
pub(crate) fn plan(
    world: &World,
    view: &PoolView<'_>,
    request: &Request,
    next: &mut Ledger,
    draft: &mut Draft,
) {
    if !view.entry.is_ending() || !view.entry.pool.releases {
        return;
    }
    for one in &view.addresses {
        if !view.entry.pool.ledger.created.contains(&one.ip) {
            continue;
        }
        if is_listed(world, view.entry, request, one.ip) {
            next.created.retain(|ip| *ip != one.ip);
            continue;
        }
        // A pool that had the address and lists it no more gives it up first. With an invalid spec,
        // whether the pool lists the address next is unknown.
        if world.claimants(one.ip).any(|claimant| claimant != view.key) {
            continue;
        }
        match one.place {
            // Planned again after the next listing.
            Place::Disabled(None) | Place::Free if may_have_moved(view, one.ip) => {}
            Place::Disabled(None) | Place::Free => give_back(world, view, request, one.ip, draft),
            Place::Disabled(Some(machine))
            | Place::Home(_, machine)
            | Place::Stranded(machine, _) => take_off(world, view, request, one, machine, draft),
            // Planned again when more is known. The ledger forgets addresses that are gone.
            Place::Conflict(_)
            | Place::Unknown
            | Place::Missing
            | Place::Gone
            | Place::Unsupported
            | Place::Busy(_)
            | Place::Moving(_) => {}
        }
    }
}

/// Whether an address of a pool that is being deleted stays where it is, and is not released: the
/// list names or named the address.
pub(crate) fn outlives(world: &World, entry: &PoolEntry, request: &Request, ip: IpAddr) -> bool {
    let released = entry.pool.ledger.created.contains(&ip) && !is_listed(world, entry, request, ip);
    entry.is_ending() && !released
}

/// Whether a pool lists the address or reserved it, and the address then must not be released.
fn is_listed(world: &World, entry: &PoolEntry, request: &Request, ip: IpAddr) -> bool {
    let others = world.claimants(ip).filter(|claimant| **claimant != entry.pool.key);
    let mut others = others.filter_map(|claimant| world.pool(claimant));
    request.listed.contains(&ip)
        || others.any(|other| other.has(ip) || other.named().any(|named| named == ip))
}

/// Whether a failed call may have taken an address to a machine, and no listing shows the outcome yet.
fn may_have_moved(view: &PoolView<'_>, ip: IpAddr) -> bool {
    let Some(account) = view.account else { return false };
    account.setbacks.doubts(ip, account.listing.last).next().is_some()
}

fn take_off(
    world: &World,
    view: &PoolView<'_>,
    request: &Request,
    one: &AddressView<'_>,
    machine: &MachineId,
    draft: &mut Draft,
) {
    if let Some(cloud) = view.cloud()
        && !draft.plans(|action| matches!(action, Action::Address(AddressAction::Unassign { ip, .. }) if *ip == one.ip))
    {
        let machine = Machine { cloud: cloud.clone(), id: machine.clone() };
        unassign(world, &machine, (view.entry, request), (one.ip, Removal::Returned), draft);
    }
}

fn give_back(world: &World, view: &PoolView<'_>, request: &Request, ip: IpAddr, draft: &mut Draft) {
    let not_before = view.entry.release.not_before;
    if draft.now < not_before {
        draft.wake_at(not_before);
    } else if may_change(world, &request.account, draft.now) {
        let (account, pool) = (request.account.clone(), view.key.clone());
        draft.act(Action::Address(AddressAction::Release { account, pool, ip }));
    }
}

/// The reason why a pool being deleted still exists.
pub(crate) fn reason(view: &PoolView<'_>, draft: &Draft) -> Reason {
    let work = &view.entry.release;
    match work.failure.as_ref().filter(|_| work.not_before > draft.now) {
        Some(failure) => Reason::ReleaseFailed(failure.message.clone(), work.not_before),
        None => Reason::Releasing(view.entry.pool.ledger.created.clone()),
    }
}
