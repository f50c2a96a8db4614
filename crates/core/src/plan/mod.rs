//! The planner.
//!
//! ```text
//! for each account:   what must be read again                    (reading.rs)
//! for each pool:      how does each of its addresses stand       (standing.rs)
//! all pools together: which unplaced address goes to which node  (placement.rs)
//! for each pool:      which addresses must be reserved           (creation.rs)
//! for each node:      which marks must it carry                  (marks.rs)
//! for each pool:      what is there to say                       (report.rs)
//! ```
//!
//! Fewest moves: an address on an eligible node stays there, whatever else happens. One
//! whose node is not eligible any more stays too until another node can take it.

mod creation;
mod marks;
mod placement;
mod reading;
mod report;
mod standing;

use std::collections::{BTreeMap, BTreeSet};

use crate::Time;
use crate::action::Action;
use crate::model::{AccountId, PoolKey};
use crate::verdict::Verdict;
use crate::world::World;
use placement::Placement;
use standing::PoolView;

/// What is to be done, and what is to be said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What to do, the most urgent first. Independent of each other: they may run at once.
    pub actions: Vec<Action>,
    /// How each planned pool is doing.
    pub verdicts: BTreeMap<PoolKey, Verdict>,
    /// Pools that wait for something, and are planned again whatever happens.
    pub waiting: BTreeSet<PoolKey>,
    /// Plan again at this time, even if nothing happens.
    pub wake: Option<Time>,
}

/// Plans the pools that something happened to, and those that wait.
///
/// Leaving out the rest changes nothing: a pool that has all it wants, and to which nothing
/// happened, has no actions, and what it holds is in the accounts.
#[derive(Debug, Default)]
pub struct Planner {
    waiting: BTreeSet<PoolKey>,
}

impl Planner {
    /// The next plan.
    pub fn next(&mut self, world: &mut World, now: Time) -> Plan {
        let mut scope = world.take_dirty();
        scope.extend(std::mem::take(&mut self.waiting));
        let plan = plan(world, &scope, now);
        self.waiting.clone_from(&plan.waiting);
        for (key, verdict) in &plan.verdicts {
            for address in &verdict.addresses {
                world.remember(key, address.ip, address.memory);
            }
        }
        plan
    }
}

/// Plans every pool.
pub fn plan_all(world: &World, now: Time) -> Plan {
    let scope = world.pools().map(|(key, _)| key.clone()).collect();
    plan(world, &scope, now)
}

/// Plans the pools in `scope`. Pure and total: the same world, scope and time give the same
/// plan.
pub fn plan(world: &World, scope: &BTreeSet<PoolKey>, now: Time) -> Plan {
    let mut draft = Draft::new(now);
    if !world.is_read() {
        return draft.plan;
    }
    let views = standing::survey(world, scope, now);
    for account in accounts_in_use(world) {
        reading::plan(world, account, &mut draft);
    }
    let placement = Placement::plan(world, &views, &mut draft);
    for view in &views {
        let creation = creation::plan(world, view, &placement, &mut draft);
        let marks_open = marks::plan(world, view, &mut draft);
        let verdict = report::verdict(world, view, &placement, &creation, &mut draft);
        if marks_open || !report::is_settled(view, &verdict) {
            draft.plan.waiting.insert(view.key.clone());
        }
        draft.plan.verdicts.insert(view.key.clone(), verdict);
    }
    draft.wake_at(world.next_mark_attempt());
    draft.finish()
}

/// Accounts that some pool names.
fn accounts_in_use(world: &World) -> BTreeSet<&AccountId> {
    let requests = world.pools().filter_map(|(_, entry)| entry.pool.request.as_ref().ok());
    requests.map(|request| &request.account).collect()
}

/// A plan in the making.
struct Draft {
    now: Time,
    plan: Plan,
}

impl Draft {
    fn new(now: Time) -> Self {
        Self { now, plan: Plan::default() }
    }

    /// Plans again at `time`, if it lies ahead.
    fn wake_at(&mut self, time: impl Into<Option<Time>>) {
        if let Some(time) = time.into().filter(|time| *time > self.now) {
            self.plan.wake = Some(self.plan.wake.map_or(time, |wake| wake.min(time)));
        }
    }

    fn act(&mut self, action: Action) {
        self.plan.actions.push(action);
    }

    fn finish(mut self) -> Plan {
        self.plan.actions.sort_by_key(urgency);
        // Two pools may have looked at the same node.
        self.plan.actions.dedup();
        self.plan
    }
}

/// Failover first, then what failover waits for, then the marks, then reading.
fn urgency(action: &Action) -> u8 {
    match action {
        Action::Assign { .. } => 0,
        Action::Create { .. } | Action::WriteLedger { .. } | Action::Unassign { .. } => 1,
        Action::Mark { .. } => 2,
        Action::List { .. } | Action::ReadAddress { .. } | Action::ReadOperation { .. } => 3,
    }
}

/// Whether calls that change the account's addresses may start now.
fn may_change(world: &World, account: &AccountId, now: Time) -> bool {
    let heard = world.account(account).and_then(|account| account.listing.last);
    heard.is_some_and(|last| last >= world.open_from()) && is_open(world, account, now)
}

/// Whether any call to the account may start now.
fn is_open(world: &World, account: &AccountId, now: Time) -> bool {
    now >= world.open_from()
        && world.account(account).is_some_and(|account| {
            account.setup.is_ok() && account.closed_until.is_none_or(|until| now >= until)
        })
}

/// The view of a pool that cannot be planned has no addresses to speak of.
fn plannable<'a, 'w>(views: &'a [PoolView<'w>]) -> impl Iterator<Item = (usize, &'a PoolView<'w>)> {
    views.iter().enumerate().filter(|(_, view)| view.request.is_some())
}
