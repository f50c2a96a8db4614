//! Lasting faults must not spread: an address that cannot be assigned must not block a node for
//! addresses that can.

use std::net::{IpAddr, Ipv4Addr};

use pontoon_core::action::{Action, AddressAction, FailureKind};
use pontoon_core::addresses::verdict::{Note, Reason, State};

use super::cloud::Fault;
use super::doubting::made;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at};

/// Address 1 is refused on every node.
pub fn is_about_1(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Assign { ip: one, .. }) if *one == ip(1))
}

/// Node `a` is refused for every address.
fn is_to_a(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Assign { node, .. }) if &*node.0 == "a")
}

fn everything(action: &Action) -> bool {
    !action.changes_cluster()
}

pub fn refusing(mut scene: Scene, such: fn(&Action) -> bool, kind: FailureKind) -> Scene {
    scene.cloud.refuses.push((such, kind));
    scene
}

/// Address 2 on `e`. Address 1, unassigned, is always refused.
fn one_refused() -> Scene {
    let scene = scene().nodes(["a", "b", "c", "d", "e"]).pool(pool("p").ips([1, 2]));
    let scene = scene.address(ip(1), None).address(ip(2), Some("e"));
    refusing(scene, is_about_1, FailureKind::Rejected)
}

#[test]
fn an_address_that_no_node_accepts_does_not_stop_the_failover_of_another() {
    for after in [0, 3, 60, 600] {
        let mut scene = one_refused();
        scene.run(seconds(after));
        scene.change_node("e", NodeFixture::not_ready);
        scene.settle();
        assert_ne!(scene.home(ip(2)), Some("e"), "after {after} s");
        assert_eq!(scene.states("p")[1], State::Active);
    }
}

#[test]
fn the_one_free_node_goes_to_the_address_that_it_accepts() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips([1, 2]));
    let scene = scene.address(ip(1), None).address(ip(2), None);
    let mut scene = refusing(scene, is_about_1, FailureKind::Rejected);
    scene.run(seconds(30));
    assert_eq!(scene.home(ip(2)), Some("a"));
}

#[test]
fn a_refused_address_of_an_older_pool_does_not_starve_a_younger_one() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips([1]).created_at(at(-2000)));
    let scene = scene.address(ip(1), None).address(ip(2), None);
    let mut scene = refusing(scene, is_about_1, FailureKind::Rejected);
    scene.run(seconds(30));
    scene.set_pool(pool("q").ips([2]));
    scene.settle();
    assert_eq!(scene.home(ip(2)), Some("a"));
}

#[test]
fn a_refused_address_does_not_go_through_all_nodes_at_network_speed() {
    let scene = (0..100).fold(scene(), |scene, n| scene.node(node(&format!("n{n:02}"))));
    let scene = scene.pool(pool("p").ips([1])).address(ip(1), None);
    let mut scene = refusing(scene, is_about_1, FailureKind::Rejected);
    let done = moves(&scene.run(seconds(60))).len();
    assert!((8..=12).contains(&done), "at 0, 0, 1, 3, 7, 12, 18 s, and so on: {done}");
    scene.cloud.refuses.clear();
    scene.run(seconds(330));
    assert_eq!(scene.states("p"), [State::Active], "and it is tried for ever");
}

#[test]
fn a_machine_that_refuses_every_address_is_tried_last() {
    let scene = scene().nodes(["a", "b", "c", "d"]).pool(pool("p").ips([1, 2, 3]));
    let scene = (1..=3).fold(scene, |scene, n| scene.address(ip(n), None));
    let mut scene = refusing(scene, is_to_a, FailureKind::Rejected);
    let done = scene.settle();
    assert_eq!(moves(&done).iter().filter(|(_, node)| *node == "a").count(), 1, "{done:?}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn an_attempt_that_waits_for_its_next_time_leaves_its_node_to_an_address_that_has_no_other() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    scene.settle();
    let scene = scene.address(ip(2), None);
    let mut scene = scene.pool(pool("q").ips([2]));
    scene.cloud.refuses.push((is_about_1, FailureKind::Unavailable));
    scene.run(seconds(15));
    assert_eq!(scene.home(ip(2)), Some("a"));
}

#[test]
fn an_address_is_put_on_no_other_node_while_a_call_that_broke_down_may_have_worked() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), None);
    for _ in 0..3 {
        scene.fault(is_assign, Fault::Although(FailureKind::Unavailable));
    }
    scene.cloud.hidden.push(ip(1));
    scene.run(seconds(7));
    scene.cloud.hidden.clear();
    let done = scene.run(seconds(60));
    assert!(moves(&done).iter().all(|(_, node)| *node == "a"), "{done:?}");
    assert_eq!(scene.home(ip(1)), Some("a"));
}

#[test]
fn a_paused_pool_keeps_no_node_from_one_that_is_served() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_assign, Fault::Answer(FailureKind::Unavailable));
    scene.settle();
    scene.change_pool("p", |pool| pontoon_core::model::Pool {
        paused: Some("holiday".into()),
        ..pool
    });
    let mut scene = scene.address(ip(2), None).pool(pool("q").ips([2]));
    scene.run(seconds(15));
    assert_eq!(scene.home(ip(2)), Some("a"));
}

