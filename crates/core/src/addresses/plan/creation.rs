//! Reserves the addresses a pool lacks, and never one too many.
//!
//! ```text
//! wanted > had ──> ledger: intent ──> create ──> ledger: address
//!                     │                  │
//!                     └── crash, no answer: a listing tells ──> the address │ nothing │ ask
//! ```
//!
//! An intent counts as an address until its reservation is proven to have made none. A reservation
//! is sent only once the object certainly names the intent.

use std::net::IpAddr;

use super::cool_off::cool_off_ends;
use super::gate::may_change;
use super::need::{lacks, missing, needs_region};
use super::placement::Placement;
use super::recognise::{Resolved, mark, marks_new, open_intents, resolve};
use super::view::{Place, PoolView};
use super::{reading, release};
use crate::Time;
use crate::action::{Action, AddressAction, LedgerWrite};
use crate::addresses::{Account, Address, IntentProgress, Knowledge, Shown};
use crate::model::{AccountId, Intent, Ledger, MachineId, NodeName, Request, Text};
use crate::plan::Draft;
use crate::world::World;

/// Progress of a pool's reservations.
#[derive(Default)]
pub(crate) struct Creation {
    /// Number of intents not yet recorded as addresses.
    pub open: usize,
    /// Whether the ledger must be written.
    pub writes: bool,
    /// Candidates for the result of a reservation without an answer.
    pub unknown: Vec<IpAddr>,
    /// Whether new addresses need a region, and the spec names none.
    pub region_missing: bool,
    /// Whether new addresses wait for a listing.
    pub waits: bool,
}

pub(crate) fn plan(
    world: &World,
    view: &PoolView<'_>,
    placement: &Placement,
    draft: &mut Draft,
) -> Creation {
    let mut creation = Creation::default();
    let ledger = &view.entry.pool.ledger;
    let (Some(request), Some(account)) = (view.request, view.account) else {
        // The finalizer of a pool is removed when no longer needed, even if the pool cannot be
        // planned.
        if ledger.guarded && !release::guards(world, view, ledger, draft) {
            creation.writes = write(view, Ledger { guarded: false, ..ledger.clone() }, draft);
        }
        return creation;
    };
    // The annotation was removed together with a change of the provider. The write restores it, and
    // the pool is not planned at the new provider.
    if ledger.elsewhere(&request.account).is_some() {
        let guarded = release::guards(world, view, ledger, draft);
        creation.writes = write(view, Ledger { guarded, ..ledger.clone() }, draft);
        return creation;
    }
    let mut next = Ledger { intents: vec![], ..ledger.clone() };
    forget_gone(world, view, &request.account, account, &mut next, draft);
    release::plan(world, view, request, &mut next, draft);
    // A kept address listed again by the user belongs to the list.
    next.kept.retain(|ip| !request.listed.contains(ip));
    next.kept.extend(&view.keeping);
    let still_good = |intent: &Intent| {
        let target = intent.target.as_ref();
        // A machine determines the region. Without a machine, the user may have changed the region.
        let there = target.is_some() || intent.region == region(request);
        view.entry.wrote_intent(&intent.id)
            && there
            && placement.is_reserved_for(view, intent)
            && !target.is_some_and(|machine| account.setbacks.refuses_new(machine))
            && target.is_none_or(|machine| view.may_take(world, machine, intent.family, None))
    };
    let left = settle(world, view, account, &mut next, &mut creation, draft);
    let completed = |intent: &Intent| completed(intent, request, account);
    let unsent = keep(view, left, &mut next, (still_good, completed));
    for intent in unsent {
        send(world, view, request, intent, draft);
    }
    if request.region.is_none() && missing(view) > 0 {
        creation.region_missing = needs_region(account);
    }
    let may_reserve = !creation.region_missing
        && missing(view) > 0
        && may_change(world, &request.account, draft.now);
    creation.waits = may_reserve && !knows_strangers(world, view, &request.account, account, draft);
    if may_reserve && !creation.waits {
        next.intents.extend(intents(world, view, request, account, placement, draft.now));
    }
    creation.open = next.intents.len();
    next.guarded = release::guards(world, view, &next, draft);
    // The name of the account is no reason to write a ledger of an earlier version.
    if next != *ledger {
        next.account = Some(request.account.clone());
    }
    creation.writes = write(view, next, draft) || view.entry.is_writing_ledger();
    creation
}

