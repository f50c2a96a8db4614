//! Reads of an account: one listing for all addresses, and direct reads of single addresses or
//! operations only where listings are not enough.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use super::gate::is_open;
use crate::Time;
use crate::action::{Action, AddressAction, ListScope};
use crate::addresses::{Account, Knowledge, Operation, PoolEntry};
use crate::model::{AccountId, Families, Family, Node};
use crate::plan::Draft;
use crate::world::World;

/// First interval of listings while the provider works on an address of a pool for another client.
/// The interval grows with the duration.
const WATCH_BUSY: Duration = Duration::from_secs(2);

/// Number of consecutive listings with the address idle and not at its target, after which the
/// operation is read directly: a failed operation looks the same.
const LISTINGS_BEFORE_ASKING: u32 = 2;

/// Age from which an operation is read directly although listings show work in progress.
const SUSPICIOUS: Duration = Duration::from_secs(30);

/// Maximum number of operations read at once per account. Listings cover all of them.
const ASKED_AT_ONCE: usize = 3;

pub(crate) fn plan(
    world: &World,
    id: &AccountId,
    account: &Account,
    awaited: bool,
    draft: &mut Draft,
) {
    if account.setup.is_err() {
        return;
    }
    // By this time, the outage must be reported.
    draft.wake_at(account.listing.silence.as_ref().map(|silence| silence.told_from));
    let opens = account.closed_until.map_or(world.open_from(), |at| at.max(world.open_from()));
    if draft.now < opens {
        return draft.wake_at(opens);
    }
    list_when(world, id, account, (due(world, id, account), awaited), draft);
    if account.is_refused(draft.now) {
        return draft.wake_at(account.listing.rests_until);
    }
    for (ip, address) in account.missing() {
        if address.reading || !world.is_claimed(ip) {
            continue;
        }
        if draft.now >= address.read_after {
            draft.act(Action::Address(AddressAction::Read { account: id.clone(), ip }));
        } else {
            draft.wake_at(address.read_after);
        }
    }
    ask(world, id, account, draft);
}

/// Reads operations directly where listings are not enough, those with the longest wait first.
fn ask(world: &World, id: &AccountId, account: &Account, draft: &mut Draft) {
    let mut asked = 0;
    let mut open = Vec::new();
    for (ip, operation) in account.open() {
        let Operation::Accepted { id: operation, since, idle, reading, read_after, .. } = operation
        else {
            continue;
        };
        asked += usize::from(*reading);
        // A missing address is read directly before its operation.
        let missing = account.address(ip).is_some_and(|one| one.knowledge == Knowledge::Missing);
        if *reading || (missing && world.is_claimed(ip)) {
            continue;
        }
        let left_open = *idle >= LISTINGS_BEFORE_ASKING;
        let worth_it = if left_open { *since } else { *since + SUSPICIOUS };
        open.push((worth_it.max(*read_after), ip, operation));
    }
    open.sort_unstable_by_key(|(from, ip, _)| (*from, *ip));
    for (from, ip, operation) in open.into_iter().take(ASKED_AT_ONCE.saturating_sub(asked)) {
        let from = from.max(account.ask_after);
        if draft.now >= from {
            let (account, operation) = (id.clone(), operation.clone());
            draft.act(Action::Address(AddressAction::ReadOperation { account, ip, operation }));
        } else {
            draft.wake_at(from);
        }
    }
}

/// Lists an account at `when`, to see the result of a reservation.
pub(crate) fn look_at(
    world: &World,
    id: &AccountId,
    account: &Account,
    when: Time,
    draft: &mut Draft,
) {
    let listing = |action: &Action| matches!(action, Action::Address(AddressAction::List { account, .. }) if account == id);
    if is_open(world, id, draft.now) && !draft.plans(listing) {
        list_when(world, id, account, (when, true), draft);
    }
}

/// Time of the next listing for work in progress at the provider.
pub(crate) fn next_look(account: &Account) -> Time {
    account.listing.last.unwrap_or_default() + WATCH_BUSY
}

