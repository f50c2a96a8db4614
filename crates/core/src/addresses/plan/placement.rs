//! Which unplaced address goes to which node.
//!
//! All pools of the plan are placed together: two pools never get the same node, and pools with
//! common nodes do not block each other needlessly. The number of placed addresses is the largest
//! possible (bipartite.rs). Among equal solutions, older pools and smaller node names come first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::attempts::{intended, is_in_doubt, is_set_back};
use super::bipartite::{Group, Offer, pair};
use super::cool_off::{cool_off_ends, pace};
use super::gate::{may_change, plannable};
use super::make_room::{Crowds, Useless, displace, left_short};
use super::need::reservable;
use super::occupancy::take_off;
use super::recognise::may_arrive;
use super::seats::{Free, NAMES, Next, Seats};
use super::steps::{Brought, bring};
use super::view::{AddressView, Place, PoolView};
use crate::Time;
use crate::addresses::verdict::Obstacle;
use crate::model::{Family, Intent, MachineId, NodeName, ObjectKey};
use crate::plan::Draft;
use crate::world::World;

/// The nodes each pool gets in this plan.
#[derive(Default)]
pub(crate) struct Placement {
    seats: Seats,
    /// Free nodes of each group.
    free: BTreeMap<Group, Free>,
    /// Nodes of a group with a stranger.
    foreign: BTreeMap<Group, Vec<(NodeName, Obstacle)>>,
    /// Nodes for addresses still to be reserved for a pool.
    for_new: BTreeMap<ObjectKey, Vec<(NodeName, MachineId)>>,
    /// Number of addresses of a pool without a node.
    unplaced: BTreeMap<(ObjectKey, Family), usize>,
    /// Pools in their cool-off, and its end.
    cooling: BTreeMap<ObjectKey, Time>,
    /// Addresses to be tried again on the node of their failed attempt.
    retrying: BTreeSet<IpAddr>,
}

impl Placement {
    /// Plans the moves of every pool, and finds nodes for addresses to be reserved.
    ///
    /// | order of the free nodes                          | reason                          |
    /// |--------------------------------------------------|---------------------------------|
    /// | 1. repeated attempts, on the same node           | a short outage moves no address |
    /// | 2. addresses without a refusal                   | success is likely               |
    /// | 3. refused addresses, where the back-off is over | success is possible             |
    /// | 4. reservations                                  | no client uses the address yet  |
    /// | 5. the same for pools whose calls are withheld   | the plan is not executed        |
    ///
    /// An attempt without a chance now (refused, full, paused, unknown) therefore never takes a
    /// node from an attempt with a chance.
    pub fn plan<'w>(world: &'w World, views: &[PoolView<'w>], draft: &mut Draft) -> Self {
        let mut placement = Self { seats: Seats::new(world, draft), ..Self::default() };
        for (_, view) in plannable(views) {
            placement.seats.keep_arriving(world, view, draft);
            if world.comes_last(&view.entry.pool) {
                placement.seats.keep_doubtful(world, view);
            }
            pace(view, draft);
        }
        let all: Vec<_> = plannable(views).map(|(_, view)| view).collect();
        for last in [false, true] {
            let is_such = |view: &&&PoolView<'_>| world.comes_last(&view.entry.pool) == last;
            let such: Vec<_> = all.iter().filter(is_such).copied().collect();
            placement.serve(world, (&all, &such), draft);
        }
        for (_, view) in plannable(views) {
            placement.find_free(world, view);
        }
        placement.make_room(world, views, draft);
        placement
    }

    /// Finds nodes for the addresses of some of all pools, then for their reservations.
    fn serve(
        &mut self,
        world: &World,
        (all, views): (&[&PoolView<'_>], &[&PoolView<'_>]),
        draft: &mut Draft,
    ) {
        for view in views {
            self.retry(world, view, draft);
        }
        for view in views {
            self.seats.leave_targets_last(world, view, draft);
        }
        self.hand_out(world, views, draft, existing(world, draft.now));
        for view in views {
            self.place_refused(world, view, draft);
        }
        // A machine with room for more addresses still gets one reservation at a time, and the next one
        // when the address of the first is recorded: of two, a successor could not tell which is whose.
        for view in all {
            self.seats.keep_targets(view, |intent| {
                view.entry.is_made(intent) || may_arrive(world, view, intent, draft)
            });
        }
        for failing in [false, true] {
            let is_such = |view: &&&PoolView<'_>| view.entry.creation.failure.is_some() == failing;
            let such: Vec<_> = views.iter().filter(is_such).copied().collect();
            for view in &such {
                let is_over = |intent: &Intent| !may_arrive(world, view, intent, draft);
                self.seats.keep_targets(view, is_over);
            }
            self.hand_out(world, &such, draft, new);
        }
    }

