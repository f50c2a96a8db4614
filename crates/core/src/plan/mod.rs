//! The planner: composes the subjects.
//!
//! ```text
//! addresses/plan/   which address is where, which must be reserved, which marks nodes carry
//! records/plan.rs   what each name in DNS lists
//! vips/plan/        which claims and VIPs Clusters have
//! ```
//!
//! Fewest moves: an address on an eligible node stays there. An address whose node is not eligible
//! any more stays too until another node can take it.

mod draft;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::action::Action;
use crate::addresses::plan::bipartite::Group;
use crate::addresses::plan::waiting_for_room::Blocked;
use crate::addresses::verdict::{AddressVerdict, State, Verdict};
use crate::model::{Family, ObjectKey};
use crate::records::verdict::RecordVerdict;
use crate::vips::verdict::VipVerdict;
use crate::world::World;
use crate::{Time, addresses, records, vips};
pub(crate) use draft::Draft;

/// Actions to carry out, and verdicts to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Actions, the most urgent first. Independent of each other: all may run at once.
    pub actions: Vec<Action>,
    /// Verdict on each planned pool.
    pub verdicts: BTreeMap<ObjectKey, Verdict>,
    /// Verdict on the records of each planned object.
    pub records: BTreeMap<ObjectKey, RecordVerdict>,
    /// Verdict on the VIPs of each planned Cluster that asks for VIPs.
    pub vips: BTreeMap<ObjectKey, VipVerdict>,
    /// Pools that wait, and are planned again on any event.
    pub waiting: BTreeSet<ObjectKey>,
    /// Pools that wait for room on a node, and are planned again when a node may have gained room.
    blocked: BTreeMap<ObjectKey, Vec<Group>>,
    /// Delisted addresses that a pool is done with.
    let_go: Vec<(ObjectKey, IpAddr)>,
    /// Records that are as wanted, after failed changes or changes by others.
    rested: Vec<(ObjectKey, Family)>,
    /// When the records or VIPs of waiting objects are planned again.
    wakes: BTreeMap<ObjectKey, Time>,
    /// Time of the next plan, even without an event.
    pub wake: Option<Time>,
}

/// Plans the pools that were touched, and the pools that wait.
///
/// Leaving out the rest changes nothing: an untouched pool that has every wanted address in place,
/// or lacks a node while no node has room, plans no action, and its addresses are known to the
/// accounts.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    waiting: BTreeSet<ObjectKey>,
    blocked: Blocked,
    /// When the records or VIPs of waiting objects are planned again.
    wakes: BTreeMap<ObjectKey, Time>,
}

/// Number of pools planned only to refresh their verdict: beside touched pools, and alone.
const STALE_PER_BUSY_PLAN: usize = 4;
const STALE_PER_IDLE_PLAN: usize = 32;

/// Delay until the next verdicts are refreshed.
const NEXT_STALE_PLAN: Duration = Duration::from_millis(5);

impl Planner {
    /// Makes the next plan, and remembers its verdicts in the world.
    pub fn next(&mut self, world: &mut World, now: Time) -> Plan {
        if world.take_recounted() {
            world.retell(self.blocked.classes());
        }
        let mut scope = world.take_dirty();
        if world.is_read() {
            let opened = world.take_opened();
            scope.extend(self.blocked.wake(world, opened));
            scope.extend(world.take_unheard(now));
            let aside = if scope.is_empty() { STALE_PER_IDLE_PLAN } else { STALE_PER_BUSY_PLAN };
            scope.extend(world.take_stale(aside));
        }
        scope.extend(std::mem::take(&mut self.waiting));
        let due = self.wakes.iter().filter(|(_, time)| **time <= now);
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
        self.take_wakes(world, &scope, &mut plan);
        for key in plan.vips.keys() {
            world.created_not_ahead(key, now);
        }
        if world.is_stale() || self.blocked.has_more() {
            plan.wake = Some(
                plan.wake.map_or(now + NEXT_STALE_PLAN, |wake| wake.min(now + NEXT_STALE_PLAN)),
            );
        }
        plan
    }

    /// Keeps the wake times, the owned records and the awaiting Clusters for the next plan.
    fn take_wakes(&mut self, world: &mut World, scope: &BTreeSet<ObjectKey>, plan: &mut Plan) {
        self.wakes.retain(|key, _| !scope.contains(key));
        self.wakes.extend(plan.wakes.clone());
        plan.wake = self.wakes.values().copied().chain(plan.wake).min();
        for (key, verdict) in &plan.records {
            world.remember_records(key, verdict.held.as_ref());
        }
        for (key, family) in &plan.rested {
            world.records_rest(key, *family);
        }
        for (key, verdict) in &plan.vips {
            world.remember_awaiting(key, verdict.awaits());
        }
    }
}

fn remember(world: &mut World, key: &ObjectKey, verdict: &Verdict) {
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

/// Plans every pool, all records and all VIPs.
pub fn plan_all(world: &World, now: Time) -> Plan {
    let pools = world.pools().map(|(key, _)| key.clone());
    let records = world.record_sets().map(|(key, _)| key.clone());
    let scope = pools.chain(records).chain(world.vips.everyone()).collect();
    plan(world, &scope, now)
}

/// Plans the objects in `scope`. Pure and total: the same world, scope and time give the same plan.
pub fn plan(world: &World, scope: &BTreeSet<ObjectKey>, now: Time) -> Plan {
    let mut draft = Draft::new(now);
    if world.is_read() {
        let scope = &with_known_pods(world, scope);
        let views = addresses::plan::plan(world, scope, &mut draft);
        records::plan::plan(world, scope, &views, &mut draft);
    }
    vips::plan::plan(world, scope, &mut draft);
    draft.finish()
}

/// The objects in `scope` whose pods are known. Other objects are planned once their pods have been
/// read: an unknown pod is not an absent pod.
fn with_known_pods<'s>(
    world: &World,
    scope: &'s BTreeSet<ObjectKey>,
) -> Cow<'s, BTreeSet<ObjectKey>> {
    if scope.iter().all(|key| world.knows_pods_for(key)) {
        return Cow::Borrowed(scope);
    }
    Cow::Owned(scope.iter().filter(|key| world.knows_pods_for(key)).cloned().collect())
}
