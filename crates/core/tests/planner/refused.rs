//! Writes that Kubernetes refuses permanently are reported, and not repeated for every version.

use pontoon_core::action::{Action, FailureKind, LedgerWrite, MarkWrite};
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::verdict::Outlook;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, scene};

fn is_ledger(action: &Action) -> bool {
    matches!(action, Action::Ledger(LedgerWrite { .. }))
}

fn is_mark(action: &Action) -> bool {
    matches!(action, Action::Mark(MarkWrite { .. }))
}

fn refuse(scene: &mut Scene, such: fn(&Action) -> bool, times: usize) {
    for _ in 0..times {
        scene.fault(such, Fault::Answer(FailureKind::Refused));
    }
}

/// Simulates a write of our own status: the object gets another version.
fn status_written(scene: &mut Scene) {
    scene.change_pool("p", |pool| pool);
}

#[test]
fn a_ledger_that_is_refused_is_told_with_the_servers_words_and_nothing_is_reserved() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    refuse(&mut scene, is_ledger, 3);
    scene.settle();
    assert_eq!(scene.reason("p"), &Reason::LedgerRefused("scripted".into()));
    assert_eq!(scene.reason("p").outlook(), Outlook::Stuck);
    let said = scene.verdict("p").to_string();
    assert!(
        said.contains("scripted") && said.contains("Grant what the usual roles grant"),
        "{said}"
    );
    assert!(said.contains("the annotation test/ledger of this object"), "{said}");
    assert_eq!(scene.cloud.made, 0);
    scene.run(seconds(20));
    assert_eq!((scene.reason("p"), scene.cloud.made), (&Reason::AllAssigned, 1), "once it may");
}

#[test]
fn telling_of_a_refused_ledger_does_not_make_it_be_tried_at_once() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    refuse(&mut scene, is_ledger, 100);
    let mut tried = count(&scene.settle(), is_ledger);
    for _ in 0..120 {
        status_written(&mut scene);
        tried += count(&scene.run(seconds(1)), is_ledger);
    }
    assert!((5..=9).contains(&tried), "{tried} in two minutes");
    let hour = count(&scene.run(seconds(3600)), is_ledger);
    assert!((55..=61).contains(&hour), "within a minute each: {hour}");
    scene.change_pool("p", |pool| pool.wants(2));
    assert_eq!(count(&scene.settle(), is_ledger), 1, "a new wish is tried at once");
}

#[test]
fn a_pool_whose_nodes_cannot_be_annotated_is_not_ready_and_says_which() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]));
    scene = scene.address(ip(1), Some("a"));
    refuse(&mut scene, is_mark, 4);
    scene.settle();
    assert_eq!(
        scene.reason("p"),
        &Reason::AnnotationRefused("a".into(), &MARKS[0], "scripted".into())
    );
    assert_eq!(scene.verdict("p").is_ready(), Some(false));
    let said = scene.verdict("p").to_string();
    let refused =
        format!("the API server refuses to write the annotation {} of node a", MARKS[0].key);
    assert!(said.starts_with(&format!("1 of 1 in place; {refused}: scripted")), "{said}");
    scene.run(seconds(60));
    assert_eq!((scene.reason("p"), scene.mark("a")), (&Reason::AllAssigned, Some("192.0.2.1")));
}

#[test]
fn a_mark_that_nobody_wants_any_more_is_not_complained_of() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]));
    scene = scene.address(ip(1), Some("a"));
    refuse(&mut scene, is_mark, 1);
    scene.settle();
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    assert_eq!((scene.home(ip(1)), scene.reason("p")), (Some("b"), &Reason::AllAssigned));
}
