//! Accepted calls are confirmed by listings; operations are read where these are not enough.

use std::time::Duration;

use pontoon_core::action::{Done, FailureKind};
use pontoon_core::addresses::verdict::{Reason, State};

use super::cloud::Fault;
use super::failing::four_nodes;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at};

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
fn an_operation_accepted_in_the_last_term_of_a_process_is_waited_for() {
    let setup = able(|abilities| abilities.moves_at_once = false);
    let mut scene = scene_at(setup).nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_assign, Fault::Quiet);
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
    // Another node comes first now.
    scene.change_node("a", NodeFixture::cordoned);
    scene.set_node(node("b"));
    scene.world.take_over(scene.now + seconds(10));
    assert_eq!(moves(&scene.run(seconds(15))), [], "the address may still arrive on a");
    scene.cloud.work();
    assert_eq!(moves(&scene.run(seconds(60))), [(ip(1), "b")], "from a, where it arrived");
}
