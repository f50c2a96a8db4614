//! The verdict about a pool.

use std::net::IpAddr;
use std::sync::Arc;

use super::attempts::intended;
use super::creation::Creation;
use super::heard::{is_heard, trouble};
use super::need::missing;
use super::occupancy::blockers;
use super::placement::Placement;
use super::seats::NAMES;
use super::view::{AddressView, Hold, Place, PoolView};
use super::{delisted, lacking, marks, release};
use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::addresses::verdict::{
    AddressVerdict, Note, Obstacle, Precedence, Reason, State, Verdict,
};
use crate::addresses::{Account, Operation, PoolEntry};
use crate::model::{Family, Finding, MachineId, NodeName, ObjectKey, Text};
use crate::plan::Draft;
use crate::verdict::Outlook;
use crate::world::World;

/// Builds the verdict about a pool.
pub(crate) fn verdict(
    world: &World,
    view: &PoolView<'_>,
    placement: &Placement,
    creation: &Creation,
    draft: &Draft,
) -> Verdict {
    let say = |one: &AddressView<'_>| address(world, view, one);
    let mut addresses: Vec<_> = view.addresses.iter().map(say).collect();
    lacking::tell(world, view, placement, draft, &mut addresses);
    addresses.extend(view.leaving.iter().filter_map(|one| delisted::verdict(world, view, one)));
    // A time in the future is a clock error, and counts as now.
    let last_assignment = view.entry.last_assignment.map(|at| at.min(draft.now));
    let verdict = Verdict {
        reason: Reason::Reading,
        wanted: view.wanted,
        available: placement.free(view, view.family()).to_vec(),
        available_count: placement.free_count(view, view.family()),
        eligible: view.class.map_or(0, |class| world.candidates().eligible_count(class)),
        census: None,
        unusable: placement.unusable(world, view),
        last_assignment,
        created: view.entry.pool.ledger.created.clone(),
        kept: view.entry.pool.ledger.kept.clone(),
        creation_error: creation_failure(view, creation).map(|failure| failure.message.clone()),
        evicting: Vec::new(),
        limited: view.account.and_then(|account| account.listing.limited.clone()),
        withheld: None,
        names: view.entry.pool.names,
        addresses,
    };
    let reason = reason(world, view, placement, creation, &verdict, draft);
    let mut verdict = Verdict { reason, ..verdict };
    if let Reason::NoMatchingNode | Reason::NoFreeNode(_) = verdict.reason {
        let census = view.class.and_then(|class| world.candidates().census(class));
        verdict.census = census.map(Arc::new);
        let left = NAMES.saturating_sub(verdict.unusable.len());
        verdict.unusable.extend(homeless(world, view).take(left));
    }
    verdict
}

/// Nodes excluded only because they run on no machine of the pool's cloud. Reported only if the
/// pool lacks a node, because a cluster may have nodes elsewhere on purpose.
fn homeless<'w>(
    world: &'w World,
    view: &PoolView<'_>,
) -> impl Iterator<Item = (NodeName, Obstacle)> + use<'w> {
    let nodes = view.class.into_iter().flat_map(|class| world.candidates().homeless(class));
    nodes.map(|(name, unfit)| (name.clone(), Obstacle::NoMachine(unfit.clone())))
}

/// Whether a pool needs no further plan until an event concerns it.
pub(crate) fn is_settled(view: &PoolView<'_>, verdict: &Verdict) -> bool {
    match verdict.reason.outlook() {
        Outlook::Well => view.entry.pool.ledger.intents.is_empty(),
        // Every address is in place, and the next successful listing replans every pool.
        Outlook::Working | Outlook::Stuck if verdict.is_silenced() && !view.entry.is_ending() => {
            view.entry.pool.ledger.intents.is_empty()
        }
        Outlook::Working | Outlook::Waiting => false,
        Outlook::Stuck => matches!(verdict.reason, Reason::Invalid(_) | Reason::NoAccount(_)),
    }
}