fn list_when(
    world: &World,
    id: &AccountId,
    account: &Account,
    (due, awaited): (Time, bool),
    draft: &mut Draft,
) {
    if account.listing.in_flight {
        return;
    }
    let confirms = account.open().any(|(_, operation)| awaits_sight(operation));
    let held_until = if confirms { Time::default() } else { account.listing.held_until };
    let due = due.max(account.listing.opens(awaited || confirms)).max(held_until);
    if due <= draft.now {
        let families = families(world, id, account);
        let scope = scope(world, id, account);
        let account = id.clone();
        draft.act(Action::Address(AddressAction::List { account, families, confirms, scope }));
    } else {
        draft.wake_at(due);
    }
}

/// Whether a listing shows the outcome of an operation.
fn awaits_sight(operation: &Operation) -> bool {
    match operation {
        Operation::Sent { .. } => false,
        Operation::Accepted { .. } | Operation::Uncertain { .. } | Operation::Leaving { .. } => {
            true
        }
    }
}

/// Time of the next listing of the account.
fn due(world: &World, id: &AccountId, account: &Account) -> Time {
    let Some(last) = account.listing.last.filter(|last| *last >= world.open_from()) else {
        return world.open_from();
    };
    let after_failure = account.listing.after_failure();
    let checks = account.open().filter_map(|(_, operation)| match operation {
        Operation::Sent { .. } => None,
        Operation::Accepted { next_check, .. } => Some(*next_check),
        Operation::Uncertain { until, .. } | Operation::Leaving { until } => {
            Some(after_failure.max(*until))
        }
    });
    let ours = account.busy().filter(|(ip, _)| world.is_claimed(*ip));
    let busy = ours.map(|(_, since)| last + (last.since(since) / 8).max(WATCH_BUSY)).min();
    let routine = last + resync(world, id, account);
    checks
        .chain(account.listing.wanted)
        .chain(busy)
        .chain(account.setbacks.look_for_outcome(last).map(|look| look.max(after_failure)))
        .fold(routine, Time::min)
}

/// Interval of routine listings. Each family is a separate request, and all requests of an account,
/// including those for DNS, stay below two per minute.
fn resync(world: &World, id: &AccountId, account: &Account) -> Duration {
    let resync = world.reread(id);
    match families(world, id, account).len() {
        0 | 1 => resync,
        _ => resync.saturating_mul(3) / 2,
    }
}

/// The families to list: those of the account's pools and of new addresses. A family once listed
/// stays, and a family unknown to the provider is never listed.
fn families(world: &World, id: &AccountId, account: &Account) -> Vec<Family> {
    let has = account.abilities().map_or(Families::V4, |abilities| abilities.families);
    let reserves = || {
        let mut intents = world.users_of(id).flat_map(PoolEntry::open_intents);
        intents.any(|intent| intent.family == Family::V6)
    };
    let v6 = has.v6 && (!has.v4 || account.has_v6() || world.asks_for_v6(id) || reserves());
    let asked = Families { v4: has.v4, v6 };
    Family::ALL.into_iter().filter(|family| asked.has(*family)).collect()
}

/// The machines and addresses that a listing is about, for a provider that needs them: the nodes
/// that the account's pools select, and the pools' addresses.
fn scope(world: &World, id: &AccountId, account: &Account) -> ListScope {
    if !account.abilities().is_some_and(|abilities| abilities.lists_by_machine) {
        return ListScope::default();
    }
    let rules: BTreeSet<_> = world.users_of(id).filter_map(PoolEntry::rules).collect();
    let selected = |node: &&Node| rules.iter().any(|rules| rules.nodes.accepts(&node.labels));
    let nodes = world.nodes().filter(selected);
    let machines = nodes.filter_map(|node| node.machine.as_ref());
    let machines = machines.filter(|machine| account.cloud() == Some(&machine.cloud));
    let has = |entry: &PoolEntry| {
        entry.addresses().iter().copied().chain(entry.leaving()).collect::<Vec<_>>()
    };
    // A pool with an invalid spec may be of any account.
    let invalid = world.pools().map(|(_, entry)| entry).flat_map(PoolEntry::claimed_unplanned);
    let addresses: BTreeSet<IpAddr> = world.users_of(id).flat_map(has).chain(invalid).collect();
    ListScope {
        machines: machines
            .map(|machine| machine.id.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        addresses: addresses.into_iter().collect(),
    }
}
