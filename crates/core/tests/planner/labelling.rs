//! A label with a fixed text, shared by several pools, says whether a node serves an address.

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::{Families, Mark, MarkPlace, Node, ObjectKey, Pool, Tells};

use super::cloud::Fault;
use super::fixture::*;
use super::pausing::{marked_for, paused};
use super::scene::{Scene, able, scene, scene_at, setup};

static READY: [Mark; 1] =
    [Mark { place: MarkPlace::Label, key: "ip.ready", tells: Tells::Serving("true") }];

fn labelling(name: &str) -> Pool {
    pool(name).ask(|request| request.marks = &READY)
}

fn labelled(mut node: Node) -> Node {
    node.marks.insert(&READY[0], "true".into());
    node
}

fn calls_cloud(action: &Action) -> bool {
    action.account().is_some()
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
fn a_label_that_is_refused_is_told_as_a_label() {
    let mut scene = scene().nodes(["a"]).pool(labelling("p").ips([1])).address(ip(1), Some("a"));
    for _ in 0..4 {
        scene.fault(is_mark, Fault::Answer(FailureKind::Refused));
    }
    scene.settle();
    let refused = Reason::AnnotationRefused("a".into(), &READY[0], "scripted".into());
    assert_eq!(scene.reason("p"), &refused);
    let said = scene.verdict("p").to_string();
    assert!(said.contains("refuses to write the label ip.ready of node a: scripted"), "{said}");
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
}

#[test]
fn an_object_that_cannot_be_understood_keeps_the_label_where_its_address_is_and_nowhere_else() {
    let mut scene = at_rest();
    scene.change_pool("q", Pool::invalid);
    scene.change_pool("p", |_| labelling("p"));
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.settle()), [("c", None)]);
    assert_eq!(scene.home(ip6(2)), Some("a"));
    scene.cloud.place(ip6(2), Some("m-b"));
    assert_eq!(marks(&scene.run(seconds(120))), [("a", None)], "somebody moved the address");
}

#[test]
fn an_object_whose_list_cannot_be_read_keeps_every_label() {
    let mut scene = at_rest();
    scene.set_pool(Pool { named: None, ..labelling("r").invalid() });
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.run(seconds(120))), []);
}

#[test]
fn the_addresses_of_a_new_object_that_cannot_be_understood_are_read_before_a_label_is_removed() {
    for (holder, removed) in [("b", true), ("c", false)] {
        let mut scene = at_rest();
        scene.cloud.place(ip6(3), Some(&machine(holder)));
        scene.change_node("c", labelled);
        scene.set_pool(labelling("r").ips6([3]).invalid());
        let first = scene.begin();
        assert_eq!((marks(&first), count(&first, is_list)), (vec![], 1), "on {holder}");
        scene.answer();
        let expected = if removed { vec![("c", None)] } else { vec![] };
        assert_eq!(marks(&scene.settle()), expected, "on {holder}");
    }
}

#[test]
fn an_address_that_does_not_exist_keeps_no_label() {
    let mut scene = at_rest();
    scene.set_pool(labelling("r").ips([9]).invalid());
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.settle()), [("c", None)]);
}

#[test]
fn an_account_that_cannot_be_used_keeps_the_labels_of_its_own_cloud_alone() {
    for (cloud, removed) in [("other", true), (CLOUD, false)] {
        let mut scene = at_rest();
        scene.world.set_account("broken".into(), Err(unusable(cloud)));
        scene.set_pool(labelling("r").ips([9]).in_account("broken"));
        scene.change_node("c", labelled);
        let expected = if removed { vec![("c", None)] } else { vec![] };
        assert_eq!(marks(&scene.run(seconds(120))), expected, "{cloud}");
    }
}

