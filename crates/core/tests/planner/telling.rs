//! Explanations: why nodes are not eligible, why an address waits, why an address was unassigned.

use pontoon_core::action::{Action, AddressAction, FailureKind, Removal};
use pontoon_core::addresses::verdict::{Note, Precedence, Reason, State};
use pontoon_core::model::Pool;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, scene};

/// Six nodes. Only `b` and `c` are eligible; each other node fails another rule.
fn two_of_six() -> Scene {
    let edge = |name: &str| node(name).labelled("role", "edge");
    let nodes = [
        edge("a").not_ready(),
        edge("b"),
        edge("c"),
        edge("d"),
        edge("e").tainted("maint", "x", "NoSchedule"),
        node("f"),
    ];
    let scene = nodes.into_iter().fold(scene(), Scene::node);
    let ingress = |on| pod(on, on).in_namespace("ingress").with_labels(&[("app", "nginx")]);
    ["a", "b", "c", "e", "f"].into_iter().fold(scene, |scene, on| scene.pod(ingress(on)))
}

fn asking(pool: Pool) -> Pool {
    pool.on("role=edge").with_pods(Some("ingress"), "app=nginx")
}

const RULED_OUT: &str = "2 of 6 nodes eligible: 1 not matching by label, 1 not ready, \
                         1 with taint maint:NoSchedule, 1 without a ready pod app=nginx in ingress";

fn note(scene: &Scene, pool: &str, index: usize) -> String {
    scene.verdict(pool).addresses[index].note.as_ref().expect("a note").to_string()
}

fn removals(actions: &[Action]) -> Vec<(std::net::IpAddr, Removal)> {
    let why = |action: &Action| match action {
        Action::Address(AddressAction::Unassign { ip, why, .. }) => Some((*ip, why.clone())),
        _ => None,
    };
    actions.iter().filter_map(why).collect()
}

#[test]
fn a_pool_that_lacks_nodes_says_how_many_are_ruled_out_by_what_and_so_does_each_address() {
    let scene = two_of_six().pool(asking(pool("p").ips([1, 2, 3, 4])));
    let scene = (1..=4).fold(scene, |scene, n| scene.address(ip(n), None)).settled();
    let told = scene.verdict("p").to_string();
    assert_eq!(told, format!("2 of 4 in place; {RULED_OUT}; no eligible node is free"));
    assert_eq!(scene.states("p")[2], State::Unassigned);
    assert_eq!(note(&scene, "p", 2), format!("no eligible node is free; {RULED_OUT}"));
}

#[test]
fn what_the_eligible_nodes_hold_is_named() {
    let scene = two_of_six().pool(pool("p").ips([1, 2]).on("role=edge").with_pods(None, ""));
    let scene = scene.pool(asking(pool("q").ips([3])).created_at(at(1)));
    let scene = (1..=3).fold(scene, |scene, n| scene.address(ip(n), None)).settled();
    let told = scene.verdict("q").to_string();
    let held = "b: the node holds 192.0.2.1 of Pool default/p; \
                c: the node holds 192.0.2.2 of Pool default/p";
    assert_eq!(told, format!("0 of 1 in place; {RULED_OUT}; no eligible node is free: {held}"));
}

#[test]
fn a_typo_in_the_pods_namespace_is_told_as_missing_pods() {
    let scene = two_of_six().pool(pool("p").ips([1]).with_pods(Some("ingres"), "app=nginx"));
    let scene = scene.address(ip(1), None).settled();
    let told = scene.verdict("p").to_string();
    let ruled_out = "0 of 6 nodes eligible: 4 without a ready pod app=nginx in ingres, \
                     1 not ready, 1 with taint maint:NoSchedule";
    assert_eq!(told, format!("0 of 1 in place; {ruled_out}"));
    assert_eq!(note(&scene, "p", 0), ruled_out);
}

