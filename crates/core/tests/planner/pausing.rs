//! Paused pools. The caller withholds their actions; the planner only ensures that other pools do
//! not note_failure.

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::{ObjectKey, Pool};
use pontoon_core::verdict::{Outlook, Restraint, Withheld};

use super::cloud::Fault;
use super::fixture::*;
use super::scene::scene;

pub fn paused(pool: Pool) -> Pool {
    Pool { paused: Some("moving".into()), ..pool }
}

#[test]
fn a_paused_pool_chooses_last() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(paused(pool("p")).ips([1]).created_at(at(-20)))
        .pool(pool("q").ips([2]).created_at(at(-10)))
        .address(ip(1), None)
        .address(ip(2), None);
    assert_eq!(moves(&scene.settle()), [(ip(2), "a")]);
}

#[test]
fn a_kind_that_is_left_to_another_controller_chooses_last_and_makes_no_room() {
    for free in [true, false] {
        let other = of_the_other_kind(pool("q").ips([2]).created_at(at(-10)));
        let mut scene = scene().nodes(["a"]).address(ip(2), None);
        // The address of the pool that is left alone would take the node, or leave it.
        let which = if free { "" } else { "no=where" };
        scene.set_pool(pool("p").ips([1]).on(which).created_at(at(-20)));
        let useless = pool("r").ips([3]).on("no=where").created_at(at(-5));
        scene.set_pool(of_the_other_kind(useless));
        scene.world.set_hands_off([&POOL].into());
        let (one, three) = if free { (None, None) } else { (Some("a"), Some("b")) };
        let mut scene = scene.address(ip(1), one).address(ip(3), three).nodes(["b"]);
        if free {
            scene.remove_node("b");
        }
        scene.set_pool(other);
        let own = |action: &&Action| action.owner() != Some(&key("p"));
        for _ in 0..20 {
            let begun = scene.planned();
            begun.iter().filter(own).for_each(|action| scene.world.begin(action));
            scene
                .held_back
                .extend(begun.into_iter().filter(|one| own(&one)).map(|one| (one, scene.now)));
            scene.answer();
            scene.pass(seconds(1));
        }
        let home = if free { "a" } else { "b" };
        assert_eq!(scene.home(ip(2)), Some(home));
    }
}

#[test]
fn a_call_that_may_still_work_keeps_its_machine_when_its_pool_is_left_alone() {
    for pauses in [false, true] {
        let other = of_the_other_kind(pool("q").ips([2]).on("no=where"));
        let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).pool(other.clone());
        scene = scene.address(ip(1), None).address(ip(2), None);
        scene.fault(is_assign, Fault::Although(FailureKind::Unavailable));
        scene.cloud.hidden.push(ip(1));
        scene.settle();
        if pauses {
            scene.change_pool("p", paused);
        } else {
            scene.world.set_hands_off([&POOL].into());
        }
        let owner = other.key.clone();
        scene.set_pool(other.on(""));
        let its = |actions: Vec<Action>| actions.iter().any(|one| one.owner() == Some(&owner));
        assert!(!its(scene.planned()), "the address may be there");
        scene.cloud.hidden.clear();
        scene.run(seconds(60));
        assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("a"), None));
    }
}

fn of_the_other_kind(mut pool: Pool) -> Pool {
    pool.key.kind = &ALLOCATION;
    pool
}

#[test]
fn what_is_a_paused_pools_makes_no_room_and_nothing_makes_room_for_it() {
    for one in ["p", "q"] {
        // Each address is on a node that is eligible for the other pool only.
        let mut scene = scene()
            .node(node("a").labelled("for", "p"))
            .node(node("b").labelled("for", "q"))
            .pool(pool("p").ips([1]).on("for=p"))
            .pool(pool("q").ips([2]).on("for=q"))
            .address(ip(1), Some("b"))
            .address(ip(2), Some("a"));
        scene.change_pool(one, paused);
        assert_eq!(count(&scene.run(seconds(1)), is_unassign), 0, "{one} is paused");
        scene.change_pool(one, |pool| Pool { paused: None, ..pool });
        scene.run(seconds(1));
        assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("a"), Some("b")));
    }
}

