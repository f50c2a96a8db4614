//! Refused calls, and the next attempts.

use pontoon_core::action::FailureKind;
use pontoon_core::addresses::verdict::{Note, Obstacle, Reason, State};

use super::cloud::{Fault, throttled};
use super::fixture::*;
use super::scene::{Scene, scene};

/// Address 1 on `a`, address 2 on `b`; `c` and `d` are free.
pub fn four_nodes() -> Scene {
    scene()
        .nodes(["a", "b", "c", "d"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .settled()
}

pub fn unavailable() -> Fault {
    Fault::Answer(FailureKind::Unavailable)
}

#[test]
fn a_refused_attempt_is_repeated_on_the_same_node_after_one_step_of_back_off() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    let begun = scene.now;
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
    let Some(Note::Failed(_, next)) = scene.verdict("p").addresses[0].note.clone() else {
        panic!("{:?}", scene.verdict("p"));
    };
    assert_eq!(next.since(begun).as_secs(), 1);
    assert!(matches!(scene.reason("p"), Reason::AssignFailed(..)));
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "c")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_refused_attempt_does_not_hold_up_other_addresses() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    scene.settle();
    scene.change_node("b", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(2), "d")], "c is kept for 1");
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "c")]);
}

#[test]
fn after_three_failures_another_node_is_taken() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..3 {
        scene.fault(is_assign, unavailable());
    }
    let done = scene.run(seconds(10));
    assert_eq!(moves(&done), [(ip(1), "c"), (ip(1), "c"), (ip(1), "c"), (ip(1), "d")]);
}

#[test]
fn a_rejection_is_not_repeated_on_the_same_node() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Answer(FailureKind::Rejected));
    assert_eq!(moves(&scene.settle()), [(ip(1), "c"), (ip(1), "d")]);
}

#[test]
fn the_only_node_is_tried_for_ever_and_ever_more_slowly() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    for _ in 0..100 {
        scene.fault(is_assign, Fault::Answer(FailureKind::Rejected));
    }
    let done = scene.run(seconds(62));
    assert_eq!(moves(&done).len(), 11, "at 0, 1, 3, 7, 12, 18, 24 s, and so on");
    let [(node, Obstacle::Failed(..))] = &scene.verdict("p").unusable[..] else {
        panic!("{:?}", scene.verdict("p"));
    };
    assert_eq!(&*node.0, "a");
    scene.run(seconds(3600));
    let done = scene.run(seconds(3600));
    assert!((10..=16).contains(&moves(&done).len()), "every five minutes: {}", moves(&done).len());
}

#[test]
fn a_failure_that_is_over_is_forgotten() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    scene.fault(is_assign, unavailable());
    scene.fault(is_assign, Fault::Slow);
    scene.run(seconds(4));
    scene.cloud.work();
    scene.run(seconds(4));
    assert_eq!(scene.states("p"), [State::Active, State::Active]);
    let account = scene.world.account(&ACCOUNT.into()).unwrap();
    assert!(account.setbacks.is_empty(), "{:?}", account.setbacks);
}

#[test]
fn a_node_that_recovers_while_another_was_tried_keeps_its_address() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    scene.settle();
    scene.change_node("a", NodeFixture::ready);
    assert_eq!(moves(&scene.run(seconds(5))), []);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_target_of_long_ago_is_not_preferred() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.change_node("c", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    assert_eq!(moves(&scene.settle()), [(ip(1), "d")]);
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("c", NodeFixture::ready);
    scene.run(seconds(600));
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")], "d was tried ten minutes ago");
}

#[test]
fn two_addresses_that_failed_on_one_node_do_not_wait_for_each_other() {
    let mut scene = four_nodes();
    scene.change_node("d", NodeFixture::not_ready);
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    scene.begin();
    scene.answer();
    scene.change_node("a", NodeFixture::ready);
    scene.planned();
    scene.pass(seconds(2));
    scene.change_node("b", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    assert_eq!(moves(&scene.begin()), [(ip(2), "c")]);
    scene.answer();
    scene.change_node("a", NodeFixture::not_ready);
    scene.change_node("d", NodeFixture::ready);
    scene.run(seconds(16));
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("d"), Some("c")));
}

#[test]
fn a_target_that_is_no_longer_eligible_is_given_up_at_once() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, unavailable());
    scene.settle();
    scene.change_node("c", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "d")]);
}

#[test]
fn a_throttled_account_is_left_alone_until_then_and_nothing_is_lost() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, throttled(30));
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
    scene.change_node("b", NodeFixture::not_ready);
    let done = scene.run(seconds(29));
    assert_eq!(count(&done, |action| !action.changes_cluster()), 0, "{done:#?}");
    assert!(matches!(scene.reason("p"), Reason::Throttled(_)));
    let done = scene.run(seconds(2));
    assert_eq!(moves(&done), [(ip(1), "c"), (ip(2), "d")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_short_rate_limit_does_not_open_an_account_that_is_closed_for_longer() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.change_node("b", NodeFixture::not_ready);
    scene.fault(is_assign, throttled(30));
    scene.fault(is_assign, Fault::Answer(FailureKind::Refused));
    scene.settle();
    assert_eq!(moves(&scene.run(seconds(28))), []);
}

#[test]
fn a_call_that_was_never_sent_is_tried_again_soon_and_on_the_same_node() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..5 {
        scene.fault(is_assign, Fault::Answer(FailureKind::NotSent));
    }
    let done = scene.run(seconds(6));
    assert_eq!(moves(&done), [(ip(1), "c"); 6], "once a second: nobody refused anything");
}

#[test]
fn taking_an_address_off_is_not_repeated_in_haste() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("p").ips([1, 2]).wants(1))
        .address(ip(1), None)
        .address(ip(2), Some("a"));
    for _ in 0..100 {
        scene.fault(is_unassign, unavailable());
    }
    let done = scene.run(seconds(30));
    assert_eq!(count(&done, is_unassign), 6, "at 0, 1, 3, 7, 15, 23 s");
    scene.cloud.faults.clear();
    assert_eq!(moves(&scene.run(seconds(20))), [(ip(1), "a")]);
}

#[test]
fn a_call_of_several_requests_is_doubted_from_its_last_one_on() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_assign, Fault::Dropped);
    while count(&scene.begin(), is_assign) == 0 {
        scene.answer();
    }
    scene.pass(seconds(20));
    scene.answer();
    let soon = scene.run(seconds(4));
    assert_eq!(count(&soon, is_assign), 0, "the last request may still take effect: {soon:?}");
    let later = scene.run(seconds(30));
    assert_eq!(count(&later, is_assign), 1, "{later:?}");
}
