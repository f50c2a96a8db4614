//! The largest possible number of addresses gets a node, older pools first, and no other address
//! moves.

use std::collections::BTreeSet;

use pontoon_core::action::{Action, AddressAction, Done, Outcome};
use pontoon_core::addresses::verdict::State;
use pontoon_core::model::{Family, MachineId, ObjectKey};
use pontoon_core::plan::{Plan, plan_all};
use pontoon_core::world::{Settings, World};
use proptest::prelude::*;

use super::super::fixture::*;
use super::super::scene::setup;
use super::small::{Small, small};

/// An unplaced address: the pool's rank, and the possible machines.
struct Unplaced {
    rank: usize,
    machines: Vec<MachineId>,
    family: Family,
}

fn world_of(small: Small) -> World {
    let mut world = World::new(Settings::default(), &KINDS);
    world.set_account(ACCOUNT.into(), Ok(setup()));
    for source in SOURCES {
        world.source_read(source);
    }
    small.nodes.into_iter().for_each(|node| world.set_node(node));
    small.pods.iter().for_each(|pod| world.set_pod(pod));
    small.pools.into_iter().for_each(|pool| world.set_pool(pool));
    let action = Action::Address(AddressAction::List {
        account: ACCOUNT.into(),
        families: Family::ALL.to_vec(),
        confirms: false,
        scope: Default::default(),
    });
    let result = Ok(Done::Listed(small.addresses.into_iter().collect()));
    world.finish(Outcome { action, sent_at: at(0), result, jitter: 0 }, at(1));
    world
}

/// The unplaced addresses of all pools, the oldest pool's first.
fn unplaced(world: &World, plan: &Plan) -> Vec<Unplaced> {
    let mut pools: Vec<&ObjectKey> = plan.verdicts.keys().collect();
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

/// The best placement by brute force: total and number per pool, oldest pool first.
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
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn as_many_addresses_are_placed_as_can_be(small in small().prop_map(Small::without_new)) {
        let world = world_of(small);
        let plan = plan_all(&world, at(2));
        let unplaced = unplaced(&world, &plan);
        let mut counts = vec![0; plan.verdicts.len()];
        let (total, by_pool) = best(&unplaced, &mut BTreeSet::new(), &mut counts);
        prop_assert_eq!(moves(&plan.actions).len(), total, "{:#?}", plan.actions);
        let mut pools: Vec<&ObjectKey> = plan.verdicts.keys().collect();
        pools.sort_by_key(|key| (world.pool(key).unwrap().pool.created_at, *key));
        let of_pool = |key: &&ObjectKey| {
            let of_pool = |action: &&Action| matches!(action, Action::Address(AddressAction::Assign { pool, .. }) if pool == *key);
            plan.actions.iter().filter(of_pool).count()
        };
        prop_assert_eq!(pools.iter().map(of_pool).collect::<Vec<_>>(), by_pool);
    }
}
