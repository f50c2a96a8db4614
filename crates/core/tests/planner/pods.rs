//! The set of watched pods, and the plans that wait while pods are unknown.

use std::sync::Arc;

use pontoon_core::model::{
    EmptyPolicy, NodeAddress, Owner, Pool, RecordRequest, RecordSet, RecordSource,
};
use pontoon_core::nodes::{Cordon, OwnerMatch, PodMatch, Selector, Workload};

use super::fixture::*;
use super::recording::{NAME, ask, edge, nodes_key, of_nodes, writes};
use super::scene::{Scene, scene};

fn range(namespace: Option<&str>, selector: &str) -> PodMatch {
    let labels = Selector::parse(selector).unwrap();
    PodMatch { namespace: namespace.map(Into::into), labels, ..PodMatch::default() }
}

/// Records of the nodes with the label role=edge and a pod in a namespace.
fn by_pods(name: &str, namespace: Option<&str>) -> RecordSet {
    ask(of_nodes(name, NodeAddress::External), |request| {
        if let RecordSource::Nodes { matching, .. } = &mut request.source {
            Arc::make_mut(matching).pods = Some(range(namespace, ""));
        }
    })
}

/// Address 1 on node `a`, and no object with a rule for pods.
fn without_pods() -> Scene {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let mut scene = scene.address(ip(2), None).settled();
    scene.world.pods_watched(&[]);
    scene
}

#[test]
fn no_pods_are_wanted_until_an_object_asks_for_some() {
    let mut scene = without_pods();
    assert_eq!(scene.world.pods_wanted(), []);
    scene.change_pool("p", |pool| pool.with_pods(Some("ingress"), "app=web"));
    assert_eq!(scene.world.pods_wanted(), [range(Some("ingress"), "app=web")]);
    scene.set_records(by_pods("r", Some("ingress")));
    assert_eq!(scene.world.pods_wanted(), [range(Some("ingress"), "")], "no label in common");
    scene.set_pool(pool("q").with_pods(None, "app=web"));
    assert_eq!(scene.world.pods_wanted(), [range(None, "")], "nothing in common");
    scene.remove_pool("p");
    scene.remove_pool("q");
    assert_eq!(scene.world.pods_wanted(), [range(Some("ingress"), "")]);
    scene.remove_records(&nodes_key("r"));
    assert_eq!(scene.world.pods_wanted(), []);
}

#[test]
fn what_asks_for_pods_that_are_not_known_is_left_as_it_is() {
    let mut scene = without_pods();
    scene.change_pool("p", |pool| pool.on("pool=edge").with_pods(Some("ingress"), ""));
    scene.change_node("a", |node| node.labelled("pool", "edge"));
    scene.change_node("b", |node| node.labelled("pool", "edge"));
    // The only eligible node of another pool is the node with unknown pods.
    scene.set_pool(pool("q").ips([2]).on("only=a"));
    scene.change_node("a", |node| node.labelled("only", "a"));
    let done = scene.settle();
    assert!(!done.iter().any(is_change), "nothing is moved, displaced or unmarked: {done:?}");
    assert_eq!((scene.home(ip(1)), scene.mark("a")), (Some("a"), Some("192.0.2.1")));

    let asked = scene.world.pods_wanted()[0].clone();
    scene.world.pods_watched(std::slice::from_ref(&asked));
    scene.set_pod(pod("y", "b").in_namespace("ingress"));
    assert_eq!(scene.settle(), [], "the list is not complete");
    scene.set_pod(pod("x", "a").in_namespace("ingress"));
    scene.world.pods_read(asked);
    assert_eq!(moves(&scene.settle()), [], "its pod is there");
}