#[test]
fn a_node_that_comes_goes_or_is_ruled_out_by_something_else_is_told_to_those_who_wait_alone() {
    let content = pool("content").ips([9]).on("role=edge").created_at(at(-2000));
    let scene = two_of_six().pool(content).pool(asking(pool("p").ips([1, 2, 3])));
    let scene = [1, 2, 3, 9].into_iter().fold(scene, |scene, n| scene.address(ip(n), None));
    let mut scene = scene.settled();
    let before = scene.verdict("content").clone();
    let told = |scene: &mut Scene| {
        scene.settle();
        scene.verdict("p").census.as_ref().expect("a census").to_string()
    };
    scene.set_node(node("g"));
    assert!(told(&mut scene).starts_with("2 of 7 nodes eligible: 2 not matching by label, "));
    scene.remove_node("g");
    scene.remove_node("f");
    assert!(told(&mut scene).starts_with("2 of 5 nodes eligible: 1 not ready, 1 with taint"));
    scene.change_node("a", |node| node.ready().tainted("maint", "y", "NoSchedule"));
    assert!(told(&mut scene).starts_with("2 of 5 nodes eligible: 2 with taint maint:NoSchedule"));
    assert_eq!((scene.verdict("content"), &before.census), (&before, &None));
}

#[test]
fn many_causes_are_told_in_part_and_an_empty_cluster_as_such() {
    let tainted = |n: u8| node(&format!("n{n}")).tainted(&format!("t{n}"), "", "NoExecute");
    let scene = scene().pool(pool("p").ips([1])).address(ip(1), None);
    let mut scene = scene.settled();
    assert_eq!(scene.verdict("p").to_string(), "0 of 1 in place; the cluster has no node");
    (0..8).for_each(|n| scene.set_node(tainted(n)));
    scene.settle();
    let told = scene.verdict("p").to_string();
    assert!(told.ends_with(", 1 with taint t5:NoExecute, 2 for other causes"), "{told}");
}

#[test]
fn a_large_pool_does_not_repeat_it_for_every_address() {
    let all: Vec<u8> = (0..150).collect();
    let listed = pool("p").ask(|request| request.listed = all.iter().map(|n| ip(*n)).collect());
    let scene = scene().pool(listed);
    let scene = all.iter().fold(scene, |scene, n| scene.address(ip(*n), None)).settled();
    let notes = scene.verdict("p").addresses.iter().map(|one| one.note.clone());
    let full = notes.filter(|note| matches!(note, Some(Note::NoRoom(Some(_))))).count();
    assert_eq!(
        (full, note(&scene, "p", 149).as_str()),
        (100, "no eligible node is free; the conditions of the pool say why")
    );
}

#[test]
fn an_address_that_could_be_placed_says_what_it_waits_for() {
    let cools = pool("p").ips([1, 2]).cooling_off(60);
    let scene = scene().nodes(["a", "b"]).pool(cools);
    let mut scene = scene.address(ip(1), None).address(ip(2), None);
    scene.begin();
    scene.answer();
    scene.begin();
    assert_eq!(scene.states("p"), [State::Unassigned; 2]);
    assert_eq!(note(&scene, "p", 0), "about to be put on a");
    scene.answer();
    scene.settle();
    assert_eq!(scene.states("p"), [State::Active, State::Unassigned]);
    assert!(note(&scene, "p", 1).starts_with("cooling off, next assignment at "));
}

#[test]
fn addresses_of_both_families_on_one_node_are_on_one_node() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1]).ips6([1]));
    let scene = scene.address(ip(1), None).address(ip6(1), None).settled();
    assert_eq!(scene.verdict("p").to_string(), "2 addresses on 1 of 3 eligible nodes");
}

