//! Which unplaced address goes to which node.
//!
//! All pools of the plan together, so that two pools never fight for one node, and pools
//! that share nodes do not block each other needlessly: the number of addresses that find a
//! node is the largest possible (augmenting paths), and within that, older pools and
//! smaller node names come first. Pools with equal conditions have equal candidates, so
//! paths run over classes of pools, not over pools.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::standing::{Place, PoolView, Standing};
use super::{Draft, may_change, plannable};
use crate::Time;
use crate::action::Action;
use crate::model::{AccountId, Family, MachineId, NodeName, PoolKey};
use crate::verdict::Obstacle;
use crate::world::{ClassId, PATIENCE, World};

/// How many names of free nodes a status lists.
const NAMES: usize = 100;

/// Pools that compete for the same nodes with the same chances.
type Group = (ClassId, Family);

/// The nodes that each pool gets in this plan.
#[derive(Default)]
pub(super) struct Placement {
    /// Free nodes of each group, in the order in which they are taken.
    free: BTreeMap<Group, Free>,
    /// Nodes for addresses that a pool still has to reserve.
    for_new: BTreeMap<PoolKey, Vec<(NodeName, MachineId)>>,
    /// Addresses of a pool that found no node.
    unplaced: BTreeMap<PoolKey, usize>,
    /// Pools that wait for their cool-off to end.
    cooling: BTreeMap<PoolKey, Time>,
    /// Nodes that a retry is waiting for.
    kept: BTreeSet<(MachineId, Family)>,
}

/// Free nodes of a group, and what keeps others from being free.
#[derive(Clone, Default)]
pub(super) struct Free {
    pub nodes: Vec<(NodeName, MachineId)>,
    pub unusable: Vec<(NodeName, Obstacle)>,
    /// The earliest time at which a node that failed may be tried again.
    pub retry_at: Option<Time>,
}

