//! Which unplaced address goes to which node.
//!
//! All pools of the plan together, so that two pools never fight for one node, and pools
//! that share nodes do not block each other needlessly: the number of addresses that find a
//! node is the largest possible (pairing.rs), and within that, older pools and smaller node
//! names come first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::displacing::{Useless, displace, left_short};
use super::pacing::{cool_off_ends, pace};
use super::pairing::{Group, Offer, pair};
use super::room::{count_free, occupants, take_off};
use super::standing::{Place, PoolView, Standing};
use super::{Draft, may_change, plannable};
use crate::Time;
use crate::action::Action;
use crate::model::{AccountId, Family, Intent, MachineId, NodeName, PoolKey, Text};
use crate::verdict::Obstacle;
use crate::world::{IntentProgress, PATIENCE, Seat, World};

/// How many names of nodes a status lists.
pub(super) const NAMES: usize = 100;

/// The nodes that each pool gets in this plan.
#[derive(Default)]
pub(super) struct Placement {
    /// Free nodes of each group, in the order in which they are taken, as far as they may be
    /// needed.
    offers: BTreeMap<Group, Offer>,
    /// How many there are in all.
    free: BTreeMap<Group, usize>,
    /// What keeps other nodes of a group from being free.
    obstacles: BTreeMap<Group, Obstacles>,
    /// Nodes for addresses that a pool still has to reserve.
    for_new: BTreeMap<PoolKey, Vec<(NodeName, MachineId)>>,
    /// Addresses of a pool that found no node.
    unplaced: BTreeMap<(PoolKey, Family), usize>,
    /// Pools that wait for their cool-off to end.
    cooling: BTreeMap<PoolKey, Time>,
    /// Machines that are spoken for by a reservation, and by which.
    reserved: BTreeMap<Seat, (PoolKey, Text)>,
    /// Machines that are spoken for by an attempt to be repeated.
    kept: BTreeSet<Seat>,
    /// Addresses that go on with the node that they failed on.
    retrying: BTreeSet<IpAddr>,
}

#[derive(Default)]
struct Obstacles {
    nodes: Vec<(NodeName, Obstacle)>,
    /// The earliest time at which a node that failed may be tried again.
    retry_at: Option<Time>,
}

