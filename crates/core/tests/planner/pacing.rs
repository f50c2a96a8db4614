//! Cool-off: the shortest time between two assignments of a pool.

use pontoon_core::action::FailureKind;
use pontoon_core::addresses::verdict::Reason;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, scene};

fn cooling(names: &[&str], addresses: u8) -> Scene {
    let mut scene = scene();
    for name in names {
        scene.set_node(node(name));
    }
    for n in 1..=addresses {
        scene.cloud.place(ip(n), None);
    }
    scene
}

#[test]
fn assignments_of_one_pool_are_a_cool_off_apart() {
    let mut scene = cooling(&["a", "b", "c"], 3).pool(pool("p").ips([1, 2, 3]).cooling_off(20));
    let begun = scene.now;
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
    assert!(
        matches!(scene.reason("p"), Reason::CoolingOff(until) if until.since(begun) >= seconds(20))
    );
    assert_eq!(moves(&scene.run(seconds(19))), []);
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(2), "b")]);
    assert_eq!(moves(&scene.run(seconds(21))), [(ip(3), "c")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn one_pools_cool_off_does_not_hold_up_another() {
    let mut scene = cooling(&["a", "b", "c", "d"], 4)
        .pool(pool("p").ips([1, 2]).cooling_off(20))
        .pool(pool("q").ips([3, 4]));
    assert_eq!(moves(&scene.settle()).len(), 3);
}

#[test]
fn nothing_else_is_assigned_while_an_assignment_is_on_its_way() {
    let mut scene = cooling(&["a", "b"], 2).pool(pool("p").ips([1, 2]).cooling_off(20));
    scene.begin();
    scene.answer();
    assert_eq!(moves(&scene.begin()), [(ip(1), "a")]);
    scene.change_node("b", |node| node.labelled("any", "thing"));
    assert_eq!(moves(&scene.planned()), []);
}

#[test]
fn cool_off_survives_a_restart() {
    let mut scene = cooling(&["a", "b"], 2).pool(pool("p").ips([1, 2]).cooling_off(100));
    scene.settle();
    scene.pass(seconds(40));
    scene.restart(seconds(3));
    assert_eq!(moves(&scene.run(seconds(50))), []);
    assert_eq!(moves(&scene.run(seconds(20))), [(ip(2), "b")]);
}

#[test]
fn an_assignment_in_the_future_counts_as_now_and_not_for_longer() {
    let mut scene = cooling(&["a"], 1);
    let mut ahead = pool("p").ips([1]).cooling_off(20);
    ahead.last_assignment = Some(at(10_000));
    scene.set_pool(ahead);
    assert_eq!(moves(&scene.run(seconds(19))), []);
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "a")]);
}

#[test]
fn a_loss_in_the_future_counts_as_now() {
    let mut scene = scene()
        .node(node("x").not_ready())
        .pool(pool("p").ips([1]).without_node_since(ip(1), at(10_000)))
        .address(ip(1), Some("x"));
    scene.settle();
    let since = scene.verdict("p").addresses[0].memory.ineligible_since.unwrap();
    assert!(since <= scene.now);
    scene.pass(seconds(60));
    scene.settle();
    assert_eq!(scene.verdict("p").addresses[0].memory.ineligible_since, Some(since));
}

#[test]
fn a_failed_attempt_costs_no_cool_off_and_its_repetition_keeps_the_distance() {
    let mut scene = cooling(&["a", "b"], 2).pool(pool("p").ips([1, 2]).cooling_off(20));
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "a"), (ip(2), "b")], "the first came to nothing");
    assert_eq!(moves(&scene.run(seconds(19))), []);
    assert_eq!(moves(&scene.run(seconds(3))), [(ip(1), "a")]);
}

#[test]
fn addresses_of_both_families_keep_the_distance() {
    let mut scene = cooling(&["a", "b"], 1)
        .address(ip6(1), None)
        .pool(pool("p").ips([1]).ips6([1]).cooling_off(20));
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
    assert_eq!(moves(&scene.run(seconds(21))), [(ip6(1), "a")]);
}

#[test]
fn the_other_family_is_not_held_up_by_one_that_finds_no_node() {
    let mut scene = cooling(&["a"], 1)
        .address(ip6(1), None)
        .address(ip(9), Some("a"))
        .pool(pool("p").ips([1]).ips6([1]).cooling_off(20));
    assert_eq!(moves(&scene.settle()), [(ip6(1), "a")]);
}

#[test]
fn a_reservation_on_a_node_counts_as_an_assignment() {
    let mut scene = cooling(&["a", "b", "c"], 1).pool(pool("p").ips([1]).wants(3).cooling_off(20));
    let done = scene.settle();
    assert_eq!((moves(&done).len(), creations(&done).len()), (1, 0));
    let done = scene.run(seconds(21));
    assert_eq!((moves(&done).len(), creations(&done)), (0, vec![Some("m-b")]));
    assert_eq!(creations(&scene.run(seconds(15))), [] as [Option<&str>; 0]);
    assert_eq!(creations(&scene.run(seconds(10))), [Some("m-c")]);
}

#[test]
fn an_assignment_waits_for_a_reservation_that_is_on_its_way() {
    let mut scene = cooling(&["a", "b"], 0).pool(pool("p").wants(1).cooling_off(20));
    while count(&scene.begin(), is_create) == 0 {
        scene.answer();
    }
    scene.cloud.place(ip(1), None);
    scene.change_pool("p", |pool| pool.ips([1]).wants(2));
    let sent = scene.held_back.clone();
    scene.held_back.clear();
    scene.settle();
    assert_eq!(count(&scene.history, is_assign), 0);
    scene.held_back = sent;
    scene.answer();
    assert_eq!(moves(&scene.run(seconds(25))), [(ip(1), "b")]);
}

#[test]
fn nothing_else_is_assigned_while_the_assignment_of_a_removed_entry_is_on_its_way() {
    let plain = pool("p").ips([1, 2]).cooling_off(20);
    // Forgotten, kept by the ledger, or listed by another pool meanwhile.
    for (asked, other) in [(plain.clone(), false), (plain.clone().wants(2), false), (plain, true)] {
        let mut scene = cooling(&["a", "b"], 2).pool(asked);
        scene.begin();
        scene.answer();
        assert_eq!(moves(&scene.begin()), [(ip(1), "a")]);
        scene.change_pool("p", |pool| pool.ask(|request| request.listed = [ip(2)].into()));
        if other {
            scene.set_pool(pool("q").ips([1]));
        }
        assert_eq!(moves(&scene.planned()), []);
        assert_eq!(scene.reason("p"), &Reason::Assigning);
        scene.answer();
        let of_two = |scene: &mut Scene, time| {
            let done = scene.run(seconds(time));
            moves(&done).iter().filter(|(one, _)| *one == ip(2)).count()
        };
        assert_eq!(of_two(&mut scene, 19), 0);
        assert_eq!(of_two(&mut scene, 2), 1);
    }
}
