//! Machines get their own address back, which an assigned address displaced.

use std::time::Duration;

use pontoon_core::action::{Action, AddressAction, Done, FailureKind};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::model::{Mark, MarkPlace, Pool, Tells};
use pontoon_core::world::Settings;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, able, scene_with};

pub static NOTE: Mark =
    Mark { place: MarkPlace::Annotation, key: "owes", tells: Tells::OwesEgress("true") };

fn setup() -> AccountSetup {
    able(|abilities| {
        abilities.moves_at_once = false;
        abilities.displaces_own = true;
    })
}

pub fn displacing() -> Scene {
    scene_with(setup(), Settings { egress: Some(&NOTE), ..Settings::default() })
}

/// Address 1 on `a`; `b` is free.
pub fn at_rest() -> Scene {
    displacing().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled()
}

/// The calls and notes, in order.
pub fn story(actions: &[Action]) -> Vec<String> {
    let told = |action: &Action| match action {
        Action::Mark(write) if *write.mark == NOTE => {
            let word = if write.value.is_some() { "note" } else { "forget" };
            Some(format!("{word} {}", write.node))
        }
        Action::Address(AddressAction::Unassign { .. }) => Some("unassign".to_owned()),
        Action::Address(AddressAction::Assign { node, .. }) => Some(format!("assign {node}")),
        Action::Address(AddressAction::RestoreEgress { node: Some(node), .. }) => {
            Some(format!("restore {node}"))
        }
        Action::Address(AddressAction::RestoreEgress { machine, .. }) => {
            Some(format!("restore {machine}"))
        }
        _ => None,
    };
    actions.iter().filter_map(told).collect()
}

fn is_restore(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::RestoreEgress { .. }))
}

#[test]
fn both_nodes_of_a_move_are_noted_first_and_the_old_one_gets_its_own_address_back() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    let done = story(&scene.run(seconds(10)));
    let place = |what: &str| done.iter().position(|one| one == what).expect(what);
    assert!(place("note a") < place("unassign"), "{done:?}");
    assert!(place("note b") < place("assign b"), "{done:?}");
    assert!(place("unassign") < place("restore a"), "{done:?}");
    assert!(place("restore a") < place("forget a"), "{done:?}");
    assert!(place("assign b") < place("forget b"), "{done:?}");
    assert!(!done.contains(&"restore b".to_owned()), "it has the address: {done:?}");
    assert_eq!(done.len(), 7, "and no more: {done:?}");
}

#[test]
fn every_node_of_a_machine_is_noted_until_its_call_is_over() {
    let mut scene = at_rest();
    scene.set_node(node("c").on_machine(&machine("b")));
    scene.change_node("a", NodeFixture::not_ready);
    let done = story(&scene.run(seconds(10)));
    let place = |what: &str| done.iter().position(|one| one == what).expect(what);
    let assigned = done.iter().position(|one| one.starts_with("assign")).expect("assigned");
    for twin in ["b", "c"] {
        assert!(place(&format!("note {twin}")) < assigned, "{done:?}");
        assert!(assigned < place(&format!("forget {twin}")), "{done:?}");
    }
}

#[test]
fn the_note_of_one_node_stays_until_the_other_node_of_the_machine_is_noted() {
    let mut scene = at_rest();
    scene.set_node(node("c").on_machine(&machine("b")));
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_mark_of_c, Fault::Answer(FailureKind::Conflict));
    let done = story(&scene.run(seconds(10)));
    assert_eq!(done.iter().filter(|one| *one == "note b").count(), 1, "{done:?}");
    assert_eq!(scene.home(ip(1)), Some("b"));
}

fn is_mark_of_c(action: &Action) -> bool {
    matches!(action, Action::Mark(write) if *write.mark == NOTE && &*write.node.0 == "c")
}

#[test]
fn a_crash_between_the_calls_leaves_no_machine_without_an_address() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    until(&mut scene, "unassign");
    scene.answer();
    // The pool is gone before anything is assigned again, and another pool uses the account.
    scene.remove_pool("p");
    scene.set_pool(pool("q").ips([2]).on("no=where"));
    scene.restart(seconds(3));
    let done = story(&scene.run(seconds(70)));
    assert_eq!(done[0], "restore a");
    assert_eq!(done.last().map(String::as_str), Some("forget a"), "{done:?}");
    assert!(done[..done.len() - 1].iter().all(|one| one == "restore a"), "{done:?}");
}

