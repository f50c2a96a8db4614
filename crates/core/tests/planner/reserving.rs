//! A reservation that cannot be made, or whose outcome is unknown, must not keep its node from an
//! address that can be assigned.

use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::action::{Action, AddressAction, FailureKind, LedgerWrite};
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Request;

use super::cloud::Fault;
use super::doubting::made;
use super::fixture::*;
use super::lasting::refusing;
use super::profiles::{PROFILES, Profile, account};
use super::scene::{Scene, able, scene, scene_at};

/// Address 1 on `a`. The pool wants another address, beyond the account's quota.
fn at_the_limit() -> Scene {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
    let mut scene = refusing(scene.address(ip(1), Some("a")), is_create, FailureKind::Quota);
    scene.run(seconds(5));
    assert!(matches!(scene.reason("p"), Reason::QuotaExceeded(..)), "{:?}", scene.reason("p"));
    scene
}

#[test]
fn a_reservation_at_the_limit_of_the_account_leaves_its_node_to_a_failover() {
    for after in [0, 1, 60] {
        let mut scene = at_the_limit();
        scene.run(seconds(after));
        scene.change_node("a", NodeFixture::not_ready);
        scene.settle();
        assert_eq!(scene.home(ip(1)), Some("b"), "after {after} s");
    }
}

/// Lets time pass, in which the operator wakes up a little late each time.
fn run_late(scene: &mut Scene, time: Duration) {
    let end = scene.now + time;
    scene.settle();
    while let Some(wake) = scene.wake.filter(|wake| *wake < end) {
        scene.now = wake.max(scene.now) + Duration::from_millis(300);
        scene.settle();
    }
    scene.now = end.max(scene.now);
    scene.settle();
}

#[test]
fn a_reservation_that_always_breaks_down_leaves_its_node_to_a_failover() {
    let places = |profile: &&Profile| profile.places_four;
    for profile in PROFILES.iter().filter(places) {
        let scene = scene_at(account(profile)).nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
        let scene = scene.address(ip(1), Some("a"));
        let mut scene = refusing(scene, is_create, FailureKind::Unavailable);
        run_late(&mut scene, seconds(300));
        scene.change_node("a", NodeFixture::not_ready);
        run_late(&mut scene, seconds(45));
        assert_eq!(scene.home(ip(1)), Some("b"), "{}", profile.name);
    }
}

#[test]
fn a_reservation_that_breaks_down_leaves_its_node_once_a_listing_shows_that_it_made_nothing() {
    for after in [0, 3, 12, 30, 60, 120] {
        let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
        let scene = scene.address(ip(1), Some("a"));
        let mut scene = refusing(scene, is_create, FailureKind::Unavailable);
        scene.run(seconds(after));
        scene.change_node("a", NodeFixture::not_ready);
        scene.run(seconds(8));
        assert_eq!(scene.home(ip(1)), Some("b"), "after {after} s");
    }
}

#[test]
fn a_reservation_that_broke_down_keeps_its_node_while_its_address_is_on_the_way() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1)).address(ip(1), None);
    scene.fault(is_create, Fault::Although(FailureKind::Unavailable));
    scene.until_begun(is_create);
    scene.answer();
    scene.cloud.place(made(1), None);
    scene.set_pool(pool("q").ips([1]));
    assert_eq!(moves(&scene.run(seconds(20))), []);
    scene.cloud.place(made(1), Some("m-a"));
    scene.run(seconds(10));
    assert_eq!((scene.cloud.made, &scene.stored("p").ledger.created[..]), (1, &[made(1)][..]));
}

#[test]
fn a_reservation_at_the_limit_leaves_its_node_to_another_pool() {
    let mut scene = at_the_limit().address(ip(2), None);
    scene.set_pool(pool("q").ips([2]));
    scene.settle();
    assert_eq!(scene.home(ip(2)), Some("b"));
    scene.cloud.refuses.clear();
    scene.run(seconds(600));
    assert_eq!(scene.cloud.made, 1, "it is reserved all the same once there is room");
}

#[test]
fn a_reservation_whose_outcome_only_a_person_can_tell_leaves_its_node_to_a_failover() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
    scene = scene.address(ip(1), Some("a"));
    scene.fault(is_create, Fault::Dropped);
    scene.until_begun(is_create);
    scene.answer();
    scene.cloud.place(ip(66), None);
    scene.run(seconds(120));
    assert!(matches!(scene.reason("p"), Reason::CreateOutcomeUnknown(_)));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    assert_eq!(scene.home(ip(1)), Some("b"));
}

/// Address 2 on `b`. A paused pool has written down that it reserves an address on `a`, and not
/// sent that.
fn paused_before_reserving() -> Scene {
    let scene = scene().nodes(["a", "b"]).pool(pool("q").ips([2])).address(ip(2), Some("b"));
    let mut scene = scene.settled().pool(pool("p").wants(1));
    scene.until_begun(is_ledger);
    scene.answer();
    scene.change_pool("p", |pool| pontoon_core::model::Pool {
        paused: Some("holiday".into()),
        ..pool
    });
    scene
}

#[test]
fn a_reservation_that_a_paused_pool_has_not_sent_keeps_no_node_from_one_that_is_served() {
    let mut scene = paused_before_reserving();
    scene.change_node("b", NodeFixture::not_ready);
    let planned = scene.planned();
    assert_eq!((moves(&planned), creations(&planned)), (vec![(ip(2), "a")], vec![]));
    let mut scene = paused_before_reserving();
    scene.change_pool("q", |pool| pool.wants(2));
    let planned = scene.begin();
    scene.answer();
    let target = scene.stored("q").ledger.intents[0].target.clone();
    assert_eq!((target, creations(&planned)), (Some("m-a".into()), vec![]));
}

