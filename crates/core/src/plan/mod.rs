//! The planner.
//!
//! ```text
//! for each account:   does somebody wait for it                  (waiting.rs)
//!                     what must be read again                    (reading.rs)
//! for each pool:      how does each of its addresses stand       (standing.rs)
//!                     did somebody else move it                  (drift.rs)
//!                     what becomes of those that it names no more (leaving.rs)
//! all pools together: which unplaced address goes to which node  (placement.rs, room.rs,
//!                     displacing.rs, pacing.rs)
//! for each pool:      which addresses must be reserved           (creation.rs, outcome.rs)
//!                     which are to be given back                 (release.rs)
//! for each node:      which marks must it carry                  (marks.rs)
//! for each pool:      what is there to say                       (report.rs, lacking.rs)
//! for each name:      what it should list                        (records.rs, difference.rs)
//! ```
//!
//! Fewest moves: an address on an eligible node stays there, whatever else happens. One
//! whose node is not eligible any more stays too until another node can take it.

mod attempts;
mod blocked;
mod creation;
mod difference;
mod displacing;
mod draft;
mod drift;
mod lacking;
mod leaving;
mod marks;
mod outcome;
mod pacing;
mod pairing;
mod placement;
mod reading;
mod records;
mod release;
mod report;
mod room;
mod seats;
mod standing;
mod waiting;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::action::Action;
use crate::model::{AccountId, PoolKey};
use crate::record_verdict::RecordVerdict;
use crate::verdict::{AddressVerdict, State, Verdict};
use crate::world::World;
use blocked::Blocked;
use draft::Draft;
use pairing::Group;
use placement::Placement;
use standing::PoolView;

/// What is to be done, and what is to be said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What to do, the most urgent first. Independent of each other: they may run at once.
    pub actions: Vec<Action>,
    /// How each planned pool is doing.
    pub verdicts: BTreeMap<PoolKey, Verdict>,
    /// How the records of each planned object are doing.
    pub records: BTreeMap<PoolKey, RecordVerdict>,
    /// Pools that wait for something, and are planned again whatever happens.
    pub waiting: BTreeSet<PoolKey>,
    /// Pools that wait for room on a node, and are planned again when there may be some.
    blocked: BTreeMap<PoolKey, Vec<Group>>,
    /// Addresses that pools have nothing to do with any more.
    let_go: Vec<(PoolKey, IpAddr)>,
    /// When records that wait are planned again.
    record_wakes: BTreeMap<PoolKey, Time>,
    /// Plan again at this time, even if nothing happens.
    pub wake: Option<Time>,
}

/// Plans the pools that something happened to, and those that wait.
///
/// Leaving out the rest changes nothing: a pool that has all it wants, or that lacks a node
/// while none has room, and to which nothing happened, has no actions, and what it holds is
/// in the accounts.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    waiting: BTreeSet<PoolKey>,
    blocked: Blocked,
    /// When records that wait are planned again.
    record_wakes: BTreeMap<PoolKey, Time>,
}

/// How many pools that have nothing to do, but perhaps something new to say, a plan looks
/// at beside those that matter, and if there are none that do.
const ASIDE: usize = 4;
const AT_LEISURE: usize = 32;

/// How soon the next of them are looked at.
const SOON: Duration = Duration::from_millis(5);

impl Planner {
    /// The next plan.
    pub fn next(&mut self, world: &mut World, now: Time) -> Plan {
        if world.take_recounted() {
            world.retell(self.blocked.classes());
        }
        let mut scope = world.take_dirty();
        if world.is_read() {
            let aside = if scope.is_empty() { AT_LEISURE } else { ASIDE };
            scope.extend(world.take_stale(aside));
            let opened = world.take_opened();
            scope.extend(self.blocked.wake(world, opened));
            scope.extend(world.take_unheard(now));
        }
        scope.extend(std::mem::take(&mut self.waiting));
        let due = self.record_wakes.iter().filter(|(_, time)| **time <= now);
        scope.extend(due.map(|(key, _)| key.clone()));
        let mut plan = plan(world, &scope, now);
        self.waiting.clone_from(&plan.waiting);
        self.blocked.replace(world, &scope, &plan.blocked);
        for (key, verdict) in &plan.verdicts {
            remember(world, key, verdict);
        }
        for (key, ip) in &plan.let_go {
            world.let_go(key, *ip);
        }
        self.take_records(world, &scope, &mut plan);
        if world.is_stale() || self.blocked.has_more() {
            plan.wake = Some(plan.wake.map_or(now + SOON, |wake| wake.min(now + SOON)));
        }
        plan
    }