#[test]
fn a_new_address_that_cannot_be_recorded_keeps_no_node_that_it_is_not_on() {
    for (capacity, wants) in [(1, 1), (1, 0), (2, 0)] {
        let account = able(|one| one.per_machine = capacity);
        let mut scene =
            scene_at(account).nodes(["a"]).pool(pool("p").wants(1)).address(ip(2), None);
        scene.until_begun(is_create);
        scene.cloud.refuses.push((is_ledger_of_p, FailureKind::Refused));
        scene.answer();
        assert_eq!(scene.home(made(1)), Some("a"));
        scene.cloud.place(made(1), None);
        let other = if wants > 0 { pool("q").wants(1) } else { pool("q").ips([2]) };
        scene.set_pool(other);
        let done = scene.run(seconds(120));
        // The machine of a reservation that nobody could attribute gets no second one.
        assert_eq!(creations(&done), vec![None; wants]);
        let its = if wants > 0 { made(2) } else { ip(2) };
        assert_eq!(scene.home(its), Some("a"));
        assert!(scene.stored("p").ledger.created.is_empty());
        scene.cloud.refuses.clear();
        scene.run(seconds(600));
        assert_eq!(scene.stored("p").ledger.created, [made(1)]);
    }
}

fn is_ledger_of_p(action: &Action) -> bool {
    matches!(action, Action::Ledger(write) if write.pool == key("p"))
}

#[test]
fn an_address_is_read_after_a_pool_names_it_and_before_it_is_moved() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([9])).address(ip(9), Some("a"));
    let mut scene = scene.address(ip(1), None).settled();
    scene.cloud.place(ip(1), Some("m-b"));
    scene.set_pool(pool("q").ips([1]));
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!(scene.states("q"), [State::Active], "a person put it on b before");
}

#[test]
fn a_listing_that_began_before_a_pool_named_an_address_does_not_tell_where_it_is() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([9])).address(ip(9), Some("a"));
    let mut scene = scene.address(ip(1), None).settled();
    scene.now = scene.wake.unwrap();
    assert!(scene.begin().iter().any(is_list));
    let stale = scene.held_back.remove(0);
    let before = scene.carry_out(&stale.0);
    scene.cloud.place(ip(1), Some("m-b"));
    scene.set_pool(pool("q").ips([1]));
    scene.finish(stale.0, stale.1, before);
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!(scene.states("q"), [State::Active]);
}

#[test]
fn an_account_that_no_pool_used_is_listed_before_anything_is_moved() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), Some("a")).settled();
    scene.change_pool("p", PoolFixture::invalid);
    scene.run(seconds(7200));
    scene.cloud.place(ip(1), Some("m-b"));
    scene.change_node("a", NodeFixture::not_ready);
    scene.change_pool("p", |_| pool("p").ips([1]));
    assert_eq!(moves(&scene.settle()), []);
}

#[test]
fn in_an_outage_of_the_cloud_no_other_node_is_tried_and_all_is_well_soon_after() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let mut scene = refusing(scene.settled(), everything, FailureKind::Unavailable);
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(120));
    assert!(moves(&done).iter().all(|(_, node)| *node == "b"), "{:?}", moves(&done));
    assert!(moves(&done).len() <= 9, "ever more slowly: {}", moves(&done).len());
    scene.cloud.refuses.clear();
    scene.run(seconds(7));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_passing_failure_is_repeated_soon_while_the_account_can_be_listed() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let mut scene = refusing(scene.settled(), is_assign, FailureKind::Unavailable);
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(240));
    scene.cloud.refuses.clear();
    scene.run(seconds(10));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn an_entry_stays_on_its_node_while_the_one_that_replaces_it_does_not_exist() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    let listing = |ips: [u8; 2]| {
        move |pool: pontoon_core::model::Pool| pool.ask(|one| one.listed = ips.map(ip).into())
    };
    scene.change_pool("p", listing([1, 77]));
    let done = scene.run(seconds(120));
    assert_eq!(count(&done, is_unassign), 0, "{done:?}");
    assert_eq!(scene.mark("b"), Some("192.0.2.2"), "it serves");
    let left = scene.verdict("p").addresses.last().unwrap();
    assert_eq!((left.ip, &left.note), (ip(2), &Some(Note::AwaitsReplacement)));
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(77)));
    scene.cloud.place(ip(77), None);
    scene.run(seconds(120));
    assert_eq!((scene.home(ip(77)), scene.home(ip(2))), (Some("b"), None));
}