impl Placement {
    /// Plans the moves of every pool, and finds nodes for addresses to be reserved.
    pub fn plan(world: &World, views: &[PoolView<'_>], draft: &mut Draft) -> Self {
        let mut placement = Self::default();
        let mut demands = Vec::new();
        for (_, view) in plannable(views) {
            placement.keep_targets(view);
            placement.retry(world, view, draft);
        }
        for (index, view) in plannable(views) {
            for family in Family::ALL {
                let demand = placement.demand(world, index, view, family, draft);
                demands.extend(demand);
            }
        }
        let enough = demands.iter().map(|demand| demand.count).sum::<usize>() + NAMES;
        for (_, view) in plannable(views) {
            placement.find_free(world, view, enough, draft.now);
        }
        let matched = Matching::of(&placement.free, &demands);
        for (demand, nodes) in demands.iter().zip(matched) {
            placement.place(&views[demand.view], demand, nodes, draft);
        }
        placement.make_room(world, views, draft);
        placement
    }

    /// The free nodes of a pool, for its verdict.
    pub fn free(&self, view: &PoolView<'_>, family: Family) -> Option<&Free> {
        self.free.get(&(view.class?, family))
    }

    /// Nodes for addresses that a pool still has to reserve.
    pub fn for_new(&self, key: &PoolKey) -> &[(NodeName, MachineId)] {
        self.for_new.get(key).map_or(&[], Vec::as_slice)
    }

    /// When the pool's cool-off ends, if that is what it waits for.
    pub fn cooling(&self, key: &PoolKey) -> Option<Time> {
        self.cooling.get(key).copied()
    }

    /// The machine that a reservation is for is spoken for until its outcome is known.
    fn keep_targets(&mut self, view: &PoolView<'_>) {
        for intent in &view.entry.pool.ledger.intents {
            if let Some(machine) = &intent.target {
                self.kept.insert((machine.clone(), intent.family));
            }
        }
    }

    /// An address whose last attempt failed goes on with the same node, as long as that
    /// makes sense: a short trouble at the cloud must not reshuffle who is where.
    fn retry(&mut self, world: &World, view: &PoolView<'_>, draft: &mut Draft) {
        let (Some(account), Some(request)) = (view.account, view.request) else {
            return;
        };
        for one in view.movable() {
            let Some((node, machine)) = intended(world, view, one) else {
                continue;
            };
            let family = Family::of(one.ip);
            let taken = account.occupants(machine, family).any(|ip| ip != one.ip);
            if taken || !self.kept.insert((machine.clone(), family)) {
                continue;
            }
            let not_before = account.setbacks.get(machine).map(|setback| setback.not_before);
            let due = not_before.is_none_or(|time| draft.now >= time);
            if due && may_change(world, &request.account, draft.now) {
                draft.act(assign(view.key, &request.account, one.ip, node, machine));
            } else {
                draft.wake_at(not_before);
            }
        }
    }

    /// How many nodes a pool can use now.
    fn demand(
        &mut self,
        world: &World,
        index: usize,
        view: &PoolView<'_>,
        family: Family,
        draft: &mut Draft,
    ) -> Option<Demand> {
        let (request, class) = (view.request?, view.class?);
        let mut addresses: Vec<_> = view
            .movable()
            .filter(|one| Family::of(one.ip) == family && !self.is_kept(world, view, one))
            .collect();
        addresses.sort_by_key(|one| preference(one));
        let new = if family == Family::V4 { super::creation::missing(view) } else { 0 };
        let mut count = addresses.len() + new;
        if count == 0 || !may_change(world, &request.account, draft.now) {
            return None;
        }
        if let Some(until) = cool_off_ends(view, request.cool_off, draft.now) {
            self.cooling.insert(view.key.clone(), until);
            draft.wake_at(until);
            return None;
        }
        if !request.cool_off.is_zero() {
            count = if view.is_sending() { 0 } else { 1 };
        }
        let addresses = addresses.iter().map(|one| one.ip).collect();
        Some(Demand { view: index, group: (class, family), addresses, count })
    }

    fn is_kept(&self, world: &World, view: &PoolView<'_>, one: &Standing<'_>) -> bool {
        intended(world, view, one)
            .is_some_and(|(_, machine)| self.kept.contains(&(machine.clone(), Family::of(one.ip))))
    }

    /// The first `enough` free nodes of a pool's groups, failing ones last.
    fn find_free(&mut self, world: &World, view: &PoolView<'_>, enough: usize, now: Time) {
        let Some(class) = view.class else { return };
        for family in Family::ALL {
            let concerned = family == Family::V4
                || view.addresses.iter().any(|one| Family::of(one.ip) == family);
            if concerned && !self.free.contains_key(&(class, family)) {
                let free = self.search(world, view, class, family, enough, now);
                self.free.insert((class, family), free);
            }
        }
    }

    fn search(
        &self,
        world: &World,
        view: &PoolView<'_>,
        class: ClassId,
        family: Family,
        enough: usize,
        now: Time,
    ) -> Free {
        let mut free = Free::default();
        let mut failing = Vec::new();
        let Some(account) = view.account else {
            return free;
        };
        let per_machine = account.setup.as_ref().map_or(1, |setup| setup.per_machine);
        for name in world.candidates().eligible(class) {
            if free.nodes.len() >= enough {
                break;
            }
            let Some(machine) = world.node(name).and_then(|node| node.machine.as_ref()) else {
                continue;
            };
            let occupied = account.occupants(&machine.id, family).take(per_machine).count();
            if occupied >= per_machine {
                note_occupant(world, account.occupants(&machine.id, family), name, &mut free);
                continue;
            }
            if self.kept.contains(&(machine.id.clone(), family)) {
                continue;
            }
            match account.setbacks.get(&machine.id) {
                Some(setback) if now < setback.not_before => {
                    let next = setback.not_before;
                    free.retry_at = Some(free.retry_at.map_or(next, |at| at.min(next)));
                    let message = setback.failure.message.clone();
                    note(&mut free, name, Obstacle::Failed(message, next));
                }
                Some(setback) if setback.failures >= PATIENCE => {
                    failing.push((name.clone(), machine.id.clone()));
                }
                _ => free.nodes.push((name.clone(), machine.id.clone())),
            }
        }
        free.nodes.append(&mut failing);
        free
    }

    /// Hands a pool its nodes: first to the addresses that it has, then to new ones.
    fn place(
        &mut self,
        view: &PoolView<'_>,
        demand: &Demand,
        nodes: Vec<(NodeName, MachineId)>,
        draft: &mut Draft,
    ) {
        let Some(request) = view.request else { return };
        let mut nodes = nodes.into_iter();
        let mut unplaced = 0;
        for ip in demand.addresses.iter().take(demand.count) {
            match nodes.next() {
                Some((node, machine)) => {
                    draft.act(assign(view.key, &request.account, *ip, &node, &machine));
                }
                None => unplaced += 1,
            }
        }
        *self.unplaced.entry(view.key.clone()).or_default() += unplaced;
        self.for_new.entry(view.key.clone()).or_default().extend(nodes);
        if unplaced > 0 {
            draft.wake_at(self.free.get(&demand.group).and_then(|free| free.retry_at));
        }
    }

    /// Takes a pool's surplus address off a node that the pool needs for another one.
    fn make_room(&self, world: &World, views: &[PoolView<'_>], draft: &mut Draft) {
        for (_, view) in plannable(views) {
            let Some(request) = view.request else {
                continue;
            };
            let short = self.unplaced.get(view.key).copied().unwrap_or(0);
            let in_the_way = view.addresses.iter().filter(|one| match one.place {
                Place::Disabled(Some(machine)) => {
                    view.node_on(world, machine).is_some_and(|node| view.judge(world, node).is_ok())
                }
                _ => false,
            });
            for one in in_the_way.take(short) {
                let (account, pool) = (request.account.clone(), view.key.clone());
                draft.act(Action::Unassign { account, pool, ip: one.ip });
            }
        }
    }
}

/// Nodes that one pool can use now.
struct Demand {
    view: usize,
    group: Group,
    /// Its addresses, the first choice first; what `count` has beyond them is for new ones.
    addresses: Vec<IpAddr>,
    count: usize,
}

/// Addresses that are on no machine go first, then those whose node was lost longest ago.
fn preference(one: &Standing<'_>) -> (bool, Option<Time>) {
    (matches!(one.place, Place::Stranded(..)), one.memory.ineligible_since)
}

/// The node that the last, failed attempt was for, if it is still eligible.
fn intended<'w>(
    world: &'w World,
    view: &PoolView<'w>,
    one: &Standing<'_>,
) -> Option<(&'w NodeName, &'w MachineId)> {
    let machine = view.account?.address(one.ip)?.intended.as_ref()?;
    let node = view.node_on(world, machine)?;
    view.judge(world, node).is_ok().then_some((node, machine))
}

pub(super) fn cool_off_ends(view: &PoolView<'_>, cool_off: Duration, now: Time) -> Option<Time> {
    // A time ahead of us is a clock's mistake: it counts as now.
    let last = view.entry.last_assignment?.min(now);
    Some(last + cool_off).filter(|ends| *ends > now)
}

fn assign(
    pool: &PoolKey,
    account: &AccountId,
    ip: IpAddr,
    node: &NodeName,
    machine: &MachineId,
) -> Action {
    Action::Assign {
        account: account.clone(),
        pool: pool.clone(),
        ip,
        node: node.clone(),
        machine: machine.clone(),
    }
}

fn note_occupant(
    world: &World,
    mut occupants: impl Iterator<Item = IpAddr>,
    name: &NodeName,
    free: &mut Free,
) {
    let Some(ip) = occupants.next() else { return };
    if world.claimants(ip).next().is_none() {
        note(free, name, Obstacle::HoldsOther(ip));
    }
}

fn note(free: &mut Free, name: &NodeName, obstacle: Obstacle) {
    // The same nodes in every plan, however many are asked for.
    if free.unusable.len() < NAMES && free.nodes.len() < NAMES {
        free.unusable.push((name.clone(), obstacle));
    }
}

/// The largest assignment of nodes to demands.
struct Matching<'a> {
    free: &'a BTreeMap<Group, Free>,
    /// Who has a node now.
    taken: BTreeMap<(&'a MachineId, Family), Group>,
    /// Groups from which no path leads to a free node any more: none ever will.
    dead: BTreeSet<Group>,
    /// Every node of a group before this index is taken, and stays so.
    first_untaken: BTreeMap<Group, usize>,
}

impl<'a> Matching<'a> {
    fn of(free: &'a BTreeMap<Group, Free>, demands: &[Demand]) -> Vec<Vec<(NodeName, MachineId)>> {
        let mut matching = Self {
            free,
            taken: BTreeMap::new(),
            dead: BTreeSet::new(),
            first_untaken: BTreeMap::new(),
        };
        let granted: Vec<usize> = demands
            .iter()
            .map(|demand| (0..demand.count).take_while(|_| matching.grow(demand.group)).count())
            .collect();
        let mut nodes: BTreeMap<Group, std::collections::VecDeque<_>> = BTreeMap::new();
        for (group, free) in free {
            let of_group = free
                .nodes
                .iter()
                .filter(|(_, machine)| matching.taken.get(&(machine, group.1)) == Some(group));
            nodes.insert(*group, of_group.cloned().collect());
        }
        demands
            .iter()
            .zip(granted)
            .map(|(demand, count)| {
                let queue = nodes.entry(demand.group).or_default();
                queue.drain(..count.min(queue.len())).collect()
            })
            .collect()
    }

    /// Finds one more node for a group, moving others over where they have a choice.
    fn grow(&mut self, group: Group) -> bool {
        let mut visited = BTreeSet::new();
        let found = self.augment(group, &mut visited);
        if !found {
            self.dead.extend(visited);
        }
        found
    }

    fn augment(&mut self, group: Group, visited: &mut BTreeSet<Group>) -> bool {
        if self.dead.contains(&group) || !visited.insert(group) {
            return false;
        }
        let free = self.free;
        let Some(nodes) = free.get(&group).map(|free| &free.nodes) else {
            return false;
        };
        let next = self.first_untaken.entry(group).or_default();
        while let Some((_, machine)) = nodes.get(*next) {
            *next += 1;
            if let Entry::Vacant(free) = self.taken.entry((machine, group.1)) {
                free.insert(group);
                return true;
            }
        }
        for (_, machine) in nodes {
            let holder = self.taken.get(&(machine, group.1)).copied();
            if holder.is_some_and(|holder| holder != group && self.augment(holder, visited)) {
                self.taken.insert((machine, group.1), group);
                return true;
            }
        }
        false
    }
}
