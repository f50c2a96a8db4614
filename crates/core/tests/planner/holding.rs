//! A cordoned node keeps its address while pods of the workload are on it, and receives none.

use pontoon_core::action::FailureKind;
use pontoon_core::addresses::verdict::State;
use pontoon_core::model::{Owner, Pod, PodState};
use pontoon_core::nodes::{Cordon, OwnerMatch, PodMatch, Workload};

use super::cloud::Fault;
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

/// The only pod leaves the cordoned node `a`, while `b` is free.
fn drained() -> Scene {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.remove_pod("one");
    scene
}

#[test]
fn a_drained_node_loses_its_address_also_if_the_only_other_node_refuses_it() {
    let mut scene = drained();
    scene.cloud.refuses.push((is_assign, FailureKind::Rejected));
    let done = scene.run(seconds(60));
    assert_eq!((count(&done, is_unassign), scene.home(ip(1))), (1, None));
    scene.cloud.refuses.clear();
    scene.set_node(node("c"));
    scene.run(seconds(60));
    assert!(scene.home(ip(1)).is_some());
}

#[test]
fn an_address_that_may_have_left_a_drained_node_is_not_unassigned() {
    for fault in
        [Fault::Although(FailureKind::Unavailable), Fault::Answer(FailureKind::Unavailable)]
    {
        let mut scene = drained();
        scene.fault(is_assign, fault);
        let done = scene.run(seconds(60));
        assert_eq!((count(&done, is_unassign), scene.home(ip(1))), (0, Some("b")), "{done:#?}");
    }
}

#[test]
fn an_address_that_somebody_took_from_a_holding_node_is_left_alone_for_a_while() {
    for drained in [false, true] {
        let mut scene = at_rest();
        scene.change_node("a", NodeFixture::cordoned);
        scene.settle();
        let mut scene = scene.address(ip(1), Some("elsewhere"));
        assert_eq!(moves(&scene.run(seconds(61))), []);
        assert_eq!(moves(&scene.run(seconds(7))), [], "found a moment ago");
        if drained {
            scene.remove_pod("one");
            assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
        } else {
            assert_eq!(moves(&scene.run(seconds(10))), [(ip(1), "b")]);
        }
    }
}

/// The pods of the Deployment `web`, through its ReplicaSets, or with its name as a label.
fn of_web() -> Workload {
    let owner = Owner { kind: "Deployment".into(), name: "web".into() };
    Workload { owner, through: Some("ReplicaSet".into()), labels: vec!["app".into()] }
}

fn replica_set(name: &str) -> Owner {
    Owner { kind: "ReplicaSet".into(), name: name.into() }
}

/// An address on the cordoned node `a` with a pod of the ReplicaSet `web-1`, and a free node `b`.
fn owned_by_a_replica_set() -> Scene {
    let pods = PodMatch { owner: OwnerMatch::Is(of_web()), unready: true, ..PodMatch::default() };
    let pool = pool("p").ips([1]).ask(|request| {
        std::sync::Arc::make_mut(&mut request.matching).cordon = Cordon::KeepsWhile(pods);
    });
    scene()
        .node(node("a").cordoned())
        .nodes(["b"])
        .pool(pool)
        .pod(Pod { owner: Some(replica_set("web-1")), ..pod("one", "a") })
        .address(ip(1), Some("a"))
        .settled()
}

