//! Plans follow what a provider can do.

use pontoon_core::action::{Action, AddressAction, Done, Removal};
use pontoon_core::addresses::verdict::{Note, Reason, State};
use pontoon_core::model::{Families, Family, Sighting};

use super::cloud::Fault;
use super::fixture::*;
use super::profiles::{PROFILES, account};
use super::scene::{Scene, able, scene, scene_at};

/// Two nodes and an address on the first, at a provider that moves addresses by two calls.
fn in_two_steps() -> Scene {
    let scene = scene_at(able(|one| one.moves_at_once = false)).nodes(["a", "b"]);
    scene.pool(pool("p").ips([1])).address(ip(1), Some("a")).settled()
}

fn steps(done: &[Action]) -> Vec<&'static str> {
    let step = |action: &Action| match action {
        Action::Address(AddressAction::Assign { .. }) => Some("assign"),
        Action::Address(AddressAction::Unassign { why: Removal::Moves, .. }) => Some("unassign"),
        Action::Address(AddressAction::Unassign { .. }) => Some("unassign for another reason"),
        _ => None,
    };
    done.iter().filter_map(step).collect()
}

#[test]
fn a_move_by_two_calls_takes_the_address_off_first() {
    let mut scene = in_two_steps();
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(steps(&done), ["unassign", "assign"]);
    assert_eq!((scene.home(ip(1)), scene.cloud.refused), (Some("b"), 0));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_move_by_two_calls_is_told_as_an_assignment_from_its_first_step() {
    let mut scene = in_two_steps();
    scene.change_node("a", NodeFixture::not_ready);
    while scene.cloud.holder(ip(1)).is_some() {
        scene.begin();
        assert_eq!(scene.reason("p"), &Reason::Assigning, "and not as a lack of nodes");
        scene.answer();
    }
}

#[test]
fn a_move_by_two_calls_does_not_begin_while_no_node_has_room() {
    let mut scene = in_two_steps();
    scene.change_node("b", NodeFixture::not_ready);
    scene.settle();
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(steps(&scene.run(seconds(300))), [] as [&str; 0]);
    assert_eq!(scene.home(ip(1)), Some("a"), "better on an unready node than on none");
}

#[test]
fn a_crash_between_the_two_calls_costs_nothing_but_the_restart() {
    let mut scene = in_two_steps();
    scene.change_node("a", NodeFixture::not_ready);
    while scene.cloud.holder(ip(1)).is_some() {
        scene.begin();
        scene.answer();
    }
    scene.restart(seconds(13));
    scene.run(seconds(20));
    assert_eq!(scene.home(ip(1)), Some("b"));
    assert_eq!(scene.verdict("p").addresses[0].memory.drift, None, "nobody else took it off");
}

#[test]
fn an_answer_that_is_lost_in_either_call_of_a_move_is_found_out_by_a_listing() {
    for lost in [is_unassign as fn(&Action) -> bool, is_assign] {
        for fault in [Fault::Lost, Fault::Dropped] {
            let mut scene = in_two_steps();
            scene.fault(lost, fault.clone());
            scene.change_node("a", NodeFixture::not_ready);
            scene.run(seconds(60));
            assert_eq!((scene.home(ip(1)), scene.cloud.refused), (Some("b"), 0), "{fault:?}");
        }
    }
}

#[test]
fn the_cool_off_counts_a_move_by_two_calls_once() {
    let scene = scene_at(able(|one| one.moves_at_once = false)).nodes(["a", "b", "c", "d"]);
    let scene = scene.pool(pool("p").ips([1, 2]).cooling_off(60));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    scene.run(seconds(61));
    scene.change_node("a", NodeFixture::not_ready);
    scene.change_node("b", NodeFixture::not_ready);
    let done = scene.run(seconds(30));
    assert_eq!(steps(&done), ["unassign", "assign"], "the second address stays where it is");
    scene.run(seconds(61));
    let homes = [1, 2].map(|n| scene.home(ip(n)).unwrap().to_owned());
    assert_eq!(homes, ["c", "d"]);
}

#[test]
fn a_machine_that_does_not_let_go_keeps_no_node_from_another_address() {
    let scene = scene_at(able(|one| one.moves_at_once = false)).nodes(["a", "b", "c"]);
    let scene = scene.pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    let held = |action: &Action| matches!(action, Action::Address(AddressAction::Unassign { ip: one, .. }) if *one == ip(1));
    scene.cloud.refuses.push((held, pontoon_core::action::FailureKind::Rejected));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(30));
    scene.change_node("b", NodeFixture::not_ready);
    scene.run(seconds(5));
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("a"), Some("c")));
}

