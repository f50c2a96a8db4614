//! Pods that relied on an address are evicted from the node that lost it.

use pontoon_core::action::{Action, AddressAction, FailureKind};
use pontoon_core::model::{Evicts, Families, Mark, MarkPlace, Pod, Pool, Tells, Text};
use pontoon_core::world::Settings;

use super::cloud::Fault;
use super::fixture::*;
use super::recording::{NAME, of_pool};
use super::scene::{Scene, able, scene, scene_at, scene_with};

pub static READY: [Mark; 1] =
    [Mark { place: MarkPlace::Label, key: "ip.ready", tells: Tells::Serving("true") }];

pub static NOTE: Mark =
    Mark { place: MarkPlace::Annotation, key: "evict", tells: Tells::Evicting("true") };

static OWES: Mark =
    Mark { place: MarkPlace::Annotation, key: "owes", tells: Tells::OwesEgress("true") };

pub fn evicting(name: &str, enabled: bool) -> Pool {
    pool(name).keeping_while().ask(|request| {
        request.marks = &READY;
        request.evicts = Some(Evicts { note: &NOTE, enabled });
    })
}

pub fn web(id: &str, node: &str) -> Pod {
    pod(id, node).with_labels(&[("app", "web")])
}

pub fn evicted(actions: &[Action]) -> Vec<Text> {
    let name = |action: &'_ Action| match action {
        Action::Evict(eviction) => Some(eviction.name.clone()),
        _ => None,
    };
    actions.iter().filter_map(name).collect()
}

fn is_eviction(action: &Action) -> bool {
    matches!(action, Action::Evict(_))
}

/// An address on `a`, with two pods of the workload there; `b` is free.
pub fn at_rest(pool: Pool) -> Scene {
    scene()
        .nodes(["a", "b"])
        .pool(pool.ips([1]))
        .pod(web("one", "a"))
        .pod(web("two", "a"))
        .pod(pod("other", "a"))
        .address(ip(1), Some("a"))
        .settled()
}

#[test]
fn pods_are_evicted_from_a_node_whose_address_went_elsewhere() {
    let mut scene = at_rest(evicting("p", true));
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "b")]);
    let label: Vec<_> = marks(&done).into_iter().filter(|(node, _)| *node == "a").collect();
    assert_eq!(label, [("a", Some("true")), ("a", None)], "the note, then the label");
    assert_eq!(evicted(&done), ["one", "two"].map(Text::from));
    assert_eq!(scene.verdict("p").evicting[0].pods, 2);
    scene.remove_pod("one");
    scene.remove_pod("two");
    assert_eq!(marks(&scene.settle()), [("a", None)], "the note is removed");
    assert!(scene.verdict("p").evicting.is_empty());
}

#[test]
fn a_note_whose_removal_was_overtaken_is_removed_when_the_next_attempt_is_due() {
    let mut scene = at_rest(evicting("p", true));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.remove_pod("one");
    scene.remove_pod("two");
    scene.fault(is_mark, Fault::Answer(FailureKind::Conflict));
    assert_eq!(marks(&scene.run(seconds(5))), [("a", None), ("a", None)]);
    assert_eq!(marks(&scene.run(seconds(60))), []);
}

#[test]
fn a_note_is_removed_after_the_label_that_another_pool_needs_is_written() {
    let mut scene = scene().nodes(["a"]).pool(evicting("p", true)).pod(web("one", "a"));
    scene.set_pool(evicting("q", true).ips([1]));
    scene.change_node("a", |mut node| {
        node.marks.insert(&NOTE, "true".into());
        node
    });
    scene.cloud.place(ip(1), Some(&machine("a")));
    assert_eq!(marks(&scene.run(seconds(5))), [("a", Some("true")), ("a", None)]);
}

#[test]
fn a_crash_after_the_label_was_withdrawn_loses_no_eviction() {
    let mut scene = at_rest(evicting("p", true));
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..5 {
        scene.fault(is_eviction, Fault::Dropped);
    }
    scene.settle();
    scene.restart(seconds(3));
    scene.cloud.faults.clear();
    let done = scene.run(seconds(30));
    assert_eq!(evicted(&done), ["one", "two"].map(Text::from));
}

#[test]
fn a_refused_eviction_is_told_and_tried_again() {
    let mut scene = at_rest(evicting("p", true));
    scene.remove_pod("two");
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..3 {
        scene.fault(is_eviction, Fault::Answer(FailureKind::Rejected));
    }
    scene.settle();
    let told = scene.verdict("p").evicting[0].failure.clone().unwrap();
    assert_eq!(&*told, "default/one: scripted");
    let done = scene.run(seconds(60));
    assert!((2..=4).contains(&evicted(&done).len()), "{:?}", evicted(&done));
    assert_eq!(scene.verdict("p").evicting[0].failure, None);
}