#[test]
fn a_note_that_cannot_be_written_does_not_hold_up_a_failover() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..9 {
        scene.fault(is_mark, Fault::Answer(FailureKind::Refused));
    }
    scene.run(seconds(10));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_note_that_could_not_be_written_once_precedes_the_next_call() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_mark, Fault::Answer(FailureKind::Conflict));
    scene.run(seconds(30));
    assert_eq!(scene.home(ip(1)), Some("b"));
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("b", NodeFixture::not_ready);
    let done = story(&scene.run(seconds(30)));
    let place = |what: &str| done.iter().position(|one| one == what).expect(what);
    assert!(place("note a") < place("assign a"), "{done:?}");
    assert!(place("note b") < place("unassign"), "{done:?}");
}

#[test]
fn a_machine_whose_note_could_not_be_written_gets_its_own_address_back() {
    for fault in [Fault::Answer(FailureKind::Unavailable), Fault::Lost] {
        let mut scene = at_rest();
        scene.change_node("a", NodeFixture::not_ready);
        scene.fault(is_mark, fault);
        let done = story(&scene.run(seconds(30)));
        let of_a: Vec<_> = done.iter().filter(|one| !one.ends_with(" b")).collect();
        assert_eq!(of_a, ["note a", "unassign", "restore m-a"]);
        assert_eq!(scene.home(ip(1)), Some("b"));
        assert_eq!(story(&scene.run(seconds(300))), [""; 0], "and no more");
    }
}

pub fn is_removal(action: &Action) -> bool {
    matches!(action, Action::Mark(write) if *write.mark == NOTE && write.value.is_none())
}

#[test]
fn a_note_that_failed_long_ago_is_written_before_the_next_call() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..40 {
        scene.fault(is_mark, Fault::Answer(FailureKind::Unavailable));
    }
    scene.run(seconds(110));
    assert_eq!(scene.home(ip(1)), Some("b"));
    scene.cloud.faults.clear();
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("b", NodeFixture::not_ready);
    let done = story(&scene.run(seconds(30)));
    let place = |what: &str| done.iter().position(|one| one == what).expect(what);
    assert!(place("note b") < place("unassign"), "{done:?}");
}

#[test]
fn the_back_off_of_restoring_an_address_ends_with_the_next_call_about_the_machine() {
    let mut scene = displacing().nodes(["a"]).pool(pool("p").ips([1]));
    scene.cloud.place(ip(1), None);
    scene.cloud.refuses.push((is_assign, FailureKind::Rejected));
    scene.cloud.refuses.push((is_restore, FailureKind::Busy));
    scene.run(seconds(60));
    while count(&scene.settle(), is_assign) == 0 {
        scene.now = scene.wake.expect("another attempt");
    }
    scene.cloud.refuses.pop();
    let done = story(&scene.run(seconds(4)));
    assert!(done.contains(&"forget a".to_owned()), "{done:?}");
}

#[test]
fn restoring_is_tried_again_until_it_works() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..3 {
        scene.fault(is_restore, Fault::Answer(FailureKind::Unavailable));
    }
    let done = scene.run(seconds(60));
    assert_eq!(count(&done, is_restore), 4);
    assert_eq!(story(&done).last().map(String::as_str), Some("forget a"));
}

#[test]
fn an_operation_that_was_only_accepted_is_asked_about_again_before_the_note_goes() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_restore, Fault::Forgotten);
    let done = story(&scene.run(seconds(60)));
    let last: Vec<&str> = done.iter().rev().take(2).map(String::as_str).collect();
    assert_eq!(last, ["forget a", "restore a"], "{done:?}");
    assert_eq!(done.iter().filter(|one| *one == "restore a").count(), 2, "{done:?}");
}