#[test]
fn an_address_of_a_family_that_the_provider_lacks_keeps_no_label() {
    let scene = scene_at(able(|one| one.families = Families::V4)).nodes(["a", "b", "c"]);
    let scene = scene.pool(labelling("p").ips([1])).pool(labelling("q").ips([2]).ips6([9]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    scene.change_node("c", labelled);
    assert_eq!(marks(&scene.settle()), [("c", None)]);
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(marks(&scene.settle()), [("a", None), ("c", Some("true"))]);
}

#[test]
fn an_account_that_is_never_heard_keeps_the_labels_of_its_own_cloud_alone() {
    for (cloud, removed) in [("other", true), (CLOUD, false)] {
        let mute = AccountSetup { cloud: cloud.into(), ..setup() };
        let scene = scene().account("second", mute).nodes(["a", "c"]);
        let mut scene = scene.pool(labelling("p").ips([1])).address(ip(1), Some("a")).settled();
        scene.cloud.refuses.push((is_list_of_second, FailureKind::Refused));
        scene.set_pool(labelling("r").ips([9]).in_account("second"));
        scene.run(seconds(60));
        scene.change_node("c", labelled);
        let expected = if removed { vec![("c", None)] } else { vec![] };
        assert_eq!(marks(&scene.run(seconds(120))), expected, "{cloud}");
    }
}

fn is_list_of_second(action: &Action) -> bool {
    is_list(action) && action.account().is_some_and(|account| *account.0 == *"second")
}

#[test]
fn a_listing_in_part_leaves_the_unseen_in_doubt() {
    for (holder, removed) in [(Some("b"), true), (None, false)] {
        let mut scene = scene_at(able(|one| one.lists_by_machine = true))
            .nodes(["a", "b", "c"])
            .pool(labelling("p").ips([1]))
            .pool(labelling("q").ips([2]).invalid())
            .address(ip(1), Some("a"))
            .address(ip(2), holder);
        scene.cloud.limited = true;
        scene.settle();
        scene.change_node("c", labelled);
        let expected = if removed { vec![("c", None)] } else { vec![] };
        assert_eq!(marks(&scene.run(seconds(120))), expected, "{holder:?}");
    }
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

#[test]
fn an_address_of_another_kinds_object_keeps_no_label_of_an_object_that_lists_it_too() {
    for invalid in [false, true] {
        let owner = ObjectKey { kind: &ALLOCATION, ..key("owner") };
        let owner = Pool { key: owner, ..pool("owner").ips([1]).created_at(at(-20)) };
        let scene = scene().nodes(["a", "b"]).pool(if invalid { owner.invalid() } else { owner });
        let scene = scene.pool(labelling("p").ips([1, 2]).created_at(at(-10)));
        let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
        assert_eq!(scene.verdict("p").active(), 1);
        scene.change_node("a", labelled);
        assert_eq!(marks(&scene.settle()), [("a", None)], "invalid: {invalid}");
    }
}

#[test]
fn a_process_that_starts_in_an_outage_leaves_the_label_of_a_failed_node_until_the_place_is_known() {
    let mut scene =
        scene().nodes(["a"]).pool(labelling("p").ips([1])).address(ip(1), Some("a")).settled();
    scene.change_node("a", NodeFixture::not_ready);
    scene.cloud.refuses.push((calls_cloud, FailureKind::Unavailable));
    scene.restart(seconds(0));
    assert_eq!(marks(&scene.run(seconds(120))), [], "nothing is known of the address");
    // A label that was removed could not be written again now.
    scene.change_node("a", NodeFixture::ready);
    assert_eq!(marks(&scene.run(seconds(10))), []);
    scene.change_node("a", NodeFixture::not_ready);
    scene.cloud.refuses.clear();
    assert_eq!(marks(&scene.run(seconds(120))), [("a", None)], "the node serves nothing");
}

#[test]
fn an_annotation_that_names_an_address_of_a_pool_without_annotations_is_withdrawn() {
    for listed in [true, false] {
        let mut marked = node("a");
        marked.marks.insert(&MARKS[0], "192.0.2.1".into());
        let owner = labelling("q").ips([1]).holding(ip(1));
        let scene = scene().node(marked).node(node("b")).pool(owner);
        let mut scene = scene.pool(pool("p").ips([1])).address(ip(1), Some("b"));
        if !listed {
            scene.cloud.refuses.push((calls_cloud, FailureKind::Unavailable));
        }
        scene.run(seconds(10));
        assert!(matches!(scene.reason("p"), Reason::Conflict(..)) || !listed);
        assert_eq!(scene.mark("a").is_some(), !listed);
    }
}

#[test]
fn the_label_of_a_node_is_for_the_pool_whose_address_the_node_has() {
    for idle in ["p", "q"] {
        let scene = scene().nodes(["a", "b"]).pool(labelling("p").ips([1]));
        let scene = scene.pool(labelling("q").ips([2]));
        let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
        scene.change_pool(idle, paused);
        scene.settle();
        scene.change_node("b", |node| Node { marks: Default::default(), ..node });
        assert_eq!(marked_for(&scene.planned()), [Some(key("q"))], "{idle} is paused");
    }
}
