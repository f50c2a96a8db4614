//! IPv6 addresses beside, or in place of, IPv4 addresses.

use pontoon_core::addresses::verdict::Reason;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::scene;

#[test]
fn a_node_in_a_pool_of_each_family_holds_both() {
    let scene = scene().nodes(["a", "b"]).pool(pool("four").ips([1])).pool(pool("six").ips6([1]));
    let mut scene = scene.address(ip(1), None).address(ip6(1), None).settled();
    assert_eq!((scene.home(ip(1)), scene.home(ip6(1))), (Some("a"), Some("a")));
    assert_eq!((scene.mark("a"), scene.mark6("a")), (Some("192.0.2.1"), Some("2001:db8::1")));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    assert_eq!((scene.home(ip(1)), scene.home(ip6(1))), (Some("b"), Some("b")));
    assert_eq!((scene.mark6("a"), scene.mark6("b")), (None, Some("2001:db8::1")));
}

#[test]
fn a_node_holds_one_address_of_a_family() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips6([1, 2]));
    let scene = scene.address(ip6(1), None).address(ip6(2), None).settled();
    assert_eq!((scene.home(ip6(1)), scene.home(ip6(2))), (Some("a"), None));
    assert!(matches!(scene.reason("p"), Reason::NoFreeNode(_)), "{:?}", scene.reason("p"));
}

#[test]
fn a_pool_of_ipv6_addresses_has_the_rest_reserved_as_such() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips6([1]).wants(2));
    let scene = scene.address(ip6(1), None).settled();
    let created = &scene.stored("p").ledger.created;
    assert!(created.len() == 1 && created[0].is_ipv6(), "{created:?}");
    assert_eq!((scene.home(ip6(1)), scene.home(created[0])), (Some("a"), Some("b")));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_pool_that_cools_off_has_them_reserved_too() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips6([1]).wants(2).cooling_off(5));
    let mut scene = scene.address(ip6(1), None).settled();
    scene.run(seconds(20));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_reservation_of_an_ipv6_address_without_an_answer_is_asked_about_even_with_a_project() {
    let setup = pontoon_core::addresses::AccountSetup {
        project: Some("project".into()),
        ..super::scene::setup()
    };
    let scene = super::scene::scene_at(setup).nodes(["a", "b"]);
    let mut scene = scene.pool(pool("p").ips6([1]).wants(2)).address(ip6(1), None);
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(120));
    assert!(
        matches!(scene.reason("p"), Reason::CreateOutcomeUnknown(_)),
        "{:?}",
        scene.reason("p")
    );
    assert_eq!(scene.cloud.made, 1, "no project tells it apart");
}

#[test]
fn two_families_are_listed_every_minute_and_a_half_at_rest() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let mut four = scene.settled();
    assert_eq!(count(&four.run(seconds(360)), is_list), 6);
    four.change_pool("p", |pool| pool.ask(|request| request.listed = vec![ip(1), ip6(1)]));
    let mut both = four.address(ip6(1), Some("a")).settled();
    both.run(seconds(120));
    assert_eq!(count(&both.run(seconds(360)), is_list), 4, "two requests each");
}
