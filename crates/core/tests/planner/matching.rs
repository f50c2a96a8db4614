//! Eligible nodes of a pool.

use pontoon_core::addresses::verdict::{Note, Obstacle, Reason};
use pontoon_core::model::{Node, Pool, Unnamed};
use pontoon_core::nodes::{Fitness, PodMatch, Unfit};

use super::fixture::*;
use super::scene::{Scene, scene};

/// A scene with the given nodes, and a pool with a free address.
fn with(nodes: Vec<pontoon_core::model::Node>, pool: Pool) -> Scene {
    let scene = nodes.into_iter().fold(scene(), Scene::node);
    scene.pool(pool.ips([1])).address(ip(1), None)
}

fn target(mut scene: Scene) -> Option<String> {
    moves(&scene.settle()).first().map(|(_, node)| (*node).to_owned())
}

#[test]
fn every_effect_of_a_taint_keeps_addresses_away() {
    for effect in ["NoSchedule", "PreferNoSchedule", "NoExecute", "FutureEffect"] {
        let nodes = vec![node("a").tainted("k", "v", effect), node("b")];
        assert_eq!(target(with(nodes, pool("p"))).as_deref(), Some("b"), "{effect}");
    }
}

#[test]
fn a_toleration_covers_the_taints_that_it_names() {
    let taint = || vec![node("a").tainted("k", "v", "NoSchedule")];
    let tolerated = [
        (Some("k"), None, None),
        (Some("k"), Some("v"), None),
        (Some("k"), Some("v"), Some("NoSchedule")),
        (None, None, None),
        (None, None, Some("NoSchedule")),
    ];
    for (key, value, effect) in tolerated {
        let scene = with(taint(), pool("p").tolerating(key, value, effect));
        assert_eq!(target(scene).as_deref(), Some("a"), "{key:?} {value:?} {effect:?}");
    }
    let not_tolerated = [
        (Some("other"), None, None),
        (Some("k"), Some("w"), None),
        (Some("k"), Some(""), None),
        (Some("k"), Some("v"), Some("NoExecute")),
        (None, None, Some("NoExecute")),
    ];
    for (key, value, effect) in not_tolerated {
        let scene = with(taint(), pool("p").tolerating(key, value, effect));
        assert_eq!(target(scene), None, "{key:?} {value:?} {effect:?}");
    }
}

#[test]
fn every_taint_must_be_tolerated() {
    let node = node("a").tainted("k", "", "NoSchedule").tainted("l", "", "NoExecute");
    let scene = with(vec![node.clone()], pool("p").tolerating(Some("k"), None, None));
    assert_eq!(target(scene), None);
    let both = pool("p").tolerating(Some("k"), None, None).tolerating(Some("l"), None, None);
    assert_eq!(target(with(vec![node], both)).as_deref(), Some("a"));
}

#[test]
fn labels_decide_and_losing_one_moves_the_address() {
    let edge = |name: &str| node(name).labelled("role", "edge");
    let mut scene = with(vec![node("a"), edge("b"), edge("c")], pool("p").on("role=edge"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
    scene.change_node("b", |node| node.labelled("role", "core"));
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "c")]);
    assert_eq!((scene.mark("b"), scene.mark("c")), (None, Some("192.0.2.1")));
}