#[test]
fn pods_that_are_known_to_be_absent_move_an_address() {
    let mut scene = without_pods();
    scene.change_pool("p", |pool| pool.with_pods(Some("ingress"), ""));
    scene.set_pod(pod("y", "b").in_namespace("ingress"));
    assert_eq!(scene.settle(), []);
    scene.world.pods_read(range(Some("ingress"), ""));
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn one_that_waits_for_pods_keeps_nobody_else_waiting() {
    let mut scene = without_pods();
    scene.set_pool(pool("q").ips([2]).with_pods(Some("ingress"), ""));
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_name_that_lists_nodes_by_pods_that_are_not_known_is_left_as_it_is() {
    let mut scene = scene().node(edge("a", ip(7))).records(of_nodes("r", NodeAddress::External));
    scene.settle();
    scene.world.pods_watched(&[]);
    let emptied = |request: &mut RecordRequest| request.empty = EmptyPolicy::Remove;
    scene.set_records(ask(by_pods("r", Some("ingress")), emptied));
    assert_eq!((writes(&scene.settle()), scene.dns.listed(NAME)), (0, vec![ip(7)]));
    scene.world.pods_read(range(Some("ingress"), ""));
    assert_eq!((writes(&scene.settle()), scene.dns.listed(NAME)), (1, vec![]), "none is ready");
}

#[test]
fn what_is_known_outlasts_a_wider_watch_and_no_other() {
    let mut scene = without_pods();
    scene.change_pool("p", |pool| pool.with_pods(Some("ingress"), ""));
    scene.set_pod(pod("x", "a").in_namespace("ingress"));
    scene.set_pod(pod("y", "b").in_namespace("ingress"));
    scene.world.pods_read(range(Some("ingress"), ""));
    assert_eq!(moves(&scene.settle()), []);
    scene.world.pods_watched(&[range(None, "")]);
    scene.remove_pod("x");
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")], "as before");
    scene.world.pods_watched(&[range(Some("other"), "")]);
    scene.remove_pod("y");
    scene.set_pod(pod("z", "a").in_namespace("ingress"));
    assert_eq!(moves(&scene.settle()), [], "what is not watched is not known");
}

#[test]
fn each_namespace_is_watched_alone_while_they_are_few() {
    let mut scene = without_pods();
    scene.change_pool("p", |pool| pool.with_pods(Some("ingress"), "app=web"));
    scene.set_pool(pool("q").with_pods(Some("mail"), "app=smtp"));
    let both = [range(Some("ingress"), "app=web"), range(Some("mail"), "app=smtp")];
    assert_eq!(scene.world.pods_wanted(), both);
    scene.world.pods_watched(&both);
    scene.set_pod(pod("x", "a").in_namespace("ingress").with_labels(&[("app", "web")]));
    scene.world.pods_read(both[0].clone());
    scene.world.retain_pods(&both[1], &Default::default());
    scene.world.pods_read(both[1].clone());
    assert_eq!(moves(&scene.settle()), [], "the list of another namespace shows none of its pods");
    for n in 0..20 {
        let namespace = format!("n{n}");
        scene.set_pool(pool(&format!("r{n}")).with_pods(Some(&namespace), ""));
    }
    assert_eq!(scene.world.pods_wanted(), [range(None, "")]);
}

/// A pool of a Deployment in a namespace, or in any.
fn of_deployment(name: &str, namespace: Option<&str>) -> Pool {
    let owner = Owner { kind: "Deployment".into(), name: "web".into() };
    let workload = Workload { owner, through: Some("ReplicaSet".into()), labels: vec![] };
    let pods = PodMatch { owner: OwnerMatch::Is(workload), ..range(namespace, "") };
    pool(name).ask(|request| Arc::make_mut(&mut request.matching).cordon = Cordon::KeepsWhile(pods))
}

#[test]
fn controllers_are_watched_in_each_namespace_while_they_are_few_else_in_all() {
    let mut scene = without_pods();
    assert_eq!(scene.world.parents_wanted(), [].into());
    let few: Vec<_> = (0..16).map(|n| format!("n{n}")).collect();
    for name in &few {
        scene.set_pool(of_deployment(name, Some(name)));
    }
    let each = few.iter().map(|name| Some(name.as_str().into())).collect();
    assert_eq!(scene.world.parents_wanted(), each);
    scene.set_pool(of_deployment("more", Some("more")));
    assert_eq!(scene.world.parents_wanted(), [None].into());
    scene.remove_pool("more");
    assert_eq!(scene.world.parents_wanted(), each, "as before");
    scene.set_pool(of_deployment("any", None));
    assert_eq!(scene.world.parents_wanted(), [None].into(), "a watch of all covers each");
}

#[test]
fn an_address_that_serves_nobody_makes_room_once_the_pods_are_known() {
    let scene = scene().node(node("a").labelled("only", "a")).address(ip(1), Some("a"));
    let mut scene = scene.address(ip(2), None).pool(pool("q").ips([2]).on("only=a")).settled();
    scene.world.pods_watched(&[]);
    scene.set_pool(pool("p").ips([1]).on("pool=edge").with_pods(Some("ingress"), ""));
    scene.settle();
    assert_eq!(scene.home(ip(1)), Some("a"), "perhaps the address serves");
    let asked = scene.world.pods_wanted()[0].clone();
    scene.world.pods_watched(std::slice::from_ref(&asked));
    scene.world.pods_read(asked);
    scene.settle();
    assert_eq!(scene.home(ip(2)), Some("a"));
}