    /// The first free nodes of a pool's class, by name.
    pub fn free(&self, view: &PoolView<'_>, family: Family) -> &[NodeName] {
        self.free_of(view, family).map_or(&[], |free| free.names.as_slice())
    }

    /// Whether an address waits for another attempt on the same node.
    pub fn is_retrying(&self, ip: IpAddr) -> bool {
        self.retrying.contains(&ip)
    }

    /// Number of free nodes of a pool's class.
    pub fn free_count(&self, view: &PoolView<'_>, family: Family) -> usize {
        self.free_of(view, family).map_or(0, |free| free.count)
    }

    fn free_of(&self, view: &PoolView<'_>, family: Family) -> Option<&Free> {
        self.free.get(&(view.class?, family))
    }

    /// Nodes of a pool's class without room for an address, and the obstacle.
    pub fn unusable(&self, world: &World, view: &PoolView<'_>) -> Vec<(NodeName, Obstacle)> {
        let mut nodes: BTreeMap<&NodeName, Obstacle> = BTreeMap::new();
        for (name, obstacle) in view
            .class
            .iter()
            .flat_map(|class| self.foreign.get(&(*class, view.family())).into_iter().flatten())
        {
            nodes.insert(name, obstacle.clone());
        }
        if let (Some(account), Some(class)) = (view.account, view.class) {
            for one in view.movable() {
                let free = |name: &NodeName| world.is_vacant(class, Family::of(one.ip), name);
                for (machine, setback) in account.setbacks.of_address(one.ip) {
                    let next = account.setbacks.next(one.ip, machine);
                    if let Some(name) = view.node_on(world, machine).filter(|name| free(name)) {
                        let message = setback.failure.message.clone();
                        nodes.entry(name).or_insert(Obstacle::Failed(message, next));
                    }
                }
            }
        }
        let named = nodes.into_iter().take(NAMES);
        named.map(|(name, obstacle)| (name.clone(), obstacle)).collect()
    }

    /// Nodes for addresses still to be reserved for a pool.
    pub fn for_new(&self, key: &ObjectKey) -> &[(NodeName, MachineId)] {
        self.for_new.get(key).map_or(&[], Vec::as_slice)
    }

    /// End of the pool's cool-off, if the pool waits for its end.
    pub fn cooling(&self, key: &ObjectKey) -> Option<Time> {
        self.cooling.get(key).copied()
    }

    /// Whether the machine of `intent` is free of addresses and of other reservations.
    pub fn is_reserved_for(&self, view: &PoolView<'_>, intent: &Intent) -> bool {
        self.seats.is_reserved_for(view, intent)
    }