#[test]
fn nobody_interferes_who_moves_the_address_of_a_paused_pool() {
    let mut scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1]));
    scene = scene.address(ip(1), Some("b")).settled();
    scene.change_pool("p", paused);
    scene.cloud.place(ip(1), Some("m-c"));
    scene.run(seconds(61));
    scene.change_pool("p", |pool| Pool { paused: None, ..pool });
    scene.run(seconds(61));
    assert_eq!(scene.verdict("p").addresses[0].memory.drift, None);
    assert_eq!((scene.home(ip(1)), scene.reason("p")), (Some("c"), &Reason::AllAssigned));
}

#[test]
fn what_leaves_the_list_of_a_pool_that_was_paused_all_along_is_left_alone() {
    let mut scene = scene()
        .nodes(["a", "b"])
        .pool(paused(pool("p").ips([1, 2])))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .settled();
    scene.change_pool("p", |pool| pool.ips([1]));
    scene.run(seconds(5));
    scene.change_pool("p", |pool| Pool { paused: None, ..pool });
    scene.run(seconds(61));
    assert_eq!(count(&scene.history, pontoon_core::action::Action::changes_provider), 0);
    assert_eq!((scene.home(ip(2)), scene.reason("p")), (Some("b"), &Reason::AllAssigned));
}

#[test]
fn a_verdict_under_restraint_says_why_and_what_would_be_done() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.begin();
    scene.answer();
    scene.planned();
    let mut verdict = scene.verdict("p").clone();
    assert_eq!((verdict.word(), verdict.outlook()), ("Assigning", Outlook::Working));
    let by = Restraint::Paused("moving".into());
    let would = vec!["assign 192.0.2.1 to a".into()];
    verdict.withheld = Some(Withheld { by: by.clone(), would });
    assert_eq!((verdict.word(), verdict.outlook()), ("Paused", Outlook::Waiting));
    let said = "paused: moving; 0 of 1 in place; would assign 192.0.2.1 to a";
    assert_eq!(verdict.to_string(), said);
    let many = (0..12).map(|n| format!("do {n}").as_str().into()).collect();
    verdict.withheld = Some(Withheld { by, would: many });
    assert!(verdict.to_string().ends_with(", do 9 and 2 more"), "{verdict}");
}

#[test]
fn what_is_in_place_is_not_ready_while_it_is_unknown_who_looks_after_it() {
    let mut scene =
        scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    scene.run(seconds(1));
    let mut verdict = scene.verdict("p").clone();
    let restrained = |by| Some(Withheld { by, would: vec![] });
    verdict.withheld = restrained(Restraint::Unsure("the Lease a/b cannot be read".into()));
    assert_eq!((verdict.word(), verdict.is_ready()), ("CompetitionUnknown", None));
    assert!(verdict.to_string().contains("not known: the Lease a/b cannot be read; "), "{verdict}");
    let (lease, holder) = ("a/b".into(), "flipop-0".into());
    verdict.withheld = restrained(Restraint::Competing { lease, holder });
    assert_eq!((verdict.word(), verdict.is_ready()), ("CompetingController", Some(true)));
}

/// The pools that the planned marks are for.
pub fn marked_for(actions: &[Action]) -> Vec<Option<ObjectKey>> {
    let owner = |action: &Action| match action {
        Action::Mark(write) => Some(write.owner.clone()),
        _ => None,
    };
    actions.iter().filter_map(owner).collect()
}

#[test]
fn the_mark_of_an_address_is_for_its_owner_and_not_for_a_pool_that_leaves_it() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips([1]).created_at(at(-2000)));
    let scene = scene.pool(pool("q").ips([1]).on("role=none"));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), None).settled();
    assert_eq!(scene.mark("a"), Some("192.0.2.1"));
    scene.change_pool("q", paused);
    scene.settle();
    scene.change_pool("p", |pool| pool.ask(|request| request.listed = vec![ip(2)]));
    assert_eq!(marked_for(&scene.planned()), [Some(key("q"))]);
}

#[test]
fn a_paused_pool_that_lists_the_address_of_another_withholds_none_of_its_marks() {
    let scene = scene().nodes(["a"]).pool(paused(pool("p").ips([1])));
    let mut scene = scene.pool(pool("q").ips([1]).holding(ip(1))).address(ip(1), Some("a"));
    scene.begin();
    scene.answer();
    assert_eq!(marked_for(&scene.planned()), [Some(key("q"))]);
}
