//! Calls about machines that could not be noted first: without a node, or without the right to write the
//! note.

use pontoon_core::action::FailureKind;

use super::cloud::Fault;
use super::egress::{at_rest, displacing, is_settled, story, until};
use super::fixture::*;
use super::scene::Scene;

/// Address 1 on the machine of `a`, which no node names; the call that takes it off there has ended
/// so. The address is on `b` now.
fn taken_without_a_node(fault: Option<Fault>) -> (Scene, Vec<String>) {
    let mut scene = displacing().nodes(["a", "b"]).pool(pool("p").ips([1]));
    scene.change_node("a", NodeFixture::without_provider_id);
    scene.cloud.place(ip(1), Some(&machine("a")));
    scene.tolerant = true;
    fault.into_iter().for_each(|fault| scene.fault(is_unassign, fault));
    let done = story(&scene.run(seconds(30)));
    assert_eq!(scene.home(ip(1)), Some("b"));
    (scene, done)
}

#[test]
fn a_machine_without_a_node_gets_its_own_address_back() {
    let (mut scene, done) = taken_without_a_node(None);
    let of_a: Vec<_> = done.iter().filter(|one| !one.ends_with(" b")).collect();
    assert_eq!(of_a, ["unassign", "restore m-a"]);
    scene.set_node(node("a"));
    assert_eq!(story(&scene.run(seconds(90))), [""; 0], "and is owed nothing");
}

#[test]
fn a_machine_without_a_node_is_asked_until_no_operation_of_a_call_that_broke_down_can_run() {
    let (mut scene, done) = taken_without_a_node(Some(Fault::Lost));
    assert!(done.iter().filter(|one| *one == "restore m-a").count() > 1, "{done:?}");
    let later = story(&scene.run(seconds(60)));
    assert_eq!(later.last().map(String::as_str), Some("restore m-a"), "{later:?}");
    assert_eq!(story(&scene.run(seconds(300))), [""; 0]);
}

#[test]
fn a_machine_without_a_node_is_noted_once_it_has_one() {
    let (mut scene, _) = taken_without_a_node(Some(Fault::Lost));
    scene.set_node(node("a"));
    let done = story(&scene.run(seconds(60)));
    assert_eq!(done.first().map(String::as_str), Some("note a"), "{done:?}");
    assert!(is_settled(&done), "{done:?}");
}

#[test]
fn a_machine_without_a_node_is_remembered_when_the_process_leads_again() {
    let (mut scene, _) = taken_without_a_node(Some(Fault::Lost));
    scene.world.take_over(scene.now);
    let done = story(&scene.run(seconds(90)));
    assert_eq!(done.last().map(String::as_str), Some("restore m-a"), "{done:?}");
    assert_eq!(story(&scene.run(seconds(300))), [""; 0]);
}

#[test]
fn a_machine_whose_node_cannot_be_noted_is_asked_all_the_same() {
    let (mut scene, _) = taken_without_a_node(Some(Fault::Lost));
    scene.cloud.refuses.push((is_mark, FailureKind::Refused));
    scene.set_node(node("a"));
    let done = story(&scene.run(seconds(60)));
    assert!(done.contains(&"restore m-a".to_owned()), "{done:?}");
    let later = story(&scene.run(seconds(600)));
    assert_eq!(later, [""; 0], "it has an address");
}

#[test]
fn a_machine_that_could_not_be_noted_and_loses_its_node_gets_its_own_address_back() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.cloud.refuses.push((is_mark, FailureKind::Unavailable));
    until(&mut scene, "unassign");
    scene.answer();
    scene.change_node("a", NodeFixture::without_provider_id);
    scene.cloud.refuses.clear();
    let done = story(&scene.run(seconds(600)));
    assert!(done.contains(&"restore m-a".to_owned()), "{done:?}");
}