#[test]
fn a_pod_belongs_to_the_deployment_that_owns_its_replica_set() {
    let mut scene = owned_by_a_replica_set();
    assert_eq!(scene.home(ip(1)), Some("a"), "who owns the ReplicaSet is unknown");
    let parent = of_web().owner;
    scene.world.set_parent("default".into(), replica_set("web-1"), Some(parent.clone()));
    scene.world.parents_read([None].into());
    assert_eq!(moves(&scene.run(seconds(60))), []);
    // A new ReplicaSet of the Deployment, whose pod is seen before the ReplicaSet itself.
    scene.set_pod(Pod { owner: Some(replica_set("web-2")), ..pod("two", "a") });
    scene.world.set_parent("default".into(), replica_set("web-2"), Some(parent));
    scene.remove_pod("one");
    assert_eq!(moves(&scene.run(seconds(60))), []);
    scene.remove_pod("two");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn controllers_that_cannot_be_read_in_one_namespace_stop_no_pool_of_another() {
    for (read, moved) in [("default", true), ("mail", false)] {
        let mut scene = owned_by_a_replica_set();
        scene.remove_pod("one");
        scene.change_pool("p", |pool| {
            pool.ask(|request| {
                let matching = std::sync::Arc::make_mut(&mut request.matching);
                let Cordon::KeepsWhile(pods) = &mut matching.cordon else { return };
                pods.namespace = Some("default".into());
            })
        });
        assert_eq!(moves(&scene.settle()), [], "nothing is read");
        scene.world.parents_read([Some(read.into())].into());
        let expected = if moved { vec![(ip(1), "b")] } else { vec![] };
        assert_eq!(moves(&scene.settle()), expected, "{read} is read");
    }
}

#[test]
fn a_pod_of_another_deployment_with_a_similar_name_does_not_keep_an_address() {
    let mut scene = owned_by_a_replica_set();
    let other = Owner { kind: "Deployment".into(), name: "web-1".into() };
    scene.world.set_parent("default".into(), replica_set("web-1"), Some(other));
    scene.world.parents_read([None].into());
    assert_eq!(moves(&scene.run(seconds(60))), [(ip(1), "b")]);
}

#[test]
fn a_pod_without_an_owner_belongs_to_the_workload_that_its_label_names() {
    let mut scene = owned_by_a_replica_set();
    scene.set_pod(web("bare", "a"));
    scene.world.parents_read([None].into());
    assert_eq!(moves(&scene.run(seconds(60))), []);
    scene.remove_pod("bare");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn pods_of_excluded_namespaces_do_not_keep_an_address() {
    let except = vec!["kube-system".into()];
    let pods = PodMatch { except, unready: true, ..PodMatch::default() };
    let pool = pool("p").ips([1]).ask(|request| {
        std::sync::Arc::make_mut(&mut request.matching).cordon = Cordon::KeepsWhile(pods);
    });
    let mut scene = scene()
        .nodes(["a", "b"])
        .pool(pool)
        .pod(pod("system", "a").in_namespace("kube-system"))
        .pod(pod("one", "a"))
        .address(ip(1), Some("a"))
        .settled();
    scene.change_node("a", NodeFixture::cordoned);
    assert_eq!(moves(&scene.settle()), []);
    scene.remove_pod("one");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_drained_node_loses_its_address_although_no_node_can_take_it() {
    let mut scene = at_rest();
    scene.remove_node("b");
    scene.change_node("a", NodeFixture::cordoned);
    assert_eq!(count(&scene.run(seconds(60)), is_unassign), 0, "a pod is on it");
    scene.remove_pod("one");
    assert_eq!(count(&scene.settle(), is_unassign), 1);
    assert_eq!(scene.home(ip(1)), None);
    scene.set_node(node("c"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
}

#[test]
fn a_lost_node_keeps_its_address_until_another_can_take_it() {
    let mut scene = at_rest();
    scene.remove_node("b");
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(count(&scene.run(seconds(600)), is_unassign), 0);
}

#[test]
fn a_drained_node_has_no_grace_period() {
    let mut scene = scene()
        .nodes(["a", "b"])
        .pool(pool("p").ips([1]).keeping_while().with_grace(30))
        .address(ip(1), Some("a"))
        .settled();
    scene.change_node("a", NodeFixture::cordoned);
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn the_mark_of_a_drained_node_is_withdrawn_before_its_address_is_moved() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.remove_pod("one");
    let first = scene.begin();
    assert_eq!((moves(&first), marks(&first)), (vec![], vec![("a", None)]));
    scene.answer();
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_mark_that_cannot_be_withdrawn_does_not_hold_up_the_move() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::cordoned);
    scene.fault(is_mark, Fault::Answer(FailureKind::Refused));
    scene.remove_pod("one");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn pods_of_another_owner_do_not_keep_an_address() {
    let wanted = Owner { kind: "Deployment".into(), name: "web".into() };
    let is = OwnerMatch::Is(of_web());
    let but = OwnerMatch::NotOfKinds(vec!["DaemonSet".into()]);
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
            .address(ip(1), Some("a"));
        scene.world.parents_read([None].into());
        scene.settle();
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
    scene.world.pods_watched(&[PodMatch::default()]);
    assert_eq!(moves(&scene.planned()), []);
}
