//! Whole lifetimes: nodes come and go, calls fail in every way, processes end. When the faults
//! stop, all wanted addresses are in place and no further action is taken.

use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::action::FailureKind;
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::{Reason, State};
use pontoon_core::model::Family;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::cloud::{Fault, Such, held_back, throttled};
use super::super::fixture::*;
use super::super::profiles::{PROFILES, Profile, account};
use super::super::scene::{Scene, scene_at};

#[derive(Clone, Debug)]
enum Step {
    /// Sets whether a node is ready, labelled and tainted.
    Node(usize, bool, bool, bool),
    Fault(usize, Fault),
    /// Another controller unassigns an address.
    Detach(u8),
    /// Sets the list of the second pool: complete, or without its first entry.
    Listing(bool),
    Pass(u64),
    Begin,
    AnswerOne(usize),
    AnswerAll,
    Work,
    Watch,
    /// The process ends. The flags say which pending calls still take effect.
    Restart(Vec<bool>),
}

const NODES: [&str; 5] = ["n0", "n1", "n2", "n3", "n4"];
const FAULTY: [Such; 6] = [is_list, is_assign, is_create, is_ledger, is_mark, is_read];

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        select(vec![
            FailureKind::NotSent,
            FailureKind::Unavailable,
            FailureKind::Refused,
            FailureKind::Busy,
            FailureKind::Rejected,
            FailureKind::Quota,
            FailureKind::Conflict,
        ])
        .prop_map(Fault::Answer),
        Just(throttled(7)),
        Just(held_back(4)),
        Just(Fault::Lost),
        Just(Fault::Dropped),
        Just(Fault::Slow),
        Just(Fault::Broken),
        Just(Fault::Forgotten),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let node = (0..NODES.len(), any::<bool>(), any::<bool>(), 0..5_u8);
    prop_oneof![
        5 => node.prop_map(|(n, ready, edge, taint)| Step::Node(n, ready, edge, taint == 0)),
        4 => (0..FAULTY.len(), fault()).prop_map(|(kind, fault)| Step::Fault(kind, fault)),
        1 => (1..6_u8).prop_map(Step::Detach),
        1 => any::<bool>().prop_map(Step::Listing),
        4 => select(vec![1, 2, 5, 11, 61, 130]).prop_map(Step::Pass),
        8 => Just(Step::Begin),
        6 => any::<usize>().prop_map(Step::AnswerOne),
        5 => Just(Step::AnswerAll),
        2 => Just(Step::Work),
        2 => Just(Step::Watch),
        1 => vec(any::<bool>(), 8).prop_map(Step::Restart),
    ]
}

/// Two pools with common nodes: the first wants a new address, the second has a cool-off.
fn beginning(profile: &Profile) -> Scene {
    let setup = AccountSetup { project: Some("project".into()), ..account(profile) };
    let mut scene = scene_at(setup)
        .nodes(NODES)
        .pool(pool("p").ips([1, 2]).wants(3))
        .pool(pool("q").ips([3, 4]).ips6([1]).on("role=edge").cooling_off(3).with_grace(8));
    for n in 1..=4 {
        scene.cloud.place(ip(n), None);
    }
    scene.cloud.place(ip6(1), None);
    scene
}

