//! Recognises the address that a reservation made.
//!
//! If the provider keeps marks, the mark of the intent decides. Otherwise only addresses without a
//! claim count that did not exist when the intent was written:
//!
//! | place of the new address                                                   | result       |
//! |----------------------------------------------------------------------------|--------------|
//! | on the intent's machine, and other intents explain all other candidates    | ours         |
//! | on the intent's machine, with an unexplained candidate                     | perhaps ours |
//! | on no machine, in our project, and not explained by an intent for a region | ours         |
//! | on another machine, in our project, for an intent without a machine        | perhaps ours |
//! | on no machine, otherwise, in a possible region and project                 | perhaps ours |
//! | anywhere else                                                              | not ours     |

use std::net::IpAddr;
use std::time::Duration;

use super::reading::next_look;
use super::view::PoolView;
use crate::Time;
use crate::addresses::{Account, IntentProgress, Knowledge, PoolEntry};
use crate::model::{Family, Intent, Ledger, ObjectKey, Request, Resolution, Sighting, Text};
use crate::plan::Draft;
use crate::world::World;

/// Longest time until a new address appears on its machine.
const ARRIVAL: Duration = Duration::from_secs(30);

/// The result of an intent.
pub(crate) enum Resolved {
    /// The reservation made this address.
    Address(IpAddr),
    /// The reservation made no address, and may be sent (again).
    Nothing,
    /// The user says that the reservation made no address. The intent is dropped.
    Refuted,
    /// The reservation is in flight.
    Underway,
    /// Unknown before a listing sent at or after this time.
    After(Time),
    /// One of these addresses may be the result.
    Unclear(Vec<IpAddr>),
}

/// Looks for the result of an intent of `view`, ignoring addresses recorded in `next`.
pub(crate) fn resolve(
    world: &World,
    view: &PoolView<'_>,
    account: &Account,
    intent: &Intent,
    next: &Ledger,
    draft: &Draft,
) -> Resolved {
    let until = match view.entry.progress(&intent.id, world.shown_from()) {
        IntentProgress::Ready => return Resolved::Nothing,
        IntentProgress::Made(ip) => return Resolved::Address(ip),
        IntentProgress::Sent => return Resolved::Underway,
        IntentProgress::Doubtful { until } => until,
    };
    if account.listing.last.is_none_or(|last| last < until) {
        return Resolved::After(until);
    }
    let is_nobodys = |ip: &IpAddr| {
        world.claimants(*ip).all(|claimant| claimant == view.key)
            && !view.entry.has(*ip)
            && !view.entry.is_leaving(*ip)
            && Family::of(*ip) == intent.family
    };
    if let Some(mark) = mark(view, intent) {
        let marked = account.addresses().find(|(ip, address)| {
            matches!(&address.knowledge, Knowledge::Known { sighting, .. }
                if sighting.mark.as_ref() == Some(&mark) && is_nobodys(ip))
        });
        return match marked {
            Some((ip, _)) => Resolved::Address(ip),
            // Listings may lag behind the reservation.
            None if is_early(account, until) => Resolved::After(next_look(account)),
            None => Resolved::Nothing,
        };
    }
    let is_new = |ip: &IpAddr| {
        !intent.strangers.contains(ip) && !next.created.contains(ip) && !draft.has_adopted(*ip)
    };
    let known = account.addresses().filter_map(|(ip, address)| match &address.knowledge {
        Knowledge::Known { sighting, .. } => Some((ip, sighting)),
        Knowledge::Unknown | Knowledge::Missing | Knowledge::Gone => None,
    });
    let nobodys: Vec<_> = known
        .filter(|(ip, _)| is_nobodys(ip) && !world.orphans.has(*ip, view.key, &intent.id))
        .collect();
    let new: Vec<_> = nobodys.iter().copied().filter(|(ip, _)| is_new(ip)).collect();
    // A reservation whose result is found explains no further address.
    let is_open = |key: &ObjectKey, entry: &PoolEntry, other: &Intent| {
        (key, &other.id) != (view.key, &intent.id)
            && !entry.is_settling(&other.id)
            && !draft.has_settled(key, &other.id)
    };
    let mut others = open_intents(world, view.request, is_open);
    others.retain(|(other, _)| other.family == intent.family);
    let by_region = others.iter().filter(|(other, _)| other.target.is_none()).count();
    let orphans = world.orphans.rivals_of(view.key, &intent.id);
    others.extend(orphans.filter(|(other, _)| other.family == intent.family));
    let waits = |(other, _): &(&Intent, IntentProgress)| !has_arrived(other, &nobodys);
    let elsewhere = others.iter().copied().filter(waits).map(|(other, _)| other).collect();
    let others = Others { all: others, elsewhere, by_region };
    match judge(account, intent, &new, &others, view.entry.pool.resolution) {
        // An address reserved on a machine appears there only when the provider's operation is
        // done.
        Resolved::Unclear(_) if intent.target.is_some() && is_early(account, until) => {
            Resolved::After(next_look(account))
        }
        resolved => resolved,
    }
}