#[test]
fn a_machine_is_free_again_when_a_new_term_begins_while_an_address_was_being_reserved_on_it() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    scene.until_begun(is_create);
    scene.held_back.clear();
    scene.world.take_over(scene.now);
    scene.remove_pool("p");
    let mut scene = scene.address(ip(2), None).pool(pool("q").ips([2]));
    scene.run(seconds(60));
    assert_eq!(scene.home(ip(2)), Some("a"));
}

#[test]
fn a_reservation_that_broke_down_after_its_effect_is_found_although_listings_lag() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Although(FailureKind::Unavailable));
    scene.cloud.hidden.push(made(1));
    scene.run(seconds(4));
    scene.cloud.hidden.clear();
    scene.run(seconds(60));
    assert_eq!((scene.cloud.made, &scene.stored("p").ledger.created[..]), (1, &[made(1)][..]));
}

#[test]
fn a_reservation_that_its_machine_refuses_is_made_elsewhere_or_by_region() {
    let on_a = |action: &Action| {
        matches!(action, Action::Address(AddressAction::Create { intent, .. })
            if intent.target.as_ref().is_some_and(|target| *target.0 == *machine("a")))
    };
    for nodes in [&["a"][..], &["a", "b"]] {
        let scene = nodes.iter().fold(scene(), |scene, name| scene.node(node(name)));
        let mut scene = refusing(scene.pool(pool("p").wants(1)), on_a, FailureKind::Rejected);
        scene.run(seconds(10));
        assert_eq!(scene.stored("p").ledger.created.len(), 1, "{nodes:?}");
    }
}

#[test]
fn a_reservation_of_the_leader_before_keeps_its_node_until_a_listing_tells() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
    let mut scene = scene.address(ip(1), Some("a"));
    scene.until_begun(is_create);
    scene.answer();
    scene.restart(seconds(0));
    scene.cloud.place(made(1), None);
    scene.cloud.addresses.get_mut(&made(1)).unwrap().busy = true;
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.run(seconds(4))), []);
    scene.cloud.addresses.get_mut(&made(1)).unwrap().busy = false;
    scene.cloud.place(made(1), Some("m-b"));
    scene.run(seconds(10));
    assert_eq!(scene.stored("p").ledger.created, [made(1)]);
}

#[test]
fn a_reservation_that_only_a_person_can_tell_leaves_its_node_soon_also_after_a_takeover() {
    for restarts in [false, true] {
        let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
        let mut scene = scene.address(ip(1), Some("a"));
        scene.fault(is_create, Fault::Dropped);
        scene.until_begun(is_create);
        scene.answer();
        scene.cloud.place(ip(66), None);
        scene.run(seconds(if restarts { 120 } else { 45 }));
        if restarts {
            scene.restart(seconds(0));
        }
        scene.change_node("a", NodeFixture::not_ready);
        scene.run(seconds(40));
        assert_eq!(scene.home(ip(1)), Some("b"), "restarts: {restarts}");
    }
}

#[test]
fn a_reservation_of_the_leader_before_keeps_no_machine_that_has_room_for_more() {
    let roomy = |profile: &&Profile| profile.name == "hetzner";
    let profile = PROFILES.iter().find(roomy).unwrap();
    let scene = scene_at(account(profile)).nodes(["a", "b"]).pool(pool("p").ips([1]).wants(2));
    let mut scene = refusing(scene.address(ip(1), Some("a")), is_create, FailureKind::Quota);
    scene.run(seconds(5));
    scene.restart(seconds(0));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(10));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_reservation_on_a_roomy_machine_is_not_dropped_for_the_reservation_of_another_pool() {
    let roomy = |profile: &&Profile| profile.name == "hetzner";
    let profile = PROFILES.iter().find(roomy).unwrap();
    let mut scene = scene_at(account(profile)).nodes(["a"]);
    scene.set_pool(pool("p").wants(1).created_at(at(-20)));
    scene.set_pool(pool("q").wants(2).created_at(at(-10)));
    scene.until_begun(is_ledger);
    let is_ps = |(action, _): &(Action, _)| matches!(action, Action::Ledger(LedgerWrite { pool, .. }) if *pool == key("p"));
    let index = scene.held_back.iter().position(is_ps).unwrap();
    scene.answer_one(index);
    assert_eq!(count(&scene.planned(), is_ledger), 0, "the write of q has no answer yet");
    scene.answer();
    scene.run(seconds(30));
    assert_eq!(scene.cloud.made, 3);
}

#[test]
fn an_ipv6_reservation_without_an_answer_is_found_although_the_pool_lists_no_ipv6_any_more() {
    for marks_new in [false, true] {
        let scene = scene_at(able(|one| one.marks_new = marks_new)).nodes(["a", "b"]);
        let mut scene = scene.address(ip6(1), None).pool(pool("p").ips6([1]).wants(2));
        scene.fault(is_create, Fault::Lost);
        scene.until_begun(is_create);
        scene.answer();
        let none = |request: &mut Request| {
            request.listed.clear();
            request.wanted = Some(0);
        };
        scene.change_pool("p", |pool| pool.ask(none));
        scene.restart(seconds(13));
        scene.run(seconds(600));
        let is_new = |one: &&IpAddr| one.is_ipv6() && **one != ip6(1);
        let new: Vec<_> = scene.cloud.addresses.keys().filter(is_new).copied().collect();
        assert_eq!(new.len(), 1);
        // Without marks, a person decides.
        let told = scene.reason("p") == &Reason::CreateOutcomeUnknown(new.clone());
        assert!(scene.stored("p").ledger.created == new || (!marks_new && told), "{marks_new}");
    }
}