/// The eviction waited for other writes.
#[test]
fn an_eviction_that_was_not_sent_does_not_back_off() {
    let mut scene = at_rest(evicting("p", true));
    scene.remove_pod("two");
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..20 {
        scene.fault(is_eviction, Fault::Answer(FailureKind::NotSent));
    }
    scene.settle();
    let tried = evicted(&scene.run(seconds(10))).len();
    assert!((9..=12).contains(&tried), "once a second: {tried}");
    assert_eq!(scene.verdict("p").evicting[0].failure, None);
}

#[test]
fn nothing_is_evicted_while_the_cloud_cannot_be_asked() {
    let mut scene = at_rest(evicting("p", true));
    scene.cloud.refuses.push((is_list, FailureKind::Unavailable));
    scene.cloud.refuses.push((is_assign, FailureKind::Unavailable));
    scene.restart(seconds(3));
    let done = scene.run(seconds(300));
    assert_eq!((evicted(&done), marks(&done)), (vec![], vec![]));
}

#[test]
fn nothing_is_evicted_where_eviction_is_off() {
    let mut scene = at_rest(evicting("p", false));
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(300));
    assert_eq!(evicted(&done), Vec::<Text>::new());
    assert_eq!(marks(&done), [("a", None), ("b", Some("true"))]);
}

#[test]
fn an_address_that_comes_back_ends_the_evictions() {
    let mut scene = at_rest(evicting("p", true));
    scene.change_node("a", NodeFixture::not_ready);
    for _ in 0..2 {
        scene.fault(is_eviction, Fault::Answer(FailureKind::Rejected));
    }
    scene.settle();
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("b", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "a")]);
    let last = marks(&done).into_iter().rfind(|(node, _)| *node == "a");
    assert!(last.is_some());
    assert!(scene.verdict("p").evicting.is_empty());
    assert_eq!(evicted(&scene.run(seconds(120))), Vec::<Text>::new());
}

#[test]
fn nothing_is_evicted_before_the_address_has_left() {
    let mut scene = at_rest(evicting("p", true).with_grace(30));
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(20));
    assert_eq!((moves(&done), evicted(&done)), (vec![], Vec::<Text>::new()), "it may recover");
    let done = scene.run(seconds(60));
    assert_eq!(moves(&done), [(ip(1), "b")]);
    assert_eq!(evicted(&done), ["one", "two"].map(Text::from));
}

#[test]
fn nothing_is_evicted_while_no_other_node_can_take_the_address() {
    let mut scene = at_rest(evicting("p", true));
    scene.remove_node("b");
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(600));
    assert_eq!((moves(&done), evicted(&done)), (vec![], Vec::<Text>::new()));
}

/// A provider at which the node is noted before the call.
pub fn noting() -> Scene {
    let setup = able(|abilities| {
        abilities.moves_at_once = false;
        abilities.displaces_own = true;
    });
    scene_with(setup, Settings { egress: Some(&OWES), ..Settings::default() })
}

#[test]
fn nothing_is_evicted_from_a_node_that_gets_an_address_in_the_second_step_of_a_move() {
    let in_two_steps = || scene_at(able(|abilities| abilities.moves_at_once = false));
    for scene in [scene(), in_two_steps(), noting()] {
        let mut scene = scene
            .nodes(["a", "b"])
            .pool(evicting("p", true).ips([1]))
            .pod(web("one", "a"))
            .address(ip(1), Some("a"))
            .settled();
        scene.cloud.refuses.push((is_eviction, FailureKind::Rejected));
        scene.change_node("a", NodeFixture::not_ready);
        assert_eq!(moves(&scene.run(seconds(400))), [(ip(1), "b")]);
        scene.cloud.refuses.clear();
        scene.set_pod(web("two", "a"));
        scene.change_node("a", NodeFixture::ready);
        scene.change_node("b", NodeFixture::not_ready);
        let done = scene.run(seconds(60));
        assert_eq!((scene.home(ip(1)), evicted(&done)), (Some("a"), vec![]));
        assert!(!scene.world.node(&"a".into()).unwrap().marks.contains_key(&NOTE));
    }
}

