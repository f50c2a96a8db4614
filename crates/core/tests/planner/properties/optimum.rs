//! As many addresses find a node as can, older pools first; and nothing else is moved.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pontoon_core::action::{Action, Done, Outcome};
use pontoon_core::model::{Family, MachineId, Node, Pool, PoolKey, Sighting};
use pontoon_core::plan::{Plan, plan_all};
use pontoon_core::verdict::State;
use pontoon_core::world::{Settings, Source, World};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::super::fixture::*;
use super::super::scene::setup;
use super::events::{address, node_object, plain_pool, sighting};

/// An unplaced address: the pool's rank, and the machines that would do.
struct Unplaced {
    rank: usize,
    machines: Vec<MachineId>,
    family: Family,
}

fn world_of(nodes: Vec<Node>, pools: Vec<Pool>, listed: BTreeMap<IpAddr, Sighting>) -> World {
    let mut world = World::new(Settings::default());
    world.set_account(ACCOUNT.into(), Ok(setup()));
    for source in [Source::Nodes, Source::Pods, Source::Pools] {
        world.source_read(source);
    }
    nodes.into_iter().for_each(|node| world.set_node(node));
    // No reservations here: what is wanted is listed.
    for mut pool in pools {
        let listed = pool.request.as_ref().map_or(0, |request| request.listed.len());
        pool = pool.ask(|request| request.wanted = request.wanted.map(|all| all.min(listed)));
        world.set_pool(pool);
    }
    let listed = listed.into_iter().map(|(ip, seen)| (ip, Sighting { busy: false, ..seen }));
    let action = Action::List { account: ACCOUNT.into(), families: Family::ALL.to_vec() };
    let result = Ok(Done::Listed(listed.collect()));
    world.finish(Outcome { action, sent_at: at(0), result, jitter: 0 }, at(1));
    world
}

/// The unplaced addresses of all pools, the oldest pool's first.
fn unplaced(world: &World, plan: &Plan) -> Vec<Unplaced> {
    let mut pools: Vec<&PoolKey> = plan.verdicts.keys().collect();
    pools.sort_by_key(|key| (world.pool(key).unwrap().pool.created_at, *key));
    let account = world.account(&ACCOUNT.into()).unwrap();
    let mut all = vec![];
    for (rank, key) in pools.into_iter().enumerate() {
        let Some(class) = world.pool(key).unwrap().class else { continue };
        for one in &plan.verdicts[key].addresses {
            if !matches!(one.state, State::Unassigned | State::NoMatch) {
                continue;
            }
            let family = Family::of(one.ip);
            let machine = |node| Some(world.node(node)?.machine.as_ref()?.id.clone());
            let machines: BTreeSet<_> =
                world.candidates().eligible(class).filter_map(machine).collect();
            let free = |id: &MachineId| account.occupants(id, family).next().is_none();
            let machines = machines.into_iter().filter(free).collect();
            all.push(Unplaced { rank, machines, family });
        }
    }
    all
}

/// The best that can be had, by trying everything: how many of each pool, the oldest first.
fn best(
    left: &[Unplaced],
    taken: &mut BTreeSet<(MachineId, Family)>,
    counts: &mut Vec<usize>,
) -> (usize, Vec<usize>) {
    let Some((first, rest)) = left.split_first() else {
        return (counts.iter().sum(), counts.clone());
    };
    let mut found = best(rest, taken, counts);
    for machine in &first.machines {
        let seat = (machine.clone(), first.family);
        if taken.insert(seat.clone()) {
            counts[first.rank] += 1;
            found = found.max(best(rest, taken, counts));
            counts[first.rank] -= 1;
            taken.remove(&seat);
        }
    }
    found
}

proptest! {
    #[test]
    fn as_many_addresses_are_placed_as_can_be(
        nodes in vec(node_object(), 0..6),
        pools in vec(plain_pool(), 0..4),
        listed in btree_map(address(), sighting(), 0..6),
    ) {
        let world = world_of(nodes, pools, listed);
        let plan = plan_all(&world, at(2));
        let unplaced = unplaced(&world, &plan);
        let mut counts = vec![0; plan.verdicts.len()];
        let (total, by_pool) = best(&unplaced, &mut BTreeSet::new(), &mut counts);
        prop_assert_eq!(moves(&plan.actions).len(), total, "{:#?}", plan.actions);
        let mut pools: Vec<&PoolKey> = plan.verdicts.keys().collect();
        pools.sort_by_key(|key| (world.pool(key).unwrap().pool.created_at, *key));
        let of_pool = |key: &&PoolKey| {
            let of_pool = |action: &&Action| matches!(action, Action::Assign { pool, .. } if pool == *key);
            plan.actions.iter().filter(of_pool).count()
        };
        prop_assert_eq!(pools.iter().map(of_pool).collect::<Vec<_>>(), by_pool);
    }
}
