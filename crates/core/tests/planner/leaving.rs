//! Addresses removed from a pool's list while the pool exists.

use pontoon_core::action::{Action, AddressAction, FailureKind};
use pontoon_core::addresses::verdict::{Note, Precedence, Reason, State};
use pontoon_core::model::{EmptyPolicy, Pool, RecordRequest};

use super::cloud::Fault;
use super::fixture::*;
use super::recording::{NAME, ask, of_pool};
use super::scene::{Scene, able, scene, scene_at};

/// Replaces the pool's list.
fn listing(ips: impl IntoIterator<Item = u8> + Clone) -> impl Fn(Pool) -> Pool {
    move |pool| pool.ask(|request| request.listed = ips.clone().into_iter().map(ip).collect())
}

/// Addresses 1 and 2 on nodes `a` and `b`; address 3 exists, unassigned.
fn two_in_place() -> Scene {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let scene = scene.address(ip(1), None).address(ip(2), None).address(ip(3), None);
    let mut scene = scene.settled();
    // A listing right after our calls would not count.
    scene.run(seconds(70));
    scene
}

fn unassigned(actions: &[Action]) -> Vec<std::net::IpAddr> {
    let ip = |action: &Action| match action {
        Action::Address(AddressAction::Unassign { ip, .. }) => Some(*ip),
        _ => None,
    };
    actions.iter().filter_map(ip).collect()
}

#[test]
fn a_removed_entry_leaves_its_node_to_the_one_that_replaces_it() {
    let mut scene = two_in_place();
    scene.change_pool("p", listing([3, 2]));
    let done = scene.settle();
    assert_eq!(unassigned(&done), [ip(1)]);
    assert_eq!(moves(&done), [(ip(3), "a")]);
    assert_eq!(scene.home(ip(1)), None);
    assert_eq!(scene.mark("a"), Some("192.0.2.3"));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert!(!scene.stored("p").remembered.contains_key(&ip(1)), "it left the status");
}

