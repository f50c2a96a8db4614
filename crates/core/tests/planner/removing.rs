//! The removal of a note: when it may take effect, and when the note counts no more.

use std::sync::Arc;

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::model::Request;
use pontoon_core::nodes::{Cordon, PodMatch, Selector};

use super::cloud::Fault;
use super::egress::{NOTE, at_rest, displacing, is_removal, story, until};
use super::evicting::{NOTE as EVICTING, evicting, web};
use super::fixture::*;
use super::pausing::paused;
use super::scene::{Scene, scene};

#[test]
fn a_removal_of_a_note_that_arrives_late_erases_no_newer_note() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    until(&mut scene, "forget a");
    let begun = scene.held_back.iter().position(|(action, _)| is_removal(action));
    let removal = begun.expect("the removal is under way");
    let (late, _) = scene.held_back.remove(removal);
    // The process stalls. The next leader removes the note, and notes the node anew.
    let removed = scene.carry_out(&late);
    assert!(removed.is_ok(), "{removed:?}");
    scene.change_node("a", |mut node| {
        node.marks.insert(&NOTE, "true".into());
        node
    });
    let failure = scene.carry_out(&late).expect_err("the node has changed");
    assert_eq!(failure.kind, FailureKind::Conflict);
}

#[test]
fn a_note_is_removed_after_the_other_marks_of_its_node_are_written() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    until(&mut scene, "assign b");
    scene.answer();
    let begun = scene.begin();
    assert_eq!(marks(&begun), [("b", Some("192.0.2.1"))], "the mark of the pool comes first");
    scene.answer();
    assert_eq!(story(&scene.begin()), ["forget b"]);
}

#[test]
fn a_note_that_was_removed_without_an_answer_is_written_again_before_the_next_call() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_removal, Fault::Lost);
    scene.fault(is_removal, Fault::Lost);
    until(&mut scene, "forget b");
    scene.answer();
    scene.watch();
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("b", NodeFixture::not_ready);
    let done = story(&scene.run(seconds(10)));
    let place = |what: &str| done.iter().position(|one| one == what).expect(what);
    assert!(place("note b") < place("unassign"), "{done:?}");
    assert!(place("note a") < place("assign a"), "{done:?}");
}

/// The removal of the note of `b` has no answer, and the address shall go back to `a`.
fn removing(took_effect: bool) -> Scene {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    until(&mut scene, "forget b");
    scene.fault(is_removal, if took_effect { Fault::Lost } else { Fault::Dropped });
    scene.answer();
    scene.change_node("a", |node| node.ready().labelled("site", "a"));
    scene.change_pool("p", |pool| pool.on("site=a"));
    scene
}

#[test]
fn a_note_whose_removal_has_no_answer_does_not_count_until_the_removal_can_take_effect_no_more() {
    for removed in [true, false] {
        let mut scene = removing(removed);
        let early = story(&scene.run(seconds(3)));
        assert!(!early.contains(&"unassign".to_owned()), "{early:?}");
        if removed {
            scene.watch();
        }
        let done = story(&scene.run(seconds(30)));
        let place = |what: &str| done.iter().position(|one| one == what);
        assert!(place("unassign").is_some(), "{done:?}");
        assert_eq!(place("note b").is_some_and(|note| Some(note) < place("unassign")), removed);
    }
}

#[test]
fn a_note_counts_as_soon_as_its_node_shows_a_change_that_ends_a_late_removal() {
    let mut scene = removing(false);
    scene.run(seconds(1));
    scene.change_node("b", |node| node.labelled("any", "thing"));
    let done = story(&scene.run(seconds(1)));
    assert_eq!(done.first().map(String::as_str), Some("unassign"), "{done:?}");
}

#[test]
fn a_removal_that_is_refused_as_outdated_may_have_taken_effect_before() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    until(&mut scene, "forget b");
    let is_begun = |(action, _): &(Action, _)| story(std::slice::from_ref(action)) == ["forget b"];
    let begun = scene.held_back.iter().position(is_begun);
    let (removal, sent_at) = scene.held_back.remove(begun.expect("the removal is under way"));
    // A proxy has sent the write twice.
    let first = scene.carry_out(&removal);
    assert!(first.is_ok(), "{first:?}");
    let second = scene.carry_out(&removal);
    scene.finish(removal, sent_at, second);
    scene.answer();
    scene.change_node("a", |node| node.ready().labelled("site", "a"));
    scene.change_pool("p", |pool| pool.on("site=a"));
    let early = story(&scene.run(seconds(3)));
    assert!(!early.contains(&"unassign".to_owned()), "the note is gone: {early:?}");
    scene.watch();
    let done = story(&scene.run(seconds(10)));
    let place = |what: &str| done.iter().position(|one| one == what).expect(what);
    assert!(place("note b") < place("unassign"), "{done:?}");
}

#[test]
fn a_note_that_is_being_removed_does_not_count_for_the_next_call() {
    let scene = displacing().nodes(["a", "b"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), None);
    until(&mut scene, "forget a");
    let (removal, sent_at) = scene.held_back.pop().expect("the removal");
    // The node shows a change before it shows the removal.
    let changed = scene.world.node(&"a".into()).expect("seen").clone().not_ready();
    let removed = scene.carry_out(&removal);
    scene.world.set_node(changed);
    assert_eq!(story(&scene.begin()), [""; 0], "the removal is under way");
    scene.change_node("a", NodeFixture::not_ready);
    scene.finish(removal, sent_at, removed);
    let done = story(&scene.run(seconds(10)));
    assert_eq!(done[..2], ["note a", "unassign"], "{done:?}");
    assert_eq!(scene.home(ip(1)), Some("b"));
}

/// Pool `p` has evicted its pods from `a`, but for one. Pool `q` shares the note, and no pod with `p`.
fn one_pod_left() -> Scene {
    let labels = Selector::parse("app=other").expect("a selector");
    let pods = PodMatch { labels, unready: true, ..PodMatch::default() };
    let other = |request: &mut Request| {
        Arc::make_mut(&mut request.matching).cordon = Cordon::KeepsWhile(pods);
    };
    let mut scene = scene().nodes(["a", "b"]).pool(evicting("p", true).ips([1]));
    scene.set_pool(evicting("q", true).ask(other));
    scene.cloud.place(ip(1), Some("m-a"));
    scene.set_pod(web("one", "a"));
    scene.settle();
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(120));
    scene
}

fn is_evicting(scene: &Scene) -> bool {
    scene.world.node(&"a".into()).is_some_and(|node| node.marks.contains_key(&EVICTING))
}

#[test]
fn a_note_about_evictions_is_removed_with_the_last_pod_although_its_pool_is_paused() {
    for is_paused in [false, true] {
        let mut scene = one_pod_left();
        assert!(is_evicting(&scene));
        if is_paused {
            scene.change_pool("p", paused);
            scene.run(seconds(120));
        }
        scene.remove_pod("one");
        scene.run(seconds(120));
        assert!(!is_evicting(&scene), "{is_paused}");
    }
}
