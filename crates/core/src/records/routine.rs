//! Routine reads, and when an account takes calls.

use super::{KnownSet, RecordEntry};
use crate::Time;
use crate::action::{Action, RecordAction};
use crate::model::{Family, ObjectKey, RecordRequest, Site};
use crate::plan::Draft;
use crate::world::World;

/// When the next call to the account may start.
pub(super) fn opens(world: &World, request: &RecordRequest) -> Time {
    let account = world.record_account(&request.account);
    let closed = account.map_or(Time::default(), |account| account.closed_until);
    closed.max(world.open_from())
}

/// Reads the set that was read longest ago, to find drift. Only one such read is under way at a time,
/// so that the cost is independent of the number of names. A failed read counts too: names whose host
/// does not answer leave the others their turn.
pub(super) fn read_again(world: &World, draft: &mut Draft) {
    let (idle, last) = world.record_reads();
    if !idle || draft.plans(|action| matches!(action, Action::Record(RecordAction::Read { .. }))) {
        return;
    }
    let sets = || world.record_sets().flat_map(|one| sets(world, one));
    let due = (last + world.settings().record_resync).max(world.open_from());
    if draft.now < due {
        return draft.wake_at(sets().next().map(|_| due));
    }
    let mut oldest: Option<(Time, Action)> = None;
    let mut next: Option<Time> = None;
    for (key, request, site, family, known) in sets() {
        let write = world.record_write(site, family);
        let shown = write.map_or(Time::default(), |write| write.until);
        let opens = opens(world, request).max(known.readable_from()).max(shown);
        if write.is_some_and(|write| write.in_flight) || draft.changes_records(site, family) {
            continue;
        } else if draft.now < opens {
            next = Some(next.map_or(opens, |next| next.min(opens)));
            continue;
        }
        let read_at = known.at.max(known.read_work.failed_at);
        if oldest.as_ref().is_none_or(|(at, _)| read_at < *at) {
            let (owner, request) = (key.clone(), request.clone());
            oldest = Some((read_at, Action::Record(RecordAction::Read { owner, request, family })));
        }
    }
    match oldest {
        Some((_, action)) => draft.act(action),
        None => draft.wake_at(next),
    }
}

type OneSet<'w> = (&'w ObjectKey, &'w RecordRequest, &'w Site, Family, &'w KnownSet);

/// The sets of an object that are read in turn: those whose records are known, and those that the
/// status says the object has. If there is nothing to list, no other read would find that a person
/// deleted their records.
fn sets<'w>(
    world: &'w World,
    (key, entry): (&'w ObjectKey, &'w RecordEntry),
) -> impl Iterator<Item = OneSet<'w>> {
    let request = entry.set.request.as_ref().ok().zip(entry.site.as_ref());
    let held = entry.held.as_ref().filter(|held| Some(&held.site) == entry.site.as_ref());
    let is_held = move |family| {
        held.is_some_and(|held| {
            held.families.contains(&family) && world.record_owner(&held.site) == Some(key)
        })
    };
    let sets = Family::ALL.into_iter().filter_map(move |family| {
        let (request, site) = request?;
        Some((key, request, site, family, entry.known(family)))
    });
    sets.filter(move |(.., family, known)| known.records.is_some() || is_held(*family))
}