#[test]
fn a_removed_entry_that_nothing_replaces_leaves_too_and_its_mark_with_it() {
    let mut scene = two_in_place();
    scene.change_pool("p", listing([2]));
    assert_eq!(unassigned(&scene.settle()), [ip(1)]);
    assert_eq!((scene.mark("a"), scene.mark("b")), (None, Some("192.0.2.2")));
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn a_reservation_that_cannot_be_made_keeps_no_removed_entry_on_its_node() {
    for marks_new in [false, true] {
        let able = able(|one| one.marks_new = marks_new);
        let scene = scene_at(able).nodes(["a", "b"]).pool(pool("p").ips([1, 2]).wants(3));
        let mut scene = scene.address(ip(1), None).address(ip(2), None).address(ip(3), None);
        scene.cloud.refuses.push((is_create, FailureKind::Quota));
        scene.run(seconds(70));
        assert_eq!(scene.stored("p").ledger.intents.len(), 1);
        scene.change_pool("p", listing([3, 2]));
        scene.run(seconds(70));
        assert_eq!((scene.home(ip(1)), scene.home(ip(3))), (None, Some("a")));
        // Address 3 was listed after the intent was written.
        scene.change_pool("p", listing([1, 2]));
        scene.run(seconds(70));
        assert_eq!((scene.home(ip(1)), scene.home(ip(3))), (Some("a"), None));
    }
}

#[test]
fn until_it_is_off_its_node_the_status_names_it() {
    let mut scene = two_in_place();
    scene.change_pool("p", listing([2]));
    scene.fault(is_unassign, Fault::Answer(pontoon_core::action::FailureKind::Unavailable));
    scene.settle();
    let verdict = scene.verdict("p").addresses[1].clone();
    assert_eq!((verdict.ip, verdict.state), (ip(1), State::Leaving));
    assert_eq!(verdict.note, Some(Note::Removed));
    assert_eq!(verdict.node, Some("a".into()));
    scene.run(seconds(5));
    assert_eq!(scene.home(ip(1)), None);
}

#[test]
fn a_crash_at_any_point_of_a_removal_ends_as_without_one() {
    for done in 0..4 {
        let mut scene = two_in_place();
        scene.change_pool("p", listing([2]));
        for _ in 0..done {
            scene.begin();
            if !scene.held_back.is_empty() {
                scene.answer_one(0);
            }
        }
        scene.tolerant = true;
        scene.restart(seconds(13));
        scene.run(seconds(30));
        assert_eq!(scene.home(ip(1)), None, "after {done} steps");
        assert_eq!(scene.mark("a"), None, "after {done} steps");
        assert_eq!(scene.states("p"), [State::Active], "after {done} steps");
    }
}

#[test]
fn an_address_that_the_pool_never_had_is_not_touched() {
    let mut scene = scene().nodes(["a", "b"]).address(ip(1), Some("a")).address(ip(2), None);
    scene.set_pool(pool("p").ips([2]));
    let done = scene.settle();
    assert!(unassigned(&done).is_empty());
    assert_eq!(scene.home(ip(1)), Some("a"));
}

#[test]
fn nothing_is_taken_off_before_the_object_says_that_it_was_the_pools() {
    let mut scene = two_in_place();
    // The status was never written.
    scene.change_pool("p", |pool| Pool { remembered: [].into(), ..listing([2])(pool) });
    let first = scene.begin();
    assert!(unassigned(&first).is_empty(), "the object does not say so yet");
    scene.answer();
    scene.watch();
    assert_eq!(unassigned(&scene.settle()), [ip(1)]);
}

#[test]
fn an_entry_that_another_pool_lists_now_is_that_pools_business() {
    let mut scene = two_in_place();
    scene.set_pool(pool("q").ips([1]));
    scene.settle();
    assert_eq!(scene.reason("q"), &Reason::Conflict(ip(1), key("p"), Precedence::Has));
    scene.change_pool("p", listing([2]));
    let done = scene.settle();
    assert!(unassigned(&done).is_empty());
    assert_eq!(moves(&done), []);
    assert_eq!(scene.reason("q"), &Reason::AllAssigned);
    assert_eq!(scene.mark("a"), Some("192.0.2.1"));
}

#[test]
fn an_entry_that_somebody_has_moved_since_stays_where_it_is() {
    let mut scene = two_in_place();
    scene.set_node(node("c"));
    scene.settle();
    scene.cloud.place(ip(1), Some("m-c"));
    scene.change_pool("p", listing([2]));
    scene.restart(seconds(13));
    scene.run(seconds(30));
    assert_eq!(scene.home(ip(1)), Some("c"));
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn an_entry_that_somebody_had_moved_before_it_was_removed_stays_where_it_is() {
    let mut scene = two_in_place();
    scene.set_node(node("c").not_ready());
    scene.cloud.place(ip(1), Some("m-c"));
    scene.run(seconds(55));
    assert!(matches!(scene.reason("p"), Reason::Drift(..)), "{:?}", scene.reason("p"));
    scene.change_pool("p", listing([2]));
    assert!(unassigned(&scene.run(seconds(120))).is_empty());
    assert_eq!(scene.home(ip(1)), Some("c"));
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn an_entry_that_is_nowhere_any_more_is_forgotten_after_its_mark_is_withdrawn() {
    let mut scene = two_in_place();
    scene.fault(is_mark, Fault::Answer(pontoon_core::action::FailureKind::Unavailable));
    scene.cloud.place(ip(1), None);
    scene.change_pool("p", listing([2]));
    scene.run(seconds(62));
    assert_eq!(scene.mark("a"), None);
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn while_it_is_unknown_where_an_entry_is_it_is_not_let_go_of() {
    let mut scene = two_in_place();
    scene.change_pool("p", listing([2]));
    scene.cloud.hidden.push(ip(1));
    let dead: fn(&Action) -> bool = is_read;
    for _ in 0..3 {
        scene.fault(dead, Fault::Answer(pontoon_core::action::FailureKind::Unavailable));
    }
    scene.restart(seconds(13));
    scene.run(seconds(16));
    assert_eq!(scene.states("p"), [State::Active, State::Unknown]);
    scene.run(seconds(60));
    assert_eq!(scene.home(ip(1)), None);
}

#[test]
fn while_more_are_wanted_than_are_listed_a_removed_entry_is_kept_and_none_is_reserved() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2, 3]).wants(3));
    let mut scene = scene.address(ip(1), None).address(ip(2), None).address(ip(3), None).settled();
    scene.change_pool("p", listing([1]));
    let done = scene.settle();
    assert_eq!(scene.stored("p").ledger.kept, [ip(2), ip(3)]);
    assert!(scene.stored("p").ledger.created.is_empty());
    assert_eq!(count(&done, Action::changes_provider), 0);
    assert_eq!((scene.reason("p"), scene.cloud.made), (&Reason::AllAssigned, 0));
    assert_eq!(scene.mark("b"), Some("192.0.2.2"));
    scene.restart(seconds(13));
    let done = scene.run(seconds(100));
    assert_eq!(count(&done, is_change), 0);
    assert_eq!(scene.states("p"), [State::Active; 3]);
}