/// Carries out a step. `idle` is the time in seconds since the provider last worked.
fn take(scene: &mut Scene, step: Step, idle: &mut u64) {
    match step {
        Step::Node(n, ready, edge, tainted) => scene.change_node(NODES[n], |mut node| {
            node.taints.clear();
            let node = if ready { node.ready() } else { node.not_ready() };
            let node = node.labelled("role", if edge { "edge" } else { "core" });
            if tainted { node.tainted("k", "", "NoExecute") } else { node }
        }),
        Step::Fault(kind, fault) => {
            let slow = matches!(fault, Fault::Slow | Fault::Broken | Fault::Forgotten);
            let kind = if slow { is_assign } else { FAULTY[kind] };
            scene.fault(kind, fault);
        }
        Step::Detach(n) => scene.cloud.place(ip(n.min(4)), None),
        Step::Listing(all) => scene.change_pool("q", |pool| {
            let listed: &[IpAddr] = if all { &[ip(3), ip(4), ip6(1)] } else { &[ip(4), ip6(1)] };
            pool.ask(|request| request.listed = listed.to_vec())
        }),
        Step::Pass(time) => {
            // Every call has a deadline, so pending calls end before it.
            let later = scene.now + seconds(time);
            if scene.held_back.iter().any(|(_, sent_at)| later.since(*sent_at) > seconds(4)) {
                scene.answer();
            }
            // An operation of the provider takes at most a minute.
            *idle += time;
            if *idle > 60 {
                scene.cloud.work();
                *idle = 0;
            }
            scene.pass(seconds(time));
        }
        Step::Begin => drop(scene.begin()),
        Step::AnswerOne(which) if !scene.held_back.is_empty() => {
            let which = which % scene.held_back.len();
            scene.answer_one(which);
        }
        Step::AnswerOne(_) => {}
        Step::AnswerAll => scene.answer(),
        Step::Work => scene.cloud.work(),
        Step::Watch => scene.watch(),
        Step::Restart(happen) => {
            for ((action, _), happens) in std::mem::take(&mut scene.held_back).iter().zip(happen) {
                if happens {
                    drop(scene.carry_out(action));
                }
            }
            scene.restart(seconds(13));
            scene.tolerant = true;
        }
    }
    assert!(scene.cloud.made <= 1, "more was reserved than is wanted");
}

/// Whether the pool may lack nodes, or is at a provider without one of its families.
fn is_short(reason: &Reason) -> bool {
    matches!(reason, Reason::NoFreeNode(_)) || reason.word() == "UnsupportedAddress"
}

/// Every possible assignment is in place, and the verdicts are true.
fn assert_converged(scene: &mut Scene) {
    let mut done = scene.run(seconds(600));
    done.retain(|action| !is_list(action));
    assert_eq!(done, [], "not at rest");
    assert_eq!(scene.stored("p").ledger.created.len(), 1);
    assert_eq!(scene.stored("p").ledger.intents, []);
    let mut marks: std::collections::BTreeMap<&str, Vec<IpAddr>> = Default::default();
    for pool in ["p", "q"] {
        let verdict = scene.verdict(pool);
        match &verdict.reason {
            Reason::AllAssigned | Reason::NoMatchingNode => {}
            reason if is_short(reason) => {
                let short = |family| {
                    let of = |ip| Family::of(ip) == family;
                    let lacks = |state| matches!(state, State::Unassigned | State::NoMatch);
                    verdict.addresses.iter().any(|one| of(one.ip) && lacks(one.state))
                };
                assert!(!short(Family::V4) || verdict.available.is_empty(), "{verdict:#?}");
            }
            other => panic!("{pool}: {other:?}"),
        }
        for one in verdict.addresses.iter().filter(|one| one.state == State::Active) {
            let node = one.node.as_ref().unwrap();
            assert_eq!(scene.home(one.ip), Some(&*node.0));
            if one.ip.is_ipv4() {
                marks.entry(&node.0).or_default().push(one.ip);
            }
        }
    }
    for node in NODES {
        let said = scene.mark(node).map(ToOwned::to_owned);
        let join = |ips: &Vec<IpAddr>| {
            let mut texts: Vec<_> = ips.iter().map(ToString::to_string).collect();
            texts.sort();
            texts.join(",")
        };
        let wanted = marks.get(node).map(join);
        assert_eq!(said, wanted, "the mark of {node}");
    }
}

proptest! {
    #[test]
    fn whatever_happens_it_ends_well_at_every_provider(
        profile in select(&PROFILES[..]),
        steps in vec(step(), 0..60),
    ) {
        let mut scene = beginning(&profile);
        let mut idle = 0;
        for step in steps {
            take(&mut scene, step, &mut idle);
        }
        scene.cloud.faults.clear();
        scene.cloud.work();
        scene.answer();
        scene.watch();
        scene.run(Duration::from_secs(1500));
        assert_converged(&mut scene);
        prop_assert_eq!(scene.cloud.made, 1);
    }
}