/// Removes addresses deleted at the provider from the ledger. Two reads some time apart must agree:
/// providers sometimes omit an address for a moment.
fn forget_gone(
    world: &World,
    view: &PoolView<'_>,
    id: &AccountId,
    account: &Account,
    next: &mut Ledger,
    draft: &mut Draft,
) {
    let gone = view.addresses.iter().filter(|one| matches!(one.place, Place::Gone));
    for ip in gone.map(|one| one.ip) {
        if !next.created.contains(&ip) && !next.kept.contains(&ip) {
            continue;
        }
        let gone = account
            .address(ip)
            .and_then(|address| address.surely_gone(account.listing.last, world.settings()));
        match gone {
            Some(Ok(())) => {
                next.created.retain(|one| *one != ip);
                next.kept.retain(|one| *one != ip);
            }
            Some(Err(when)) => reading::look_at(world, id, account, when, draft),
            None => {}
        }
    }
}

/// The region of new addresses, or empty if the spec names none.
fn region(request: &Request) -> Text {
    request.region.clone().unwrap_or_else(|| "".into())
}

/// Resolves the open intents of the ledger. Returns the intents without a known result, and whether
/// their reservation certainly made no address.
fn settle<'w>(
    world: &World,
    view: &PoolView<'w>,
    account: &Account,
    next: &mut Ledger,
    creation: &mut Creation,
    draft: &mut Draft,
) -> Vec<(&'w Intent, bool)> {
    for progress in view.entry.unlisted_progress() {
        if let IntentProgress::Made(ip) = progress {
            record(next, ip);
        }
    }
    let mut left = Vec::new();
    // Intents wiped from the ledger are written again.
    for intent in view.entry.pool.ledger.intents.iter().chain(view.entry.wiped()) {
        let resolved = resolve(world, view, account, intent, next, draft);
        match resolved {
            Resolved::Address(ip) => {
                draft.adopt(ip, view.key, &intent.id);
                record(next, ip);
                continue;
            }
            Resolved::Refuted => continue,
            Resolved::Nothing => {
                left.push((intent, true));
                continue;
            }
            Resolved::Underway => {}
            Resolved::After(time) => {
                if let Some(request) = view.request {
                    reading::look_at(world, &request.account, account, time, draft);
                }
            }
            Resolved::Unclear(candidates) => creation.unknown = candidates,
        }
        left.push((intent, false));
    }
    left
}

fn record(ledger: &mut Ledger, ip: IpAddr) {
    if !ledger.created.contains(&ip) {
        ledger.created.push(ip);
    }
}

/// Keeps intents that may have made an address. Keeps the others only while wanted and still valid,
/// and returns those for sending.
fn keep<'w>(
    view: &PoolView<'w>,
    left: Vec<(&'w Intent, bool)>,
    next: &mut Ledger,
    (still_good, completed): (impl Fn(&Intent) -> bool, impl Fn(&Intent) -> Intent),
) -> Vec<&'w Intent> {
    let found = next.created.iter().filter(|ip| !view.entry.has(**ip)).count();
    let open = left.iter().filter(|(_, unsent)| !unsent).count();
    let mut room = lacks(view, found + open);
    let mut kept = Vec::new();
    for (intent, unsent) in left {
        if !unsent {
            next.intents.push(intent.clone());
        } else if room > 0 && still_good(intent) {
            room -= 1;
            kept.push(intent);
            next.intents.push(completed(intent));
        }
    }
    kept
}

fn send(world: &World, view: &PoolView<'_>, request: &Request, intent: &Intent, draft: &mut Draft) {
    let not_before = view.entry.creation.not_before;
    if draft.now < not_before {
        return draft.wake_at(not_before);
    }
    // The object itself must name the intent, not just a ledger write in progress or of this plan.
    let is_named = view.entry.pool.ledger.intents.iter().any(|one| one.id == intent.id);
    if !is_named
        || !may_change(world, &request.account, draft.now)
        || view.entry.is_writing_ledger()
        || view.entry.is_ledger_in_doubt()
    {
        return;
    }
    if intent.target.is_some() && !draft.spend(view.key) {
        return draft.wake_at(cool_off_ends(view, request.cool_off, draft.now));
    }
    draft.act(Action::Address(AddressAction::Create {
        account: request.account.clone(),
        pool: view.key.clone(),
        mark: mark(view, intent),
        intent: intent.clone(),
    }));
}

/// Whether every address that exists before a new intent is known. A reservation of a deleted pool
/// may have made an address that no listing has shown yet; otherwise a listing is requested. Marks
/// tell addresses apart without that.
fn knows_strangers(
    world: &World,
    view: &PoolView<'_>,
    id: &AccountId,
    account: &Account,
    draft: &mut Draft,
) -> bool {
    if marks_new(view) {
        return true;
    }
    match world.orphans.shown(id, view.family()) {
        Shown::Already => true,
        Shown::From(time) => {
            reading::look_at(world, id, account, time, draft);
            false
        }
        Shown::AfterAnswer => false,
    }
}

