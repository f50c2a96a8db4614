//! Planning always ends, without a panic, in every world and at any time.

use std::collections::{BTreeMap, BTreeSet};

use pontoon_core::Time;
use pontoon_core::action::{Action, Done, Failure, Outcome};
use pontoon_core::addresses::{AccountSetup, Unusable};
use pontoon_core::model::{AccountId, Node, NodeName, ObjectKey, Pod, PodId, Pool, Remembered};
use pontoon_core::plan::{Plan, Planner, plan, plan_all};
use pontoon_core::world::{Settings, Source, World};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::fixture::{KINDS, POOL, SOURCES};
use super::anything;

#[derive(Clone, Debug)]
enum Event {
    Account(AccountId, Result<AccountSetup, Unusable>),
    Read(Source),
    TakeOver(Time),
    Node(Box<Node>),
    NodeGone(NodeName),
    Nodes(BTreeSet<NodeName>),
    Pod(Pod),
    PodGone(PodId),
    Pods(BTreeSet<PodId>),
    Pool(Box<Pool>),
    PoolGone(ObjectKey),
    Pools(BTreeSet<ObjectKey>),
    Wrote(ObjectKey, u64),
    Remember(ObjectKey, std::net::IpAddr, Remembered),
    /// An action begins that was not planned.
    Begin(Box<Action>),
    /// An action ends, possibly without having begun.
    Finish(Box<Outcome>),
    /// A planned action ends.
    End(usize, Time, Box<Result<Done, Failure>>, u16),
    /// The clock jumps, forward or back.
    Now(Time),
    /// Plans a random part; no action begins.
    Part(BTreeSet<ObjectKey>),
    Plan,
}

fn event() -> BoxedStrategy<Event> {
    let pod_id = || anything::pod().prop_map(|pod| pod.id);
    let source = select(&SOURCES[..]);
    let outcome = anything::action().prop_flat_map(anything::outcome);
    let end = (any::<usize>(), anything::time(), anything::result(), any::<u16>());
    let memory = (anything::pool_key(), anything::address(), anything::memory());
    prop_oneof![
        1 => (anything::account(), anything::setup()).prop_map(|(id, setup)| Event::Account(id, setup)),
        1 => source.prop_map(Event::Read),
        1 => anything::time().prop_map(Event::TakeOver),
        8 => anything::node().prop_map(|node| Event::Node(Box::new(node))),
        1 => anything::node_name().prop_map(Event::NodeGone),
        1 => anything::some(anything::node_name()).prop_map(Event::Nodes),
        3 => anything::pod().prop_map(Event::Pod),
        1 => pod_id().prop_map(Event::PodGone),
        1 => anything::some(pod_id()).prop_map(Event::Pods),
        8 => anything::pool().prop_map(|pool| Event::Pool(Box::new(pool))),
        1 => anything::pool_key().prop_map(Event::PoolGone),
        1 => anything::some(anything::pool_key()).prop_map(Event::Pools),
        1 => (anything::pool_key(), any::<u64>()).prop_map(|(key, version)| Event::Wrote(key, version)),
        1 => memory.prop_map(|(key, ip, memory)| Event::Remember(key, ip, memory)),
        2 => anything::action().prop_map(|action| Event::Begin(Box::new(action))),
        6 => outcome.prop_map(|outcome| Event::Finish(Box::new(outcome))),
        12 => end.prop_map(|(which, sent_at, result, jitter)| {
            Event::End(which, sent_at, Box::new(result), jitter)
        }),
        6 => anything::time().prop_map(Event::Now),
        2 => anything::some(anything::pool_key()).prop_map(Event::Part),
        12 => Just(Event::Plan),
    ]
    .boxed()
}

struct Run {
    now: Time,
    world: World,
    planner: Planner,
    under_way: Vec<Action>,
}

impl Run {
    fn new(
        settings: Settings,
        now: Time,
        accounts: BTreeMap<AccountId, Result<AccountSetup, Unusable>>,
    ) -> Self {
        let mut world = World::new(settings, &KINDS);
        for (id, setup) in accounts {
            world.set_account(id, setup);
        }
        Self { now, world, planner: Planner::default(), under_way: vec![] }
    }

    fn take(&mut self, event: Event) {
        let world = &mut self.world;
        match event {
            Event::Account(id, setup) => world.set_account(id, setup),
            Event::Read(source) => world.source_read(source),
            Event::TakeOver(from) => world.take_over(from),
            Event::Node(node) => world.set_node(*node),
            Event::NodeGone(name) => world.remove_node(&name),
            Event::Nodes(names) => world.retain_nodes(&names),
            Event::Pod(pod) => world.set_pod(&pod),
            Event::PodGone(id) => world.remove_pod(&id),
            Event::Pods(ids) => {
                world.retain_pods(&pontoon_core::nodes::PodMatch::every_pod(), &ids)
            }
            Event::Pool(pool) => world.set_pool(*pool),
            Event::PoolGone(key) => world.remove_pool(&key),
            Event::Pools(keys) => world.retain_objects(&POOL, &keys),
            Event::Wrote(key, version) => world.wrote_pool(&key, "u", version),
            Event::Remember(key, ip, memory) => world.remember(&key, ip, memory),
            Event::Begin(action) => world.begin(&action),
            Event::Finish(outcome) => world.finish(*outcome, self.now),
            Event::End(which, sent_at, result, jitter) if !self.under_way.is_empty() => {
                let action = self.under_way.remove(which % self.under_way.len());
                world.finish(Outcome { action, sent_at, result: *result, jitter }, self.now);
            }
            Event::End(..) => {}
            Event::Now(now) => self.now = now,
            Event::Part(scope) => check(&plan(&self.world, &scope, self.now), self.now),
            Event::Plan => self.plan(),
        }
    }

    fn plan(&mut self) {
        let full = plan_all(&self.world, self.now);
        check(&full, self.now);
        assert_eq!(full, plan_all(&self.world, self.now), "the same world, another plan");
        let part = self.planner.next(&mut self.world, self.now);
        check(&part, self.now);
        for action in part.actions {
            self.world.begin(&action);
            self.under_way.push(action);
        }
    }
}

/// Asserts that all verdicts can be printed and that the wake-up is in the future.
fn check(plan: &Plan, now: Time) {
    assert!(plan.wake.is_none_or(|wake| wake > now), "{:?}", plan.wake);
    for verdict in plan.verdicts.values() {
        assert!(!verdict.to_string().is_empty());
        for one in &verdict.addresses {
            drop(one.note.as_ref().map(ToString::to_string));
        }
        for (_, obstacle) in &verdict.unusable {
            drop(obstacle.to_string());
        }
    }
}

proptest! {
    #[test]
    fn no_time_is_too_early_or_too_late_to_reckon_with(
        (one, other) in (anything::time(), anything::time()),
        span in anything::duration(),
    ) {
        prop_assert!(one + span >= one && one - span <= one);
        prop_assert_eq!(one.since(other).is_zero(), one <= other);
        prop_assert!(one.to_string().ends_with('Z'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_world_can_be_planned_at_any_time_whatever_happened_to_it(
        (settings, now, accounts) in (anything::settings(), anything::time(), anything::accounts()),
        all_read in any::<bool>(),
        events in vec(event(), 0..80),
    ) {
        let mut run = Run::new(settings, now, accounts);
        for source in SOURCES {
            if all_read {
                run.world.source_read(source);
            }
        }
        events.into_iter().for_each(|event| run.take(event));
        run.plan();
    }
}
