//! Drift: another controller moves or deletes addresses at the provider.

use pontoon_core::action::Action;
use pontoon_core::addresses::verdict::{Note, Reason, State};

use super::fixture::*;
use super::scene::{Scene, scene};

/// An address on node `b`, with `a` and `c` free beside it.
fn in_place() -> Scene {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1]));
    scene.address(ip(1), Some("b")).settled()
}

/// Another controller moves the address, and the next listing shows the move.
fn moved(scene: &mut Scene, to: Option<&str>) -> Vec<Action> {
    scene.cloud.place(ip(1), to);
    scene.run(seconds(61))
}

/// Another controller unassigns the address, and the next listing shows it. Returns the time of the
/// listing.
fn taken_off(scene: &mut Scene) -> pontoon_core::Time {
    scene.cloud.place(ip(1), None);
    let found = scene.wake.unwrap();
    scene.now = found;
    scene.settle();
    found
}

#[test]
fn an_address_that_somebody_takes_off_is_put_back_where_it_was_at_once() {
    let mut scene = in_place();
    taken_off(&mut scene);
    assert_eq!(scene.home(ip(1)), Some("b"), "not on the first by name");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn an_address_that_somebody_takes_off_again_is_left_alone_for_a_while() {
    let mut scene = in_place();
    taken_off(&mut scene);
    let found = taken_off(&mut scene);
    assert_eq!((scene.home(ip(1)), scene.mark("b")), (None, None));
    let Reason::Drift(_, until) = *scene.reason("p") else { panic!("{:?}", scene.reason("p")) };
    assert_eq!(until.since(found), seconds(10) + std::time::Duration::from_millis(1));
    assert_eq!(scene.verdict("p").addresses[0].note, Some(Note::Drift(until)));
    scene.run(seconds(9));
    assert_eq!(scene.home(ip(1)), None);
    scene.run(seconds(2));
    assert_eq!(scene.home(ip(1)), Some("b"), "not on the first by name");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn one_that_is_moved_to_a_node_that_may_have_it_stays_there() {
    let mut scene = in_place();
    let done = moved(&mut scene, Some("m-c"));
    assert!(moves(&done).is_empty());
    assert_eq!((scene.mark("b"), scene.mark("c")), (None, Some("192.0.2.1")));
    let drift = scene.verdict("p").addresses[0].memory.drift.clone().unwrap();
    assert_eq!((drift.times, drift.from), (1, None));
}

#[test]
fn one_that_is_moved_to_a_foreign_machine_is_put_back() {
    let mut scene = in_place();
    moved(&mut scene, Some("m-elsewhere"));
    assert_eq!(scene.home(ip(1)), Some("elsewhere"));
    assert_eq!(scene.states("p"), [State::NoMatch]);
    scene.run(seconds(12));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn each_time_it_is_left_alone_for_longer_up_to_five_minutes() {
    let mut scene = in_place();
    let mut waits = vec![];
    taken_off(&mut scene);
    for _ in 0..8 {
        let found = taken_off(&mut scene);
        let Reason::Drift(_, until) = *scene.reason("p") else { panic!("no drift") };
        waits.push(until.since(found).as_secs());
        scene.run(until.since(found) + seconds(1));
        assert_eq!(scene.home(ip(1)), Some("b"));
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
    scene.run(seconds(601));
    scene.cloud.place(ip(1), None);
    scene.run(seconds(71));
    assert_eq!(scene.home(ip(1)), Some("b"), "after a quiet time it is the first time again");
}

#[test]
fn a_restart_does_not_forget_that_somebody_moved_it() {
    let mut scene = in_place();
    for _ in 0..4 {
        moved(&mut scene, None);
        scene.run(seconds(45));
        assert_eq!(scene.home(ip(1)), Some("b"));
    }
    scene.cloud.place(ip(1), None);
    scene.restart(seconds(13));
    scene.run(seconds(40));
    scene.restart(seconds(13));
    scene.run(seconds(45));
    assert_eq!(scene.home(ip(1)), None, "the fifth time it is left alone for 80 seconds");
    scene.run(seconds(12));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn a_time_that_a_fast_clock_wrote_does_not_leave_it_alone_for_ever() {
    let mut scene = in_place();
    scene.cloud.place(ip(1), None);
    scene.now = scene.wake.unwrap();
    scene.settle();
    let ahead = scene.now + seconds(86_400);
    scene.change_pool("p", |mut pool| {
        let memory = pool.remembered.get_mut(&ip(1)).unwrap();
        memory.drift.as_mut().unwrap().at = ahead;
        pool
    });
    scene.restart(seconds(0));
    scene.run(seconds(12));
    assert_eq!(scene.home(ip(1)), Some("b"));
}

#[test]
fn what_is_lost_with_its_machine_is_not_waited_for() {
    let mut scene = in_place();
    scene.cloud.place(ip(1), None);
    scene.change_node("b", NodeFixture::not_ready);
    scene.run(seconds(61));
    assert_eq!(scene.home(ip(1)), Some("a"));

    let mut scene = in_place();
    moved(&mut scene, None);
    scene.change_node("b", NodeFixture::not_ready);
    assert_eq!(moves(&scene.settle()), [(ip(1), "a")], "lost while it is left alone");
}

#[test]
fn our_own_moves_are_no_drift() {
    let mut scene = in_place();
    scene.change_node("b", NodeFixture::not_ready);
    scene.begin();
    scene.change_node("b", NodeFixture::ready);
    scene.answer();
    scene.settle();
    assert_eq!(scene.home(ip(1)), Some("a"));
    assert_eq!(scene.verdict("p").addresses[0].memory.drift, None);
}

#[test]
fn a_listed_address_that_is_deleted_is_said_so_and_nothing_is_done() {
    let mut scene = in_place();
    scene.cloud.addresses.remove(&ip(1));
    scene.run(seconds(61));
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
    let done = scene.run(seconds(3600));
    assert_eq!(count(&done, is_change), 0);
    assert_eq!(count(&done, is_read), 0, "no loop");
}

#[test]
fn a_reserved_address_that_is_deleted_is_reserved_anew_if_it_is_wanted() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(2)).settled();
    let created = scene.stored("p").ledger.created.clone();
    scene.cloud.addresses.remove(&created[0]);
    let done = scene.run(seconds(61));
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(created[0]));
    assert_eq!(count(&done, is_create), 0, "not before it is certain");
    scene.run(seconds(60));
    let now = scene.stored("p").ledger.created.clone();
    assert!(!now.contains(&created[0]) && now.contains(&created[1]) && now.len() == 2, "{now:?}");
    assert_eq!((scene.reason("p"), scene.cloud.made), (&Reason::AllAssigned, 3));
}

#[test]
fn a_reserved_address_that_is_deleted_is_only_forgotten_if_it_is_not_wanted() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(2)).settled();
    let created = scene.stored("p").ledger.created.clone();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.cloud.addresses.remove(&created[1]);
    scene.run(seconds(130));
    assert_eq!(scene.stored("p").ledger.created, [created[0]]);
    assert_eq!(scene.cloud.made, 2);
}

