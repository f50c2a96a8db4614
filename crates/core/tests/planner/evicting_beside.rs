//! Evictions from a node that several pools use: none stops the evictions of another, or its address.

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::model::Text;
use pontoon_core::nodes::{Cordon, PodMatch};

use super::cloud::Fault;
use super::evicting::{NOTE, READY, at_rest, evicted, evicting, is_coming_to_a, noting, web};
use super::fixture::*;
use super::pausing::paused;
use super::scene::{Scene, scene};

#[test]
fn a_note_that_a_paused_pool_shares_is_removed_for_the_other_pool() {
    let mut scene = at_rest(evicting("p", true));
    scene.set_pool(paused(evicting("q", true)));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.remove_pod("one");
    scene.remove_pod("two");
    let planned = scene.planned();
    let owners: Vec<_> = planned.iter().filter(|one| is_mark(one)).map(Action::owner).collect();
    assert_eq!(owners, [Some(&key("p"))], "a write for a paused pool is withheld");
}

#[test]
fn pods_of_a_paused_pool_keep_no_label_and_no_address_of_another_pool() {
    for unfit in [NodeFixture::not_ready, NodeFixture::cordoned] {
        let mut scene = at_rest(pool("p").ask(|request| request.marks = &READY));
        scene.set_pool(paused(evicting("a", true)));
        scene.change_node("a", unfit);
        let done = scene.settle();
        assert_eq!(moves(&done), [(ip(1), "b")]);
        let label: Vec<_> = marks(&done).into_iter().filter(|(node, _)| *node == "a").collect();
        assert_eq!(label, [("a", Some("true")), ("a", None)], "the note, then the label");
        let mut owners = done.iter().filter(|one| is_mark(one)).map(Action::owner);
        assert!(owners.all(|one| one == Some(&key("p"))), "a write for a paused pool is withheld");
    }
}

#[test]
fn unknown_pods_of_another_pool_keep_no_label_and_stop_no_eviction() {
    for loose in [false, true] {
        let place = Some("b").filter(|_| !loose);
        let mut scene = at_rest(evicting("p", true)).address(ip(2), place).nodes(["c"]);
        let watched: Vec<_> = scene.world.pods_wanted().to_vec();
        scene.set_pool(evicting("q", true).ips([2]).ask(|request| {
            let elsewhere = PodMatch { namespace: Some("mail".into()), ..PodMatch::default() };
            std::sync::Arc::make_mut(&mut request.matching).cordon = Cordon::KeepsWhile(elsewhere);
        }));
        scene.world.pods_watched(&watched);
        watched.into_iter().for_each(|range| scene.world.pods_read(range));
        scene.settle();
        scene.change_node("a", NodeFixture::not_ready);
        let done = scene.settle();
        assert_eq!(moves(&done), [(ip(1), if loose { "b" } else { "c" })]);
        let expected: &[&str] = if loose { &[] } else { &["one", "two"] };
        assert_eq!(evicted(&done), expected.iter().map(|one| Text::from(*one)).collect::<Vec<_>>());
        scene.remove_pod("one");
        scene.remove_pod("two");
        assert_eq!(marks(&scene.settle()), [], "the pods of q may still be evicted");
    }
}

#[test]
fn nothing_is_evicted_from_a_node_that_serves_an_address_of_another_pool() {
    let mut scene = at_rest(evicting("p", true));
    scene.set_pool(evicting("q", true).ips6([2]));
    scene.cloud.place(ip6(2), Some("m-a"));
    scene.run(seconds(120));
    scene.cloud.place(ip(1), None);
    let done = scene.run(seconds(120));
    assert_eq!(evicted(&done), Vec::<Text>::new());
}