fn address(world: &World, view: &PoolView<'_>, one: &AddressView<'_>) -> AddressVerdict {
    let (mut state, machine, mut note) = found(one);
    if let Some((message, next)) = failed_attempt(world, view, one) {
        state = State::Error;
        note = Some(Note::Failed(message, next));
    }
    let node = match one.place {
        Place::Home(node, _) => Some(node),
        _ => {
            let name = machine.and_then(|machine| view.node_on(world, machine));
            name.and_then(|name| world.node(name))
        }
    };
    let (machine, memory) = (machine.cloned(), one.memory.clone());
    let provider_id = node.and_then(|node| node.provider_id.clone());
    let cordoned = node.is_some_and(|node| node.cordoned);
    let node = node.map(|node| node.name.clone());
    AddressVerdict { ip: one.ip, state, node, machine, provider_id, cordoned, note, memory }
}

/// The state of an address by its place, its machine or target, and the obstacle to being active.
fn found<'a>(one: &'a AddressView<'_>) -> (State, Option<&'a MachineId>, Option<Note>) {
    match &one.place {
        Place::Conflict(owner) => (State::Error, None, Some(Note::Conflict((*owner).clone()))),
        Place::Disabled(machine) => (State::Disabled, *machine, None),
        Place::Unknown => (State::Unknown, None, None),
        Place::Missing => (State::Unknown, None, Some(Note::Missing)),
        Place::Gone => (State::Error, None, Some(Note::Gone)),
        Place::Unsupported => (State::Error, None, Some(Note::Unsupported(Family::of(one.ip)))),
        Place::Busy(machine) => (State::InProgress, *machine, Some(Note::Busy)),
        Place::Moving(operation) => {
            let note = match operation {
                Operation::Uncertain { until, .. } | Operation::Leaving { until } => {
                    Some(Note::Uncertain(*until))
                }
                Operation::Sent { .. } | Operation::Accepted { .. } => None,
            };
            (State::InProgress, operation.to(), note)
        }
        Place::Home(_, machine) => (State::Active, Some(machine), None),
        Place::Stranded(machine, note) => {
            let note = match (note, one.hold) {
                (Note::Unfit(unfit), Some(Hold::Grace(until))) => Note::Grace(unfit.clone(), until),
                (_, Some(Hold::Drift(until))) => Note::Drift(until),
                _ => note.clone(),
            };
            (State::NoMatch, Some(machine), Some(note))
        }
        Place::Free => (State::Unassigned, None, one.hold.map(|hold| Note::Drift(hold.until()))),
    }
}

/// The last failure of an address that waits for its next attempt.
fn failed_attempt(
    world: &World,
    view: &PoolView<'_>,
    one: &AddressView<'_>,
) -> Option<(Text, Time)> {
    let (Place::Free | Place::Stranded(..)) = one.place else {
        return None;
    };
    let (_, machine) = intended(world, view, one)?;
    // No attempt is repeated on a node taken by another address.
    if !view.may_take(world, machine, Family::of(one.ip), Some(one.ip)) {
        return None;
    }
    let setbacks = &view.account?.setbacks;
    let setback = setbacks.of(one.ip, machine)?;
    Some((setback.failure.message.clone(), setbacks.next(one.ip, machine)))
}