#[test]
fn what_serves_nobody_makes_room_however_many_full_nodes_come_first() {
    let crowd = |n: u16| IpAddr::from(Ipv4Addr::from(0x0A00_0000 + u32::from(n)));
    let all = (0..2100).map(crowd).collect();
    let mut scene = scene().pool(pool("crowd").ask(|request| request.listed = all));
    for n in 0..2100 {
        let name = format!("n{n:04}");
        scene = scene.node(node(&name)).address(crowd(n), Some(&name));
    }
    let scene = scene.node(node("y")).address(ip(8), Some("y"));
    let scene = scene.node(node("z")).address(ip(9), Some("z"));
    let mut scene = scene.pool(pool("surplus").ips([8, 9]).wants(1)).settled();
    scene = scene.address(ip(1), None).pool(pool("q").ips([1]));
    scene.settle();
    assert_eq!(scene.home(ip(1)), Some("z"));
}

#[test]
fn a_useless_address_that_does_not_come_off_keeps_no_room_from_another_pool_or_its_own() {
    let full = || {
        let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2, 3]));
        let scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
        let mut scene = scene.address(ip(3), Some("c")).settled();
        scene.change_pool("p", |pool| pool.wants(1));
        scene.settle();
        scene
    };
    for kind in [FailureKind::Rejected, FailureKind::Busy, FailureKind::Unavailable] {
        let mut scene = refusing(full(), is_unassign_of_2, kind).address(ip(7), None);
        scene.set_pool(pool("q").ips([7]));
        scene.run(seconds(60));
        assert_eq!(scene.home(ip(7)), Some("c"), "{kind:?}");

        let mut scene = refusing(full(), is_unassign_of_2, kind);
        scene.change_node("a", NodeFixture::not_ready);
        scene.run(seconds(60));
        assert_eq!(scene.home(ip(1)), Some("c"), "{kind:?}");
    }
}

#[test]
fn a_useless_address_that_does_not_come_off_keeps_no_useless_address_of_another_pool_in_place() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2]));
    let scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).address(ip(4), Some("c"));
    let mut scene = scene.pool(pool("q").ips([4])).settled();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.change_pool("q", |pool| pool.wants(0));
    scene.settle();
    assert_eq!((scene.home(ip(2)), scene.home(ip(4))), (Some("b"), Some("c")), "surplus stays");
    let mut scene = refusing(scene, is_unassign_of_2, FailureKind::Rejected);
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(60));
    assert_eq!(scene.home(ip(1)), Some("c"));
}

fn is_unassign_of_2(action: &Action) -> bool {
    is_unassign(action)
        && matches!(action, Action::Address(AddressAction::Unassign { ip: one, .. }) if *one == ip(2))
}

/// Each attempt keeps the machine busy: its own address goes, and comes back.
#[test]
fn addresses_that_a_machine_refuses_leave_it_to_one_that_finds_it_busy_but_not_for_ever() {
    let displacing = able(|abilities| {
        abilities.moves_at_once = false;
        abilities.displaces_own = true;
    });
    let is_about_2 = |action: &Action| matches!(action, Action::Address(AddressAction::Assign { ip: one, .. }) if *one == ip(2));
    let scene = scene_at(displacing).nodes(["a"]).pool(pool("p").ips([2]));
    let scene = scene.address(ip(1), None).address(ip(2), None);
    let mut scene = refusing(scene, is_about_2, FailureKind::Rejected);
    assert!(count(&scene.run(seconds(5)), is_about_2) >= 2);
    scene.cloud.refuses.push((is_about_1, FailureKind::Busy));
    scene.set_pool(pool("q").ips([1]));
    assert_eq!(count(&scene.run(seconds(30)), is_about_2), 0);
    assert!(count(&scene.run(seconds(60)), is_about_2) > 0, "an address that stays busy");
}

#[test]
fn an_unassignment_that_is_refused_while_another_operation_runs_counts_once() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    scene.cloud.refuses.push((is_unassign_of_2, FailureKind::Busy));
    scene.change_pool("p", |pool| pool.ask(|request| request.listed.truncate(1)));
    let tried = count(&scene.run(seconds(10)), is_unassign);
    assert!(tried >= 4, "at 0, 1, 3 and 7 s, with jitter: {tried}");
}

#[test]
fn an_address_that_every_free_node_refuses_gets_the_node_of_a_useless_address() {
    let scene = scene().node(node("a")).node(node("b").labelled("only", "q"));
    let scene = scene.address(ip(1), Some("b")).address(ip(2), None);
    let scene = scene.pool(pool("p").ips([1]).on("!only").created_at(at(-2000)));
    let scene = scene.pool(pool("q").ips([2]));
    let mut scene = refusing(scene, is_to_a, FailureKind::Rejected);
    scene.run(seconds(30));
    assert_eq!(scene.home(ip(2)), Some("b"));
}

#[test]
fn a_refusal_at_the_start_of_a_term_may_mean_that_the_address_is_there_already() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), None);
    // The leader before put address 1 on `a`, which the listings of this leader do not show yet.
    scene.restart(seconds(0));
    scene.cloud.refuses.push((is_to_a, FailureKind::Rejected));
    let early = scene.run(seconds(4));
    assert_eq!(moves(&early), [(ip(1), "a")]);
    scene.cloud.refuses.clear();
    let mut scene = scene.address(ip(1), Some("a"));
    let done = scene.run(seconds(30));
    assert_eq!((moves(&done).len(), scene.home(ip(1))), (0, Some("a")));
}
