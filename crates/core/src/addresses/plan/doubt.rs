//! Whether an address may be on a node, as far as is known.
//!
//! A pool that cannot be planned leaves its addresses where they are. Such a pool puts in doubt the
//! nodes that may have one of its addresses, and no others:
//!
//! | the pool                                | nodes in doubt                                  |
//! |-----------------------------------------|-------------------------------------------------|
//! | names an account that cannot be used    | those of the account's cloud                    |
//! | has an invalid spec                     | those that no read shows without its addresses  |
//! | the same, and its list cannot be read   | all                                             |
//!
//! An address of a family that the provider lacks is on no node, and an address that no read has shown
//! yet puts nodes of other clouds in no doubt.

use std::net::IpAddr;

use super::heard::is_heard;
use super::view::owner;
use crate::addresses::{Account, Knowledge, PoolEntry};
use crate::model::{AccountId, Families, Family, Machine, Mark, Node, Sighting};
use crate::nodes::ClassId;
use crate::world::World;

/// Whether a node may serve an address of a pool that uses the mark. A node that may not keep an
/// address may recover before the place of the address is known; a mark with a fixed text could not
/// be written again before. An address of a pool that does not use the mark is nothing that the mark tells
/// of, although a pool that uses the mark lists the address too.
pub(crate) fn may_serve(world: &World, node: &Node, mark: &'static Mark) -> bool {
    let elses = |ip| {
        let owner = owner(world, ip).and_then(|key| world.pool(key));
        owner.is_some_and(|entry| !uses(world, entry, mark))
    };
    let doubtful = |ip| is_unplaced(world, node, ip) || is_in_doubt(world, node, ip);
    any_address(world, mark, |ip| !elses(ip) && doubtful(ip))
}

/// Whether the place of an address of a pool that can be planned is not known, and may be the node.
fn is_unplaced(world: &World, node: &Node, ip: IpAddr) -> bool {
    let entry = owner(world, ip).and_then(|key| world.pool(key));
    let account = entry.and_then(|entry| planned(world, entry)).map(|(_, account)| account);
    account.filter(|account| may_carry(account, node, ip)).is_some_and(|account| {
        let knowledge = account.address(ip).map(|address| &address.knowledge);
        matches!(knowledge, None | Some(Knowledge::Unknown | Knowledge::Missing))
    })
}

/// Whether an address of a pool that uses the mark is or may be on a node, fit to serve or not.
pub(crate) fn may_hold(world: &World, node: &Node, mark: &'static Mark) -> bool {
    any_address(world, mark, |ip| may_be_on(world, node, ip))
}

fn any_address(world: &World, mark: &'static Mark, such: impl Fn(IpAddr) -> bool) -> bool {
    world.pools().filter(|(_, entry)| uses(world, entry, mark)).any(|(key, entry)| {
        match entry.class {
            Some(_) => entry.addresses().iter().any(|ip| such(*ip)),
            None => is_unlisted(entry) || world.claimed_by(key).any(&such),
        }
    })
}

/// Whether a pool uses a mark. Of a pool with an invalid spec: whether pools of its kind do.
pub(super) fn uses(world: &World, entry: &PoolEntry, mark: &'static Mark) -> bool {
    match &entry.pool.request {
        Ok(request) => request.marks.contains(mark),
        Err(_) => world.users(mark).any(|key| key.kind == entry.pool.key.kind),
    }
}

/// Whether not even the list of a pool can be read.
fn is_unlisted(entry: &PoolEntry) -> bool {
    entry.pool.request.is_err() && entry.pool.named.is_none()
}

/// Whether a mark must keep telling of an address, because the place of the address, its owner or
/// the eligibility of the node is not known yet.
pub(crate) fn is_in_doubt(world: &World, node: &Node, ip: IpAddr) -> bool {
    let Some(entry) = owner(world, ip).and_then(|key| world.pool(key)) else { return true };
    let Some((class, account)) = planned(world, entry) else {
        return may_be_there(world, node, entry, ip);
    };
    if !may_carry(account, node, ip) {
        return false;
    }
    // The pool may keep a leaving address, which the ledger does not say yet. A removed address
    // also serves while its replacement does not exist. A pool that is being deleted keeps none.
    let lacks = || entry.lacks_addresses() || names_absent(account, entry);
    let kept = || !entry.is_ending() && lacks();
    let pods_known = world.candidates().knows_pods(class);
    let pods_decide = !pods_known || (entry.is_leaving(ip) && kept());
    if pods_decide && !is_away(account, node, ip) {
        return true;
    }
    let unknown = match account.address(ip) {
        None => true,
        Some(address) => match (&address.knowledge, &address.operation) {
            (Knowledge::Unknown | Knowledge::Missing, _) => true,
            (_, Some(operation)) => operation.to() == node.machine.as_ref().map(|m| &m.id),
            (Knowledge::Known { sighting, .. }, None) => sighting.busy && is_on(sighting, node),
            (Knowledge::Gone, None) => false,
        },
    };
    unknown && world.candidates().may_keep(class, &node.name)
}

