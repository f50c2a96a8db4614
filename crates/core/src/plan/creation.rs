//! Which addresses must be reserved, without ever reserving one too many.
//!
//! ```text
//! wanted > had ──> ledger: intent ──> create ──> ledger: address
//!                     │                  │
//!                     └── crash, no answer: a listing tells ──> the address │ nothing │ ask
//! ```
//!
//! An intent counts as an address until it is proven that it made none. Nothing is sent
//! while it is not known that the object names it.

use std::net::IpAddr;

use super::outcome::{Resolved, open_intents, resolve};
use super::placement::{Placement, cool_off_ends};
use super::standing::PoolView;
use super::{Draft, may_change, reading};
use crate::Time;
use crate::action::Action;
use crate::model::{Family, Intent, Ledger, Request};
use crate::world::{Account, Address, IntentProgress, Knowledge, World};

/// How many reservations of a pool are open at a time: a pool that wants hundreds gets them,
/// but not at the cost of everybody else's rate limit.
const AT_ONCE: usize = 10;

/// How a pool's reservations stand.
#[derive(Default)]
pub(super) struct Creation {
    /// Reservations that are not in the ledger as addresses yet, or still to be made.
    pub open: usize,
    /// The ledger does not say what it should.
    pub writes: bool,
    /// A reservation may have made one of these.
    pub unknown: Vec<IpAddr>,
    /// New addresses are wanted, and it is not said where.
    pub region_missing: bool,
}

/// How many addresses are to be reserved for a pool now, beyond those that are being.
pub(super) fn missing(view: &PoolView<'_>) -> usize {
    let open = unmade(view);
    let lacks = view.wanted.saturating_sub(view.addresses.len() + open);
    lacks.min(AT_ONCE.saturating_sub(open))
}

/// Reservations that are no address of the pool yet.
fn unmade(view: &PoolView<'_>) -> usize {
    let made = |intent: &&Intent| {
        let progress = view.entry.progress(&intent.id, Time::default());
        matches!(progress, IntentProgress::Made(_))
    };
    let intents = &view.entry.pool.ledger.intents;
    let wiped = view.entry.unlisted_progress().filter(|one| *one == IntentProgress::Sent);
    intents.iter().filter(|intent| !made(intent)).count() + wiped.count()
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
    let mut next = Ledger { created: view.entry.pool.ledger.created.clone(), intents: vec![] };
    let still_good = |intent: &Intent| {
        let target = intent.target.as_ref();
        view.entry.wrote_intent(&intent.id)
            && placement.is_reserved_for(view, intent)
            && target.is_none_or(|machine| view.may_take(world, machine, intent.family, None))
    };
    let left = settle(world, view, account, &mut next, &mut creation, draft);
    let unsent = keep(view, left, &mut next, still_good);
    for intent in unsent {
        send(world, view, request, intent, draft);
    }
    if request.region.is_none() && missing(view) > 0 {
        creation.region_missing = needs_region(account);
    }
    if !creation.region_missing && may_change(world, &request.account, draft.now) {
        next.intents.extend(intents(world, view, request, account, placement, draft.now));
    }
    creation.open = next.intents.len();
    creation.writes = write(view, next, draft) || view.entry.is_writing_ledger();
    creation
}

fn needs_region(account: &Account) -> bool {
    account.setup.as_ref().is_ok_and(|setup| setup.region_required)
}

/// Brings the ledger in line with what came of its intents. Returns those that made nothing
/// as far as is known, and whether that is certain.
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
    for intent in &view.entry.pool.ledger.intents {
        let resolved = resolve(world, view, account, intent, next, draft);
        match resolved {
            Resolved::Address(ip) => {
                draft.adopt(ip);
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

/// Keeps the intents that may have made something, and of those that did not as many as are
/// still wanted and can be sent as they are. Returns these.
fn keep<'w>(
    view: &PoolView<'w>,
    left: Vec<(&'w Intent, bool)>,
    next: &mut Ledger,
    still_good: impl Fn(&Intent) -> bool,
) -> Vec<&'w Intent> {
    let found = next.created.iter().filter(|ip| !view.entry.has(**ip)).count();
    let open = left.iter().filter(|(_, unsent)| !unsent).count();
    let mut room = view.wanted.saturating_sub(view.addresses.len() + found + open);
    let mut kept = Vec::new();
    for (intent, unsent) in left {
        if unsent {
            if room == 0 || !still_good(intent) {
                continue;
            }
            room -= 1;
            kept.push(intent);
        }
        next.intents.push(intent.clone());
    }
    kept
}

fn send(world: &World, view: &PoolView<'_>, request: &Request, intent: &Intent, draft: &mut Draft) {
    let not_before = view.entry.creation.not_before;
    if draft.now < not_before {
        return draft.wake_at(not_before);
    }
    // The ledger that names it must be what the object says, not what we hope to write.
    if !may_change(world, &request.account, draft.now)
        || view.entry.is_writing_ledger()
        || view.entry.is_ledger_in_doubt()
    {
        return;
    }
    if intent.target.is_some() && !draft.spend(view.key) {
        return draft.wake_at(cool_off_ends(view, request.cool_off, draft.now));
    }
    draft.act(Action::Create {
        account: request.account.clone(),
        pool: view.key.clone(),
        intent: intent.clone(),
    });
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
    // While a pool cools off between two assignments, one node at a time is enough.
    let paced = !request.cool_off.is_zero() && !placement.free(view, Family::V4).is_empty();
    let by_region = if paced { 0 } else { missing.saturating_sub(nodes.len()) };
    let targets = nodes.iter().take(missing).map(|(_, machine)| Some(machine.clone()));
    let targets = targets.chain(std::iter::repeat_n(None, by_region));
    // Whatever comes of it is none that is there now, whoever lists it now or later.
    // But what another reservation may have made is no stranger.
    let others = open_intents(world, None);
    let made = |ip: &IpAddr| {
        !world.is_claimed(*ip) && others.iter().any(|(one, _)| !one.strangers.contains(ip))
    };
    let is_there = |(_, address): &(IpAddr, &Address)| address.knowledge != Knowledge::Gone;
    let there = account.addresses().filter(is_there).map(|(ip, _)| ip);
    let (unsettled, strangers): (Vec<IpAddr>, Vec<_>) = there.partition(made);
    let names = (0..).map(|index: usize| format!("{:x}-{index}", now.as_micros()));
    let unused = names.filter(|name| !view.entry.knows_intent(name));
    let intent = |(target, name): (_, String)| Intent {
        id: name.as_str().into(),
        family: Family::V4,
        region: region.clone(),
        target,
        strangers: strangers.clone(),
        unsettled: unsettled.clone(),
    };
    targets.zip(unused).map(intent).collect()
}

/// Writes the ledger, if it does not say that already, or if nobody knows what it says.
/// Returns whether it has to be written.
fn write(view: &PoolView<'_>, next: Ledger, draft: &mut Draft) -> bool {
    let pool = &view.entry.pool;
    let doubtful = view.entry.is_ledger_in_doubt() && !next.intents.is_empty();
    if next == pool.ledger && !doubtful {
        return false;
    }
    if view.entry.ledger_writable(draft.now) {
        draft.act(Action::WriteLedger {
            pool: view.key.clone(),
            uid: pool.uid.clone(),
            version: pool.version,
            ledger: next,
        });
    } else {
        draft.wake_at(view.entry.ledger_not_before());
    }
    true
}
