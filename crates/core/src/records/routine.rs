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

/// Reads the set with the oldest knowledge again, to find drift. Only one such read is under way at
/// a time, so that the cost is independent of the number of names.
pub(super) fn read_again(world: &World, draft: &mut Draft) {
    let (idle, last) = world.record_reads();
    if !idle || draft.plans(|action| matches!(action, Action::Record(RecordAction::Read { .. }))) {
        return;
    }
    let known = || world.record_sets().flat_map(known_sets);
    let due = (last + world.settings().record_resync).max(world.open_from());
    if draft.now < due {
        return draft.wake_at(known().next().map(|_| due));
    }
    let mut oldest: Option<(Time, Action)> = None;
    let mut next: Option<Time> = None;
    for (key, request, site, family, known) in known() {
        let opens = opens(world, request).max(known.readable_from());
        if world.record_write(site, family).is_some() || draft.changes_records(site, family) {
            continue;
        } else if draft.now < opens {
            next = Some(next.map_or(opens, |next| next.min(opens)));
        } else if oldest.as_ref().is_none_or(|(at, _)| known.at < *at) {
            let (owner, request) = (key.clone(), request.clone());
            oldest =
                Some((known.at, Action::Record(RecordAction::Read { owner, request, family })));
        }
    }
    match oldest {
        Some((_, action)) => draft.act(action),
        None => draft.wake_at(next),
    }
}

type OneSet<'w> = (&'w ObjectKey, &'w RecordRequest, &'w Site, Family, &'w KnownSet);

/// The sets of an object whose records are known.
fn known_sets<'w>((key, entry): (&'w ObjectKey, &'w RecordEntry)) -> Vec<OneSet<'w>> {
    let (Ok(request), Some(site)) = (&entry.set.request, &entry.site) else { return vec![] };
    let sets = Family::ALL.map(|family| (key, request, site, family, entry.known(family)));
    sets.into_iter().filter(|(.., known)| known.records.is_some()).collect()
}
