//! Marks on nodes match the actual assignments.

use pontoon_core::action::{Action, FailureKind, MarkWrite};
use pontoon_core::model::{Family, Mark, MarkPlace, Tells, Text};

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at};

fn at_rest() -> Scene {
    scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled()
}

#[test]
fn a_mark_appears_only_once_the_cloud_has_confirmed() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.begin();
    scene.answer();
    assert_eq!(moves(&scene.begin()), [(ip(1), "a")]);
    scene.change_node("a", |node| node.labelled("any", "thing"));
    assert_eq!(marks(&scene.planned()), []);
    scene.answer();
    assert_eq!(marks(&scene.settle()), [("a", Some("192.0.2.1"))]);
}

#[test]
fn a_mark_is_withdrawn_beside_the_failover_and_does_not_delay_it() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    let planned = scene.planned();
    assert_eq!((moves(&planned), marks(&planned)), (vec![(ip(1), "b")], vec![("a", None)]));
}

#[test]
fn a_mark_is_withdrawn_before_the_cloud_was_heard_if_the_node_may_not_have_it_anyway() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.restart(seconds(0));
    assert_eq!(marks(&scene.planned()), [("a", None)]);
}

#[test]
fn a_mark_is_kept_while_the_cloud_was_not_heard_and_the_node_may_have_it() {
    let mut scene = at_rest();
    scene.restart(seconds(0));
    scene.fault(is_list, Fault::Answer(FailureKind::Unavailable));
    assert_eq!(marks(&scene.settle()), []);
}

#[test]
fn a_mark_that_names_an_address_of_nobody_is_left_alone() {
    let mut scene = scene()
        .node(node("a").marked("203.0.113.9"))
        .node(node("b").marked("not an address"))
        .nodes(["c"])
        .pool(pool("p").ips([1]))
        .address(ip(1), Some("c"));
    assert_eq!(marks(&scene.run(seconds(61))), [("c", Some("192.0.2.1"))]);
}

#[test]
fn a_mark_that_names_an_address_which_is_elsewhere_is_taken_off() {
    let mut scene = at_rest();
    scene.change_node("b", |node| node.marked("192.0.2.1"));
    assert_eq!(marks(&scene.settle()), [("b", None)]);
}

#[test]
fn a_mark_that_somebody_removes_is_written_again() {
    let mut scene = at_rest();
    scene.change_node("a", |mut node| {
        node.marks.clear();
        node
    });
    assert_eq!(marks(&scene.settle()), [("a", Some("192.0.2.1"))]);
}

#[test]
fn a_mark_that_cannot_be_written_is_tried_again_later() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    scene.fault(is_mark, Fault::Answer(FailureKind::Unavailable));
    scene.fault(is_mark, Fault::Lost);
    let done = scene.run(seconds(10));
    assert_eq!(count(&done, is_mark), 3, "{done:#?}");
    assert_eq!(scene.mark("a"), Some("192.0.2.1"));
    assert_eq!(count(&scene.run(seconds(30)), is_mark), 0);
}

#[test]
fn the_mark_of_an_address_that_moved_between_pools_of_one_node_is_written_once() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1, 3]))
        .pool(pool("q").ips([2, 4]))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .address(ip(3), Some("c"))
        .settled();
    scene.cloud.place(ip(1), None);
    scene.cloud.place(ip(2), Some("m-a"));
    scene.cloud.place(ip(3), Some("m-b"));
    scene.pass(seconds(60));
    scene.begin();
    scene.answer();
    let planned = scene.planned();
    let wanted = [("a", Some("192.0.2.2")), ("b", Some("192.0.2.3")), ("c", None)];
    assert_eq!(marks(&planned), wanted, "{planned:#?}");
}

#[test]
fn several_addresses_of_one_family_are_one_mark_in_order() {
    let mut scene = scene_at(able(|one| one.per_machine = 3))
        .nodes(["a"])
        .pool(pool("p").ips([10]))
        .pool(pool("q").ips([9]))
        .address(ip(9), Some("a"))
        .address(ip(10), Some("a"));
    assert_eq!(marks(&scene.settle()), [("a", Some("192.0.2.9,192.0.2.10"))]);
}

#[test]
fn a_node_re_created_during_the_write_is_not_marked_for_the_other() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    scene.begin();
    scene.answer();
    assert_eq!(count(&scene.begin(), is_mark), 1);
    let mut other = node("a").on_machine("m-new");
    other.uid = "uid-other".into();
    scene.set_node(other);
    scene.answer();
    let done = scene.run(seconds(10));
    assert_eq!(moves(&done), [(ip(1), "a")]);
    assert_eq!(scene.mark("a"), Some("192.0.2.1"));
    let uids = done.iter().filter_map(|action| match action {
        Action::Mark(MarkWrite { uid, .. }) => Some(&**uid),
        _ => None,
    });
    assert_eq!(uids.collect::<Vec<_>>(), ["uid-other"]);
}

#[test]
fn our_own_mark_seen_again_changes_nothing() {
    let mut scene = at_rest();
    let seen = scene.world.node(&"a".into()).unwrap().clone();
    scene.set_node(seen);
    assert_eq!(scene.settle(), []);
}

#[test]
fn the_mark_of_an_account_that_cannot_be_used_is_left_alone() {
    let mut scene = scene_at(able(|one| one.per_machine = 2))
        .node(node("a").marked("192.0.2.7,192.0.2.1"))
        .address(ip(1), Some("a"));
    scene.world.set_account("broken".into(), Err(unusable(CLOUD)));
    scene.set_pool(pool("p").ips([1]));
    scene.set_pool(pool("q").ips([7]).in_account("broken"));
    assert_eq!(marks(&scene.settle()), []);
}

#[test]
fn an_address_that_the_cloud_is_working_on_keeps_its_mark_and_gets_no_new_one() {
    let mut scene = at_rest();
    scene.cloud.addresses.get_mut(&ip(1)).unwrap().busy = true;
    assert_eq!(marks(&scene.run(seconds(61))), []);
    scene.cloud.place(ip(1), Some("m-b"));
    assert_eq!(marks(&scene.run(seconds(3))), [("a", None)]);
    scene.cloud.addresses.get_mut(&ip(1)).unwrap().busy = false;
    assert_eq!(marks(&scene.run(seconds(3))), [("b", Some("192.0.2.1"))]);
}

#[test]
fn a_mark_is_right_if_and_only_if_it_has_the_value_for_its_addresses() {
    let mark = |tells| Mark { place: MarkPlace::Annotation, key: "key", tells };
    let marks = [Tells::Addresses(Family::V4), Tells::Addresses(Family::V6), Tells::Serving("yes")]
        .map(mark);
    let served =
        [vec![], vec![ip(1)], vec![ip(1), ip(2)], vec![ip6(1)], vec![ip6(1), ip6(2)], vec![ip(12)]];
    let values = marks.iter().flat_map(|mark| served.iter().map(|serves| mark.value(serves)));
    let odd =
        ["", "no", ",", "192.0.2.1,", "192.0.2.01", " 192.0.2.1", "2001:DB8::1", "192.0.2.1 "];
    let values: Vec<Option<Text>> = values.chain(odd.map(|one| Some(one.into()))).collect();
    let cases = marks.iter().flat_map(|mark| served.iter().map(move |serves| (mark, serves)));
    for ((mark, serves), value) in cases.flat_map(|case| values.iter().map(move |one| (case, one)))
    {
        let right = mark.is_right(value.as_ref(), serves);
        assert_eq!(right, mark.value(serves) == *value, "{mark} {serves:?} {value:?}");
    }
}