#[test]
fn of_two_nodes_on_one_machine_one_that_matches_is_enough() {
    let edge = |name: &str| node(name).labelled("role", "edge");
    let mut scene = with(vec![edge("b"), edge("c")], pool("p").on("role=edge"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
    scene.set_node(node("a").on_machine(&machine("b")));
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!((scene.mark("a"), scene.mark("b")), (None, Some("192.0.2.1")));
    scene.change_node("b", Node::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
}

#[test]
fn an_address_makes_no_room_on_a_second_node_of_the_machine_that_it_serves_on() {
    let edge = node("b").labelled("role", "edge");
    let mut scene = with(vec![edge], pool("p").on("role=edge"));
    scene.settle();
    scene.cloud.place(ip(2), None);
    scene.set_pool(pool("q").ips([2]));
    scene.settle();
    scene.set_node(node("a").on_machine(&machine("b")));
    scene.settle();
    assert_eq!(scene.home(ip(1)), Some("b"));
    assert_eq!(scene.home(ip(2)), None);
}

#[test]
fn a_node_that_is_being_deleted_loses_its_address() {
    let mut scene = with(vec![node("a"), node("b")], pool("p"));
    scene.settle();
    scene.change_node("a", |node| pontoon_core::model::Node { deleting: true, ..node });
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_node_without_a_machine_of_the_pools_cloud_is_no_candidate_and_that_is_said() {
    let lacks = |cloud: &str| Some(Unnamed { cloud: cloud.into(), lacks: "no zone".into() });
    let unnamed = |cloud| Node { unnamed: lacks(cloud), ..node("a").without_provider_id() };
    let nodes = [
        (node("a").without_provider_id(), Unfit::NoProviderId),
        (unnamed("another"), Unfit::NoProviderId),
        (unnamed(CLOUD), Unfit::Unnamed("no zone".into())),
        (node("a").of_unknown_cloud(), Unfit::OtherCloud),
        (node("a").of_cloud("another"), Unfit::OtherCloud),
    ];
    for (node, unfit) in nodes {
        let mut scene = with(vec![node.clone()], pool("p"));
        assert_eq!(moves(&scene.settle()), []);
        assert_eq!(scene.reason("p"), &Reason::NoMatchingNode);
        let class = scene.world.pool(&key("p")).and_then(|entry| entry.class).unwrap();
        assert_eq!(scene.world.candidates().judge(class, &node), Fitness::Unfit(unfit.clone()));
        let told = scene.verdict("p").to_string();
        assert!(told.starts_with("0 of 1 in place; 0 of 1 node eligible: 1 "), "{told}");
        assert!(told.ends_with(&format!("; a: {unfit}")), "{told}");
        assert_eq!(scene.verdict("p").unusable, [("a".into(), Obstacle::NoMachine(unfit))]);
        scene.remove_node("a");
        scene.settle();
        assert_eq!(scene.verdict("p").unusable, []);
    }
}

#[test]
fn a_node_that_turns_out_to_have_no_machine_is_told_to_pools_that_lack_one_and_to_no_other() {
    let mut scene = with(vec![node("a")], pool("p")).pool(pool("q").ips([2]).created_at(at(1)));
    scene.cloud.place(ip(2), None);
    scene.settle();
    scene.set_node(node("b").without_provider_id());
    scene.set_node(node("c").without_provider_id().not_ready());
    scene.settle();
    let homeless = ("b".into(), Obstacle::NoMachine(Unfit::NoProviderId));
    assert!(matches!(scene.reason("q"), Reason::NoFreeNode(_)));
    assert_eq!(scene.verdict("q").unusable, [homeless]);
    assert_eq!(scene.verdict("p").unusable, []);
}

#[test]
fn a_node_whose_machine_is_told_by_names_needs_no_provider_id() {
    let unnamed = Some(Unnamed { cloud: CLOUD.into(), lacks: "no zone".into() });
    let nameless = Node { unnamed, ..node("a").without_provider_id() };
    let mut scene = with(vec![nameless], pool("p"));
    scene.settle();
    let told = scene.verdict("p").to_string();
    assert!(told.contains("1 without spec.providerID (no zone)"), "{told}");
    scene.set_node(Node { provider_id: None, ..node("a") });
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    // The provider ID comes later, and names the same machine.
    scene.set_node(node("a"));
    assert_eq!(moves(&scene.settle()), []);
}

#[test]
fn a_node_that_learns_its_provider_id_becomes_a_candidate() {
    let mut scene = with(vec![node("a").without_provider_id()], pool("p"));
    scene.settle();
    scene.set_node(node("a"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
}

#[test]
fn a_namespace_alone_asks_for_any_ready_pod_of_it() {
    let mut scene = with(vec![node("a"), node("b")], pool("p").with_pods(Some("ingress"), ""));
    assert_eq!(moves(&scene.settle()), []);
    scene.set_pod(pod("x", "a").in_namespace("other"));
    assert_eq!(moves(&scene.settle()), []);
    scene.set_pod(pod("y", "b").in_namespace("ingress"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_label_alone_asks_for_a_pod_of_any_namespace() {
    let mut scene = with(vec![node("a"), node("b")], pool("p").with_pods(None, "app=web"));
    scene.set_pod(pod("x", "a").with_labels(&[("app", "db")]));
    scene.set_pod(pod("y", "b").in_namespace("any").with_labels(&[("app", "web")]));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn the_last_ready_pod_takes_the_address_with_it() {
    let nodes = vec![node("a"), node("b")];
    let mut scene = with(nodes, pool("p").with_pods(Some("ingress"), ""))
        .pod(pod("x", "a").in_namespace("ingress"))
        .pod(pod("y", "a").in_namespace("ingress"))
        .pod(pod("z", "b").in_namespace("ingress"))
        .settled();
    assert_eq!(scene.home(ip(1)), Some("a"));
    scene.remove_pod("x");
    assert_eq!(moves(&scene.settle()), []);
    scene.remove_pod("y");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_pod_that_changes_its_labels_and_still_matches_moves_nothing() {
    let nodes = vec![node("a"), node("b")];
    let web = |version| [("app", "web"), ("version", version)];
    let mut scene = with(nodes, pool("p").with_pods(None, "app=web"))
        .pod(pod("x", "a").with_labels(&web("1")))
        .pod(pod("y", "b").with_labels(&web("1")))
        .settled();
    scene.set_pod(pod("x", "a").with_labels(&web("2")));
    assert_eq!(scene.settle(), []);
    scene.set_pod(pod("x", "a").with_labels(&[("app", "other")]));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn pods_that_are_known_before_their_node_count_once_it_appears() {
    let mut scene = scene()
        .pod(pod("x", "a").in_namespace("ingress"))
        .pool(pool("p").ips([1]).with_pods(Some("ingress"), ""))
        .address(ip(1), None)
        .settled();
    scene.set_node(node("a"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")]);
}

#[test]
fn a_watch_that_starts_again_takes_away_what_it_did_not_list() {
    let nodes = vec![node("a"), node("b")];
    let mut scene = with(nodes, pool("p").with_pods(None, "app=web"))
        .pod(pod("x", "a").with_labels(&[("app", "web")]))
        .pod(pod("y", "b").with_labels(&[("app", "web")]))
        .settled();
    scene.world.retain_pods(&PodMatch::every_pod(), &["y".into()].into());
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
    scene.world.retain_nodes(&["a".into()].into());
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!(scene.verdict("p").addresses[0].note, Some(Note::NoNode));
    scene.world.retain_objects(&POOL, &[].into());
    assert!(scene.world.pool(&key("p")).is_none());
}

#[test]
fn an_older_version_of_a_node_is_not_news() {
    let mut scene = with(vec![node("a"), node("b")], pool("p"));
    scene.settle();
    let mut stale = node("a").not_ready();
    stale.version = 1;
    scene.world.set_node(stale);
    assert_eq!(moves(&scene.settle()), []);
}

#[test]
fn a_pool_that_changes_its_conditions_moves_what_does_not_match_any_more() {
    let nodes = vec![node("a"), node("b").labelled("role", "edge")];
    let mut scene = with(nodes, pool("p"));
    scene.settle();
    scene.change_pool("p", |pool| pool.on("role=edge"));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}
