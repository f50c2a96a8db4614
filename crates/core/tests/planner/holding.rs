//! A cordoned node keeps its address while pods of the workload are on it, and receives none.

use pontoon_core::addresses::verdict::State;
use pontoon_core::model::{Owner, Pod, PodState};
use pontoon_core::nodes::{Cordon, OwnerMatch, PodMatch};

use super::fixture::*;
use super::scene::{Scene, scene};

fn web(id: &str, node: &str) -> Pod {
    pod(id, node).with_labels(&[("app", "web")])
}

/// An address on `a` with a pod of the workload, and a free node `b`.
fn at_rest() -> Scene {
    scene()
        .nodes(["a", "b"])
        .pool(pool("p").ips([1]).keeping_while())
        .pod(web("one", "a"))
        .address(ip(1), Some("a"))
        .settled()
}

#[test]
fn a_cordoned_node_keeps_its_address_and_its_mark_while_the_workload_is_on_it() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    let done = scene.run(seconds(120));
    assert_eq!((moves(&done), marks(&done)), (vec![], vec![]));
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn a_pod_that_is_not_ready_keeps_the_address_too() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.set_pod(Pod { state: PodState::Unready, ..web("one", "a") });
    assert_eq!(moves(&scene.run(seconds(120))), []);
}

#[test]
fn the_address_leaves_with_the_last_pod_of_the_workload() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.settle();
    scene.set_pod(web("two", "a"));
    scene.remove_pod("one");
    assert_eq!(moves(&scene.settle()), []);
    scene.remove_pod("two");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_cordoned_node_receives_no_address_although_the_workload_is_on_it() {
    let mut scene = scene()
        .node(node("a").cordoned())
        .pool(pool("p").ips([1]).keeping_while())
        .pod(web("one", "a"))
        .address(ip(1), None);
    assert_eq!(moves(&scene.run(seconds(120))), []);
    let told = scene.verdict("p").to_string();
    assert!(told.contains("0 of 1 node eligible: 1 cordoned"), "{told}");
    scene.change_node("a", |node| pontoon_core::model::Node { cordoned: false, ..node });
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
}

#[test]
fn another_pool_does_not_push_an_address_off_the_node_that_holds_it() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.settle();
    scene.set_pool(pool("q").ips([2, 3]).tolerating(None, None, None));
    scene.cloud.place(ip(2), None);
    scene.cloud.place(ip(3), None);
    assert_eq!(moves(&scene.run(seconds(120))), [(ip(2), "b")]);
}

#[test]
fn pods_of_another_owner_do_not_keep_an_address() {
    let wanted = Owner { kind: "Deployment".into(), name: "web".into() };
    let is = OwnerMatch::Is(wanted.clone());
    let but = OwnerMatch::NotOfKind("DaemonSet".into());
    let daemon = Owner { kind: "DaemonSet".into(), name: "web".into() };
    for (owner, keeping, leaving) in [(is, Some(wanted), None), (but, None, Some(daemon))] {
        let cordon = Cordon::KeepsWhile(PodMatch { owner, unready: true, ..PodMatch::default() });
        let pool = pool("p").ips([1]).ask(|request| {
            std::sync::Arc::make_mut(&mut request.matching).cordon = cordon;
        });
        let mut scene = scene()
            .nodes(["a", "b"])
            .pool(pool)
            .pod(Pod { owner: keeping, ..pod("one", "a") })
            .pod(Pod { owner: leaving, ..pod("two", "a") })
            .address(ip(1), Some("a"))
            .settled();
        scene.change_node("a", NodeFixture::cordoned);
        assert_eq!(moves(&scene.settle()), []);
        scene.remove_pod("one");
        assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
    }
}

#[test]
fn a_cordoned_node_keeps_its_address_while_its_pods_are_unknown() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.remove_pod("one");
    scene.world.pods_watched(Some(&PodMatch::default()));
    assert_eq!(moves(&scene.planned()), []);
}