#[test]
fn an_address_that_the_cloud_does_not_show_for_a_moment_is_not_forgotten() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1)).settled();
    let created = scene.stored("p").ledger.created[0];
    let seen = scene.cloud.addresses.remove(&created).unwrap();
    scene.run(seconds(61));
    scene.cloud.addresses.insert(created, seen);
    scene.run(seconds(120));
    assert_eq!(scene.stored("p").ledger.created, [created]);
    assert_eq!((scene.reason("p"), scene.cloud.made), (&Reason::AllAssigned, 1));
}

#[test]
fn an_address_that_somebody_moves_onto_a_needed_node_is_left_alone_from_the_first_plan_on() {
    let scene = scene().node(node("a").labelled("of", "p")).node(node("b").labelled("of", "q"));
    let scene = scene.pool(pool("p").on("of=p").ips([1])).pool(pool("q").on("of=q").ips([2]));
    let mut scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b")).settled();
    scene.cloud.place(ip(2), None);
    scene.cloud.place(ip(1), Some("m-b"));
    let found = scene.wake.unwrap();
    scene.now = found;
    scene.settle();
    scene.run(seconds(9));
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("b"), None));
    scene.run(seconds(5));
    assert_eq!((scene.home(ip(1)), scene.home(ip(2))), (Some("a"), Some("b")));
}