#[test]
fn an_address_of_a_family_that_the_provider_lacks_is_told_and_never_listed() {
    let scene = scene_at(able(|one| one.families = Families::V4)).nodes(["a", "b"]);
    let mut scene = scene.pool(pool("p").ips([1]).ips6([1])).address(ip(1), Some("a")).settled();
    let done = scene.run(seconds(200));
    let listed = |action: &Action| match action {
        Action::Address(AddressAction::List { families, .. }) => families.contains(&Family::V6),
        _ => false,
    };
    assert!(!done.iter().chain(&scene.history).any(listed));
    let six = &scene.verdict("p").addresses[1];
    assert_eq!((six.state, &six.note), (State::Error, &Some(Note::Unsupported(Family::V6))));
    assert_eq!(scene.home(ip(1)), Some("a"), "the other address is served");
    assert_eq!(scene.reason("p").word(), "UnsupportedAddress");
    let told = scene.verdict("p").to_string();
    assert!(
        told.contains("2001:db8::1: IPv6 addresses are not assigned at this provider"),
        "{told}"
    );
    assert!(!done.iter().any(|action| action.changes_provider()), "{done:#?}");
}

#[test]
fn a_marked_address_is_recognised_after_a_crash_wherever_it_is() {
    for profile in PROFILES.iter().filter(|one| one.marks_new) {
        let name = profile.name;
        let mut scene = scene_at(account(profile)).nodes(["a", "b"]);
        scene.cloud.place(ip(9), Some("m-a"));
        scene.set_pool(pool("p").wants(1));
        scene.fault(is_create, Fault::Lost);
        scene.settle();
        scene.restart(seconds(13));
        // Strangers appear meanwhile.
        scene.cloud.place(ip(8), None);
        scene.run(seconds(120));
        assert_eq!(scene.cloud.made, 1, "{name}");
        assert_eq!(scene.stored("p").ledger.created.len(), 1, "{name}");
        assert_eq!(scene.reason("p"), &Reason::AllAssigned, "{name}");
        assert_eq!(scene.home(ip(9)), Some("a"), "{name}: a stranger is left alone");
    }
}

#[test]
fn a_marked_reservation_that_never_arrived_is_sent_again() {
    let mut scene = scene_at(able(|one| one.marks_new = true)).nodes(["a"]);
    scene.set_pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Dropped);
    scene.run(seconds(120));
    assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
}

#[test]
fn every_provider_serves_a_new_pool_and_a_failover() {
    for profile in &PROFILES {
        let name = profile.name;
        let mut scene = scene_at(account(profile)).nodes(["a", "b", "c"]);
        scene.set_pool(pool("p").ips([1]).wants(2));
        scene.cloud.place(ip(1), Some("m-a"));
        scene.run(seconds(60));
        assert_eq!(scene.reason("p"), &Reason::AllAssigned, "{name}");
        assert_eq!(scene.home(ip(1)), Some("a"), "{name}: a well-placed address stays");
        scene.change_node("a", NodeFixture::not_ready);
        scene.run(seconds(60));
        assert_eq!(scene.reason("p"), &Reason::AllAssigned, "{name}");
        assert_ne!(scene.home(ip(1)), Some("a"), "{name}");
        assert_eq!((scene.cloud.made, scene.cloud.refused), (1, 0), "{name}");
    }
}

#[test]
fn addresses_are_spread_over_nodes_where_a_machine_carries_many() {
    let scene = scene_at(able(|one| one.per_machine = 20)).nodes(["a", "b", "c"]);
    let mut scene = scene.pool(pool("p").ips([1, 2]).cooling_off(5)).pool(pool("q").ips([3, 4]));
    (1..=4).for_each(|n| scene.cloud.place(ip(n), None));
    scene.run(seconds(60));
    let on = |node: &str| (1..=4).filter(|n| scene.home(ip(*n)) == Some(node)).count();
    let mut counts = ["a", "b", "c"].map(on);
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 2]);
}

#[test]
fn a_listing_names_the_machines_and_addresses_that_it_is_about_where_the_provider_needs_them() {
    let setup = able(|abilities| abilities.lists_by_machine = true);
    let mut scene = scene_at(setup)
        .node(node("a").labelled("pool", "edge"))
        .nodes(["b"])
        .pool(pool("p").ips([1]).on("pool=edge"))
        .address(ip(1), Some("a"));
    let done = scene.settle();
    let scope = done.iter().find_map(|action| match action {
        Action::Address(AddressAction::List { scope, .. }) => Some(scope),
        _ => None,
    });
    let scope = scope.expect("a listing");
    assert_eq!(
        (scope.machines.as_slice(), scope.addresses.as_slice()),
        (&["m-a".into()][..], &[ip(1)][..])
    );
}

#[test]
fn what_a_listing_could_not_show_is_told() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1]));
    let begun = scene.begin();
    let list = begun.into_iter().find(is_list).expect("a listing");
    scene.held_back.clear();
    let seen = Sighting { holder: Some("m-a".into()), ..Sighting::default() };
    let part = Done::ListedInPart(vec![(ip(1), seen)], "compute.addresses.list is missing".into());
    scene.finish(list, scene.now, Ok(part));
    scene.settle();
    let told = scene.verdict("p").to_string();
    assert_eq!(told, "1 address on 1 of 1 eligible node; compute.addresses.list is missing");
}
