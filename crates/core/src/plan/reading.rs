//! What must be read again from an account: one listing for everything, a single address
//! or operation only for what listings leave open.

use std::time::Duration;

use super::Draft;
use crate::Time;
use crate::action::Action;
use crate::model::{AccountId, Family};
use crate::world::{Account, Operation, World};

/// How often an account is listed while the cloud works on one of our addresses for
/// somebody else.
const WATCH_BUSY: Duration = Duration::from_secs(2);

/// After this many listings without the effect, the operation itself is asked.
const LISTINGS_BEFORE_READ: u32 = 2;

pub(super) fn plan(world: &World, id: &AccountId, draft: &mut Draft) {
    let Some(account) = world.account(id).filter(|account| account.setup.is_ok()) else {
        return;
    };
    let opens = account.closed_until.map_or(world.open_from(), |at| at.max(world.open_from()));
    if draft.now < opens {
        return draft.wake_at(opens);
    }
    list(world, id, account, draft);
    for (ip, address) in account.missing() {
        if address.reading || world.claimants(ip).next().is_none() {
            continue;
        }
        if draft.now >= address.read_after {
            draft.act(Action::ReadAddress { account: id.clone(), ip });
        } else {
            draft.wake_at(address.read_after);
        }
    }
    for (ip, operation) in account.open() {
        let Operation::Accepted { id: operation, checks, reading, read_after, .. } = operation
        else {
            continue;
        };
        if *reading || *checks < LISTINGS_BEFORE_READ {
            continue;
        }
        if draft.now >= *read_after {
            let (account, operation) = (id.clone(), operation.clone());
            draft.act(Action::ReadOperation { account, ip, operation });
        } else {
            draft.wake_at(*read_after);
        }
    }
}

fn list(world: &World, id: &AccountId, account: &Account, draft: &mut Draft) {
    if account.listing.in_flight {
        return;
    }
    let due = due(world, account).max(account.listing.not_before);
    if due <= draft.now {
        draft.act(Action::List { account: id.clone(), families: families(world, id) });
    } else {
        draft.wake_at(due);
    }
}

/// When the account should be listed next.
fn due(world: &World, account: &Account) -> Time {
    let Some(last) = account.listing.last.filter(|last| *last >= world.open_from()) else {
        return world.open_from();
    };
    let checks = account.open().filter_map(|(_, operation)| match operation {
        Operation::Sent { .. } => None,
        Operation::Accepted { next_check, .. } => Some(*next_check),
        Operation::Uncertain { until, .. } => Some(*until),
    });
    let ours_busy = account.busy().any(|ip| world.claimants(ip).next().is_some());
    let routine = last + world.settings().resync;
    checks
        .chain(account.listing.wanted)
        .chain(ours_busy.then(|| last + WATCH_BUSY))
        .fold(routine, Time::min)
}

/// The families that the account's pools have addresses of; IPv4 at least, because that is
/// what new addresses are.
fn families(world: &World, id: &AccountId) -> Vec<Family> {
    let of_account = |entry: &&crate::world::PoolEntry| {
        entry.pool.request.as_ref().is_ok_and(|request| request.account == *id)
    };
    let pools = world.pools().map(|(_, entry)| entry).filter(of_account);
    let v6 = pools.flat_map(|entry| entry.addresses()).any(|ip| ip.is_ipv6());
    if v6 { vec![Family::V4, Family::V6] } else { vec![Family::V4] }
}