#[test]
fn what_is_kept_is_marked_and_in_its_name_all_the_while() {
    for kept in [vec![], vec![1], vec![1, 2]] {
        let remove = |request: &mut RecordRequest| request.empty = EmptyPolicy::Remove;
        let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2, 3]).wants(3));
        let scene = scene.records(ask(of_pool("p"), remove));
        let scene = scene.address(ip(1), None).address(ip(2), None).address(ip(3), None);
        let mut scene = scene.settled();
        assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2), ip(3)]);
        scene.change_pool("p", listing(kept.clone()));
        scene.fault(is_ledger, Fault::Answer(FailureKind::Unavailable));
        let done = scene.settle();
        assert_eq!(count(&done, |action| is_change(action) && !is_ledger(action)), 0, "{kept:?}");
        assert_eq!(scene.states("p"), [State::Active; 3]);
        let done = scene.run(seconds(10));
        assert_eq!(count(&done, |action| is_change(action) && !is_ledger(action)), 0, "{kept:?}");
        assert_eq!(scene.stored("p").ledger.kept.len(), 3 - kept.len());
    }
}

#[test]
fn a_removed_entry_is_kept_even_if_it_was_on_no_machine() {
    let mut scene = scene().pool(pool("p").ips([1, 2]).wants(2));
    scene = scene.address(ip(1), None).address(ip(2), None).settled();
    scene.change_pool("p", listing([1]));
    scene.settle();
    assert_eq!(scene.stored("p").ledger.kept, [ip(2)]);
    assert_eq!(scene.cloud.made, 0);
}

#[test]
fn only_as_many_are_kept_as_are_wanted_and_those_that_serve_come_first() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips([1, 2, 3]).wants(3));
    let mut scene = scene.address(ip(1), None).address(ip(2), None);
    scene = scene.address(ip(3), Some("a")).settled();
    assert_eq!(scene.home(ip(3)), Some("a"));
    scene.change_pool("p", |pool| listing([])(pool).wants(1));
    scene.settle();
    assert_eq!(scene.stored("p").ledger.kept, [ip(3)]);
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn a_removed_entry_that_made_room_has_no_mark_although_its_replacement_does_not_exist() {
    let scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    let mut scene = scene.address(ip(4), None).settled();
    scene.run(seconds(70));
    scene.change_pool("p", listing([9]));
    scene.settle();
    assert_eq!((scene.home(ip(1)), scene.mark("a")), (Some("a"), Some("192.0.2.1")), "it serves");
    scene.set_pool(pool("q").ips([4]));
    scene.run(seconds(90));
    assert_eq!((scene.home(ip(4)), scene.mark("a")), (Some("a"), Some("192.0.2.4")));
}

#[test]
fn an_entry_that_is_listed_again_is_the_lists() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]).wants(2));
    let mut scene = scene.address(ip(1), None).address(ip(2), None).settled();
    scene.change_pool("p", listing([1]));
    scene.settle();
    assert_eq!(scene.stored("p").ledger.kept, [ip(2)]);
    scene.change_pool("p", listing([1, 2]));
    let done = scene.run(seconds(10));
    assert!(scene.stored("p").ledger.kept.is_empty());
    assert_eq!(count(&done, Action::changes_provider), 0);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn an_entry_that_somebody_moves_and_lists_again_is_read_before_it_is_moved() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2]).wants(2));
    let mut scene = scene.address(ip(1), None).address(ip(2), None).settled();
    assert_eq!(scene.home(ip(2)), Some("b"));
    scene.change_pool("p", listing([1]));
    scene.run(seconds(61));
    // The node fails, and a person moves the address within the interval of listings.
    scene.change_node("b", NodeFixture::not_ready);
    let mut scene = scene.address(ip(2), Some("c"));
    scene.change_pool("p", listing([1, 2]));
    assert_eq!((moves(&scene.run(seconds(60))), scene.home(ip(2))), (vec![], Some("c")));
}

