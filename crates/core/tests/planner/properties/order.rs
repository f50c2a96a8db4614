//! The order in which things become known makes no difference.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pontoon_core::action::{Action, Done, Outcome};
use pontoon_core::model::{Family, Node, Pod, Pool, PoolKey, Sighting};
use pontoon_core::plan::{Plan, plan_all};
use pontoon_core::verdict::Verdict;
use pontoon_core::world::{Settings, Source, World};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::super::fixture::*;
use super::events::{accounts, address, node_object, plain_pool, pod_object, sighting};

#[derive(Clone, Debug)]
enum Object {
    Node(Node),
    Pod(Pod),
    Pool(Box<Pool>),
    Listing,
}

/// One object of each name.
fn objects() -> impl Strategy<Value = Vec<Object>> {
    let nodes = vec(node_object(), 0..8);
    let parts = (nodes, vec(pod_object(), 0..5), vec(plain_pool(), 0..5));
    parts.prop_map(|(nodes, pods, pools)| {
        let nodes: BTreeMap<_, _> = nodes.into_iter().map(|one| (one.name.clone(), one)).collect();
        let pods: BTreeMap<_, _> = pods.into_iter().map(|one| (one.id.clone(), one)).collect();
        let pools: BTreeMap<_, _> = pools.into_iter().map(|one| (one.key.clone(), one)).collect();
        let nodes = nodes.into_values().map(Object::Node);
        let pods = pods.into_values().map(Object::Pod);
        let pools = pools.into_values().map(|pool| Object::Pool(Box::new(pool)));
        nodes.chain(pods).chain(pools).chain([Object::Listing]).collect()
    })
}

fn plan_of(objects: &[Object], listed: &BTreeMap<IpAddr, Sighting>) -> Plan {
    let mut world = World::new(Settings::default());
    for (id, setup) in accounts() {
        world.set_account(id.into(), setup);
    }
    for source in [Source::Nodes, Source::Pods, Source::Pools] {
        world.source_read(source);
    }
    for object in objects {
        match object {
            Object::Node(node) => world.set_node(node.clone()),
            Object::Pod(pod) => world.set_pod(pod),
            Object::Pool(pool) => world.set_pool((**pool).clone()),
            Object::Listing => {
                let listed = listed.iter().map(|(ip, seen)| (*ip, seen.clone())).collect();
                let families = Family::ALL.to_vec();
                let action = Action::List { account: ACCOUNT.into(), families };
                let result = Ok(Done::Listed(listed));
                world.finish(Outcome { action, sent_at: at(0), result, jitter: 0 }, at(1));
            }
        }
    }
    plan_all(&world, at(2))
}

/// A plan, but for the readings: a pool that was there before the listing was asked for by
/// it, one that came later is not.
fn changes(mut plan: Plan) -> (Vec<Action>, BTreeMap<PoolKey, Verdict>) {
    plan.actions.retain(is_change);
    for verdict in plan.verdicts.values_mut() {
        verdict.addresses.iter_mut().for_each(|one| one.note = None);
    }
    (plan.actions, plan.verdicts)
}

proptest! {
    #[test]
    fn a_plan_does_not_depend_on_the_order_in_which_things_were_seen(
        (sorted, shuffled) in objects().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        listed in btree_map(address(), sighting(), 0..7),
    ) {
        let (one, other) = (plan_of(&sorted, &listed), plan_of(&shuffled, &listed));
        prop_assert_eq!(changes(one), changes(other));
    }
}