#[test]
fn an_object_that_cannot_be_planned_holds_up_evictions_only_where_its_address_may_be() {
    for (broken, evicts) in [
        (evicting("q", true).ips([2]).invalid(), true),
        (evicting("q", true).ips6([2]).invalid(), false),
        (evicting("q", true).ips([2]).in_account("other"), true),
        (evicting("q", true).ips([2]).in_account(CLOUD), false),
    ] {
        let mut scene = at_rest(evicting("p", true)).nodes(["c"]);
        if let Ok(request) = &broken.request {
            let cloud = request.account.0.clone();
            scene.world.set_account(request.account.clone(), Err(unusable(&cloud)));
        }
        scene.cloud.place(ip(2), Some("m-c"));
        scene.cloud.place(ip6(2), Some("m-a"));
        scene.set_pool(broken.clone());
        scene.settle();
        scene.change_node("a", NodeFixture::not_ready);
        let done = scene.run(seconds(120));
        assert_eq!(moves(&done), [(ip(1), "b")]);
        assert_eq!(evicted(&done).len() >= 2, evicts, "{broken:?}");
        let label = scene.world.node(&"a".into()).unwrap().marks.contains_key(&READY[0]);
        assert_eq!(label, !evicts, "{broken:?}");
    }
}

/// Address 1 on `a`, with two pods of its pool there; pool `q` waits for `a`, the only node for its
/// address 2. Then `a` matches pool `p` no more, and the grace period passes.
fn passing_on(scene: Scene) -> Scene {
    let scene = scene
        .node(node("a").labelled("q", "yes").labelled("p", "yes"))
        .node(node("b").labelled("p", "yes"))
        .pool(evicting("p", true).ips([1]).on("p=yes").with_grace(5))
        .pool(evicting("q", false).ips([2]).on("q=yes"))
        .pod(web("one", "a"))
        .pod(web("two", "a"))
        .address(ip(1), Some("a"))
        .address(ip(2), None);
    let mut scene = scene.settled();
    scene.change_node("a", |node| node.labelled("p", "no"));
    scene.settle();
    assert!(!scene.world.node(&"a".into()).unwrap().marks.contains_key(&READY[0]));
    scene.pass(seconds(5));
    scene
}

#[test]
fn nothing_is_evicted_from_a_node_that_gets_an_address_of_another_pool_at_once() {
    for scene in [scene(), noting()] {
        let mut scene = passing_on(scene);
        let done = scene.run(seconds(60));
        assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("b"), Some("a")));
        assert_eq!(evicted(&done), Vec::<Text>::new());
        assert!(!scene.world.node(&"a".into()).unwrap().marks.contains_key(&NOTE));
    }
}

#[test]
fn nothing_is_evicted_from_another_node_of_the_machine_that_gets_an_address() {
    for scene in [scene(), noting()] {
        let twin = node("c").on_machine(&machine("a")).labelled("q", "yes");
        let mut scene = passing_on(scene.node(twin));
        scene.change_node("a", NodeFixture::not_ready);
        let done = scene.run(seconds(60));
        assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("b"), Some("a")));
        assert!(moves(&done).contains(&(ip(2), "c")), "{:?}", moves(&done));
        assert_eq!(evicted(&done), Vec::<Text>::new());
        scene.change_node("a", NodeFixture::ready);
        assert_eq!(
            evicted(&scene.settle()),
            Vec::<Text>::new(),
            "the node is back with an address"
        );
        assert!(!scene.world.node(&"a".into()).unwrap().marks.contains_key(&NOTE));
    }
}

#[test]
fn pods_are_evicted_although_a_paused_pool_would_bring_its_address() {
    let mut scene = passing_on(scene());
    scene.change_pool("q", paused);
    scene.until_begun(is_coming_to_a);
    let planned: Vec<_> = scene.held_back.iter().map(|(action, _)| action.clone()).collect();
    assert_eq!(evicted(&planned), ["one", "two"].map(Text::from), "the call is withheld");
}

#[test]
fn pods_are_evicted_if_the_address_of_another_pool_is_refused() {
    for scene in [scene(), noting()] {
        let mut scene = passing_on(scene);
        while !scene.begin().iter().any(is_coming_to_a) {
            scene.answer();
        }
        let sent = scene.held_back.iter().position(|(action, _)| is_coming_to_a(action));
        let coming = scene.held_back.remove(sent.expect("a call under way"));
        assert_eq!(evicted(&scene.run(seconds(1))), Vec::<Text>::new(), "the address may arrive");
        scene.fault(is_coming_to_a, Fault::Answer(FailureKind::Rejected));
        scene.held_back.push(coming);
        scene.answer();
        assert_eq!(evicted(&scene.settle()), ["one", "two"].map(Text::from));
        assert_eq!(scene.home(ip(2)), None);
    }
}