#[test]
fn a_listing_right_after_our_call_does_not_tell_where_an_entry_listed_again_is() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1]));
    let mut scene = scene.address(ip(1), None).settled();
    scene.change_pool("p", listing([]));
    scene.watch();
    scene.change_pool("p", listing([1]));
    // The listing shows the address as it was before our call.
    assert!(scene.begin().iter().any(is_list));
    let mut scene = scene.address(ip(1), None);
    scene.answer();
    let mut scene = scene.address(ip(1), Some("a"));
    assert_eq!((moves(&scene.run(seconds(60))), scene.home(ip(1))), (vec![], Some("a")));
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn an_entry_that_somebody_moves_while_a_reservation_is_open_stays_where_it_is() {
    let mut scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1]).wants(2));
    scene = scene.address(ip(1), Some("a"));
    scene.until_begun(is_create);
    let reserves = scene.held_back.iter().position(|(action, _)| is_create(action)).expect("it");
    // Address 4 comes after the reservation began, so it may be the reservation's.
    let mut scene = scene.address(ip(4), Some("c"));
    scene.change_pool("p", |pool| listing([1, 4])(pool).wants(2));
    let reservation = scene.held_back.remove(reserves);
    scene.run(seconds(70));
    assert_eq!(scene.home(ip(4)), Some("c"));
    scene.change_pool("p", |pool| listing([1])(pool).wants(1));
    scene.run(seconds(10));
    let mut scene = scene.address(ip(4), Some("elsewhere"));
    scene.held_back.push(reservation);
    scene.answer();
    let done = scene.run(seconds(90));
    let home = scene.cloud.holder(ip(4));
    assert_eq!((unassigned(&done), home), (vec![], Some("m-elsewhere")), "{done:#?}");
}

#[test]
fn an_entry_that_somebody_moves_while_it_is_taken_off_stays_where_it_is() {
    let scene = two_in_place().address(ip(4), None);
    let mut scene = scene.pool(pool("q").ips([4])).settled();
    scene.change_pool("p", listing([1]));
    while unassigned(&scene.begin()) != [ip(2)] {
        assert!(!scene.held_back.is_empty());
        scene.answer();
    }
    // A person puts the address on the node of address 1, which pool `q` could use.
    scene.answer();
    let mut scene = scene.address(ip(1), None).address(ip(2), Some("a"));
    let done = scene.run(seconds(90));
    assert_eq!((unassigned(&done), scene.home(ip(2))), (vec![], Some("a")), "{done:#?}");
}

#[test]
fn an_entry_that_somebody_moves_before_its_assignment_is_confirmed_stays_where_it_is() {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), None).address(ip(2), None);
    scene.fault(is_assign, Fault::Slow);
    assert_eq!(moves(&scene.settle()), [(ip(1), "a"), (ip(2), "b")]);
    scene.change_pool("p", listing([2]));
    scene.settle();
    scene.cloud.work();
    let mut scene = scene.address(ip(1), Some("c"));
    let done = scene.run(seconds(90));
    assert_eq!((unassigned(&done), scene.home(ip(1))), (vec![], Some("c")), "{done:#?}");
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn an_entry_that_somebody_moved_a_moment_before_it_is_removed_stays_where_it_is() {
    for crowded in [false, true] {
        let mut scene = two_in_place().address(ip(1), Some("elsewhere"));
        if crowded {
            // Another pool wants the node of the address.
            scene.set_pool(pool("q").ips([3]));
        }
        scene.change_pool("p", listing([2]));
        let done = scene.run(seconds(90));
        let home = scene.cloud.holder(ip(1));
        assert_eq!((unassigned(&done), home), (vec![], Some("m-elsewhere")), "{done:#?}");
    }
}

#[test]
fn an_entry_that_was_on_no_machine_and_that_somebody_assigned_stays_where_it_is() {
    for restarts in [false, true] {
        let scene = scene().nodes(["a"]).pool(pool("p").ips([1, 2]));
        let mut scene = scene.address(ip(1), Some("a")).address(ip(2), None).settled();
        // The object is invalid while the entry is removed and the address assigned.
        let valid = scene.stored("p").clone();
        scene.change_pool("p", PoolFixture::invalid);
        scene.settle();
        scene.set_node(node("b"));
        let mut scene = scene.address(ip(2), Some("b"));
        scene.set_pool(listing([1])(valid));
        if restarts {
            scene.restart(seconds(3));
        }
        let done = scene.run(seconds(90));
        assert_eq!((unassigned(&done), scene.home(ip(2))), (vec![], Some("b")), "{done:#?}");
    }
}

