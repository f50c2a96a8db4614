//! Objects that cannot be understood, and new objects of the same name.

use std::net::IpAddr;

use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Pool;

use super::doubting::made;
use super::fixture::*;
use super::scene::scene;

#[test]
fn an_object_that_cannot_be_understood_keeps_the_addresses_that_it_lists_from_others() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).pool(pool("q").ips([1]));
    let mut scene = scene.address(ip(1), Some("a")).settled();
    scene.change_pool("p", PoolFixture::invalid);
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.run(seconds(60))), []);
    assert!(matches!(scene.reason("q"), Reason::Conflict(..)));
    // Even the status cannot be read.
    scene.change_pool("p", |pool| pontoon_core::model::Pool {
        named: None,
        remembered: [].into(),
        ..pool
    });
    assert_eq!(moves(&scene.run(seconds(60))), []);
}

#[test]
fn an_address_that_an_invalid_object_lists_is_not_given_back() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1).releasing()).settled();
    scene.run(seconds(5));
    assert_eq!(scene.cloud.made, 1);
    let ip = made(1);
    scene.set_pool(pool("q").ask(|request| request.listed = vec![ip]).invalid());
    scene.change_pool("p", PoolFixture::deleted);
    let done = scene.run(seconds(60));
    assert_eq!(count(&done, is_release) + count(&done, is_unassign), 0, "{done:?}");
}

#[test]
fn an_address_that_an_invalid_object_had_and_lists_no_more_is_given_back_by_the_pool_that_reserved_it()
 {
    let unready = node("a").not_ready();
    let mut scene = scene().node(unready).pool(pool("p").wants(1).releasing()).settled();
    scene.run(seconds(5));
    let ip = made(1);
    let older = pool("q").created_at(at(-5000));
    let lists = |ips: Vec<IpAddr>| older.clone().ask(|request| request.listed = ips);
    scene.set_pool(lists(vec![ip]));
    scene.run(seconds(60));
    scene.set_pool(lists(vec![]).invalid());
    scene.change_pool("p", PoolFixture::deleted);
    let done = scene.run(seconds(60));
    assert_eq!(count(&done, is_release), 0, "whether q lists it next is unknown: {done:?}");
    assert_eq!(scene.stored("p").ledger.created, [ip], "written down nowhere else");
    scene.set_pool(lists(vec![]));
    scene.run(seconds(60));
    assert!(scene.cloud.addresses.is_empty());
    assert!(!scene.stored("p").ledger.guarded);
}

#[test]
fn an_address_that_was_leaving_an_object_before_it_became_invalid_goes_to_the_pool_that_lists_it() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    scene.run(seconds(70));
    scene.change_pool("p", |pool| pool.ask(|request| request.listed.truncate(1)));
    scene.until_begun(is_unassign);
    scene.change_pool("p", PoolFixture::invalid);
    scene.answer();
    scene.set_pool(pool("q").ips([2]));
    scene.run(seconds(60));
    assert_eq!(scene.home(ip(2)), Some("b"));
    assert_eq!(*scene.reason("q"), Reason::AllAssigned);
    scene.world.take_over(scene.now);
    scene.run(seconds(60));
    assert_eq!(*scene.reason("q"), Reason::AllAssigned, "in the next term too");
    // Unless the user lists it again.
    scene.change_pool("p", |pool| Pool { named: Some(vec![ip(1), ip(2)]), ..pool });
    scene.change_node("b", NodeFixture::not_ready);
    assert_eq!(moves(&scene.run(seconds(60))), [], "{:?}", scene.reason("q"));
}

#[test]
fn an_answer_does_not_count_for_another_object_of_the_same_name() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.until_begun(is_assign);
    scene.remove_pool("p");
    let again = pontoon_core::model::Pool { uid: "another".into(), ..pool("p").ips([2]) };
    let mut scene = scene.address(ip(2), None);
    scene.set_pool(again);
    scene.answer();
    let done = scene.run(seconds(60));
    assert_eq!(count(&done, is_unassign), 0, "a deleted pool leaves its addresses: {done:?}");
    assert_eq!(scene.home(ip(1)), Some("a"));
}

#[test]
fn what_was_reserved_is_not_given_to_another_object_of_the_same_name() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(1));
    scene.until_begun(is_create);
    scene.remove_pool("p");
    let again = pontoon_core::model::Pool { uid: "another".into(), ..pool("p").ips([2]) };
    scene = scene.address(ip(2), None).pool(again);
    scene.answer();
    let done = scene.run(seconds(60));
    assert_eq!(scene.home(made(1)), Some("a"), "a deleted pool leaves its addresses: {done:?}");
    assert!(scene.stored("p").ledger.created.is_empty());
    let addresses: Vec<_> = scene.verdict("p").addresses.iter().map(|one| one.ip).collect();
    assert_eq!(addresses, [ip(2)]);
    assert_eq!(count(&done, is_unassign) + count(&done, is_release), 0, "{done:?}");
}