#[test]
fn a_node_is_noted_only_once_its_call_may_follow() {
    let two = pool("p").ips([1, 2]).cooling_off(20);
    let scene = displacing().nodes(["a", "b"]).pool(two);
    let mut scene = scene.address(ip(1), None).address(ip(2), None);
    let first = story(&scene.run(seconds(10)));
    assert_eq!(first, ["note a", "assign a", "forget a"]);
    let second = story(&scene.run(seconds(60)));
    assert_eq!(second, ["note b", "assign b", "forget b"]);
}

#[test]
fn at_other_providers_nothing_is_noted() {
    let mut scene = super::scene::scene()
        .nodes(["a", "b"])
        .pool(pool("p").ips([1]))
        .address(ip(1), Some("a"))
        .settled();
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(story(&scene.run(seconds(10))), ["assign b"]);
}

#[test]
fn a_pools_surplus_address_makes_room_after_the_note() {
    let scene = displacing().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
    let mut scene = scene.settled();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.settle();
    scene.change_node("a", NodeFixture::not_ready);
    let done = story(&scene.run(seconds(30)));
    assert_eq!(done[..2], ["note b", "unassign"], "{done:?}");
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_machine_that_was_asked_before_a_call_says_nothing_of_the_time_after_it() {
    let scene = displacing().nodes(["a"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Rejected));
    until(&mut scene, "restore a");
    let restoring = scene.held_back.pop().expect("the attempt to restore");
    // The next attempt to assign begins while the machine is asked, and ends after it.
    scene.fault(is_assign, Fault::Answer(FailureKind::Rejected));
    while story(&scene.begin()) != ["assign a"] {
        scene.answer();
        scene.now = scene.wake.expect("a time of the next attempt").max(scene.now);
    }
    let (action, sent_at) = restoring;
    scene.finish(action, sent_at, Ok(Done::Effective));
    scene.answer();
    let done = story(&scene.begin());
    assert_eq!(done, ["restore a"], "the call may have taken the own address away");
}

/// Whether the story ends with a machine that is asked, and then its note removed.
pub fn is_settled(story: &[String]) -> bool {
    story.ends_with(&["restore a".to_owned(), "forget a".to_owned()])
}

#[test]
fn a_machine_is_asked_until_no_operation_of_a_call_that_broke_down_can_run() {
    let scene = displacing().nodes(["a"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    until(&mut scene, "assign a");
    scene.answer();
    scene.change_node("a", NodeFixture::not_ready);
    let early = story(&scene.run(seconds(55)));
    assert!(early.len() >= 4, "an address that goes late comes back soon: {early:?}");
    assert!(early.iter().all(|one| one == "restore a"), "the own address may still go: {early:?}");
    let later = story(&scene.run(seconds(10)));
    assert!(is_settled(&later), "{later:?}");
}

#[test]
fn a_refused_call_does_not_end_the_operation_of_an_earlier_one() {
    let scene = displacing().nodes(["a"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    scene.fault(is_assign, Fault::Answer(FailureKind::Rejected));
    while !scene.cloud.faults.is_empty() {
        scene.settle();
        scene.now = scene.wake.expect("a time of the next attempt").max(scene.now);
    }
    scene.change_node("a", NodeFixture::not_ready);
    let early = story(&scene.run(seconds(50)));
    assert!(early.iter().all(|one| one == "restore a"), "the own address may still go: {early:?}");
    let later = story(&scene.run(seconds(10)));
    assert!(is_settled(&later), "{later:?}");
}

#[test]
fn a_call_that_finds_nothing_to_do_does_not_end_the_operation_of_an_earlier_one() {
    let mut scene = at_rest();
    scene.tolerant = true;
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_unassign, Fault::Answer(FailureKind::Unavailable));
    scene.fault(is_unassign, Fault::Ignored);
    while !scene.cloud.faults.is_empty() {
        scene.settle();
        scene.now = scene.wake.expect("a time of the next attempt").max(scene.now);
    }
    let early = story(&scene.run(seconds(50)));
    assert!(early.contains(&"restore a".to_owned()), "{early:?}");
    assert!(!early.contains(&"forget a".to_owned()), "the own address may still go: {early:?}");
    let later = story(&scene.run(seconds(15)));
    assert!(is_settled(&later), "{later:?}");
}

#[test]
fn an_address_that_a_broken_down_call_may_still_take_off_settles_no_note() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_unassign, Fault::Answer(FailureKind::Unavailable));
    until(&mut scene, "unassign");
    scene.answer();
    scene.change_node("a", NodeFixture::ready);
    let soon = story(&scene.run(seconds(55)));
    assert_eq!(soon, [""; 0], "the address may still leave");
    let later = story(&scene.run(seconds(10)));
    assert_eq!(later, ["restore a", "forget a"], "and the machine is asked");
}

#[test]
fn a_new_leader_believes_in_an_address_once_all_calls_of_its_predecessor_show() {
    let mut scene = at_rest();
    scene.change_node("a", |mut node| {
        node.marks.insert(&NOTE, "true".into());
        node
    });
    scene.restart(seconds(1));
    assert_eq!(story(&scene.run(seconds(60))), [""; 0]);
    assert_eq!(story(&scene.run(seconds(2))), ["restore a", "forget a"]);
}

/// An assignment to `a` has failed, and its next attempt is due. Another pool asks for nothing.
fn failed_on_a() -> Scene {
    let idle = pool("q").ips([2]).on("no=where");
    let scene = displacing().nodes(["a"]).pool(pool("p").ips([1])).pool(idle);
    let mut scene = scene.address(ip(1), None).address(ip(2), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Rejected));
    until(&mut scene, "assign a");
    scene.answer();
    scene.pass(seconds(10));
    scene
}

#[test]
fn the_call_of_a_paused_pool_keeps_no_machine_waiting_for_its_own_address() {
    let mut scene = failed_on_a();
    let planned = story(&scene.planned());
    assert_eq!(planned, ["assign a"], "the next attempt settles the note");
    scene.change_pool("p", |pool| Pool { paused: Some("holiday".into()), ..pool });
    let planned = story(&scene.planned());
    assert_eq!(planned, ["assign a", "restore a"], "the first is withheld");
}

#[test]
fn a_machine_gets_its_own_address_back_for_a_pool_that_we_act_for() {
    let mut scene = failed_on_a();
    scene.change_pool("p", |pool| Pool { paused: Some("holiday".into()), ..pool });
    let mut other = pool("o").ips([3]).on("no=where");
    other.key.kind = &ALLOCATION;
    scene.set_pool(other.clone());
    for (left_alone, served) in [(&POOL, &other.key), (&ALLOCATION, &key("q"))] {
        scene.world.set_hands_off([left_alone].into());
        let planned = scene.planned();
        let owners: Vec<_> =
            planned.iter().filter(|one| is_restore(one)).filter_map(Action::owner).collect();
        assert_eq!(owners, [served], "{left_alone:?} is left to another controller");
    }
}

#[test]
fn an_address_refused_for_good_costs_the_nodes_their_own_address_ever_more_rarely() {
    for kind in [FailureKind::Rejected, FailureKind::Refused, FailureKind::Quota] {
        let mut scene = displacing().nodes(["a", "b"]).pool(pool("p").ips([1]));
        scene.cloud.place(ip(1), None);
        scene.cloud.refuses.push((is_assign, kind));
        let mut attempts = |time| scene.run(time).iter().filter(|one| is_assign(one)).count();
        let (first, second, third) = (attempts(hours(1)), attempts(hours(1)), attempts(hours(6)));
        assert!((5..=12).contains(&first), "{kind:?}: {first} in the first hour");
        assert!((3..=4).contains(&second), "{kind:?}: {second} in the second hour");
        assert!((18..=24).contains(&third), "{kind:?}: {third} in six hours");
    }
}

#[test]
fn an_unassignment_that_fails_costs_no_machine_its_own_address_and_is_soon_tried_again() {
    let mut scene = at_rest();
    for _ in 0..8 {
        scene.fault(is_unassign, Fault::Broken);
    }
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(180));
    assert_eq!(scene.home(ip(1)), Some("b"), "{:?}", scene.reason("p"));
}

fn hours(count: u64) -> Duration {
    seconds(3_600 * count)
}

/// Answers until an action of this kind has begun.
pub fn until(scene: &mut Scene, what: &str) {
    for _ in 0..9 {
        let begun = scene.begin();
        if story(&begun).iter().any(|one| one == what) {
            return;
        }
        scene.answer();
    }
    panic!("no {what}");
}
