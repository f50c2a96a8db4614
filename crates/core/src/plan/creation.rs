//! Which addresses must be reserved, without ever reserving one too many.
//!
//! ```text
//! wanted > had ──> ledger: intent ──> create ──> ledger: address
//!                     │                  │
//!                     └── crash, no answer: a listing tells ──> the address │ nothing │ ask
//! ```
//!
//! An intent counts as an address until it is proven that it made none.

use std::net::IpAddr;

use super::placement::{Placement, cool_off_ends};
use super::standing::PoolView;
use super::{Draft, may_change};
use crate::Time;
use crate::action::Action;
use crate::model::{Family, Intent, Ledger, Request, Resolution, Text};
use crate::world::{Account, AccountSetup, IntentProgress, Knowledge, World};

/// How a pool's reservations stand.
#[derive(Default)]
pub(super) struct Creation {
    /// Reservations that are not in the ledger as addresses yet, or still to be made.
    pub open: usize,
    /// A reservation may have made one of these.
    pub unknown: Vec<IpAddr>,
    /// New addresses are wanted, and it is not said where.
    pub region_missing: bool,
}

/// What came of an intent.
enum Resolved {
    /// This address.
    Address(IpAddr),
    /// Nothing: it can be sent (again).
    Nothing,
    /// Not known before a listing that is sent from then on.
    After(Time),
    /// Perhaps one of these.
    Unclear(Vec<IpAddr>),
}

/// How many addresses a pool lacks, beyond those that are being reserved.
pub(super) fn missing(view: &PoolView<'_>) -> usize {
    let has = view.addresses.len() + unmade(view);
    view.wanted.saturating_sub(has)
}

/// Intents that are no address of the pool yet.
fn unmade(view: &PoolView<'_>) -> usize {
    let ledger = &view.entry.pool.ledger;
    let made = |intent: &&Intent| {
        matches!(view.entry.progress(&intent.id, Time::default()), IntentProgress::Made(_))
    };
    ledger.intents.len() - ledger.intents.iter().filter(made).count()
}

pub(super) fn plan(
    world: &World,
    view: &PoolView<'_>,
    placement: &Placement,
    draft: &mut Draft,
) -> Creation {
    let mut creation = Creation::default();
    let (Some(request), Some(account)) = (view.request, view.account) else {
        return creation;
    };
    let ledger = &view.entry.pool.ledger;
    let mut next = Ledger { created: ledger.created.clone(), intents: Vec::new() };
    let mut room = view.wanted.saturating_sub(view.addresses.len());
    for intent in &ledger.intents {
        match resolve(world, view, account, intent, &next) {
            Resolved::Address(ip) => next.created.push(ip),
            Resolved::Nothing => {
                if room > 0 && still_good(world, view, account, intent) {
                    send(world, view, request, intent, draft);
                    next.intents.push(intent.clone());
                    room -= 1;
                }
            }
            Resolved::After(time) => {
                draft.wake_at(time);
                next.intents.push(intent.clone());
                room = room.saturating_sub(1);
            }
            Resolved::Unclear(candidates) => {
                creation.unknown = candidates;
                next.intents.push(intent.clone());
                room = room.saturating_sub(1);
            }
        }
    }
    if request.region.is_none() && missing(view) > 0 {
        creation.region_missing = needs_region(account);
    }
    if !creation.region_missing && may_change(world, &request.account, draft.now) {
        next.intents.extend(intents(world, view, request, account, placement, draft.now));
    }
    creation.open = next.intents.len();
    write(view, next, draft);
    creation
}

fn needs_region(account: &Account) -> bool {
    account.setup.as_ref().is_ok_and(|setup| setup.region_required)
}

