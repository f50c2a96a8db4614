//! The notes of addresses that are unused or unassigned without a fault of their own.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::heard::{is_heard, trouble};
use super::placement::Placement;
use super::view::PoolView;
use crate::addresses::verdict::{AddressVerdict, Note, State};
use crate::model::Family;
use crate::nodes::Census;
use crate::plan::Draft;
use crate::world::World;

/// Number of addresses with a full census in their note. Further ones refer to the pool, so a large
/// pool does not repeat the census a thousand times.
const FULL_CENSUSES: usize = 100;

/// Adds a note to each unused or unassigned address without one.
pub(crate) fn tell(
    world: &World,
    view: &PoolView<'_>,
    placement: &Placement,
    draft: &Draft,
    addresses: &mut [AddressVerdict],
) {
    let created: BTreeSet<_> = view.entry.pool.ledger.created.iter().collect();
    let case = Case { world, view, placement, draft };
    let mut census = None;
    let mut told = 0;
    for one in addresses.iter_mut().filter(|one| one.note.is_none()) {
        one.note = match one.state {
            State::Disabled if !view.entry.is_ending() => {
                Some(Note::Surplus { reserved: created.contains(&one.ip) })
            }
            State::Disabled => created.contains(&one.ip).then_some(Note::Returning),
            State::Unassigned => Some(case.unassigned(one.ip).unwrap_or_else(|| {
                told += 1;
                let census = census.get_or_insert_with(|| case.census());
                Note::NoRoom(census.clone().filter(|_| told <= FULL_CENSUSES))
            })),
            _ => None,
        };
    }
}

struct Case<'a, 'w> {
    world: &'w World,
    view: &'a PoolView<'w>,
    placement: &'a Placement,
    draft: &'a Draft,
}

impl Case<'_, '_> {
    fn census(&self) -> Option<Arc<Census>> {
        let class = self.view.class?;
        self.world.candidates().census(class).map(Arc::new)
    }

    /// The obstacle of an unassigned address other than a lack of nodes. `None` if no node has
    /// room, because then nothing else would help.
    fn unassigned(&self, ip: IpAddr) -> Option<Note> {
        if let Some(node) = self.draft.target(ip) {
            return Some(Note::Planned(node.clone()));
        }
        let class = self.view.class?;
        if self.world.candidates().vacant_count(class, Family::of(ip)) == 0 {
            return None;
        }
        let account = self.view.account?;
        if let Some(reason) = trouble(account, is_heard(self.world, account), self.draft) {
            return Some(Note::Waits(Box::new(reason), self.view.entry.pool.names));
        }
        if let Some(until) = self.placement.cooling(self.view.key) {
            return Some(Note::CoolingOff(until));
        }
        let setbacks = &account.setbacks;
        let attempts = setbacks.of_address(ip).map(|(on, one)| (setbacks.next(ip, on), one));
        let failed = attempts
            .min_by_key(|(next, _)| *next)
            .map(|(next, one)| Note::Failed(one.failure.message.clone(), next));
        Some(failed.unwrap_or(Note::SpokenFor))
    }
}
