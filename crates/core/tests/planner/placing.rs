//! Choice of nodes for addresses, and addresses that stay in place.

use pontoon_core::action::FailureKind;
use pontoon_core::addresses::verdict::{Note, Obstacle, Reason, State};

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at, setup};

#[test]
fn addresses_go_to_the_first_nodes_by_name() {
    let mut scene = scene()
        .nodes(["c", "a", "b"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), None)
        .address(ip(2), None);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "a"), (ip(2), "b")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert_eq!(scene.states("p"), [State::Active, State::Active]);
}

#[test]
fn a_restart_with_everything_in_place_lists_once_and_does_nothing() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), None)
        .address(ip(2), None)
        .settled();
    scene.restart(seconds(3));
    let done = scene.run(seconds(30));
    assert_eq!((count(&done, is_list), done.len()), (1, 1), "{done:#?}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn addresses_that_are_on_matching_nodes_at_start_stay_whatever_their_order() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), Some("c"))
        .address(ip(2), Some("b"));
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("c"), Some("b")));
}

#[test]
fn the_address_of_a_node_that_is_not_ready_goes_to_the_third_node_by_one_call() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .settled();
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "c")]);
    assert_eq!(count(&done, pontoon_core::action::Action::changes_provider), 1);
}

#[test]
fn a_move_is_the_first_action_of_its_plan() {
    let mut scene =
        scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    scene.pass(seconds(61));
    scene.change_node("a", NodeFixture::not_ready);
    let planned = scene.planned();
    assert!(is_assign(&planned[0]), "{planned:#?}");
    assert!(planned.iter().any(is_list), "the listing is due as well: {planned:#?}");
}

#[test]
fn without_another_node_the_address_stays_attached_and_the_mark_goes() {
    let mut scene =
        scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    assert_eq!(scene.mark("a"), Some("192.0.2.1"));
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(count(&done, pontoon_core::action::Action::changes_provider), 0);
    assert_eq!((scene.home(ip(1)), scene.mark("a")), (Some("a"), None));
    assert_eq!(scene.states("p"), [State::NoMatch]);
    assert_eq!(scene.reason("p"), &Reason::NoMatchingNode);
}

#[test]
fn a_node_that_recovers_keeps_its_own_address() {
    let mut scene =
        scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.change_node("a", NodeFixture::ready);
    let done = scene.settle();
    assert_eq!(moves(&done), []);
    assert_eq!((scene.mark("a"), scene.reason("p")), (Some("192.0.2.1"), &Reason::AllAssigned));
}