/// The most important reason, those with the least hope first.
fn reason(
    world: &World,
    view: &PoolView<'_>,
    placement: &Placement,
    creation: &Creation,
    verdict: &Verdict,
    draft: &Draft,
) -> Reason {
    if let Some(reason) = cannot_plan(view) {
        return reason;
    }
    let Some(account) = view.account else {
        return Reason::Reading;
    };
    let heard = is_heard(world, account);
    if view.entry.is_ending() {
        return unknown_creation(creation)
            .or_else(|| ledger_refused(view, creation))
            .or_else(|| trouble(account, heard, draft))
            .unwrap_or_else(|| release::reason(view, draft));
    }
    if let Some(reason) = needs_help(world, view, creation) {
        return reason;
    }
    if verdict.active() >= verdict.wanted && creation.open == 0 {
        let unmarked = || {
            let refusal = marks::refusal(world, view);
            refusal.map(|(node, mark, words)| Reason::AnnotationRefused(node, mark, words))
        };
        return unheard(account, draft).or_else(unmarked).unwrap_or(Reason::AllAssigned);
    }
    if let Some(reason) = trouble(account, heard, draft) {
        return reason;
    }
    if let Some(reason) = creation_failed(view, creation, draft) {
        return reason;
    }
    if let Some(one) = verdict.addresses.iter().find(|one| one.state == State::Error)
        && let Some(Note::Failed(message, next)) = &one.note
    {
        return Reason::AssignFailed(one.ip, message.clone(), *next);
    }
    let is_underway = |one: &AddressVerdict| one.state == State::InProgress;
    let assigning = view.is_sending() || verdict.addresses.iter().any(is_underway);
    let unmarking = view.addresses.iter().any(|one| one.unmarking);
    if draft.assigns(view.key) || unmarking || assigning {
        return Reason::Assigning;
    }
    if let Some(reason) = reserving(creation, account, draft) {
        return reason;
    }
    if let Some(until) = placement.cooling(view.key) {
        return Reason::CoolingOff(until);
    }
    if let Some(reason) = held(view) {
        return reason;
    }
    if !heard || verdict.addresses.iter().any(|one| one.state == State::Unknown) {
        return Reason::Reading;
    }
    if let Some(reason) = failing_node(verdict) {
        return reason;
    }
    match verdict.eligible {
        0 => Reason::NoMatchingNode,
        _ => Reason::NoFreeNode(blockers(world, view)),
    }
}

/// Addresses are being reserved, or are to be reserved once a listing is answered.
fn reserving(creation: &Creation, account: &Account, draft: &Draft) -> Option<Reason> {
    let silent = || unheard(account, draft).filter(|_| creation.waits);
    let reserves = creation.open > 0 || creation.writes || creation.waits;
    reserves.then(|| silent().unwrap_or(Reason::Creating))
}

/// The hold of an address that ends first.
fn held(view: &PoolView<'_>) -> Option<Reason> {
    let held = view.addresses.iter().filter_map(|one| Some((one.hold?, one.ip)));
    let (hold, ip) = held.min_by_key(|(hold, ip)| (hold.until(), *ip))?;
    Some(match hold {
        Hold::Grace(until) => Reason::InGrace(ip, until),
        Hold::Drift(until) => Reason::Drift(ip, until),
    })
}

/// A free node with a failed attempt, while an address waits for a node.
fn failing_node(verdict: &Verdict) -> Option<Reason> {
    let waits = |one: &&AddressVerdict| matches!(one.state, State::Unassigned | State::NoMatch);
    let ip = verdict.addresses.iter().find(waits)?.ip;
    verdict.unusable.iter().find_map(|(_, obstacle)| match obstacle {
        Obstacle::Failed(message, next) => Some(Reason::AssignFailed(ip, message.clone(), *next)),
        Obstacle::HoldsOther(_) | Obstacle::HoldsOf(..) | Obstacle::NoMachine(_) => None,
    })
}

/// The reason if the object or its account cannot be used at all.
fn cannot_plan(view: &PoolView<'_>) -> Option<Reason> {
    match (&view.entry.pool.request, view.account.map(|account| &account.setup)) {
        (Err(finding), _) => Some(Reason::Invalid(with_way_out(view, finding))),
        (Ok(_), Some(Err(unusable))) => {
            Some(Reason::NoAccount(with_way_out(view, &unusable.finding)))
        }
        (Ok(request), None) => Some(Reason::NoAccount(Finding {
            reason: "UnknownProvider",
            message: format!("there is no provider \"{}\"", request.account).into(),
        })),
        (Ok(_), Some(Ok(_))) => None,
    }
}

/// Tells the user of a pool being deleted how to end the wait.
fn with_way_out(view: &PoolView<'_>, finding: &Finding) -> Finding {
    if !view.entry.is_ending() {
        return finding.clone();
    }
    let message = format!(
        "{}; until then the addresses that were reserved for this pool cannot be released, and the \
         pool cannot go: {} to keep the addresses and let the pool go",
        finding.message, view.entry.pool.names.retain
    );
    Finding { message: message.into(), ..finding.clone() }
}