/// New intents, on the nodes found by the placement. Intents by region are made only if nodes are
/// lacking.
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
    let region = region(request);
    let accepts = |node: &&(NodeName, MachineId)| !account.setbacks.refuses_new(&node.1);
    let nodes: Vec<_> = placement.for_new(view.key).iter().filter(accepts).collect();
    // With a cool-off, one node at a time is enough.
    let family = view.family();
    let paced = !request.cool_off.is_zero()
        && view.places_new()
        && !placement.free(view, family).is_empty();
    // An intent is not written before it can be sent, because a written intent may count as sent.
    if paced && is_reserving(view) {
        return Vec::new();
    }
    let by_region = if paced { 0 } else { missing.saturating_sub(nodes.len()) };
    let targets = nodes.iter().take(missing).map(|(_, machine)| Some(machine.clone()));
    let targets = targets.chain(std::iter::repeat_n(None, by_region));
    // Addresses that exist now cannot be the result of these intents, except possible results of
    // other open reservations.
    let others = open_intents(world, Some(request), |_, _, _| true);
    let made = |ip: &IpAddr| {
        let may_be = |one: &Intent| one.family == family && !one.strangers.contains(ip);
        !world.is_claimed(*ip) && others.iter().any(|(one, _)| may_be(one))
    };
    let there = account.addresses().filter(|(_, address)| is_there(address)).map(|(ip, _)| ip);
    // Marked addresses are recognised without a list of strangers. Those of the pool are named all the
    // same, so that they may leave before the reservation is made.
    let own = |ip: &IpAddr| view.entry.has(*ip) || view.entry.is_leaving(*ip);
    let there = there.filter(|ip| !marks_new(view) || own(ip));
    let (unsettled, strangers): (Vec<IpAddr>, Vec<_>) = there.partition(made);
    let names = (0..).map(|index: usize| format!("{:x}-{index}", now.as_micros()));
    let unused = names.filter(|name| !view.entry.knows_intent(name));
    let intent = |(target, name): (_, String)| Intent {
        id: name.as_str().into(),
        family,
        region: region.clone(),
        target,
        strangers: strangers.clone(),
        unsettled: unsettled.clone(),
    };
    targets.zip(unused).map(intent).collect()
}

/// An unsent intent with the addresses as strangers that the user listed since the intent was written.
/// They could otherwise not leave before the reservation is made.
fn completed(intent: &Intent, request: &Request, account: &Account) -> Intent {
    let there = |ip: &&IpAddr| account.address(**ip).is_some_and(is_there);
    let new = |ip: &&IpAddr| !intent.strangers.contains(ip) && !intent.unsettled.contains(ip);
    let mut intent = intent.clone();
    let listed = request.listed.iter().filter(there).filter(new).copied();
    intent.strangers.extend(listed.collect::<Vec<_>>());
    intent
}

fn is_there(address: &Address) -> bool {
    address.knowledge != Knowledge::Gone
}

/// Whether a reservation is about to be sent, or has no answer yet.
fn is_reserving(view: &PoolView<'_>) -> bool {
    let under_way = |intent: &Intent| {
        let progress = view.entry.progress(&intent.id, Time::default());
        matches!(progress, IntentProgress::Ready | IntentProgress::Sent)
    };
    view.entry.pool.ledger.intents.iter().any(under_way)
}

/// Writes the ledger, if different from the object's or in doubt. Returns whether a write is
/// needed.
fn write(view: &PoolView<'_>, next: Ledger, draft: &mut Draft) -> bool {
    let pool = &view.entry.pool;
    let doubtful = view.entry.is_ledger_in_doubt() && !next.intents.is_empty();
    // The annotation was removed, and its content survives only in the status, which is easily
    // lost.
    let lost = pool.ledger_stripped && !next.created.is_empty();
    // The write ends the memory of a wiped intent that made nothing.
    let wiped = view.entry.wiped().next().is_some();
    if next == pool.ledger && !doubtful && !lost && !wiped {
        return false;
    }
    let has = |intent: &Intent| pool.ledger.intents.iter().any(|one| one.id == intent.id);
    if view.entry.ledger_writable(draft.now) {
        draft.act(Action::Ledger(LedgerWrite {
            pool: view.key.clone(),
            uid: pool.uid.clone(),
            version: pool.version,
            new_intents: next.intents.iter().filter(|one| !has(one)).count(),
            guard: (next.guarded != pool.ledger.guarded).then(|| pool.finalizers.clone()),
            ledger: next,
        }));
    } else {
        draft.wake_at(view.entry.ledger_not_before());
    }
    true
}