#[test]
fn a_node_that_comes_back_gets_no_address_back_that_moved_on() {
    let mut scene =
        scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.change_node("a", NodeFixture::ready);
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn unattached_addresses_go_first_then_the_one_that_lost_its_node_longest_ago() {
    let mut scene = scene()
        .node(node("x").not_ready())
        .node(node("y").not_ready())
        .pool(
            pool("p")
                .ips([1, 2, 3])
                .without_node_since(ip(1), at(-10))
                .without_node_since(ip(2), at(-20)),
        )
        .address(ip(1), Some("x"))
        .address(ip(2), Some("y"))
        .address(ip(3), None)
        .settled();
    scene.set_node(node("a"));
    assert_eq!(moves(&scene.settle()), [(ip(3), "a")]);
    scene.set_node(node("b"));
    assert_eq!(moves(&scene.settle()), [(ip(2), "b")]);
    scene.set_node(node("c"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
}

#[test]
fn when_a_node_was_lost_is_remembered_across_a_restart() {
    let mut scene = scene()
        .nodes(["x", "y"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), Some("x"))
        .address(ip(2), Some("y"))
        .settled();
    scene.change_node("y", NodeFixture::not_ready);
    scene.settle();
    scene.pass(seconds(10));
    scene.change_node("x", NodeFixture::not_ready);
    scene.settle();
    scene.restart(seconds(0));
    scene.set_node(node("z"));
    assert_eq!(moves(&scene.settle()), [(ip(2), "z")]);
}

#[test]
fn an_attempt_without_an_answer_does_not_make_the_loss_younger() {
    let mut scene = scene()
        .nodes(["x", "y"])
        .pool(pool("p").ips([1, 2]))
        .address(ip(1), Some("x"))
        .address(ip(2), Some("y"))
        .settled();
    scene.change_node("x", NodeFixture::not_ready);
    scene.settle();
    scene.pass(seconds(5));
    scene.change_node("y", NodeFixture::not_ready);
    scene.settle();
    scene.set_node(node("z"));
    scene.fault(is_assign, super::cloud::Fault::Dropped);
    assert_eq!(moves(&scene.begin()), [(ip(1), "z")]);
    scene.answer();
    scene.change_node("z", NodeFixture::not_ready);
    scene.run(seconds(20));
    scene.change_node("z", NodeFixture::ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "z")], "1 still lost its node first");
}

#[test]
fn fewer_wanted_than_listed_disables_the_surplus_from_the_end() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 2, 3]).wants(2))
        .address(ip(1), None)
        .address(ip(2), None)
        .address(ip(3), None);
    assert_eq!(moves(&scene.settle()), [(ip(1), "a"), (ip(2), "b")]);
    assert_eq!(scene.states("p"), [State::Active, State::Active, State::Disabled]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_surplus_address_is_taken_off_a_node_that_is_needed() {
    let mut scene = scene()
        .nodes(["a", "b"])
        .pool(pool("p").ips([1, 2, 3]).wants(2))
        .address(ip(1), Some("a"))
        .address(ip(2), None)
        .address(ip(3), Some("b"));
    let done = scene.settle();
    assert_eq!(count(&done, is_unassign), 1);
    assert_eq!(moves(&done), [(ip(2), "b")]);
    assert_eq!(scene.home(ip(3)), None);
    assert_eq!(scene.mark("b"), Some("192.0.2.2"));
}

#[test]
fn a_surplus_address_whose_unassignment_had_no_effect_is_taken_off_again() {
    for setup in [setup(), able(|abilities| abilities.moves_at_once = false)] {
        let scene = scene_at(setup).nodes(["a", "b", "c"]);
        let scene = scene.pool(pool("p").ips([1, 2, 3])).pool(pool("q").ips([5, 6, 7]));
        let scene = (1..=3).zip(["a", "b", "c"]).fold(scene, |scene, (number, name)| {
            scene.address(ip(number), Some(name)).address(ip(number + 4), None)
        });
        let mut scene = scene.settled();
        scene.change_pool("p", |pool| pool.wants(1));
        for _ in 0..2 {
            scene.fault(is_unassign, Fault::Ignored);
        }
        scene.tolerant = true;
        scene.run(seconds(600));
        let placed = (5..=7).filter_map(|number| scene.home(ip(number)));
        assert_eq!(placed.count(), 2);
    }
}

#[test]
fn only_as_many_surplus_addresses_are_taken_off_as_nodes_are_needed() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 2, 3, 4]).wants(2))
        .address(ip(1), Some("a"))
        .address(ip(2), None)
        .address(ip(3), Some("b"))
        .address(ip(4), Some("c"));
    scene.begin();
    scene.answer();
    assert_eq!(count(&scene.begin(), is_unassign), 1);
    scene.change_node("a", |node| node.labelled("any", "thing"));
    assert_eq!(count(&scene.planned(), is_unassign), 0, "one is on its way off already");
    scene.answer();
    scene.settle();
    assert_eq!(scene.home(ip(4)), Some("c"));
}

#[test]
fn a_surplus_address_of_the_other_family_is_not_in_the_way() {
    let mut scene = scene()
        .nodes(["a"])
        .node(node("b").tainted("k", "", "NoExecute"))
        .pool(pool("p").ips6([1, 2]).ips([1]).wants(2))
        .address(ip6(1), Some("a"))
        .address(ip6(2), None)
        .address(ip(1), Some("a"));
    assert_eq!(count(&scene.run(seconds(10)), is_unassign), 0);
}

#[test]
fn a_surplus_address_stays_on_a_node_that_nobody_needs() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 2]).wants(1))
        .address(ip(1), None)
        .address(ip(2), Some("b"));
    let done = scene.settle();
    assert_eq!((moves(&done), count(&done, is_unassign)), (vec![(ip(1), "a")], 0));
    assert_eq!((scene.home(ip(2)), scene.mark("b")), (Some("b"), None));
}

#[test]
fn a_node_that_holds_a_strangers_address_is_no_candidate_and_that_is_said() {
    let mut scene = scene()
        .nodes(["a", "b"])
        .pool(pool("p").ips([1]))
        .address(ip(1), None)
        .address(ip(99), Some("a"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
    scene.change_node("b", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), []);
    let verdict = scene.verdict("p");
    assert_eq!(verdict.unusable, [("a".into(), Obstacle::HoldsOther(ip(99)))]);
    let holds = ("a".into(), Obstacle::HoldsOther(ip(99)));
    assert_eq!(verdict.reason, Reason::NoFreeNode(vec![holds]));
    assert_eq!(scene.home(ip(99)), Some("a"));
}

#[test]
fn a_node_is_free_again_once_the_stranger_has_left() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("p").ips([1]))
        .address(ip(1), None)
        .address(ip(99), Some("a"))
        .settled();
    scene.cloud.place(ip(99), None);
    assert_eq!(moves(&scene.run(seconds(61))), [(ip(1), "a")]);
}

