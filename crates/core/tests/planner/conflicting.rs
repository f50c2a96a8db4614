//! Two pools that list the same address.

use pontoon_core::action::{Action, AddressAction};
use pontoon_core::addresses::verdict::{Note, Precedence, Reason, State};
use pontoon_core::model::Finding;

use super::fixture::*;
use super::scene::{Scene, scene};

fn two(first: pontoon_core::model::Pool, second: pontoon_core::model::Pool) -> Scene {
    scene().nodes(["a", "b", "c"]).pool(first).pool(second).address(ip(1), None)
}

#[test]
fn the_pool_whose_status_has_the_address_keeps_it() {
    let mut scene = two(
        pool("older").ips([1]).created_at(at(-20)),
        pool("holder").ips([1]).created_at(at(-10)).holding(ip(1)),
    );
    scene.settle();
    assert_eq!(scene.reason("older"), &Reason::Conflict(ip(1), key("holder"), Precedence::Has));
    assert_eq!(scene.reason("holder"), &Reason::AllAssigned);
}

#[test]
fn else_the_older_pool_has_it() {
    let mut scene = two(
        pool("younger").ips([1]).created_at(at(-10)),
        pool("older").ips([1]).created_at(at(-20)),
    );
    scene.settle();
    assert_eq!(scene.reason("younger"), &Reason::Conflict(ip(1), key("older"), Precedence::Has));
}

#[test]
fn else_the_one_with_the_smaller_uid() {
    let mut scene = two(pool("q").ips([1]), pool("p").ips([1]));
    scene.settle();
    assert_eq!(scene.reason("q"), &Reason::Conflict(ip(1), key("p"), Precedence::Has));
    let note = scene.verdict("q").addresses[0].note.clone();
    assert_eq!(note, Some(Note::Conflict(key("p"))));
}

#[test]
fn the_loser_does_nothing_about_that_address_and_serves_its_others() {
    let mut scene = two(pool("p").ips([1]), pool("q").ips([1, 2])).address(ip(2), None);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "a"), (ip(2), "b")]);
    assert_eq!(scene.states("q"), [State::Error, State::Active]);
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip(1), "c")]);
    let pools = done.iter().filter_map(|action| match action {
        Action::Address(AddressAction::Assign { pool, .. }) => Some(pool.clone()),
        _ => None,
    });
    assert_eq!(pools.collect::<Vec<_>>(), [key("p")]);
}

#[test]
fn the_loser_marks_nothing_where_its_own_conditions_would() {
    let mut scene = two(pool("p").ips([1]).on("role=edge"), pool("q").ips([1]));
    scene.cloud.place(ip(1), Some("m-a"));
    let done = scene.settle();
    assert_eq!((moves(&done), marks(&done)), (vec![], vec![]));
}

#[test]
fn the_loser_takes_over_when_the_winner_lets_go() {
    for deleted in [true, false] {
        let mut scene = two(pool("p").ips([1]), pool("q").ips([1])).settled();
        if deleted {
            scene.remove_pool("p");
        } else {
            scene.change_pool("p", |pool| pool.ask(|request| request.listed.clear()).ips([2]));
        }
        assert_eq!(moves(&scene.settle()), [], "it is well placed");
        assert_eq!(scene.reason("q"), &Reason::AllAssigned);
    }
}

#[test]
fn an_address_that_was_let_go_is_not_had_back_by_naming_it_again() {
    let mut scene = two(
        pool("older").ips([1, 2]).created_at(at(-20)),
        pool("younger").ips([1]).created_at(at(-10)),
    )
    .address(ip(2), None)
    .settled();
    let without = |pool: pontoon_core::model::Pool| {
        pool.ask(|request| request.listed.retain(|one| *one != ip(1)))
    };
    scene.change_pool("older", without);
    scene.settle();
    assert_eq!(scene.reason("younger"), &Reason::AllAssigned);
    scene.change_pool("older", |pool| pool.ips([1]));
    scene.settle();
    assert_eq!(scene.reason("older"), &Reason::Conflict(ip(1), key("younger"), Precedence::Has));
}

#[test]
fn the_winner_is_the_same_after_a_restart() {
    let mut scene = two(
        pool("older").ips([2]).created_at(at(-20)),
        pool("younger").ips([1]).created_at(at(-10)),
    )
    .address(ip(2), None)
    .settled();
    scene.change_pool("older", |pool| pool.ips([1]));
    scene.settle();
    assert_eq!(scene.reason("older"), &Reason::Conflict(ip(1), key("younger"), Precedence::Has));
    scene.restart(seconds(0));
    scene.settle();
    assert_eq!(scene.reason("older"), &Reason::Conflict(ip(1), key("younger"), Precedence::Has));
}

#[test]
fn an_object_that_cannot_be_understood_is_told_so_and_nothing_is_done() {
    let mut scene =
        scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled();
    scene.change_pool("p", PoolFixture::invalid);
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(scene.run(seconds(61)).iter().filter(|action| is_change(action)).count(), 0);
    assert!(matches!(scene.reason("p"), Reason::Invalid(_)));
    assert_eq!(scene.mark("a"), Some("192.0.2.1"));
}

#[test]
fn a_pool_of_an_account_that_does_not_exist_is_told_so() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1]).in_account("nowhere"));
    assert_eq!(scene.settle(), []);
    assert!(
        matches!(scene.reason("p"), Reason::NoAccount(finding) if finding.reason == "UnknownProvider")
    );
}

#[test]
fn an_entry_that_is_no_address_is_told_and_the_others_move_on_with_health() {
    let finding = Finding { reason: "InvalidAddress", message: "no address".into() };
    let mut pool = pool("p").ips([1]);
    pool.request.as_mut().unwrap().unreadable = Some(finding.clone());
    let mut scene = scene().nodes(["a", "b"]).pool(pool).address(ip(1), Some("a")).settled();
    assert_eq!(scene.reason("p"), &Reason::PartlyInvalid(finding));
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "b")]);
}

#[test]
fn a_pool_that_lists_the_address_of_another_does_not_delay_its_failover() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("q").ips([1])).pool(pool("p").ips([2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    scene.change_pool("p", |pool| pool.ips([2, 1]));
    scene.begin();
    assert_eq!(scene.reason("q"), &Reason::AllAssigned);
    // The node fails before the cloud answers a listing.
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.begin()), [(ip(1), "c")]);
}
