//! A label with a fixed text, shared by several pools, says whether a node serves an address.

use pontoon_core::action::FailureKind;
use pontoon_core::model::{Mark, MarkPlace, Node, ObjectKey, Pool, Tells};

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, scene};

static READY: [Mark; 1] =
    [Mark { place: MarkPlace::Label, key: "ip.ready", tells: Tells::Serving("true") }];

fn labelling(name: &str) -> Pool {
    pool(name).ask(|request| request.marks = &READY)
}

fn labelled(mut node: Node) -> Node {
    node.marks.insert(&READY[0], "true".into());
    node
}

fn at_rest() -> Scene {
    scene()
        .nodes(["a", "b", "c"])
        .pool(labelling("p").ips([1]))
        .pool(labelling("q").ips6([2]))
        .address(ip(1), Some("a"))
        .address(ip6(2), Some("a"))
        .settled()
}

#[test]
fn a_node_has_the_label_while_it_serves_an_address_of_any_pool() {
    let mut scene = at_rest();
    scene.change_pool("p", |pool| Pool { version: pool.version + 1, ..labelling("p") });
    // The address of the other pool is still there.
    assert_eq!(marks(&scene.settle()), []);
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip6(2), "b")]);
    assert_eq!(marks(&done), [("a", None), ("b", Some("true"))]);
}

#[test]
fn a_label_that_somebody_removes_is_written_again() {
    let mut scene = at_rest();
    scene.change_node("a", |mut node| {
        node.marks.clear();
        node
    });
    assert_eq!(marks(&scene.settle()), [("a", Some("true"))]);
}

#[test]
fn a_label_on_a_node_without_an_address_is_removed() {
    let mut scene = at_rest();
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.settle()), [("c", None)]);
}

#[test]
fn a_label_is_kept_while_the_place_of_an_address_is_unknown() {
    let mut scene = at_rest();
    scene.change_node("c", labelled);
    scene.restart(seconds(0));
    scene.fault(is_list, Fault::Answer(FailureKind::Unavailable));
    assert_eq!(marks(&scene.settle()), []);
    // An object with a defect may be the one that the label is about.
    let mut scene = at_rest();
    scene.change_pool("q", Pool::invalid);
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.settle()), []);
}

#[test]
fn the_annotation_of_another_kind_does_not_name_the_address() {
    let mut scene = at_rest();
    scene.set_pool(pool("other").ips([3]));
    scene.change_node("a", |node| node.marked("192.0.2.1"));
    // The annotation names no address of a pool that uses the annotation; the label stays.
    assert_eq!(marks(&scene.settle()), []);
}

#[test]
fn a_defect_of_an_object_of_another_kind_leaves_no_doubt() {
    let mut scene = at_rest();
    let other = ObjectKey { kind: &ALLOCATION, ..key("other") };
    scene.set_pool(Pool { key: other, ..pool("other").ips([3]).invalid() });
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.settle()), [("c", None)]);
}