fn unknown_creation(creation: &Creation) -> Option<Reason> {
    let candidates = Some(&creation.unknown).filter(|candidates| !candidates.is_empty());
    candidates.map(|candidates| Reason::CreateOutcomeUnknown(candidates.clone()))
}

/// The reason if a person must act.
fn needs_help(world: &World, view: &PoolView<'_>, creation: &Creation) -> Option<Reason> {
    // An unknown result comes first, because the status shows it nowhere else.
    if let Some(reason) = unknown_creation(creation) {
        return Some(reason);
    }
    for one in &view.addresses {
        match &one.place {
            Place::Conflict(owner) => {
                let why = precedence(world, view, one.ip, owner);
                return Some(Reason::Conflict(one.ip, (*owner).clone(), why));
            }
            Place::Gone => return Some(Reason::AddressNotFound(one.ip)),
            Place::Unsupported => return Some(unsupported(one.ip)),
            _ => {}
        }
    }
    if creation.region_missing {
        return Some(Reason::RegionMissing);
    }
    let unreadable = || view.request?.unreadable.clone().map(Reason::PartlyInvalid);
    ledger_refused(view, creation).or_else(unreadable)
}

/// The reason for an address of a family that is not assigned at the provider.
fn unsupported(ip: IpAddr) -> Reason {
    let message = format!("{ip}: {}", Note::Unsupported(Family::of(ip)));
    Reason::PartlyInvalid(Finding { reason: "UnsupportedAddress", message: message.into() })
}

/// The reason if the API server refuses a required ledger write.
fn ledger_refused(view: &PoolView<'_>, creation: &Creation) -> Option<Reason> {
    let failure = view.entry.ledger_refusal().filter(|_| creation.writes)?;
    Some(Reason::LedgerRefused(failure.message.clone()))
}

/// The rule by which another pool owns an address.
fn precedence(world: &World, view: &PoolView<'_>, ip: IpAddr, owner: &ObjectKey) -> Precedence {
    let rank = |one: &PoolEntry| (one.memory(ip).held, one.pool.created_at);
    let theirs = world.pool(owner).map_or_else(Default::default, rank);
    Precedence::of(theirs, rank(view.entry))
}

/// The reason if a lasting outage hides whether all addresses are still in place. The text stays
/// the same during the outage, because no retry time is of interest.
fn unheard(account: &Account, draft: &Draft) -> Option<Reason> {
    let silence = account.listing.silence.as_ref().filter(|one| one.told_from <= draft.now)?;
    let message = silence.failure.message.clone();
    Some(match silence.failure.kind {
        FailureKind::Refused => Reason::CredentialsRefused(message),
        FailureKind::Throttled { .. } => Reason::Throttled(None),
        _ => Reason::CloudUnavailable(message),
    })
}

/// Failure of the last reservation, while the pool still lacks an address.
fn creation_failure<'w>(view: &PoolView<'w>, creation: &Creation) -> Option<&'w Failure> {
    let lacks = creation.open > 0 || creation.writes || missing(view) > 0;
    let failure = view.entry.creation.failure.as_ref().filter(|_| lacks)?;
    Some(failure).filter(|failure| failure.kind != FailureKind::NotSent)
}

fn creation_failed(view: &PoolView<'_>, creation: &Creation, draft: &Draft) -> Option<Reason> {
    let failure = creation_failure(view, creation)?;
    let (message, next) = (failure.message.clone(), view.entry.creation.not_before);
    match failure.kind {
        // A failure for a person to fix is reported until a reservation succeeds, even during
        // attempts.
        FailureKind::Quota => Some(Reason::QuotaExceeded(message, next)),
        FailureKind::Rejected => Some(Reason::CreateRejected(message, next)),
        _ => Some(Reason::CreateFailed(message, next)).filter(|_| next > draft.now),
    }
}