/// Whether an address may still appear on the machine of a reservation. A reservation certainly not
/// sent makes no address. The address of an answered reservation counts by its own place, which may be
/// elsewhere while the ledger cannot be written. A reservation without an answer is over once a listing
/// shows that it made none, or is young enough to show its address on the machine.
pub(crate) fn may_arrive(
    world: &World,
    view: &PoolView<'_>,
    intent: &Intent,
    draft: &Draft,
) -> bool {
    let until = match view.entry.progress(&intent.id, world.shown_from()) {
        IntentProgress::Ready | IntentProgress::Made(_) => return false,
        IntentProgress::Sent => return true,
        IntentProgress::Doubtful { until } => until,
    };
    let Some(account) = view.account else { return true };
    let ledger = &view.entry.pool.ledger;
    let made_none =
        || matches!(resolve(world, view, account, intent, ledger, draft), Resolved::Nothing);
    is_early(account, until) && !made_none()
}

/// Whether the last listing is too early to show a new address on its machine, for a reservation whose
/// effect shows from `until` on.
fn is_early(account: &Account, until: Time) -> bool {
    account.listing.last.is_none_or(|last| last < until + ARRIVAL)
}

/// Whether new addresses of a pool's provider carry marks.
pub(crate) fn marks_new(view: &PoolView<'_>) -> bool {
    view.abilities().is_some_and(|abilities| abilities.marks_new)
}

/// The mark of the address made by an intent, if the provider keeps marks. Unique among all intents
/// of all clusters.
pub(crate) fn mark(view: &PoolView<'_>, intent: &Intent) -> Option<Text> {
    let mark = || format!("{}-{}", view.entry.pool.uid, intent.id).as_str().into();
    marks_new(view).then(mark)
}

/// The other open reservations.
struct Others<'w> {
    all: Vec<(&'w Intent, IntentProgress)>,
    /// Reservations without an address on their target, which may have made an unassigned address.
    elsewhere: Vec<&'w Intent>,
    /// The number of reservations by region whose pools will take their addresses.
    by_region: usize,
}

/// Whether a new address is on the target of a reservation.
fn has_arrived(intent: &Intent, nobodys: &[(IpAddr, &Sighting)]) -> bool {
    let mut there = nobodys.iter().filter(|(_, seen)| at_target(intent, seen));
    there.any(|(ip, _)| !intent.strangers.contains(ip) && Family::of(*ip) == intent.family)
}

fn at_target(intent: &Intent, seen: &Sighting) -> bool {
    seen.holder.is_some() && seen.holder == intent.target
}

fn judge(
    account: &Account,
    intent: &Intent,
    new: &[(IpAddr, &Sighting)],
    others: &Others<'_>,
    resolution: Option<Resolution>,
) -> Resolved {
    let loose: Vec<_> = new.iter().filter(|(_, seen)| may_be(account, intent, seen)).collect();
    let on_target = new.iter().find(|(_, seen)| at_target(intent, seen));
    // Another client may have put an address on the target, and kept ours from arriving. Ours is
    // then unassigned, and not explained by another reservation.
    let knows = |ip: &IpAddr| {
        let after = |other: &Intent| !other.strangers.contains(ip) && !other.unsettled.contains(ip);
        others.elsewhere.iter().any(|other| after(other))
    };
    let explained = loose.len() <= others.elsewhere.len() && loose.iter().all(|(ip, _)| knows(ip));
    if let Some((ip, _)) = on_target.filter(|_| explained) {
        return Resolved::Address(*ip);
    }
    match resolution {
        Some(Resolution::Adopt(ip)) if new.iter().any(|(one, _)| *one == ip) => {
            return Resolved::Address(ip);
        }
        Some(Resolution::Nothing) => return Resolved::Refuted,
        Some(Resolution::Adopt(_)) | None => {}
    }
    if let Some(ip) =
        by_project(account, intent, &loose, others.by_region).filter(|_| on_target.is_none())
    {
        // The answer of a reservation in flight may be about to name the address.
        let sent = |(other, progress): &(&Intent, IntentProgress)| {
            other.target.is_none() && *progress == IntentProgress::Sent
        };
        if others.all.iter().any(sent) {
            return Resolved::After(next_look(account));
        }
        return Resolved::Address(ip);
    }
    if loose.is_empty() {
        let strayed = strayed(account, intent, new, &others.all);
        return if strayed.is_empty() { Resolved::Nothing } else { Resolved::Unclear(strayed) };
    }
    if loose.iter().any(|(_, seen)| seen.busy) {
        // The provider is still moving an address, perhaps to our target.
        return Resolved::After(next_look(account));
    }
    Resolved::Unclear(on_target.into_iter().chain(loose).map(|(ip, _)| *ip).collect())
}

