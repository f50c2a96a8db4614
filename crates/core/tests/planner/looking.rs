//! Reads of an address that stays locked, open or unreadable are spaced.

use pontoon_core::action::{Done, FailureKind, OperationState};
use pontoon_core::addresses::{Address, Knowledge, Operation};

use super::cloud::Fault;
use super::fixture::*;
use super::lasting::{is_about_1, refusing};
use super::scene::{Scene, scene};

#[test]
fn an_address_that_stays_locked_is_looked_at_ever_more_rarely() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    scene.settle();
    scene.cloud.addresses.get_mut(&ip(1)).unwrap().busy = true;
    let done = scene.run(seconds(1800));
    assert!(count(&done, is_list) < 80, "{}", count(&done, is_list));
}

#[test]
fn an_address_whose_call_is_open_is_not_read_at_network_speed() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    scene.settle();
    scene.cloud.hidden.push(ip(1));
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Quiet);
    scene.run(seconds(30));
    let account = scene.world.account(&ACCOUNT.into()).unwrap();
    let open = account.address(ip(1)).unwrap().operation.as_ref();
    assert!(matches!(open, Some(Operation::Accepted { .. })), "{open:?}");
    assert!(count(&scene.history, is_read) < 20, "{}", count(&scene.history, is_read));
}

/// The knowledge about address 1.
fn first(scene: &Scene) -> &Address {
    scene.world.account(&ACCOUNT.into()).and_then(|account| account.address(ip(1))).unwrap()
}

/// Plans, acts and waits until something holds, perhaps with answers pending.
fn until(scene: &mut Scene, holds: fn(&Scene) -> bool) {
    for _ in 0..200 {
        let quiet = scene.begin().is_empty();
        if holds(scene) {
            return;
        }
        scene.answer();
        if holds(scene) {
            return;
        }
        if quiet {
            scene.now = scene.wake.unwrap();
        }
    }
    panic!("never so: {:#?}", scene.history);
}

#[test]
fn an_address_whose_reads_tell_nothing_is_not_read_at_network_speed() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), Some("a")).settled();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, Fault::Quiet);
    until(&mut scene, |scene| scene.held_back.iter().any(|(one, _)| is_operation_read(one)));
    let index = scene.held_back.iter().position(|(one, _)| is_operation_read(one)).unwrap();
    let (question, asked_at) = scene.held_back.remove(index);
    scene.cloud.hidden.push(ip(1));
    until(&mut scene, |scene| first(scene).knowledge == Knowledge::Missing);
    scene.finish(question, asked_at, Ok(Done::Operation(OperationState::Done)));
    assert!(matches!(first(&scene).operation, Some(Operation::Uncertain { .. })));
    let done = scene.run(seconds(4));
    assert_eq!(first(&scene).knowledge, Knowledge::Missing, "reads are too early to tell");
    assert!((1..=3).contains(&count(&done, is_read)), "at 0, 2, 4 s: {done:?}");
}

#[test]
fn an_address_whose_calls_always_break_down_is_not_looked_for_on_each_node_anew() {
    let nodes = ["a", "b", "c", "d", "e", "f"];
    let scene = scene().nodes(nodes).pool(pool("p").ips([1])).address(ip(1), None);
    let mut scene = refusing(scene, is_about_1, FailureKind::Unavailable);
    let lists = count(&scene.run(seconds(600)), is_list);
    assert!(lists < 300, "{lists}");
}
