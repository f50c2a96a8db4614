//! Several pools with common nodes.

use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::{Obstacle, Reason};

use super::fixture::*;
use super::scene::{Scene, scene, setup};

#[test]
fn two_pools_never_take_one_node() {
    let mut scene = scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]))
        .address(ip(1), None)
        .address(ip(2), None);
    assert_eq!(moves(&scene.settle()), [(ip(1), "a"), (ip(2), "b")]);
}

#[test]
fn the_older_pool_chooses_first() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("p").ips([1]).created_at(at(-10)))
        .pool(pool("q").ips([2]).created_at(at(-20)))
        .address(ip(1), None)
        .address(ip(2), None);
    assert_eq!(moves(&scene.settle()), [(ip(2), "a")]);
    let blocks = ("a".into(), Obstacle::HoldsOf(ip(2), key("q")));
    assert_eq!(scene.reason("p"), &Reason::NoFreeNode(vec![blocks]));
}

#[test]
fn a_pool_with_a_choice_leaves_the_node_to_the_one_without() {
    let edge = |name: &str| node(name).labelled("role", "edge");
    let mut scene = scene()
        .node(edge("a"))
        .nodes(["b"])
        .pool(pool("any").ips([1]).created_at(at(-20)))
        .pool(pool("edge").ips([2]).on("role=edge").created_at(at(-10)))
        .address(ip(1), None)
        .address(ip(2), None);
    assert_eq!(moves(&scene.settle()), [(ip(1), "b"), (ip(2), "a")]);
}

#[test]
fn a_chain_of_choices_is_followed_to_its_end() {
    let both = |name: &str, x: &str, y: &str| node(name).labelled(x, "").labelled(y, "");
    let mut scene = scene()
        .node(both("a", "p", "q"))
        .node(both("b", "q", "r"))
        .node(node("c").labelled("r", ""))
        .pool(pool("r").ips([3]).on("r").created_at(at(-30)))
        .pool(pool("q").ips([2]).on("q").created_at(at(-20)))
        .pool(pool("p").ips([1]).on("p").created_at(at(-10)));
    for n in 1..=3 {
        scene.cloud.place(ip(n), None);
    }
    assert_eq!(moves(&scene.settle()), [(ip(3), "c"), (ip(2), "b"), (ip(1), "a")]);
}

#[test]
fn a_well_placed_address_never_moves_to_make_room() {
    let edge = |name: &str| node(name).labelled("role", "edge");
    let mut scene = scene()
        .node(edge("a"))
        .nodes(["b"])
        .pool(pool("any").ips([1]))
        .address(ip(1), Some("a"))
        .address(ip(2), None)
        .settled();
    scene.set_pool(pool("edge").ips([2]).on("role=edge"));
    assert_eq!(moves(&scene.settle()), []);
    let blocks = ("a".into(), Obstacle::HoldsOf(ip(1), key("any")));
    assert_eq!(scene.reason("edge"), &Reason::NoFreeNode(vec![blocks]));
}

#[test]
fn an_address_that_waits_for_a_node_gets_the_one_that_another_pool_leaves() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]))
        .address(ip(1), Some("a"))
        .address(ip(2), None)
        .settled();
    scene.remove_pool("p");
    assert_eq!(moves(&scene.settle()), [], "a pool that is deleted leaves its address where it is");
    scene.cloud.place(ip(1), None);
    assert_eq!(moves(&scene.run(seconds(61))), [(ip(2), "a")]);
}

#[test]
fn machines_of_two_clouds_may_have_the_same_number() {
    let other = AccountSetup { cloud: "other".into(), ..setup() };
    let mut scene = scene()
        .account("second", other)
        .node(node("a").on_machine("1"))
        .node(node("b").on_machine("1").of_cloud("other"))
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]).in_account("second"));
    scene.cloud.place(ip(1), None);
    scene.cloud.place(ip(2), None);
    scene.begin();
    scene.answer();
    assert_eq!(moves(&scene.planned()), [(ip(1), "a"), (ip(2), "b")]);
}

