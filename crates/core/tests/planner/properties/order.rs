//! Plans depend neither on the order of events nor on earlier versions of objects.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pontoon_core::action::{Action, AddressAction, Done, LedgerWrite, Outcome};
use pontoon_core::addresses::verdict::Verdict;
use pontoon_core::model::{Family, Node, ObjectKey, Pod, Pool, Sighting};
use pontoon_core::plan::{Plan, plan_all};
use pontoon_core::world::{Settings, World};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::super::fixture::*;
use super::events::{accounts, address, node_object, plain_pool, pod_object, sighting};

#[derive(Clone, Debug)]
enum Object {
    Node(Node),
    Pod(Pod),
    Pool(Box<Pool>),
    Listing(&'static str),
}

/// Nodes and pools in several versions (the last version counts), a single pod of each name, and a
/// listing of each account.
#[derive(Clone, Debug)]
struct Seen {
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    pools: Vec<Pool>,
}

fn seen() -> impl Strategy<Value = Seen> {
    let parts = (vec(node_object(), 0..12), vec(pod_object(), 0..5), vec(pool(), 0..8));
    parts.prop_map(|(mut nodes, pods, mut pools)| {
        for (version, node) in (1..).zip(&mut nodes) {
            (node.version, node.uid) = (version, "uid".into());
        }
        let mut ages = BTreeMap::new();
        for (version, pool) in (1..).zip(&mut pools) {
            pool.version = version;
            pool.created_at = *ages.entry(pool.key.clone()).or_insert(pool.created_at);
        }
        let pods: BTreeMap<_, _> = pods.into_iter().map(|one| (one.id.clone(), one)).collect();
        Seen { nodes, pods: pods.into_values().collect(), pools }
    })
}

/// A pool of either account, or a pool that cannot be planned.
fn pool() -> impl Strategy<Value = Pool> {
    (plain_pool(), 0..10_u8).prop_map(|(pool, draw)| match draw {
        0 => pool.invalid(),
        1 => pool.in_account("broken"),
        2 | 3 => pool.in_account("second"),
        _ => pool,
    })
}

impl Seen {
    /// All versions of all objects, in order.
    fn all(&self) -> Vec<Object> {
        let nodes = self.nodes.iter().cloned().map(Object::Node);
        let pods = self.pods.iter().cloned().map(Object::Pod);
        let pools = self.pools.iter().cloned().map(|pool| Object::Pool(Box::new(pool)));
        let listings = [ACCOUNT, "second"].map(Object::Listing);
        nodes.chain(pods).chain(pools).chain(listings).collect()
    }

    /// Only the last version of each object.
    fn last(&self) -> Self {
        let nodes: BTreeMap<_, _> =
            self.nodes.iter().cloned().map(|one| (one.name.clone(), one)).collect();
        let pools: BTreeMap<_, _> =
            self.pools.iter().cloned().map(|one| (one.key.clone(), one)).collect();
        let (nodes, pools) = (nodes.into_values().collect(), pools.into_values().collect());
        Self { nodes, pods: self.pods.clone(), pools }
    }
}

fn plan_of(objects: &[Object], listed: &BTreeMap<IpAddr, Sighting>) -> Plan {
    let mut world = World::new(Settings::default(), &KINDS);
    for (id, setup) in accounts() {
        world.set_account(id.into(), setup);
    }
    for source in SOURCES {
        world.source_read(source);
    }
    // Listings come last, because addresses that were not yet wanted are listed again.
    let listings = [ACCOUNT, "second"].map(Object::Listing);
    for object in objects.iter().chain(&listings) {
        match object {
            Object::Node(node) => world.set_node(node.clone()),
            Object::Pod(pod) => world.set_pod(pod),
            Object::Pool(pool) => world.set_pool((**pool).clone()),
            Object::Listing(account) => {
                let listed = listed.iter().map(|(ip, seen)| (*ip, seen.clone())).collect();
                let families = Family::ALL.to_vec();
                let action = Action::Address(AddressAction::List {
                    account: (*account).into(),
                    families,
                    confirms: false,
                    scope: Default::default(),
                });
                let result = Ok(Done::Listed(listed));
                world.begin(&action);
                world.finish(Outcome { action, sent_at: at(0), result, jitter: 0 }, at(1));
            }
        }
    }
    plan_all(&world, at(2))
}

/// A plan without reads, which depend on the order: a pool that was known before the listing needs
/// no further read. Strangers of intents are reduced to listed addresses for the same reason: an
/// address that was once in a pool's list may exist.
fn changes(
    mut plan: Plan,
    listed: &BTreeMap<IpAddr, Sighting>,
) -> (Vec<Action>, BTreeMap<ObjectKey, Verdict>) {
    plan.actions.retain(is_change);
    for action in &mut plan.actions {
        if let Action::Ledger(LedgerWrite { ledger, .. }) = action {
            let intents = ledger.intents.iter_mut();
            intents.for_each(|intent| intent.strangers.retain(|ip| listed.contains_key(ip)));
        }
    }
    for verdict in plan.verdicts.values_mut() {
        verdict.addresses.iter_mut().for_each(|one| one.note = None);
    }
    (plan.actions, plan.verdicts)
}

proptest! {
    #[test]
    fn a_plan_does_not_depend_on_the_order_in_which_things_were_seen(
        (seen, shuffled) in seen().prop_flat_map(|seen| {
            let all = seen.all();
            (Just(seen), Just(all).prop_shuffle())
        }),
        listed in btree_map(address(), sighting(), 0..7),
    ) {
        let planned = |objects: &[Object]| changes(plan_of(objects, &listed), &listed);
        let in_order = planned(&seen.all());
        prop_assert_eq!(&planned(&shuffled), &in_order, "the order counts");
        prop_assert_eq!(&planned(&seen.last().all()), &in_order, "the past counts");
    }
}