/// What came of an intent, as far as can be known.
fn resolve(
    world: &World,
    view: &PoolView<'_>,
    account: &Account,
    intent: &Intent,
    next: &Ledger,
) -> Resolved {
    let until = match view.entry.progress(&intent.id, world.open_from()) {
        IntentProgress::Ready => return Resolved::Nothing,
        IntentProgress::Made(ip) => return Resolved::Address(ip),
        IntentProgress::Sent => return Resolved::After(Time::default()),
        IntentProgress::Doubtful { until } => until,
    };
    if account.listing.last.is_none_or(|last| last < until) {
        return Resolved::After(until);
    }
    let unlisted = |ip: &IpAddr| {
        world.claimants(*ip).next().is_none()
            && !intent.strangers.contains(ip)
            && !next.created.contains(ip)
            && Family::of(*ip) == intent.family
    };
    let mut loose = Vec::new();
    let mut settling = false;
    for (ip, address) in account.addresses() {
        let Knowledge::Known { sighting, .. } = &address.knowledge else {
            continue;
        };
        if !unlisted(&ip) {
            continue;
        }
        if sighting.holder.is_some() && sighting.holder == intent.target {
            return Resolved::Address(ip);
        }
        let here = sighting.region.as_ref().is_none_or(|region| *region == intent.region);
        if sighting.holder.is_none() && here && in_project(account, sighting.project.as_ref()) {
            settling |= sighting.busy;
            loose.push(ip);
        }
    }
    match (loose.first(), view.entry.pool.resolution) {
        (_, Some(Resolution::Adopt(ip))) if loose.contains(&ip) => Resolved::Address(ip),
        (_, Some(Resolution::Nothing)) | (None, _) => Resolved::Nothing,
        (Some(ip), _) if project(account).is_some() => Resolved::Address(*ip),
        // The cloud is still putting one of them somewhere: that may be our target.
        (Some(_), _) if settling => Resolved::After(Time::default()),
        (Some(_), _) => Resolved::Unclear(loose),
    }
}

fn project(account: &Account) -> Option<&Text> {
    account.setup.as_ref().ok().and_then(|setup: &AccountSetup| setup.project.as_ref())
}

fn in_project(account: &Account, project_of_address: Option<&Text>) -> bool {
    project(account).is_none_or(|ours| project_of_address == Some(ours))
}

/// Whether an intent that made nothing can be sent as it is.
fn still_good(world: &World, view: &PoolView<'_>, account: &Account, intent: &Intent) -> bool {
    let Some(machine) = &intent.target else {
        return true;
    };
    let eligible = view.node_on(world, machine).is_some_and(|n| view.judge(world, n).is_ok());
    eligible && account.occupants(machine, intent.family).next().is_none()
}

fn send(world: &World, view: &PoolView<'_>, request: &Request, intent: &Intent, draft: &mut Draft) {
    let cooling = cool_off_ends(view, request.cool_off, draft.now)
        .filter(|_| intent.target.is_some())
        .or(Some(view.entry.creation.not_before).filter(|time| *time > draft.now));
    if let Some(until) = cooling {
        return draft.wake_at(until);
    }
    // The ledger that names it must be what the object says, not what we hope to write.
    if may_change(world, &request.account, draft.now) && view.entry.ledger_writable(draft.now) {
        draft.act(Action::Create {
            account: request.account.clone(),
            pool: view.key.clone(),
            intent: intent.clone(),
        });
    }
}

/// New intents: on the nodes that were found for them; by region alone only if there is no
/// node to be had.
fn intents(
    world: &World,
    view: &PoolView<'_>,
    request: &Request,
    account: &Account,
    placement: &Placement,
    now: Time,
) -> Vec<Intent> {
    let missing = missing(view);
    if missing == 0 || placement.cooling(view.key).is_some() {
        return Vec::new();
    }
    let region = request.region.clone().unwrap_or_else(|| "".into());
    let nodes = placement.for_new(view.key);
    let free_left = placement.free(view, Family::V4).is_some_and(|free| !free.nodes.is_empty());
    // While a pool cools off between two assignments, one node at a time is enough.
    let paced = !request.cool_off.is_zero() && free_left;
    let by_region = if paced { 0 } else { missing.saturating_sub(nodes.len()) };
    let targets = nodes.iter().take(missing).map(|(_, machine)| Some(machine.clone()));
    let targets = targets.chain(std::iter::repeat_n(None, by_region));
    let strangers: Vec<IpAddr> = account
        .addresses()
        .map(|(ip, _)| ip)
        .filter(|ip| world.claimants(*ip).next().is_none())
        .collect();
    let intent = |(index, target)| Intent {
        id: format!("{:x}-{index}", now.as_micros()).into(),
        family: Family::V4,
        region: region.clone(),
        target,
        strangers: strangers.clone(),
    };
    targets.enumerate().map(intent).collect()
}

fn write(view: &PoolView<'_>, next: Ledger, draft: &mut Draft) {
    let pool = &view.entry.pool;
    if next == pool.ledger {
        return;
    }
    if !view.entry.ledger_writable(draft.now) {
        return draft.wake_at(view.entry.ledger_not_before());
    }
    // An intent that is on its way out of the ledger must not be sent by this very plan.
    draft.plan.actions.retain(|action| match action {
        Action::Create { pool, intent, .. } => {
            pool != view.key || next.intents.iter().any(|one| one.id == intent.id)
        }
        _ => true,
    });
    draft.act(Action::WriteLedger {
        pool: view.key.clone(),
        uid: pool.uid.clone(),
        version: pool.version,
        ledger: next,
    });
}