    /// Keeps what the next plan must know of records.
    fn take_records(&mut self, world: &mut World, scope: &BTreeSet<PoolKey>, plan: &mut Plan) {
        self.record_wakes.retain(|key, _| !scope.contains(key));
        self.record_wakes.extend(plan.record_wakes.clone());
        plan.wake = self.record_wakes.values().copied().chain(plan.wake).min();
        for (key, verdict) in &plan.records {
            world.remember_records(key, verdict.held.as_ref());
        }
    }
}

fn remember(world: &mut World, key: &PoolKey, verdict: &Verdict) {
    world.remember_assignment(key, verdict.last_assignment);
    let in_place = |one: &AddressVerdict| matches!(one.state, State::Active | State::Unassigned);
    world.set_untidy(key, !verdict.addresses.iter().all(in_place));
    for address in &verdict.addresses {
        world.remember(key, address.ip, address.memory.clone());
        if address.state == State::Active {
            world.arrived(key, address.ip);
        }
    }
}

/// Plans every pool, and all records.
pub fn plan_all(world: &World, now: Time) -> Plan {
    let pools = world.pools().map(|(key, _)| key.clone());
    let scope = pools.chain(world.record_sets().map(|(key, _)| key.clone())).collect();
    plan(world, &scope, now)
}

/// Plans the pools in `scope`. Pure and total: the same world, scope and time give the same
/// plan.
pub fn plan(world: &World, scope: &BTreeSet<PoolKey>, now: Time) -> Plan {
    let mut draft = Draft::new(now);
    if !world.is_read() {
        return draft.finish();
    }
    let scope = &with_known_pods(world, scope);
    let views = standing::survey(world, scope, now);
    let awaited = waiting::awaited(world, &views);
    for (id, account) in world.accounts_in_use() {
        reading::plan(world, id, account, awaited.contains(id), &mut draft);
    }
    let leaving: Vec<_> = views.iter().map(|view| leaving::plan(world, view, &mut draft)).collect();
    let placement = Placement::plan(world, &views, &mut draft);
    for (view, leaves) in views.iter().zip(leaving) {
        let creation = creation::plan(world, view, &placement, &mut draft);
        let marks_open = marks::plan(world, view, &mut draft);
        for hold in view.addresses.iter().filter_map(|one| one.hold) {
            draft.wake_at(hold.until());
        }
        let verdict = report::verdict(world, view, &placement, &creation, &draft);
        if marks_open || creation.writes || leaves || !report::is_settled(view, &verdict) {
            let groups = blocked::groups(world, view, &creation, &verdict, &draft);
            draft.wait(view.key, groups.filter(|_| !marks_open && !leaves));
        }
        draft.say(view.key, verdict);
    }
    draft.wake_at(world.next_mark_attempt());
    records::plan(world, scope, &views, &mut draft);
    draft.finish()
}

/// The objects in `scope` of which it is known which pods run where. The others are planned when
/// their pods have been read: a node without a known pod is not a node without a pod.
fn with_known_pods<'s>(world: &World, scope: &'s BTreeSet<PoolKey>) -> Cow<'s, BTreeSet<PoolKey>> {
    if scope.iter().all(|key| world.knows_pods_for(key)) {
        return Cow::Borrowed(scope);
    }
    Cow::Owned(scope.iter().filter(|key| world.knows_pods_for(key)).cloned().collect())
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
            account.setup.is_ok()
                && !account.is_refused(now)
                && account.closed_until.is_none_or(|until| now >= until)
        })
}

/// The view of a pool that cannot be planned has no addresses to speak of.
fn plannable<'a, 'w>(views: &'a [PoolView<'w>]) -> impl Iterator<Item = (usize, &'a PoolView<'w>)> {
    views.iter().enumerate().filter(|(_, view)| view.request.is_some())
}