#[test]
fn two_accounts_at_one_cloud_do_not_share_a_node() {
    let mut scene = scene()
        .account("second", setup())
        .nodes(["a", "b"])
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]).in_account("second"));
    scene.cloud.place(ip(1), None);
    scene.cloud.place(ip(2), None);
    assert_eq!(moves(&scene.settle()), [(ip(1), "a"), (ip(2), "b")]);
}

#[test]
fn many_pools_on_one_label_each_get_a_node() {
    let mut scene = scene();
    for n in 1..=60 {
        scene.set_node(node(&format!("n{n:02}")));
        scene.cloud.place(ip(n), None);
        scene.set_pool(pool(&format!("p{n:02}")).ips([n]));
    }
    assert_eq!(moves(&scene.settle()).len(), 60);
    scene.set_node(node("n99"));
    scene.change_node("n07", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(7), "n99")]);
}

#[test]
fn numbers_that_a_node_event_changes_reach_every_pool_of_many() {
    let mut scene = scene();
    for n in 1..=60 {
        scene.set_node(node(&format!("n{n:02}")));
        scene.cloud.place(ip(n), None);
        scene.set_pool(pool(&format!("p{n:02}")).ips([n]));
    }
    scene.settle();
    scene.set_node(node("n99"));
    scene.run(seconds(5));
    for n in 1..=60 {
        assert_eq!(scene.verdict(&format!("p{n:02}")).eligible, 61, "p{n:02}");
    }
}

#[test]
fn a_pool_that_lacks_a_node_is_left_alone_until_one_has_room() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]).created_at(at(-2000)))
        .address(ip(1), None)
        .address(ip(2), Some("a"))
        .settled();
    assert!(matches!(scene.reason("p"), Reason::NoFreeNode(_)));
    scene.change_node("a", |node| node.marked("192.0.2.1"));
    scene.settle();
    scene.change_node("a", |node| node.labelled("any", "thing"));
    let plan = scene.plan();
    assert_eq!(plan.verdicts.keys().collect::<Vec<_>>(), [&key("q")]);
    assert_eq!(plan.waiting, [].into());
    scene.cloud.place(ip(99), Some("m-b"));
    scene.run(seconds(60));
    scene.set_node(node("b"));
    assert_eq!(moves(&scene.settle()), [], "a stranger is there");
    scene.cloud.place(ip(99), None);
    assert_eq!(moves(&scene.run(seconds(60))), [(ip(1), "b")]);
}

#[test]
fn a_node_that_joins_is_offered_to_a_few_of_the_many_pools_that_lack_one() {
    let mut scene = scene().nodes(["a"]).address(ip(255), Some("a")).pool(pool("full").ips([255]));
    for n in 1..=200 {
        scene = scene.address(ip(n), None).pool(pool(&format!("p{n:03}")).ips([n]));
    }
    scene.run(seconds(5));
    assert!(matches!(scene.reason("p200"), Reason::NoFreeNode(_)), "{:?}", scene.reason("p200"));
    let begun = scene.history.len();
    scene.set_node(node("b"));
    let plan = scene.plan();
    assert!(plan.verdicts.len() <= 16, "{} of 200 are planned", plan.verdicts.len());
    assert_eq!(moves(&plan.actions), [(ip(1), "b")]);
    scene.run(seconds(5));
    assert_eq!(moves(&scene.history[begun..]), [(ip(1), "b")]);
}

#[test]
fn two_pools_that_change_places_do_not_wait_for_each_other() {
    let serves = |name: &str, app: &str| node(name).labelled("app", app);
    let mut scene = scene()
        .node(serves("a", "p"))
        .node(serves("b", "q"))
        .pool(pool("p").ips([1]).on("app=p"))
        .pool(pool("q").ips([2]).on("app=q"))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .settled();
    scene.set_node(serves("a", "q"));
    scene.set_node(serves("b", "p"));
    let actions = scene.settle();
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("b"), Some("a")));
    // An address is unassigned to make room; the other moves directly.
    assert_eq!(count(&actions, is_unassign), 1);
    assert_eq!(count(&actions, is_assign), 2);
}