    /// Repeats failed attempts on the same node while reasonable: a short outage of the provider
    /// must not reshuffle addresses.
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
            if !self.seats.is_untouched(&seat) {
                continue;
            }
            self.retrying.insert(one.ip);
            let next = account.setbacks.next(one.ip, machine);
            let arrived = is_in_doubt(world, view, one.ip);
            if draft.now < next && arrived {
                draft.wake_at(next);
                self.seats.take(seat);
            } else if draft.now < next {
                draft.wake_at(next);
                self.seats.leave_last(seat);
            } else if !may_change(world, &request.account, draft.now) {
                // Refused credentials may last, and nobody waits for them.
                if !account.is_refused(draft.now) {
                    draft.awaits_account(view.key, machine);
                }
                self.seats.leave_last(seat);
            } else {
                match bring(world, view, one, (node, machine), draft) {
                    Brought::Sent => self.seats.take(seat),
                    Brought::Cooling => {
                        self.cool(view, request.cool_off, draft);
                        self.seats.leave_last(seat);
                    }
                    Brought::Held(next) => {
                        draft.wake_at(next);
                        self.seats.leave_last(seat);
                    }
                }
            }
        }
    }

    /// Gives nodes to pools for their wishes, as many as possible in total.
    fn hand_out(
        &mut self,
        world: &World,
        views: &[&PoolView<'_>],
        draft: &mut Draft,
        wish: impl Fn(&Self, &PoolView<'_>, Family) -> Wish,
    ) {
        let mut demands = Vec::new();
        for view in views {
            for family in Family::ALL {
                let wish = wish(self, view, family);
                demands.extend(self.demand(world, view, family, wish, draft));
            }
        }
        if demands.is_empty() {
            return;
        }
        let enough = demands.iter().map(|demand| demand.count).sum::<usize>();
        let mut offers = BTreeMap::new();
        for Demand { view, group, .. } in &demands {
            if let Some(cloud) = view.cloud().filter(|_| !offers.contains_key(group)) {
                let nodes = self.seats.search(world, view, *group, enough);
                offers.insert(*group, Offer { cloud: cloud.clone(), nodes });
            }
        }
        let wanted: Vec<_> = demands.iter().map(|demand| (demand.group, demand.count)).collect();
        let paired = pair(&offers, &wanted);
        for (demand, nodes) in demands.iter().zip(paired) {
            self.place(world, demand, nodes, draft);
        }
    }

    /// The number of nodes a pool can use now.
    fn demand<'a, 'w>(
        &mut self,
        world: &World,
        view: &'a PoolView<'w>,
        family: Family,
        wish: Wish,
        draft: &mut Draft,
    ) -> Option<Demand<'a, 'w>> {
        let (request, class) = (view.request?, view.class?);
        let count = wish.addresses.len() + wish.new;
        if count == 0 || !may_change(world, &request.account, draft.now) {
            return None;
        }
        let count = count.min(draft.allowance(view.key));
        if count == 0 {
            self.cool(view, request.cool_off, draft);
            return None;
        }
        Some(Demand { view, group: (class, family), addresses: wish.addresses, count })
    }

    /// Places addresses with earlier failures on free nodes, each where its back-off is over.
    fn place_refused(&mut self, world: &World, view: &PoolView<'_>, draft: &mut Draft) {
        let (Some(account), Some(request)) = (view.account, view.request) else {
            return;
        };
        if !may_change(world, &request.account, draft.now) {
            return;
        }
        let now = draft.now;
        let refused: Vec<_> =
            self.waiting(view).filter(|one| is_set_back(world, view, one, now)).collect();
        for one in refused {
            let family = Family::of(one.ip);
            // The address may already serve on the machine of its last attempt.
            if is_in_doubt(world, view, one.ip) {
                continue;
            }
            let due = account.setbacks.due(one.ip);
            draft.wake_at(due);
            let (next, refused) = self.seats.next_for(world, view, one.ip, now);
            match next {
                Next::Node(node, machine) => {
                    match bring(world, view, one, (&node, &machine), draft) {
                        Brought::Sent => self.seats.take_on(view, family, machine),
                        Brought::Cooling => self.cool(view, request.cool_off, draft),
                        Brought::Held(next) => draft.wake_at(next),
                    }
                }
                Next::At(time) => draft.wake_at(time),
                Next::NoRoom => {}
            }
            // The node of a useless address may accept this one.
            if refused && now >= due {
                *self.unplaced.entry((view.key.clone(), family)).or_default() += 1;
            }
        }
    }

    /// Addresses that need a node and do not repeat an attempt. Unassigned addresses come first,
    /// then those whose node has been ineligible longest.
    fn waiting<'a, 'w>(
        &self,
        view: &'a PoolView<'w>,
    ) -> impl Iterator<Item = &'a AddressView<'w>> + use<'a, 'w> {
        let waits = |one: &&AddressView<'w>| !self.retrying.contains(&one.ip);
        let mut waiting: Vec<_> = view.movable().filter(waits).collect();
        waiting.sort_by_key(|one| preference(one));
        waiting.into_iter()
    }

    /// Notes that the pool waits for the end of its cool-off, if not yet over.
    fn cool(&mut self, view: &PoolView<'_>, cool_off: Duration, draft: &mut Draft) {
        if let Some(until) = cool_off_ends(view, cool_off, draft.now) {
            self.cooling.insert(view.key.clone(), until);
            draft.wake_at(until);
        }
    }

    /// Finds the free nodes left in a pool's groups, for the verdict.
    fn find_free(&mut self, world: &World, view: &PoolView<'_>) {
        let (Some(class), Some(cloud)) = (view.class, view.cloud()) else {
            return;
        };
        for family in Family::ALL {
            let group = (class, family);
            let concerned = family == Family::V4
                || view.addresses.iter().any(|one| Family::of(one.ip) == family);
            if concerned && !self.free.contains_key(&group) {
                self.free.insert(group, self.seats.unspoken_for(world, cloud, group));
                self.foreign.insert(group, self.seats.foreign(world, group));
            }
        }
    }

    /// Gives the nodes of a demand to the pool's addresses, or to its reservations.
    fn place(
        &mut self,
        world: &World,
        demand: &Demand<'_, '_>,
        nodes: Vec<(NodeName, MachineId)>,
        draft: &mut Draft,
    ) {
        let (view, (_, family)) = (demand.view, demand.group);
        let mut nodes = nodes.into_iter();
        let mut unplaced = 0;
        for ip in demand.addresses.iter().take(demand.count) {
            match nodes.next() {
                Some((node, machine)) => {
                    self.place_one(world, view, *ip, (&node, machine), draft);
                }
                None => unplaced += 1,
            }
        }
        *self.unplaced.entry((view.key.clone(), family)).or_default() += unplaced;
        let new = nodes.filter(|_| demand.addresses.is_empty());
        for (node, machine) in new {
            self.seats.take_on(view, family, machine.clone());
            self.for_new.entry(view.key.clone()).or_default().push((node, machine));
        }
    }

    /// Brings an address to its node.
    fn place_one(
        &mut self,
        world: &World,
        view: &PoolView<'_>,
        ip: IpAddr,
        (node, machine): (&NodeName, MachineId),
        draft: &mut Draft,
    ) {
        let Some(one) = view.addresses.iter().find(|one| one.ip == ip) else { return };
        match bring(world, view, one, (node, &machine), draft) {
            Brought::Sent => self.seats.take_on(view, Family::of(ip), machine),
            Brought::Cooling => {}
            Brought::Held(next) => draft.wake_at(next),
        }
    }

    /// Unassigns addresses that serve no purpose on nodes a pool needs: first the pool's own, then
    /// those of other pools.
    fn make_room<'w>(&self, world: &'w World, views: &[PoolView<'w>], draft: &mut Draft) {
        if self.unplaced.values().all(|unplaced| *unplaced == 0) {
            return;
        }
        let mut crowds = Crowds::new(world, views);
        let mut short = Vec::new();
        for (_, view) in plannable(views) {
            for family in Family::ALL {
                let unplaced = self.unplaced.get(&(view.key.clone(), family)).copied();
                if let Some(unplaced) = unplaced.filter(|unplaced| *unplaced > 0) {
                    let left = left_short(&mut crowds, view, family, unplaced, draft);
                    short.push((view, family, take_off(world, view, family, left, draft)));
                }
            }
        }
        for which in [Useless::Surplus, Useless::Stranded] {
            for (view, family, short) in &mut short {
                *short = displace(&mut crowds, view, *family, *short, which, draft);
            }
        }
    }
}

/// The nodes a pool asks for in one family.
#[derive(Default)]
struct Wish {
    /// Addresses to place, in order of preference.
    addresses: Vec<IpAddr>,
    /// Number of nodes for new addresses.
    new: usize,
}

/// The nodes a pool can use now.
struct Demand<'a, 'w> {
    view: &'a PoolView<'w>,
    group: Group,
    /// The addresses to place. Empty if the nodes are for new addresses.
    addresses: Vec<IpAddr>,
    count: usize,
}

/// Wishes for addresses without failures, which may be tried on every node.
fn existing(world: &World, now: Time) -> impl Fn(&Placement, &PoolView<'_>, Family) -> Wish {
    move |placement, view, family| {
        let waiting = placement.waiting(view).filter(|one| Family::of(one.ip) == family);
        let welcome = waiting.filter(|one| !is_set_back(world, view, one, now));
        Wish { addresses: welcome.map(|one| one.ip).collect(), new: 0 }
    }
}

/// Wishes for new addresses, if the provider assigns new addresses at once.
fn new(_: &Placement, view: &PoolView<'_>, family: Family) -> Wish {
    let placed = family == view.family() && view.places_new();
    Wish { addresses: vec![], new: if placed { reservable(view) } else { 0 } }
}

/// Unassigned addresses come first, then those whose node has been ineligible longest.
fn preference(one: &AddressView<'_>) -> (bool, Option<Time>) {
    (matches!(one.place, Place::Stranded(..)), one.memory.ineligible_since)
}
