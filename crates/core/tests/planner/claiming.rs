//! Ownership of a DNS name that several objects ask for.

use pontoon_core::action::{Action, FailureKind, RecordAction};
use pontoon_core::model::{NodeAddress, RecordRequest, RecordSet};
use pontoon_core::records::verdict::RecordReason;

use super::cloud::Fault;
use super::fixture::*;
use super::recording::*;
use super::scene::scene;

#[test]
fn the_object_that_has_a_name_keeps_it_and_the_other_writes_nothing() {
    let mut scene = scene().node(edge("a", ip(1)));
    scene.set_records(of_nodes("first", NodeAddress::External));
    scene.settle();
    // Older, with another spelling of the same name.
    let mut second = of_nodes("second", NodeAddress::Marked(&MARKS[0]));
    second.created_at = at(-5000);
    second = ask(second, |request| request.name = NAME.into());
    scene.change_node("a", |node| node.marked("192.0.2.9"));
    scene.set_records(second);
    assert_eq!(writes(&scene.run(seconds(600))), 0);
    let verdict = scene.record_verdict(&nodes_key("second"));
    assert!(
        matches!(&verdict.reason, RecordReason::Conflict(_, owner, _) if *owner == nodes_key("first"))
    );
    scene.restart(seconds(3));
    assert_eq!(writes(&scene.run(seconds(600))), 0, "the status says whose it is");

    scene.remove_records(&nodes_key("first"));
    scene.settle();
    assert_eq!(scene.dns.listed(NAME), [ip(9)]);
}

#[test]
fn of_two_new_objects_the_older_has_the_name() {
    let mut scene = scene().node(edge("a", ip(1)).marked("192.0.2.9"));
    let older =
        RecordSet { created_at: at(-2000), ..of_nodes("b", NodeAddress::Marked(&MARKS[0])) };
    scene.set_records(of_nodes("a", NodeAddress::External));
    scene.set_records(older);
    assert_eq!(writes(&scene.run(seconds(10))), 1);
    assert_eq!(scene.dns.listed(NAME), [ip(9)]);
}

fn is_read_for_b(action: &Action) -> bool {
    matches!(action, Action::Record(RecordAction::Read { owner, .. }) if *owner == nodes_key("b"))
}

#[test]
fn the_younger_of_two_new_objects_writes_nothing_before_the_name_of_the_older_is_known() {
    let mut scene = scene().node(edge("a", ip(1)).marked("192.0.2.9"));
    let older =
        RecordSet { created_at: at(-2000), ..of_nodes("b", NodeAddress::Marked(&MARKS[0])) };
    scene.fault(is_read_for_b, Fault::Answer(FailureKind::Unavailable));
    scene.set_records(of_nodes("a", NodeAddress::External));
    scene.set_records(older);
    assert_eq!(writes(&scene.run(seconds(10))), 1);
    assert_eq!(scene.dns.listed(NAME), [ip(9)]);
}

#[test]
fn an_older_object_whose_name_cannot_be_found_is_not_waited_for() {
    let mut scene = scene().node(edge("a", ip(1)));
    let older = RecordSet { created_at: at(-2000), ..of_nodes("b", NodeAddress::External) };
    scene.fault(is_read_for_b, Fault::Answer(FailureKind::Rejected));
    scene.set_records(of_nodes("a", NodeAddress::External));
    scene.set_records(older);
    assert_eq!(writes(&scene.run(seconds(10))), 1);
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
}

#[test]
fn an_older_object_that_has_nothing_to_list_has_the_name_all_the_same() {
    let mut scene = scene().node(edge("a", ip(1)));
    let older =
        RecordSet { created_at: at(-2000), ..of_nodes("b", NodeAddress::Marked(&MARKS[0])) };
    scene.set_records(of_nodes("a", NodeAddress::External));
    scene.set_records(older);
    assert_eq!(writes(&scene.run(seconds(600))), 0);
    let verdict = scene.record_verdict(&nodes_key("a"));
    assert!(
        matches!(&verdict.reason, RecordReason::Conflict(_, owner, _) if *owner == nodes_key("b"))
    );
    assert_eq!(scene.record_verdict(&nodes_key("b")).reason, RecordReason::NothingToList);
}

#[test]
fn another_name_is_written_and_the_old_one_is_left_as_it_is() {
    let mut scene = served();
    scene.change_records("p", |set| ask(set, |request| request.name = "new".into()));
    assert_eq!(writes(&scene.run(seconds(600))), 1);
    assert_eq!(scene.dns.listed("new.example.com"), [ip(1), ip(2)]);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
    let held = scene.record_verdict(&key("p")).held.clone().expect("held");
    assert_eq!(&*held.site.name, "new.example.com");
}

#[test]
fn an_object_that_asks_for_another_name_keeps_nobody_from_its_former_name() {
    let mut scene = scene().node(edge("a", ip(1)).marked("192.0.2.9"));
    scene.set_records(of_nodes("first", NodeAddress::External));
    scene.settle();
    // The new zone is not found.
    for _ in 0..200 {
        scene.fault(is_read_for_first, Fault::Answer(FailureKind::NotFound));
    }
    let renamed = |request: &mut RecordRequest| request.zone = "exmaple.com".into();
    scene.set_records(RecordSet {
        version: 9,
        ..ask(of_nodes("first", NodeAddress::External), renamed)
    });
    scene.set_records(of_nodes("second", NodeAddress::Marked(&MARKS[0])));
    scene.run(seconds(60));
    assert_eq!(scene.dns.listed(NAME), [ip(9)]);
    scene.restart(seconds(3));
    scene.change_node("a", |node| node.marked("192.0.2.8"));
    scene.run(seconds(60));
    assert_eq!(scene.dns.listed(NAME), [ip(8)], "after a restart too");
}

fn is_read_for_first(action: &Action) -> bool {
    matches!(action, Action::Record(RecordAction::Read { owner, .. }) if *owner == nodes_key("first"))
}
