//! Refused calls, and the next attempts.

use std::time::Duration;

use pontoon_core::action::{Action, AddressAction, Done, Failure, FailureKind};
use pontoon_core::addresses::verdict::{Note, Obstacle, Reason, State};
use pontoon_core::model::Sighting;

use super::cloud::{Fault, throttled};
use super::fixture::*;
use super::scene::{Scene, scene};

/// Address 1 on `a`, address 2 on `b`; `c` and `d` are free.
fn four_nodes() -> Scene {
    scene()
        .nodes(["a", "b", "c", "d"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .settled()
}

fn unavailable() -> Fault {
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
    assert_eq!(moves(&done).len(), 6, "at 0, 1, 3, 7, 15, 31 s");
    let [(node, Obstacle::Failed(..))] = &scene.verdict("p").unusable[..] else {
        panic!("{:?}", scene.verdict("p"));
    };
    assert_eq!(&*node.0, "a");
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
fn an_accepted_move_is_confirmed_by_one_listing_for_many() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.change_node("b", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Slow);
    scene.fault(is_assign, Fault::Slow);
    assert_eq!(moves(&scene.settle()).len(), 2);
    assert_eq!(scene.states("p"), [State::InProgress, State::InProgress]);
    assert_eq!((scene.mark("c"), scene.mark("d")), (None, None), "not confirmed yet");
    scene.cloud.work();
    let done = scene.run(seconds(2));
    assert_eq!((count(&done, is_list), count(&done, is_operation_read)), (1, 0), "{done:#?}");
    assert_eq!(scene.states("p"), [State::Active, State::Active]);
    assert_eq!((scene.mark("c"), scene.mark("d")), (Some("192.0.2.1"), Some("192.0.2.2")));
}

#[test]
fn an_operation_is_asked_only_after_listings_left_it_open() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Quiet);
    let done = scene.run(seconds(10));
    let first = done.iter().position(is_operation_read).unwrap();
    assert_eq!(count(&done[..first], is_list), 2);
    assert!(count(&done, is_operation_read) <= 4, "{done:#?}");
    assert_eq!(moves(&done), [(ip(1), "c")]);
}

#[test]
fn an_operation_that_the_cloud_is_seen_to_work_on_is_asked_only_when_it_takes_suspiciously_long() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Slow);
    assert_eq!(count(&scene.run(seconds(29)), is_operation_read), 0);
    assert_eq!(count(&scene.run(seconds(2)), is_operation_read), 1);
    assert!(count(&scene.run(seconds(80)), is_operation_read) <= 3, "and then rarely");
}

/// Forty addresses on forty nodes, and forty other nodes.
fn forty() -> Scene {
    let mut scene = scene().pool(pool("p").ask(|request| request.listed.extend((1..=40).map(ip))));
    for n in 1..=40 {
        let (old, new) = (format!("a{n}"), format!("b{n}"));
        scene = scene.nodes([&*old, &*new]).address(ip(n), Some(&old));
    }
    scene.settled()
}

fn forty_lost(fault: &Fault) -> Scene {
    let mut scene = forty();
    for n in 1..=40 {
        scene.change_node(&format!("a{n}"), NodeFixture::not_ready);
        scene.fault(is_assign, fault.clone());
    }
    scene
}

#[test]
fn in_a_mass_failover_no_operation_is_asked_while_listings_show_the_addresses_locked() {
    let mut scene = forty_lost(&Fault::Slow);
    let mut done = scene.run(seconds(5));
    scene.cloud.work();
    done.extend(scene.run(seconds(3)));
    assert_eq!(moves(&done).len(), 40);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert_eq!(count(&done, is_operation_read), 0);
    assert!(count(&done, is_list) <= 8, "{}", count(&done, is_list));
}

#[test]
fn in_a_mass_failover_few_operations_are_asked_although_listings_show_no_locks() {
    let mut scene = forty_lost(&Fault::Quiet);
    let mut done = scene.run(seconds(5));
    scene.cloud.work();
    done.extend(scene.run(seconds(8)));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert!((3..=18).contains(&count(&done, is_operation_read)), "three a second: {done:#?}");
}