#[test]
fn reserved_addresses_that_serve_nobody_are_counted_and_so_is_the_way_out() {
    let mut scene = scene().nodes(["a", "b", "c"]).pool(pool("p").wants(3)).settled();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.settle();
    let told = scene.verdict("p").to_string();
    assert!(
        told.starts_with("1 address on 1 of 3 eligible nodes; 2 reserved addresses are not used"),
        "{told}"
    );
    assert!(told.contains("when the pool is deleted with the policy of release, or"), "{told}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert!(note(&scene, "p", 1).starts_with("reserved for this pool and not used"));
}

#[test]
fn an_address_that_is_taken_off_its_node_says_why() {
    // Released with its pool.
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1).releasing()).settled();
    let made = scene.stored("p").ledger.created[0];
    scene.change_pool("p", PoolFixture::deleted);
    assert_eq!(removals(&scene.settle()), [(made, Removal::Returned)]);

    // No longer listed.
    let mut scene = super::scene::scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    scene = scene.address(ip(1), None).address(ip(2), None).settled();
    scene.watch();
    scene.run(seconds(70));
    scene.change_pool("p", |pool| pool.ask(|request| request.listed.truncate(1)));
    assert_eq!(removals(&scene.settle()), [(ip(2), Removal::LeavesList)]);

    // Unassigned to make room for another pool.
    let edge = |name: &str| node(name).labelled("role", "edge");
    let mut scene = super::scene::scene().node(edge("a")).pool(pool("p").ips([1, 2]).wants(2));
    scene = scene.node(node("b")).address(ip(1), Some("b")).address(ip(2), Some("a")).settled();
    scene.watch();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.set_pool(pool("q").ips([3]).on("role=edge"));
    scene.cloud.place(ip(3), None);
    assert_eq!(removals(&scene.settle()), [(ip(2), Removal::MakesRoom(key("q")))]);

    // Serving, no longer listed, and without a replacement: another pool needs the node.
    let mut scene = super::scene::scene().node(edge("a")).pool(pool("p").ips([1, 2]));
    scene = scene.node(node("b")).address(ip(1), Some("b")).address(ip(2), Some("a")).settled();
    scene.change_pool("p", |pool| pool.ask(|request| request.listed = [1, 77].map(ip).into()));
    scene.settle();
    scene.set_pool(pool("q").ips([3]).on("role=edge"));
    scene.cloud.place(ip(3), None);
    assert_eq!(removals(&scene.run(seconds(120))), [(ip(2), Removal::Yields(key("q")))]);
    assert_eq!(scene.home(ip(3)), Some("a"));
}

#[test]
fn of_two_pools_that_list_one_address_the_loser_is_told_which_rule_decided() {
    let told = |p: Pool| {
        let scene = scene().nodes(["a"]).pool(p.ips([1])).pool(pool("q").ips([1]));
        let mut scene = scene.address(ip(1), None);
        scene.plan();
        let first = scene.reason("q").clone();
        scene.settle();
        let then = Reason::Conflict(ip(1), key("p"), Precedence::Has);
        assert_eq!(scene.reason("q"), &then);
        first
    };
    let same = Reason::Conflict(ip(1), key("p"), Precedence::SmallerUid);
    assert_eq!(told(pool("p")), same);
    let older = Reason::Conflict(ip(1), key("p"), Precedence::Older);
    assert_eq!(told(pool("p").created_at(at(-2000))), older);
}

#[test]
fn a_cloud_that_cannot_be_asked_is_told_with_the_next_attempt() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    for _ in 0..9 {
        scene.fault(is_list, Fault::Answer(FailureKind::Unavailable));
    }
    scene.settle();
    let told = scene.verdict("p").to_string();
    assert!(told.ends_with("; the next attempt is made within ten seconds"), "{told}");
}

#[test]
fn credentials_that_are_refused_are_told_with_what_to_do() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_list, Fault::Answer(FailureKind::Refused));
    scene.settle();
    let told = scene.verdict("p").to_string();
    assert!(
        told.contains("in a file it counts within seconds, in a variable after a restart"),
        "{told}"
    );
}

#[test]
fn an_address_tells_the_provider_id_of_its_node_and_none_of_a_machine_without_a_node() {
    let scene = scene().node(node("a")).pool(pool("p").ips([1, 2]).on("role=none"));
    let scene = scene.address(ip(1), Some("a")).address(ip(2), Some("gone")).settled();
    let told = scene.verdict("p").addresses.iter().map(|one| one.provider_id.as_deref());
    assert_eq!(told.collect::<Vec<_>>(), [Some("cloud://m-a"), None]);
}
