//! Calls without an answer are read before they are repeated.

use pontoon_core::action::{Action, AddressAction, Done, Failure, FailureKind};
use pontoon_core::addresses::verdict::{Note, State};
use pontoon_core::model::Sighting;

use super::cloud::Fault;
use super::failing::{four_nodes, unavailable};
use super::fixture::*;
use super::scene::scene;

#[test]
fn a_call_without_an_answer_is_not_repeated_before_it_was_read() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Dropped);
    scene.settle();
    assert!(matches!(scene.verdict("p").addresses[0].note, Some(Note::Uncertain(_))));
    for _ in 0..20 {
        scene.fault(is_list, unavailable());
    }
    assert_eq!(moves(&scene.run(seconds(60))), [], "ten seconds have passed, but it was not read");
    scene.cloud.faults.clear();
    let done = scene.run(seconds(300));
    assert_eq!(moves(&done), [(ip(1), "c")]);
    assert!(is_list(&done[0]));
}

#[test]
fn a_call_without_an_answer_is_read_after_its_deadline_and_the_settling_time() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Dropped);
    let begun = scene.now;
    scene.settle();
    assert!(scene.run(seconds(9)).iter().all(is_list), "a look, and no call");
    let done = scene.run(seconds(2));
    assert_eq!(moves(&done), [(ip(1), "c")]);
    assert!(scene.now.since(begun) >= seconds(10));
}

#[test]
fn a_call_that_worked_without_an_answer_is_found_and_not_repeated() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Lost);
    scene.settle();
    assert_eq!(scene.mark("c"), None);
    assert_eq!(moves(&scene.run(seconds(11))), []);
    assert_eq!(scene.states("p"), [State::Active, State::Active]);
    assert_eq!(scene.mark("c"), Some("192.0.2.1"));
}

#[test]
fn an_old_sighting_at_the_target_does_not_confirm_a_call_without_an_answer() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    let before = scene.now;
    scene.pass(seconds(1));
    scene.fault(is_assign, Fault::Dropped);
    scene.settle();
    let at_c = Sighting { holder: Some("m-c".into()), ..Sighting::default() };
    let list = Action::Address(AddressAction::List {
        account: ACCOUNT.into(),
        families: vec![],
        confirms: false,
        scope: Default::default(),
    });
    scene.finish(list, before, Ok(Done::Listed(vec![(ip(1), at_c)])));
    scene.planned();
    assert_eq!(scene.states("p")[0], State::InProgress);
}

#[test]
fn a_refusal_that_shows_where_the_address_is_is_believed() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    let action = scene.begin().remove(0);
    scene.held_back.clear();
    let seen = Sighting { holder: Some("m-d".into()), ..Sighting::default() };
    let failure = Failure { seen: Some(seen), ..Failure::plain(FailureKind::Busy, "moving") };
    scene.pass(seconds(8));
    scene.finish(action, scene.now, Err(failure));
    scene.planned();
    assert_eq!(scene.verdict("p").addresses[0].node, Some("d".into()));
}

#[test]
fn an_address_that_is_on_its_way_to_nobody_knows_where_is_read_before_the_next_attempt() {
    for (arrives, calls) in [("c", 0), ("d", 0), ("a", 1)] {
        let mut scene = four_nodes();
        scene.change_node("a", NodeFixture::not_ready);
        scene.fault(is_assign, Fault::Answer(FailureKind::Busy));
        assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
        assert!(matches!(scene.verdict("p").addresses[0].note, Some(Note::Uncertain(_))));
        scene.cloud.place(ip(1), Some(&format!("m-{arrives}")));
        let done = scene.run(seconds(5));
        assert_eq!(moves(&done), vec![(ip(1), "c"); calls], "it came to {arrives}");
        assert!(is_list(&done[0]));
        assert_eq!(scene.states("p")[0], State::Active);
    }
}

#[test]
fn an_address_that_a_failed_call_moves_late_and_unseen_is_soon_found() {
    for kind in [FailureKind::Unavailable, FailureKind::Busy, FailureKind::NoAnswer] {
        let scene = scene().nodes(["a", "b"]).pool(pool("p").ips6([1]));
        let mut scene = scene.address(ip6(1), Some("a")).settled();
        scene.change_node("a", NodeFixture::not_ready);
        scene.fault(is_assign, Fault::Answer(kind));
        scene.settle();
        scene.change_node("a", NodeFixture::ready);
        scene.run(seconds(14));
        assert_eq!(scene.mark6("a"), Some("2001:db8::1"), "{kind:?}");
        // The provider accepted the call, and ends its operation only now.
        scene.cloud.place(ip6(1), Some("m-b"));
        scene.run(seconds(10));
        assert_eq!((scene.mark6("a"), scene.mark6("b")), (None, Some("2001:db8::1")), "{kind:?}");
    }
}

#[test]
fn an_address_that_a_failed_call_takes_late_from_its_next_node_is_soon_found() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips6([1]));
    let mut scene = scene.address(ip6(1), Some("a")).settled();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    assert_eq!(moves(&scene.settle()), [(ip6(1), "b")]);
    scene.change_node("b", NodeFixture::not_ready);
    assert_eq!(moves(&scene.run(seconds(14))), [(ip6(1), "c")]);
    scene.cloud.place(ip6(1), Some("m-b"));
    // The look at 20 s. A call of our own is no drift, so no hold-down follows.
    scene.run(seconds(7));
    assert_eq!(scene.home(ip6(1)), Some("c"));
}