#[test]
fn an_entry_that_somebody_moves_while_it_makes_room_stays_where_it_is() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]).wants(1));
    let scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
    let mut scene = scene.address(ip(4), None).settled();
    scene.fault(is_unassign, Fault::Slow);
    scene.set_pool(pool("q").ips([4]));
    assert_eq!(unassigned(&scene.settle()), [ip(2)]);
    scene.change_pool("p", listing([1]));
    scene.set_node(node("c"));
    scene.settle();
    scene.cloud.work();
    let mut scene = scene.address(ip(2), Some("c"));
    let done = scene.run(seconds(90));
    assert_eq!((unassigned(&done), scene.home(ip(2))), (vec![], Some("c")), "{done:#?}");
}

#[test]
fn an_entry_that_is_removed_before_its_assignment_is_confirmed_leaves_its_node() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let mut scene = scene.address(ip(1), None).address(ip(2), None);
    scene.fault(is_assign, Fault::Slow);
    scene.settle();
    scene.change_pool("p", listing([2]));
    scene.settle();
    scene.cloud.work();
    assert_eq!(unassigned(&scene.run(seconds(90))), [ip(1)]);
    assert_eq!((scene.home(ip(1)), scene.states("p")), (None, vec![State::Active]));
}

#[test]
fn a_removed_entry_whose_move_between_two_nodes_fails_leaves_the_first() {
    let mut scene = two_in_place();
    scene.set_node(node("c"));
    scene.settle();
    scene.fault(is_assign, Fault::Broken);
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(moves(&scene.begin()), [(ip(1), "c")]);
    scene.change_pool("p", listing([2]));
    scene.answer();
    assert_eq!(unassigned(&scene.run(seconds(180))), [ip(1)]);
    assert_eq!(scene.home(ip(1)), None);
}

#[test]
fn a_removed_entry_that_was_not_in_its_name_is_not_added() {
    let set = ask(of_pool("p"), |request| request.empty = EmptyPolicy::Remove);
    let scene = scene().nodes(["a", "b"]).records(set).pool(pool("p").ips([1, 2]).wants(1));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    scene.cloud.addresses.remove(&ip(1));
    scene.change_pool("p", listing([1]));
    scene.run(seconds(90));
    assert!(!scene.dns.listed(NAME).contains(&ip(2)));
}

#[test]
fn a_listing_right_after_our_call_does_not_tell_where_a_removed_entry_is() {
    let scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2]));
    let scene = scene.address(ip(1), None).address(ip(2), None).settled();
    let mut scene = scene.address(ip(1), Some("elsewhere"));
    scene.change_pool("p", listing([2]));
    let done = scene.run(seconds(20));
    assert_eq!((unassigned(&done), scene.cloud.holder(ip(1))), (vec![], Some("m-elsewhere")));
}

#[test]
fn the_listing_that_a_removed_entry_waits_for_is_not_held_up_by_an_outage() {
    let mut scene = two_in_place();
    scene.cloud.refuses.push((is_list, FailureKind::Unavailable));
    scene.run(seconds(900));
    scene.change_pool("p", listing([2]));
    scene.run(seconds(30));
    scene.cloud.refuses.clear();
    assert_eq!(unassigned(&scene.run(seconds(10))), [ip(1)]);
}

#[test]
fn a_removed_entry_that_serves_stays_in_its_name_while_nobody_knows_where_it_is() {
    let scene = scene().nodes(["a", "b"]).records(of_pool("p")).pool(pool("p").ips([1, 3]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(3), Some("b")).settled();
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(3)]);
    scene.run(seconds(70));
    // The replacement does not exist.
    scene.change_pool("p", listing([9, 3]));
    scene.run(seconds(70));
    scene.cloud.hidden.push(ip(1));
    scene.fault(is_read, Fault::Dropped);
    scene.run(seconds(120));
    scene.cloud.hidden.clear();
    scene.run(seconds(120));
    assert_eq!((scene.home(ip(1)), scene.dns.listed(NAME)), (Some("a"), vec![ip(1), ip(3)]));
}