#[test]
fn an_address_listed_while_the_spec_is_invalid_is_read_before_it_is_moved() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let mut scene = scene.address(ip(2), None).settled();
    // A person moves address 2, lists it beside a typing error, and corrects that.
    scene = scene.address(ip(2), Some("b"));
    scene.change_pool("p", |pool| {
        let listed = pool.ips([1, 2]);
        Pool { named: Some(vec![ip(1), ip(2)]), ..listed.invalid() }
    });
    scene.settle();
    scene.change_pool("p", |_| pool("p").ips([2, 1]));
    assert_eq!(moves(&scene.run(seconds(30))), []);
}

#[test]
fn places_from_before_the_only_pool_became_invalid_are_read_again_before_anything_moves() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), None).address(ip(2), None).settled();
    assert_eq!(scene.home(ip(2)), Some("b"));
    let valid = scene.stored("p").clone();
    scene.change_pool("p", PoolFixture::invalid);
    scene.settle();
    // A person moves the address away from the node that fails, and nobody lists the account.
    scene.change_node("b", NodeFixture::not_ready);
    let mut scene = scene.address(ip(2), Some("c"));
    scene.change_pool("p", |pool| Pool { request: valid.request, ..pool });
    assert_eq!(moves(&scene.run(seconds(60))), []);
}

#[test]
fn an_entry_removed_while_nothing_is_done_for_the_pool_is_read_before_it_is_taken_off() {
    let paused = |pool| Pool { paused: Some("holiday".into()), ..pool };
    for idle in [PoolFixture::invalid as fn(Pool) -> Pool, paused] {
        let scene =
            scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2])).pool(pool("q").ips([3]));
        let scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
        let mut scene = scene.address(ip(3), None).settled();
        let before = scene.stored("p").clone();
        let removed = before.clone().ask(|request| request.listed = vec![ip(2)]);
        scene.set_pool(idle(removed.clone()));
        scene.run(seconds(61));
        // A person moves the address within the interval of listings.
        scene.set_node(node("d"));
        let mut scene = scene.address(ip(1), Some("d"));
        scene.set_pool(removed);
        let done = scene.run(seconds(60));
        assert_eq!((count(&done, is_unassign), scene.home(ip(1))), (0, Some("d")), "{done:#?}");
    }
}

#[test]
fn an_address_that_a_person_moves_while_nothing_is_done_for_the_pool_is_read_before_it_is_moved() {
    let paused = |pool| Pool { paused: Some("by hand".into()), ..pool };
    for idle in [PoolFixture::invalid as fn(Pool) -> Pool, paused] {
        let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1]));
        let scene = scene.pool(pool("q").ips([3]).on("no=where"));
        let mut scene = scene.address(ip(1), Some("a")).settled();
        let active = scene.stored("p").clone();
        scene.set_pool(idle(active.clone()));
        scene.run(seconds(61));
        // The node fails, and a person moves the address within the interval of listings.
        scene.change_node("a", NodeFixture::not_ready);
        let mut scene = scene.address(ip(1), Some("c"));
        scene.set_pool(active);
        assert_eq!((moves(&scene.run(seconds(60))), scene.home(ip(1))), (vec![], Some("c")));
    }
}

#[test]
fn an_entry_removed_while_nothing_is_done_for_the_pool_and_then_kept_is_read_before_it_is_moved() {
    let paused = |pool| Pool { paused: Some("by hand".into()), ..pool };
    for idle in [PoolFixture::invalid as fn(Pool) -> Pool, paused] {
        let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2]).wants(2));
        let scene = scene.pool(pool("q").ips([3]).on("no=where"));
        let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
        let removed = scene.stored("p").clone().ask(|request| request.listed = vec![ip(1)]);
        scene.set_pool(idle(removed.clone()));
        scene.run(seconds(61));
        // The node fails, and a person moves the address within the interval of listings.
        scene.change_node("b", NodeFixture::not_ready);
        let mut scene = scene.address(ip(2), Some("c"));
        scene.set_pool(removed);
        // The ledger is written before the listing is answered.
        let writes = scene.begin().iter().position(is_ledger).expect("a write of the ledger");
        scene.answer_one(writes);
        assert_eq!(scene.stored("p").ledger.kept, [ip(2)]);
        assert_eq!(moves(&scene.begin()), []);
        scene.answer();
        assert_eq!((moves(&scene.run(seconds(60))), scene.home(ip(2))), (vec![], Some("c")));
    }
}

#[test]
fn a_listing_under_way_while_the_only_pool_was_invalid_is_followed_by_another() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), Some("a")).settled();
    scene.run(seconds(59));
    scene.now = scene.wake.expect("the next listing");
    assert!(scene.begin().iter().any(is_list));
    let valid = scene.stored("p").clone();
    scene.change_pool("p", PoolFixture::invalid);
    scene.set_pool(valid);
    scene.answer();
    scene.settle();
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.run(seconds(5))), [(ip(1), "b")]);
}