#[test]
fn a_node_re_created_under_its_name_inherits_nothing() {
    let mut scene =
        scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    let mut other = node("a").on_machine("m-new");
    other.uid = "uid-other".into();
    scene.set_node(other);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "a")]);
    assert_eq!(scene.cloud.holder(ip(1)), Some("m-new"));
}

#[test]
fn of_two_nodes_that_name_one_machine_the_ready_one_counts() {
    for names in [["a", "z"], ["z", "a"]] {
        let mut scene = scene()
            .node(node(names[0]).on_machine("m-1").not_ready())
            .node(node(names[1]).on_machine("m-1"))
            .pool(pool("p").ips([1]));
        scene.cloud.place(ip(1), Some("m-1"));
        let done = scene.settle();
        assert_eq!(moves(&done), []);
        assert_eq!(scene.reason("p"), &Reason::AllAssigned);
        assert_eq!(scene.mark(names[1]), Some("192.0.2.1"));
    }
}

#[test]
fn a_node_that_leaves_its_machine_to_another_node_does_not_take_it_along() {
    let mut scene = scene()
        .node(node("a").on_machine("m-1"))
        .node(node("b").on_machine("m-1"))
        .pool(pool("p").ips([1]));
    scene.cloud.place(ip(1), Some("m-1"));
    scene.settle();
    scene.remove_node("a");
    let done = scene.settle();
    assert_eq!(moves(&done), []);
    assert_eq!((scene.reason("p"), scene.mark("b")), (&Reason::AllAssigned, Some("192.0.2.1")));
}

#[test]
fn an_address_on_a_machine_that_is_no_node_is_moved_to_one() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1]));
    scene.cloud.place(ip(1), Some("elsewhere"));
    scene.begin();
    scene.answer();
    assert_eq!(moves(&scene.planned()), [(ip(1), "a")]);
    assert_eq!(scene.verdict("p").addresses[0].note, Some(Note::NoNode));
}

#[test]
fn machines_that_carry_several_addresses_are_filled_evenly() {
    let mut scene = scene_at(able(|one| one.per_machine = 2))
        .nodes(["a", "b"])
        .pool(pool("p").ips([1, 2, 3, 4, 5]).wants(4));
    for n in 1..=4 {
        scene.cloud.place(ip(n), None);
    }
    scene.cloud.place(ip(5), Some("m-a"));
    let done = scene.settle();
    let expected = [(ip(1), "b"), (ip(2), "a"), (ip(3), "b")];
    assert_eq!(moves(&done)[..3], expected);
    assert_eq!(count(&done, is_unassign), 1, "5 is surplus, and in the way of the fourth");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert_eq!(scene.mark("b"), Some("192.0.2.1,192.0.2.3"));
}

#[test]
fn one_node_carries_an_address_of_each_family() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("four").ips([1]))
        .pool(pool("six").ips6([1]))
        .address(ip(1), None)
        .address(ip6(1), None);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "a"), (ip6(1), "a")]);
    assert_eq!(marks(&done), [("a", Some("192.0.2.1")), ("a", Some("2001:db8::1"))]);
}

#[test]
fn every_free_node_is_counted_however_many_there_are_and_a_hundred_are_named() {
    let mut scene = (0..500)
        .fold(scene(), |scene, n| scene.node(node(&format!("n{n:03}"))))
        .pool(pool("p").ips([1, 2, 3]))
        .address(ip(1), None)
        .address(ip(2), None)
        .address(ip(3), None)
        .settled();
    let free =
        |scene: &Scene| (scene.verdict("p").available_count, scene.verdict("p").available.len());
    assert_eq!(free(&scene), (497, 100));
    // The count is right for other pools in the plan and for changes of nodes too.
    scene.set_pool(pool("q").ips([4, 5]));
    scene.cloud.place(ip(4), None);
    scene.cloud.place(ip(5), None);
    scene.settle();
    scene.change_node("n400", NodeFixture::not_ready);
    scene.change_node("n002", NodeFixture::not_ready);
    scene.settle();
    assert_eq!(free(&scene), (493, 100));
    scene.change_node("n400", NodeFixture::ready);
    scene.settle();
    assert_eq!(free(&scene), (494, 100));
}

#[test]
fn a_node_that_failed_just_now_is_not_counted_as_free() {
    let mut scene = (0..200)
        .fold(scene(), |scene, n| scene.node(node(&format!("n{n:03}"))))
        .pool(pool("p").ips([1]))
        .address(ip(1), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    scene.settle();
    assert_eq!(scene.verdict("p").available_count, 199);
}