#[test]
fn machines_that_are_busy_at_different_times_cost_one_listing_a_second_at_most() {
    let mut scene = forty();
    scene.cloud.refuses.push((is_assign, FailureKind::Busy));
    let mut done = Vec::new();
    for n in 1..=40 {
        scene.change_node(&format!("a{n}"), NodeFixture::not_ready);
        done.extend(scene.run(Duration::from_millis(250)));
    }
    assert!(moves(&done).len() >= 80, "each is tried again: {}", moves(&done).len());
    assert!((5..=11).contains(&count(&done, is_list)), "{}", count(&done, is_list));
    scene.cloud.refuses.clear();
    scene.run(seconds(60));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn an_operation_that_failed_is_tried_again() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Broken);
    let done = scene.run(seconds(10));
    assert_eq!(moves(&done), [(ip(1), "c"), (ip(1), "c")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn an_operation_that_left_the_address_on_no_machine_is_seen_as_that() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Broken);
    scene.settle();
    scene.cloud.place(ip(1), None);
    scene.change_node("c", NodeFixture::not_ready);
    scene.change_node("d", NodeFixture::not_ready);
    scene.run(seconds(10));
    assert_eq!(scene.states("p"), [State::Unassigned, State::Active]);
}

#[test]
fn an_operation_that_shows_no_effect_for_two_minutes_counts_as_failed() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Forgotten);
    assert_eq!(moves(&scene.run(seconds(119))), [(ip(1), "c")]);
    assert_eq!(moves(&scene.run(seconds(10))).first(), Some(&(ip(1), "d")));
}

#[test]
fn an_answer_about_an_operation_that_a_listing_confirmed_already_changes_nothing() {
    for state in
        [pontoon_core::action::OperationState::Done, pontoon_core::action::OperationState::Failed]
    {
        let mut scene = four_nodes();
        scene.change_node("a", NodeFixture::not_ready);
        scene.fault(is_assign, Fault::Quiet);
        let read = loop {
            scene.now = scene.wake.filter(|wake| *wake > scene.now).unwrap_or(scene.now);
            if let Some(read) = scene.begin().into_iter().find(is_operation_read) {
                break read;
            }
            scene.answer();
        };
        scene.held_back.retain(|(action, _)| !is_operation_read(action));
        let sent_at = scene.now;
        scene.cloud.work();
        scene.run(seconds(3));
        assert_eq!(scene.states("p"), [State::Active, State::Active]);
        scene.finish(read, sent_at, Ok(Done::Operation(state)));
        assert_eq!(moves(&scene.settle()), [], "{state:?}");
        assert_eq!(scene.states("p"), [State::Active, State::Active]);
    }
}

#[test]
fn an_operation_that_is_done_says_nothing_of_where_somebody_moved_the_address_since() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Slow);
    scene.run(seconds(20));
    scene.cloud.work();
    scene.cloud.place(ip(1), Some("elsewhere"));
    let done = scene.run(seconds(12));
    assert_eq!(moves(&done), [(ip(1), "c")], "it was never seen there: {done:#?}");
}

#[test]
fn an_address_that_vanishes_under_an_operation_is_not_listed_without_end() {
    for fault in [Fault::Slow, Fault::Dropped] {
        let mut scene = four_nodes();
        scene.change_node("a", NodeFixture::not_ready);
        scene.fault(is_assign, fault);
        scene.settle();
        scene.cloud.addresses.remove(&ip(1));
        let done = scene.run(seconds(200));
        assert!(count(&done, is_list) < 100, "{}", count(&done, is_list));
        assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
    }
}

#[test]
fn an_address_that_vanishes_under_an_operation_is_known_to_be_gone_long_before_that_is_given_up() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Slow);
    scene.settle();
    scene.cloud.addresses.remove(&ip(1));
    scene.run(seconds(9));
    assert_eq!(scene.states("p"), [State::InProgress, State::Active], "it may only show late");
    scene.run(seconds(6));
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
}

#[test]
fn an_address_that_nobody_asks_for_and_that_vanishes_under_an_operation_is_forgotten() {
    let mut scene = four_nodes();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Slow);
    scene.settle();
    scene.remove_pool("p");
    scene.set_pool(pool("q").ips([2]));
    scene.cloud.addresses.remove(&ip(1));
    let done = scene.run(seconds(200));
    assert!(count(&done, is_list) < 100, "{}", count(&done, is_list));
    assert_eq!(count(&scene.run(seconds(300)), is_operation_read), 0);
}

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
    assert_eq!(scene.run(seconds(9)), []);
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
