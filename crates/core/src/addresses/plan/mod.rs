//! The plan for addresses.
//!
//! ```text
//! for each pool:      where is each of its addresses             (survey.rs, drift.rs)
//! for each account:   does a pool wait for it                    (awaited_accounts.rs)
//!                     what must be read again                    (reading.rs)
//! for each pool:      what becomes of delisted addresses         (delisted.rs)
//! all pools together: which unplaced address goes to which node  (placement.rs, seats.rs,
//!                     attempts.rs, bipartite.rs, cool_off.rs, occupancy.rs, make_room.rs)
//! for each pool:      which drained nodes lose their addresses   (vacate.rs)
//!                     which addresses must be reserved           (need.rs, creation.rs,
//!                     recognise.rs)
//!                     which are to be released                   (release.rs)
//! for each node:      which marks must it carry                  (marks.rs, served.rs, doubt.rs,
//!                     notes.rs)
//! for each account:   which machines lack an address of their own (egress.rs)
//! for each pool:      which pods must leave nodes without it     (evict.rs)
//!                     what is there to say                       (report.rs, lacking.rs, heard.rs)
//!                     when is it planned again                   (waiting_for_room.rs)
//! ```

mod attempts;
mod awaited_accounts;
pub(crate) mod bipartite;
mod cool_off;
mod creation;
pub(crate) mod delisted;
mod doubt;
pub(crate) mod drift;
mod egress;
mod evict;
mod gate;
mod heard;
mod lacking;
mod make_room;
mod marks;
mod need;
mod notes;
mod occupancy;
mod placement;
mod reading;
mod recognise;
pub(crate) mod release;
mod report;
mod seats;
mod served;
mod steps;
mod survey;
mod vacate;
pub(crate) mod view;
pub(crate) mod waiting_for_room;

use std::collections::BTreeSet;

use crate::addresses::verdict::Verdict;
use crate::model::ObjectKey;
use crate::plan::Draft;
use crate::world::World;
use placement::Placement;
use view::PoolView;

/// Plans the addresses of the pools in `scope`. Returns the views for later parts of the plan.
pub(crate) fn plan<'w>(
    world: &'w World,
    scope: &BTreeSet<ObjectKey>,
    draft: &mut Draft,
) -> Vec<PoolView<'w>> {
    let views = survey::survey(world, scope, draft.now);
    let awaited = awaited_accounts::awaited(world, &views);
    for (id, account) in world.accounts_in_use() {
        reading::plan(world, id, account, awaited.contains(id), draft);
    }
    let leaving: Vec<_> = views.iter().map(|view| delisted::plan(world, view, draft)).collect();
    let placement = Placement::plan(world, &views, draft);
    for (view, leaves) in views.iter().zip(leaving) {
        vacate::plan(world, view, &placement, draft);
        let creation = creation::plan(world, view, &placement, draft);
        let marks_open = marks::plan(world, view, draft);
        let evicting = evict::plan(world, view, draft);
        for hold in view.addresses.iter().filter_map(|one| one.hold) {
            draft.wake_at(hold.until());
        }
        let verdict = report::verdict(world, view, &placement, &creation, draft);
        let verdict = Verdict { evicting, ..verdict };
        if marks_open
            || !verdict.evicting.is_empty()
            || creation.writes
            || leaves
            || !report::is_settled(view, &verdict)
        {
            let groups = waiting_for_room::groups(world, view, &creation, &verdict, draft);
            draft.wait(view.key, groups.filter(|_| !marks_open && !leaves));
        }
        draft.say(view.key, verdict);
    }
    for (id, account) in world.accounts_in_use() {
        egress::plan(world, id, account, draft);
    }
    notes::remove_last(world, draft);
    draft.wake_at(world.next_mark_attempt(draft.now));
    views
}
