//! Pools that wait for a node and for nothing else.
//!
//! As long as no node of theirs has room there is nothing to plan for them, however many
//! they are and whatever happens elsewhere. They are planned again when a node that they may
//! use gets room or holds what serves nobody there, or when something happens to themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::creation::{Creation, missing};
use super::displacing::is_displaceable;
use super::pairing::Group;
use super::standing::{Place, PoolView, Standing};
use super::{Draft, may_change};
use crate::model::{Family, NodeName, PoolKey};
use crate::verdict::{Reason, Verdict};
use crate::world::World;

/// Pools that wait for room in these groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocked {
    by_group: BTreeMap<Group, BTreeSet<PoolKey>>,
    groups: BTreeMap<PoolKey, Vec<Group>>,
}

impl Blocked {
    /// The pools that can use one of the nodes that may have got room.
    pub fn wake(&self, world: &World, opened: &BTreeSet<NodeName>) -> BTreeSet<PoolKey> {
        let opens = |(class, family): &Group| {
            opened.iter().any(|node| {
                world.is_vacant(*class, *family, node)
                    || is_displaceable(world, *class, *family, node)
            })
        };
        let groups = self.by_group.iter().filter(|(group, _)| opens(group));
        groups.flat_map(|(_, pools)| pools).cloned().collect()
    }

    /// These pools were planned; some of them wait for room again.
    pub fn replace(
        &mut self,
        planned: &BTreeSet<PoolKey>,
        blocked: &BTreeMap<PoolKey, Vec<Group>>,
    ) {
        for pool in planned {
            for group in self.groups.remove(pool).unwrap_or_default() {
                if let Some(pools) = self.by_group.get_mut(&group) {
                    pools.remove(pool);
                    if pools.is_empty() {
                        self.by_group.remove(&group);
                    }
                }
            }
        }
        for (pool, groups) in blocked {
            for group in groups {
                self.by_group.entry(*group).or_default().insert(pool.clone());
            }
            self.groups.insert(pool.clone(), groups.clone());
        }
    }
}

/// The groups that a pool waits for room in, if it waits for nothing else.
pub(super) fn groups(
    world: &World,
    view: &PoolView<'_>,
    creation: &Creation,
    verdict: &Verdict,
    draft: &Draft,
) -> Option<Vec<Group>> {
    let class = view.class?;
    // Nobody could be asked to make room just now: that is asked again, whatever is said.
    let account = &view.request?.account;
    let for_a_node = matches!(verdict.reason, Reason::NoFreeNode(_) | Reason::NoMatchingNode);
    // One that could make room by itself has something else to wait for.
    let alone = |one: &Standing<'_>| !matches!(one.place, Place::Disabled(Some(_)));
    if !for_a_node
        || !may_change(world, account, draft.now)
        || creation.writes
        || creation.open > 0
        || missing(view) > 0
        || draft.assigns(view.key)
        || draft.is_contesting(view.key)
        || !view.addresses.iter().all(alone)
    {
        return None;
    }
    let lacks = |family: &Family| view.movable().any(|one| Family::of(one.ip) == *family);
    let groups = Family::ALL.into_iter().filter(lacks).map(|family| (class, family));
    let groups: Vec<Group> = groups.collect();
    let room = |(class, family): &Group| world.vacant(*class, *family).next().is_some();
    (!groups.is_empty() && !groups.iter().any(room)).then_some(groups)
}