#[test]
fn nothing_is_evicted_from_a_node_whose_address_waits_for_a_throttled_account() {
    let mut scene = at_rest(evicting("p", true));
    scene.cloud.refuses.push((is_eviction, FailureKind::Rejected));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(400));
    scene.cloud.refuses.clear();
    scene.fault(is_coming_to_a, Fault::Answer(FailureKind::Throttled { wait: seconds(20) }));
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("b", NodeFixture::not_ready);
    scene.until_begun(is_coming_to_a);
    scene.answer();
    scene.set_pod(web("three", "a"));
    let done = scene.run(seconds(60));
    assert_eq!((scene.home(ip(1)), evicted(&done)), (Some("a"), vec![]));
}

#[test]
fn an_unassignment_that_never_succeeds_holds_up_neither_evictions_nor_the_name() {
    for fault in [Fault::Dropped, Fault::Quiet, Fault::Broken] {
        let in_two_steps = scene_at(able(|abilities| abilities.moves_at_once = false));
        let mut scene = in_two_steps
            .nodes(["a", "b", "c"])
            .pool(evicting("p", true).ips([1, 2]))
            .records(of_pool("p"))
            .pod(web("one", "a"))
            .address(ip(1), Some("a"))
            .address(ip(2), Some("c"))
            .settled();
        scene.cloud.refuses.push((is_eviction, FailureKind::Rejected));
        scene.change_node("a", NodeFixture::not_ready);
        scene.run(seconds(400));
        scene.cloud.refuses.clear();
        for _ in 0..1_000 {
            scene.fault(is_unassign, fault.clone());
        }
        scene.change_node("a", NodeFixture::ready);
        scene.change_node("b", NodeFixture::not_ready);
        scene.set_pod(web("two", "a"));
        let done = scene.run(seconds(900));
        assert_eq!(scene.home(ip(1)), Some("b"), "{fault:?}");
        assert!(evicted(&done).contains(&"two".into()), "{fault:?}: {done:#?}");
        assert_eq!(scene.dns.listed(NAME), [ip(2)], "{fault:?}: the address serves nobody");
    }
}

#[test]
fn an_address_of_a_family_that_the_provider_lacks_does_not_hold_up_an_eviction() {
    let scene = scene_at(able(|abilities| abilities.families = Families::V4)).nodes(["a", "b"]);
    let scene = scene.pool(evicting("p", true).ips([1])).pool(evicting("q", true).ips6([9]));
    let mut scene = scene.pod(web("one", "a")).address(ip(1), Some("a")).settled();
    scene.change_node("a", NodeFixture::not_ready);
    assert!(evicted(&scene.run(seconds(400))).contains(&"one".into()));
}

#[test]
fn refused_credentials_do_not_hold_up_an_eviction() {
    let mut scene = at_rest(evicting("p", true));
    scene.cloud.refuses.push((is_eviction, FailureKind::Rejected));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(400));
    scene.cloud.refuses.clear();
    scene.cloud.refuses.push((is_list, FailureKind::Refused));
    scene.cloud.refuses.push((is_assign, FailureKind::Refused));
    scene.change_node("a", NodeFixture::ready);
    scene.change_node("b", NodeFixture::not_ready);
    scene.until_begun(is_coming_to_a);
    scene.answer();
    scene.run(seconds(60));
    scene.set_pod(web("three", "a"));
    assert!(evicted(&scene.run(seconds(120))).contains(&"three".into()));
}

#[test]
fn a_note_that_is_not_written_at_once_loses_no_eviction() {
    let kinds = [FailureKind::Unavailable, FailureKind::NoAnswer, FailureKind::Conflict];
    for kind in kinds {
        let mut scene = at_rest(evicting("p", true));
        scene.fault(is_note, Fault::Answer(kind));
        scene.change_node("a", NodeFixture::not_ready);
        let done = scene.run(seconds(30));
        assert_eq!(moves(&done), [(ip(1), "b")]);
        assert_eq!(evicted(&done), ["one", "two"].map(Text::from), "{kind:?}");
    }
}

#[test]
fn a_note_that_is_refused_holds_up_neither_the_label_nor_the_move() {
    let mut scene = at_rest(evicting("p", true));
    for _ in 0..9 {
        scene.fault(is_note, Fault::Answer(FailureKind::Refused));
    }
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(30));
    assert_eq!(moves(&done), [(ip(1), "b")]);
    assert!(!scene.world.node(&"a".into()).unwrap().marks.contains_key(&READY[0]));
}

fn is_note(action: &Action) -> bool {
    matches!(action, Action::Mark(write) if *write.mark == NOTE)
}

pub fn is_coming_to_a(action: &Action) -> bool {
    let Action::Address(AddressAction::Assign { node, .. }) = action else { return false };
    *node == "a".into()
}
