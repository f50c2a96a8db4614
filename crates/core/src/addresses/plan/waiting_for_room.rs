//! Pools that wait for a node, and for no other event.
//!
//! A waiting pool is not planned while none of its nodes has room, so any number of waiting pools
//! costs nothing. Such a pool is planned again when an eligible node gets room or holds a useless
//! address, or when an event concerns the pool itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::attempts::is_set_back;
use super::bipartite::Group;
use super::creation::Creation;
use super::gate::may_change;
use super::make_room::is_displaceable;
use super::need::missing;
use super::survey::{Seniority, seniority};
use super::view::{AddressView, Place, PoolView};
use crate::addresses::verdict::{Reason, Verdict};
use crate::model::{Family, NodeName, ObjectKey};
use crate::nodes::ClassId;
use crate::plan::Draft;
use crate::world::World;

/// Pools that wait for room, by group, older ones first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocked {
    by_group: BTreeMap<Group, BTreeSet<Seniority>>,
    groups: BTreeMap<ObjectKey, (Seniority, Vec<Group>)>,
    /// Groups with possible room left by the pools woken so far. Holds the last woken pool, and
    /// whether room must be made first.
    half_woken: BTreeMap<Group, (Seniority, bool)>,
}

/// Number of pools woken for a node with new room. The first usually takes the node. More pools are
/// woken while room is left.
const WOKEN_AT_ONCE: usize = 4;

impl Blocked {
    /// The next pools that may use the nodes with new room.
    pub fn wake(&mut self, world: &World, opened: BTreeSet<NodeName>) -> BTreeSet<ObjectKey> {
        let mut woken = BTreeSet::new();
        let mut half_woken = std::mem::take(&mut self.half_woken);
        for (group, pools) in &self.by_group {
            let (class, family) = *group;
            let room = world.candidates().vacant_count(class, family);
            let vacant = |node: &NodeName| world.is_vacant(class, family, node);
            let useless = |node: &NodeName| is_displaceable(world, class, family, node);
            let crowded = opened.iter().any(useless);
            let last = half_woken.remove(group);
            let (from, crowded) = if crowded || opened.iter().any(vacant) {
                (Bound::Unbounded, crowded)
            } else if let Some((last, crowded)) = last.filter(|(_, crowded)| *crowded || room > 0) {
                (Bound::Excluded(last), crowded)
            } else {
                continue;
            };
            let next = pools.range((from, Bound::Unbounded)).take(room.max(WOKEN_AT_ONCE));
            let next: Vec<_> = next.cloned().collect();
            if let Some(last) = next.last().filter(|last| pools.last() != Some(last)) {
                self.half_woken.insert(*group, (last.clone(), crowded));
            }
            woken.extend(next.into_iter().map(|(_, _, pool)| pool));
        }
        woken
    }

    /// Whether more pools are to be woken.
    pub fn has_more(&self) -> bool {
        !self.half_woken.is_empty()
    }

    /// The classes of the waiting pools.
    pub fn classes(&self) -> BTreeSet<ClassId> {
        self.by_group.keys().map(|(class, _)| *class).collect()
    }

    /// Replaces the entries of the planned pools by those still `blocked`.
    pub fn replace(
        &mut self,
        world: &World,
        planned: &BTreeSet<ObjectKey>,
        blocked: &BTreeMap<ObjectKey, Vec<Group>>,
    ) {
        for pool in planned {
            let Some((seniority, groups)) = self.groups.remove(pool) else { continue };
            for group in groups {
                if let Some(pools) = self.by_group.get_mut(&group) {
                    pools.remove(&seniority);
                    if pools.is_empty() {
                        self.by_group.remove(&group);
                    }
                }
            }
        }
        for (pool, groups) in blocked {
            let Some(entry) = world.pool(pool) else { continue };
            let seniority = seniority(world, entry);
            for group in groups {
                self.by_group.entry(*group).or_default().insert(seniority.clone());
            }
            self.groups.insert(pool.clone(), (seniority, groups.clone()));
        }
    }
}

/// The groups in which a pool waits for room, if the pool waits for no other event.
pub(crate) fn groups(
    world: &World,
    view: &PoolView<'_>,
    creation: &Creation,
    verdict: &Verdict,
    draft: &Draft,
) -> Option<Vec<Group>> {
    let class = view.class?;
    // While the account allows no change, no room can be made, so the pool is planned again.
    let account = &view.request?.account;
    let for_a_node = matches!(verdict.reason, Reason::NoFreeNode(_) | Reason::NoMatchingNode);
    // A pool with a surplus address on a machine can make room itself.
    let alone = |one: &AddressView<'_>| !matches!(one.place, Place::Disabled(Some(_)));
    // No room is made for an address during its back-off: the pool waits for the end of that too.
    let mut set_back = view.movable().filter(|one| is_set_back(world, view, one, draft.now));
    if !for_a_node
        || !may_change(world, account, draft.now)
        || creation.writes
        || creation.open > 0
        || missing(view) > 0
        || draft.assigns(view.key)
        || draft.is_contesting(view.key)
        || !view.addresses.iter().all(alone)
        || set_back.next().is_some()
    {
        return None;
    }
    let lacks = |family: &Family| view.movable().any(|one| Family::of(one.ip) == *family);
    let groups = Family::ALL.into_iter().filter(lacks).map(|family| (class, family));
    let groups: Vec<Group> = groups.collect();
    let room = |(class, family): &Group| world.vacant(*class, *family).next().is_some();
    (!groups.is_empty() && !groups.iter().any(room)).then_some(groups)
}