/// Whether an address is known to be elsewhere or on no node, and no call of ours about it is unfinished.
fn is_away(account: &Account, node: &Node, ip: IpAddr) -> bool {
    account.address(ip).is_some_and(|address| {
        let off = match &address.knowledge {
            Knowledge::Known { sighting, .. } => !sighting.busy && !is_on(sighting, node),
            Knowledge::Gone => true,
            Knowledge::Unknown | Knowledge::Missing => false,
        };
        off && address.operation.is_none()
    })
}

fn may_be_on(world: &World, node: &Node, ip: IpAddr) -> bool {
    let Some(entry) = owner(world, ip).and_then(|key| world.pool(key)) else { return true };
    let Some((_, account)) = planned(world, entry) else {
        return may_be_there(world, node, entry, ip);
    };
    if !may_carry(account, node, ip) {
        return false;
    }
    let Some(address) = account.address(ip) else { return true };
    let machine = node.machine.as_ref().map(|machine| &machine.id);
    let arrives = || address.operation.as_ref().is_some_and(|one| one.to() == machine);
    match &address.knowledge {
        Knowledge::Unknown => true,
        Knowledge::Known { sighting, .. } => is_on(sighting, node) || arrives(),
        Knowledge::Missing | Knowledge::Gone => arrives(),
    }
}

/// The class and the account of a pool that can be planned.
pub(super) fn planned<'w>(world: &'w World, entry: &PoolEntry) -> Option<(ClassId, &'w Account)> {
    Some((entry.class?, account_of(world, entry)?))
}

/// Whether an address of an account can be on a node at all: the provider has the family, and the node's
/// machine is at the provider, as far as is known.
fn may_carry(account: &Account, node: &Node, ip: IpAddr) -> bool {
    let has_family =
        account.abilities().is_none_or(|abilities| abilities.families.has(Family::of(ip)));
    has_family && node.machine.as_ref().is_none_or(|machine| account.is_at(&machine.cloud))
}

fn account_of<'w>(world: &'w World, entry: &PoolEntry) -> Option<&'w Account> {
    world.account(&entry.pool.request.as_ref().ok()?.account)
}

/// Whether a pool's account is known to have no machine of a node's cloud.
pub(crate) fn is_elsewhere(world: &World, node: &Node, entry: &PoolEntry) -> bool {
    let machine = node.machine.as_ref();
    machine.is_some_and(|one| account_of(world, entry).is_some_and(|own| !own.is_at(&one.cloud)))
}

/// Whether an address of a pool that cannot be planned may be on a node.
fn may_be_there(world: &World, node: &Node, entry: &PoolEntry, ip: IpAddr) -> bool {
    let Some(machine) = &node.machine else { return true };
    if account_of(world, entry).is_some() {
        return !is_elsewhere(world, node, entry);
    }
    // The spec does not tell the account.
    let here = |(_, account): &(&AccountId, &Account)| account.is_at(&machine.cloud);
    let mut accounts = world.accounts().filter(here).peekable();
    accounts.peek().is_none()
        || accounts.any(|(id, account)| !rules_out(world, (id, account), machine, ip))
}

/// Whether an account's reads show that an address is not on a machine.
fn rules_out(
    world: &World,
    (id, account): (&AccountId, &Account),
    machine: &Machine,
    ip: IpAddr,
) -> bool {
    let is_read = world.users_of(id).next().is_some() && is_heard(world, account);
    let whole = account.listing.limited.is_none();
    is_read
        && match account.address(ip) {
            None => whole,
            Some(address) if address.machines().contains(&Some(&machine.id)) => false,
            Some(address) => match &address.knowledge {
                Knowledge::Known { sighting, .. } => whole || sighting.holder.is_some(),
                Knowledge::Gone => true,
                Knowledge::Unknown | Knowledge::Missing => false,
            },
        }
}

/// Whether a pool names an address of a supported family without known existence.
fn names_absent(account: &Account, entry: &PoolEntry) -> bool {
    let absent = |ip: &IpAddr| {
        let known = account.address(*ip).map(|address| &address.knowledge);
        let has = account.abilities().map_or(Families::NONE, |abilities| abilities.families);
        has.has(Family::of(*ip)) && !matches!(known, Some(Knowledge::Known { .. }))
    };
    entry.addresses().iter().any(absent)
}

/// Whether a sighting shows an address on a node.
pub(crate) fn is_on(sighting: &Sighting, node: &Node) -> bool {
    sighting.holder.as_ref() == node.machine.as_ref().map(|machine| &machine.id)
}
