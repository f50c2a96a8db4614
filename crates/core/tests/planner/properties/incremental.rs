//! Partial plans equal full plans: the same actions, the same waits, and the last verdict of each
//! pool is still true.

use std::collections::BTreeMap;

use pontoon_core::action::{Action, AddressAction, Done, Outcome};
use pontoon_core::addresses::verdict::{Reason, Verdict};
use pontoon_core::model::{Family, Node, ObjectKey, Pool};
use pontoon_core::plan::{Plan, Planner, plan_all};
use pontoon_core::world::{Settings, World};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::fixture::*;
use super::super::scene::setup;
use super::events::{events, name};
use super::run::live;

/// The last verdict of each pool.
#[derive(Default)]
struct Said(BTreeMap<ObjectKey, Verdict>);

impl Said {
    fn take(&mut self, part: Plan) {
        self.0.extend(part.verdicts);
    }

    /// Asserts that a full plan gives the same verdicts. Free nodes are not compared: a verdict
    /// updates them only when the pool is planned again.
    fn assert_still_true(&mut self, full: &Plan) {
        self.0.retain(|key, _| full.verdicts.contains_key(key));
        for (key, now) in &full.verdicts {
            let said = self.0.get(key).unwrap_or_else(|| panic!("nothing was said of {key}"));
            assert_eq!(said.addresses, now.addresses, "{key}");
            assert_eq!((said.wanted, said.eligible), (now.wanted, now.eligible), "{key}");
            assert_eq!(said.created, now.created, "{key}");
            assert_eq!(said.last_assignment, now.last_assignment, "{key}");
            assert!(agree(&said.reason, &now.reason), "{key}: {:?}, {:?}", said.reason, now.reason);
        }
    }
}

/// Whether two reasons agree. A pool without a node need not report trouble with the account,
/// because recovery of the account would not help the pool.
fn agree(said: &Reason, now: &Reason) -> bool {
    match (said, now) {
        (Reason::NoFreeNode(_), Reason::NoFreeNode(_)) => true,
        (
            Reason::NoFreeNode(_) | Reason::NoMatchingNode,
            Reason::Throttled(_)
            | Reason::Pacing(_)
            | Reason::CloudUnavailable(_)
            | Reason::CredentialsRefused(_),
        ) => true,
        (said, now) => said == now,
    }
}

/// An added or removed node.
#[derive(Clone, Debug)]
enum Change {
    Node(Box<Node>),
    Gone(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let node = (0..6_usize, any::<bool>(), any::<bool>()).prop_map(|(n, ready, edge)| {
        let node = node(&name(n)).labelled("role", if edge { "edge" } else { "core" });
        Change::Node(Box::new(if ready { node } else { node.not_ready() }))
    });
    prop_oneof![4 => node, 1 => (0..6_usize).prop_map(Change::Gone)]
}

/// Fully assigned pools of the same class. The larger the class, the fewer of its pools are
/// replanned when a node comes or goes.
fn crowd(letter: char, count: usize, edge: bool) -> Vec<Pool> {
    let name = |n: usize| format!("{letter}{n:02}");
    let pools = (0..count).map(|n| pool(&name(n)));
    pools.map(|pool| if edge { pool.on("role=edge") } else { pool }).collect()
}

fn crowded(pools: Vec<Pool>) -> World {
    let mut world = World::new(Settings::default(), &KINDS);
    world.set_account(ACCOUNT.into(), Ok(setup()));
    for source in SOURCES {
        world.source_read(source);
    }
    pools.into_iter().for_each(|pool| world.set_pool(pool));
    let action = Action::Address(AddressAction::List {
        account: ACCOUNT.into(),
        families: vec![Family::V4],
        confirms: false,
        scope: Default::default(),
    });
    let result = Ok(Done::Listed(vec![]));
    world.finish(Outcome { action, sent_at: at(0), result, jitter: 0 }, at(1));
    world
}

proptest! {
    #[test]
    fn a_part_is_planned_as_everything_would_be(events in events()) {
        let mut said = Said::default();
        live(events, |run| {
            let full = plan_all(&run.world, run.now);
            assert_eq!(full, plan_all(&run.world, run.now), "the same world, another plan");
            let part = run.next();
            assert_eq!(part.actions, full.actions);
            assert_eq!(part.wake, full.wake);
            said.take(part);
            said.assert_still_true(&full);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn in_a_crowd_everybody_is_told_in_the_end(
        (first, second) in (20..60_usize, 20..60_usize),
        letters in prop_oneof![Just(('a', 'z')), Just(('z', 'a'))],
        changes in vec(change(), 2..12),
    ) {
        let pools = crowd(letters.0, first, true).into_iter().chain(crowd(letters.1, second, false));
        let mut world = crowded(pools.collect());
        let (mut planner, mut said) = (Planner::default(), Said::default());
        for change in changes {
            match change {
                Change::Node(node) => world.set_node(*node),
                Change::Gone(n) => world.remove_node(&name(n).as_str().into()),
            }
            // Repeated for as long as the planner asks for an immediate call.
            for turn in 0.. {
                let full = plan_all(&world, at(2));
                let part = planner.next(&mut world, at(2));
                prop_assert_eq!(&part.actions, &full.actions);
                let soon = part.wake.is_some_and(|wake| wake < at(3));
                said.take(part);
                if !soon {
                    said.assert_still_true(&full);
                    break;
                }
                prop_assert!(turn < 100, "it never ends");
            }
        }
    }
}