/// The address in our project made by this intent. Reservations by region always land in our
/// project, those on a machine only if our project is the account's default. Reservations by region
/// are therefore served first.
fn by_project(
    account: &Account,
    intent: &Intent,
    loose: &[&(IpAddr, &Sighting)],
    by_region: usize,
) -> Option<IpAddr> {
    let ours = loose.iter().filter(|(_, seen)| in_project(account, intent, seen));
    let mut ours: Vec<IpAddr> = ours.map(|(ip, _)| *ip).collect();
    // An address older than the intent is its result only if another intent took its address.
    ours.sort_by_key(|ip| intent.unsettled.contains(ip));
    let mut ours = ours.into_iter();
    if intent.target.is_none() {
        return ours.next();
    }
    ours.nth(by_region)
}

/// Addresses in our project, possibly moved from outside before the ledger recorded them.
fn strayed(
    account: &Account,
    intent: &Intent,
    new: &[(IpAddr, &Sighting)],
    others: &[(&Intent, IntentProgress)],
) -> Vec<IpAddr> {
    let explained = |seen: &Sighting| others.iter().any(|(other, _)| other.target == seen.holder);
    let strayed = new.iter().filter(|(_, seen)| {
        let elsewhere = seen.holder.is_some() && intent.target.is_none();
        elsewhere && in_project(account, intent, seen) && !explained(seen)
    });
    strayed.map(|(ip, _)| *ip).collect()
}

/// Reservations without a known result in the account of `request` for which `counts` holds, with their
/// progress. If neither ledger nor request names the account of a pool, its reservations count.
pub(crate) fn open_intents<'w>(
    world: &'w World,
    request: Option<&Request>,
    counts: impl Fn(&ObjectKey, &PoolEntry, &Intent) -> bool,
) -> Vec<(&'w Intent, IntentProgress)> {
    let elsewhere = |entry: &PoolEntry| {
        entry.reserves_at().zip(request).is_some_and(|(one, request)| *one != request.account)
    };
    let mut open = Vec::new();
    for (key, entry) in world.pools().filter(|(_, entry)| !elsewhere(entry)) {
        for intent in entry.open_intents().filter(|one| counts(key, entry, one)) {
            let progress = entry.progress(&intent.id, world.shown_from());
            if matches!(progress, IntentProgress::Sent | IntentProgress::Doubtful { .. }) {
                open.push((intent, progress));
            }
        }
    }
    open
}

/// Whether an unassigned address may be the result of an intent. A reservation on a machine lands
/// in the machine's region and in the account's default project.
fn may_be(account: &Account, intent: &Intent, seen: &Sighting) -> bool {
    if seen.holder.is_some() {
        return false;
    }
    let by_region = intent.target.is_none();
    let here = seen.region.as_ref().is_none_or(|region| *region == intent.region);
    let ours = project(account, intent).is_none_or(|ours| seen.project.as_ref() == Some(ours));
    !by_region || (here && ours)
}

fn in_project(account: &Account, intent: &Intent, seen: &Sighting) -> bool {
    let project = project(account, intent);
    project.is_some() && seen.project.as_ref() == project
}

/// The reserved project of an intent's address, if configured.
fn project<'a>(account: &'a Account, intent: &Intent) -> Option<&'a Text> {
    let setup = account.setup.as_ref().ok().filter(|_| intent.family == Family::V4);
    setup.and_then(|setup| setup.project.as_ref())
}