#[test]
fn the_order_in_which_two_pools_lose_their_nodes_does_not_matter() {
    let serves = |name: &str, app: &str| node(name).labelled("app", app);
    for first in ["a", "b"] {
        let mut scene = scene()
            .node(serves("a", "p"))
            .node(serves("b", "q"))
            .pool(pool("p").ips([1]).on("app=p"))
            .pool(pool("q").ips([2]).on("app=q"))
            .address(ip(1), Some("a"))
            .address(ip(2), Some("b"))
            .settled();
        let other = |name: &str| if name == "a" { serves("a", "q") } else { serves("b", "p") };
        scene.set_node(other(first));
        scene.settle();
        scene.set_node(other(if first == "a" { "b" } else { "a" }));
        scene.settle();
        assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("b"), Some("a")), "{first}");
    }
}

#[test]
fn an_address_that_serves_nobody_makes_room_for_one_that_would() {
    let mut scene = scene()
        .node(node("a").labelled("app", "p"))
        .pool(pool("p").ips([1]).on("app=p"))
        .pool(pool("q").ips([2]).on("app=q"))
        .address(ip(1), None)
        .address(ip(2), Some("a"))
        .settled();
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("a"), None));
    assert_eq!(moves(&scene.run(seconds(300))), []);
}

/// Two nodes, each with an address of the same pool; another pool waits for a node.
fn full() -> Scene {
    scene()
        .nodes(["a", "b"])
        .pool(pool("p").ips([1, 2]))
        .pool(pool("q").ips([7]))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .address(ip(7), None)
        .settled()
}

#[test]
fn an_address_that_serves_nobody_is_asked_again_after_throttling() {
    let mut scene = full();
    for wait in [3, 2, 3, 2, 3, 2, 3, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3] {
        scene.fault(is_unassign, super::cloud::throttled(wait));
    }
    scene.change_pool("p", |pool| pool.wants(1));
    scene.run(seconds(300));
    assert_eq!(scene.home(ip(7)), Some("b"));
}

#[test]
fn an_address_is_asked_again_although_a_listing_answered_after_the_throttling() {
    let mut scene = full();
    scene.pass(seconds(600));
    scene.fault(is_unassign, super::cloud::throttled(3));
    scene.change_pool("p", |pool| pool.wants(1));
    let begun = scene.begin();
    assert_eq!((count(&begun, is_unassign), count(&begun, is_list)), (1, 1));
    scene.answer();
    scene.run(seconds(300));
    assert_eq!(scene.home(ip(7)), Some("b"));
}

#[test]
fn a_pool_that_cannot_reserve_for_want_of_a_region_keeps_no_node_from_another() {
    let mut regionless = pool("p").wants(1).created_at(at(-20));
    regionless.request.as_mut().unwrap().region = None;
    let mut scene = scene()
        .nodes(["a"])
        .pool(regionless)
        .pool(pool("q").ips([2]).created_at(at(-10)))
        .address(ip(2), None);
    assert_eq!(moves(&scene.settle()), [(ip(2), "a")]);
    assert_eq!(scene.reason("p"), &Reason::RegionMissing);
}

#[test]
fn a_pool_without_a_node_hears_that_what_is_in_its_way_is_nobodys_any_more() {
    let scene = scene().nodes(["a"]).pool(pool("first").ips([1])).pool(pool("second").ips([2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), None).settled();
    let full = |obstacle| Reason::NoFreeNode(vec![("a".into(), obstacle)]);
    assert_eq!(scene.reason("second"), &full(Obstacle::HoldsOf(ip(1), key("first"))));
    scene.remove_pool("first");
    scene.settle();
    assert_eq!(scene.reason("second"), &full(Obstacle::HoldsOther(ip(1))));
}