impl Placement {
    /// Plans the moves of every pool, and finds nodes for addresses to be reserved.
    pub fn plan(world: &World, views: &[PoolView<'_>], draft: &mut Draft) -> Self {
        let mut placement = Self::default();
        let reserving = world.reserving().map(|(seat, holder)| (seat.clone(), holder.clone()));
        placement.reserved.extend(reserving);
        for may_be_sent in [true, false] {
            for (_, view) in plannable(views) {
                placement.keep_targets(view, may_be_sent);
            }
        }
        for (_, view) in plannable(views) {
            pace(view, draft);
        }
        for (_, view) in plannable(views) {
            placement.retry(world, view, draft);
        }
        let mut demands = Vec::new();
        for (index, view) in plannable(views) {
            for family in Family::ALL {
                demands.extend(placement.demand(world, index, view, family, draft));
            }
        }
        let enough = demands.iter().map(|demand| demand.count).sum::<usize>() + NAMES;
        for (_, view) in plannable(views) {
            placement.find_free(world, view, enough, draft.now);
        }
        let wanted: Vec<_> = demands.iter().map(|demand| (demand.group, demand.count)).collect();
        let paired = pair(&placement.offers, &wanted);
        for (demand, nodes) in demands.iter().zip(paired) {
            placement.place(&views[demand.view], demand, nodes, draft);
        }
        placement.make_room(world, views, draft);
        placement
    }

    /// The free nodes of a pool's class, in order.
    pub fn free(&self, view: &PoolView<'_>, family: Family) -> &[(NodeName, MachineId)] {
        let offer = view.class.and_then(|class| self.offers.get(&(class, family)));
        offer.map_or(&[], |offer| offer.nodes.as_slice())
    }

    /// How many free nodes a pool's class has in all.
    pub fn free_count(&self, view: &PoolView<'_>, family: Family) -> usize {
        view.class.and_then(|class| self.free.get(&(class, family))).copied().unwrap_or(0)
    }

    /// Nodes of a pool's class that cannot take an address, and why.
    pub fn unusable(&self, view: &PoolView<'_>) -> &[(NodeName, Obstacle)] {
        let known = view.class.and_then(|class| self.obstacles.get(&(class, view.family())));
        known.map_or(&[], |known| known.nodes.as_slice())
    }

    /// Nodes for addresses that a pool still has to reserve.
    pub fn for_new(&self, key: &PoolKey) -> &[(NodeName, MachineId)] {
        self.for_new.get(key).map_or(&[], Vec::as_slice)
    }

    /// When the pool's cool-off ends, if that is what it waits for.
    pub fn cooling(&self, key: &PoolKey) -> Option<Time> {
        self.cooling.get(key).copied()
    }

    /// Whether the machine of a reservation is spoken for by that one.
    pub fn is_reserved_for(&self, view: &PoolView<'_>, intent: &Intent) -> bool {
        let Some((cloud, machine)) = view.cloud().zip(intent.target.as_ref()) else {
            return true;
        };
        let holder = self.reserved.get(&(cloud.clone(), machine.clone(), intent.family));
        holder.is_none_or(|(pool, id)| pool == view.key && *id == intent.id)
    }

    /// The machine that a reservation is for is spoken for until its outcome is known. Of
    /// several for one machine, those that may have been sent go first, then older pools.
    fn keep_targets(&mut self, view: &PoolView<'_>, may_be_sent: bool) {
        for intent in view.entry.open_intents() {
            let ready = view.entry.progress(&intent.id, Time::default()) == IntentProgress::Ready;
            if let (Some(machine), Some(cloud)) = (&intent.target, view.cloud())
                && ready != may_be_sent
            {
                let seat = (cloud.clone(), machine.clone(), intent.family);
                let holder = (view.key.clone(), intent.id.clone());
                self.reserved.entry(seat).or_insert(holder);
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
            let family = Family::of(one.ip);
            let Some((node, machine)) = intended(world, view, one) else {
                continue;
            };
            let Some(cloud) =
                view.cloud().filter(|cloud| world.has_room(cloud, machine, family, Some(one.ip)))
            else {
                continue;
            };
            let seat = (cloud.clone(), machine.clone(), family);
            if self.reserved.contains_key(&seat) || !self.kept.insert(seat) {
                continue;
            }
            self.retrying.insert(one.ip);
            let not_before = account.setbacks.get(machine).map(|setback| setback.not_before);
            if not_before.is_some_and(|time| draft.now < time) {
                draft.wake_at(not_before);
            } else if may_change(world, &request.account, draft.now) {
                if draft.spend(view.key) {
                    draft.act(assign(view.key, &request.account, one.ip, node, machine));
                } else {
                    self.cool(view, request.cool_off, draft);
                }
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
            .filter(|one| Family::of(one.ip) == family && !self.retrying.contains(&one.ip))
            .collect();
        addresses.sort_by_key(|one| preference(one));
        let placed = family == view.family() && view.places_new();
        let new = if placed { super::creation::reservable(view) } else { 0 };
        let count = addresses.len() + new;
        if count == 0 || !may_change(world, &request.account, draft.now) {
            return None;
        }
        let count = count.min(draft.allowance(view.key));
        if count == 0 {
            self.cool(view, request.cool_off, draft);
            return None;
        }
        let addresses = addresses.iter().map(|one| one.ip).collect();
        Some(Demand { view: index, group: (class, family), addresses, count })
    }

    /// The pool waits for its cool-off to end, if that is what it waits for.
    fn cool(&mut self, view: &PoolView<'_>, cool_off: Duration, draft: &mut Draft) {
        if let Some(until) = cool_off_ends(view, cool_off, draft.now) {
            self.cooling.insert(view.key.clone(), until);
            draft.wake_at(until);
        }
    }

    /// The first `enough` free nodes of a pool's groups, failing ones last.
    fn find_free(&mut self, world: &World, view: &PoolView<'_>, enough: usize, now: Time) {
        let (Some(class), Some(cloud)) = (view.class, view.cloud()) else {
            return;
        };
        for family in Family::ALL {
            let group = (class, family);
            let concerned = family == Family::V4
                || view.addresses.iter().any(|one| Family::of(one.ip) == family);
            if concerned && !self.offers.contains_key(&group) {
                let mut obstacles = Obstacles::default();
                let nodes = self.search(world, view, group, enough, now, &mut obstacles);
                // Whoever went through all of them has counted them.
                let all = nodes.len() < enough;
                debug_assert!(!all || nodes.len() == self.count(world, view, group, now));
                let count = || self.count(world, view, group, now);
                self.free.insert(group, if all { nodes.len() } else { count() });
                self.offers.insert(group, Offer { cloud: cloud.clone(), nodes });
                self.obstacles.insert(group, obstacles);
            }
        }
    }

    fn search(
        &self,
        world: &World,
        view: &PoolView<'_>,
        (class, family): Group,
        enough: usize,
        now: Time,
        obstacles: &mut Obstacles,
    ) -> Vec<(NodeName, MachineId)> {
        let (mut nodes, mut failing) = (Vec::new(), Vec::new());
        let Some(account) = view.account else {
            return nodes;
        };
        for name in world.vacant(class, family) {
            if nodes.len() >= enough {
                break;
            }
            let Some(machine) = world.node(name).and_then(|node| node.machine.as_ref()) else {
                continue;
            };
            let seat = (machine.cloud.clone(), machine.id.clone(), family);
            if self.kept.contains(&seat) || self.reserved.contains_key(&seat) {
                continue;
            }
            match account.setbacks.get(&machine.id) {
                Some(setback) if now < setback.not_before => {
                    let next = setback.not_before;
                    obstacles.retry_at = Some(obstacles.retry_at.map_or(next, |at| at.min(next)));
                    // The same nodes in every plan, however many are asked for.
                    if nodes.len() < NAMES {
                        let message = setback.failure.message.clone();
                        obstacles.note(name, Obstacle::Failed(message, next));
                    }
                }
                Some(setback) if setback.failures >= PATIENCE => {
                    failing.push((name.clone(), machine.id.clone()));
                }
                _ => nodes.push((name.clone(), machine.id.clone())),
            }
        }
        for name in world.foreign(class, family).take(NAMES) {
            // What is on a machine that a reservation is for may well be what it made.
            let machine = world.node(name).and_then(|node| node.machine.clone());
            let seat = machine.map(|machine| (machine.cloud, machine.id, family));
            if seat.is_some_and(|seat| self.reserved.contains_key(&seat)) {
                continue;
            }
            if let Some(ip) = occupants(world, name, family).find(|ip| !world.is_claimed(*ip)) {
                obstacles.note(name, Obstacle::HoldsOther(ip));
            }
        }
        nodes.append(&mut failing);
        nodes
    }

    fn count(&self, world: &World, view: &PoolView<'_>, group: Group, now: Time) -> usize {
        let spoken_for = self.kept.iter().chain(self.reserved.keys());
        count_free(world, view, group, spoken_for, now)
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
                Some((node, machine)) if draft.spend(view.key) => {
                    draft.act(assign(view.key, &request.account, *ip, &node, &machine));
                }
                Some(_) => {}
                None => unplaced += 1,
            }
        }
        self.unplaced.insert((view.key.clone(), demand.group.1), unplaced);
        self.for_new.entry(view.key.clone()).or_default().extend(nodes);
        if unplaced > 0 {
            draft.wake_at(self.obstacles.get(&demand.group).and_then(|known| known.retry_at));
        }
    }

    /// Takes addresses that serve nobody off nodes that a pool needs for another one: its own
    /// first, then those of others.
    fn make_room(&self, world: &World, views: &[PoolView<'_>], draft: &mut Draft) {
        let mut short = Vec::new();
        for (_, view) in plannable(views) {
            for family in Family::ALL {
                let unplaced = self.unplaced.get(&(view.key.clone(), family)).copied();
                if let Some(unplaced) = unplaced.filter(|unplaced| *unplaced > 0) {
                    let left = left_short(world, view, family, unplaced, draft);
                    short.push((view, family, take_off(world, view, family, left, draft)));
                }
            }
        }
        for which in [Useless::Surplus, Useless::Stranded] {
            for (view, family, short) in &mut short {
                *short = displace(world, view, *family, *short, which, draft);
            }
        }
    }
}

impl Obstacles {
    fn note(&mut self, name: &NodeName, obstacle: Obstacle) {
        if self.nodes.len() < NAMES {
            self.nodes.push((name.clone(), obstacle));
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
pub(super) fn intended<'w>(
    world: &'w World,
    view: &PoolView<'w>,
    one: &Standing<'_>,
) -> Option<(&'w NodeName, &'w MachineId)> {
    let account = view.account?;
    let tried = account.address(one.ip)?.intended.as_ref();
    // Where somebody else took it from, it goes back to, if that works at the first attempt.
    let from = one.memory.drift.as_ref().and_then(|drift| drift.from.as_ref());
    let from = from.and_then(|from| world.machine_of(view.cloud()?, from));
    let machine = tried.or(from.filter(|from| !account.setbacks.contains_key(*from)))?;
    let node = view.node_on(world, machine)?;
    view.judge(world, node).is_ok().then_some((node, machine))
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
