//! Reservations with an unknown outcome.

use std::net::IpAddr;

use pontoon_core::action::{Action, AddressAction};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Resolution;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at, setup};

pub fn made(n: u8) -> IpAddr {
    IpAddr::from([198, 51, 100, n])
}

/// A reservation by region that succeeded but whose answer was lost.
fn in_doubt() -> Scene {
    let mut scene = scene().pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(30));
    scene
}

#[test]
fn without_a_mark_a_new_address_that_nobody_lists_stops_the_pool_and_is_named() {
    let mut scene = in_doubt();
    assert_eq!(scene.reason("p"), &Reason::CreateOutcomeUnknown(vec![made(1)]));
    let done = scene.run(seconds(600));
    assert_eq!(count(&done, is_change), 0);
}

#[test]
fn the_users_word_that_it_is_ours_has_it_adopted() {
    let mut scene = in_doubt();
    scene.change_pool("p", |mut pool| {
        pool.resolution = Some(Resolution::Adopt(made(1)));
        pool
    });
    scene.settle();
    let pool = scene.stored("p");
    assert_eq!((pool.ledger.created.as_slice(), pool.ledger.intents.len()), (&[made(1)][..], 0));
    assert_eq!((pool.resolution, scene.cloud.made), (None, 1));
}

#[test]
fn the_users_word_that_none_is_ours_has_another_reserved() {
    let mut scene = in_doubt();
    scene.change_pool("p", |mut pool| {
        pool.resolution = Some(Resolution::Nothing);
        pool
    });
    scene.run(seconds(30));
    assert_eq!(scene.stored("p").ledger.created, [made(2)]);
    assert_eq!(scene.stored("p").resolution, None);
}

#[test]
fn the_users_word_counts_for_one_doubt_only() {
    let mut scene = in_doubt();
    scene.fault(is_create, Fault::Lost);
    scene.change_pool("p", |mut pool| {
        pool.resolution = Some(Resolution::Nothing);
        pool
    });
    scene.run(seconds(60));
    assert_eq!(scene.reason("p"), &Reason::CreateOutcomeUnknown(vec![made(2)]), "1 is ruled out");
    assert_eq!(scene.cloud.made, 2);
}

#[test]
fn an_address_that_the_user_put_to_use_meanwhile_can_still_be_named() {
    let mut scene = in_doubt();
    scene.cloud.place(made(1), Some("elsewhere"));
    scene.cloud.place(ip(50), None);
    scene.run(seconds(61));
    assert_eq!(scene.reason("p"), &Reason::CreateOutcomeUnknown(vec![ip(50)]));
    let said = scene.verdict("p").to_string();
    assert!(said.ends_with("otherwise with test/resolution=none"), "{said}");
    scene.change_pool("p", |mut pool| {
        pool.resolution = Some(Resolution::Adopt(made(1)));
        pool
    });
    scene.settle();
    assert_eq!(scene.stored("p").ledger.created, [made(1)]);
}

#[test]
fn a_word_on_an_address_that_is_not_there_changes_nothing() {
    let mut scene = in_doubt();
    scene.change_pool("p", |mut pool| {
        pool.resolution = Some(Resolution::Adopt(ip(77)));
        pool
    });
    assert_eq!(count(&scene.run(seconds(61)), is_change), 0);
}

#[test]
fn in_a_project_of_its_own_the_address_is_known_by_that() {
    let mut scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() })
        .pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(30));
    assert_eq!(
        (scene.stored("p").ledger.created.as_slice(), scene.cloud.made),
        (&[made(1)][..], 1)
    );
}

#[test]
fn two_pools_in_doubt_do_not_adopt_one_address() {
    let mut scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() })
        .pool(pool("p").wants(1))
        .pool(pool("q").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.fault(is_create, Fault::Dropped);
    scene.run(seconds(30));
    let created = |name: &str| scene.stored(name).ledger.created.clone();
    assert_eq!((created("p"), created("q")), (vec![made(1)], vec![made(2)]));
    assert_eq!(scene.cloud.made, 2);
}

#[test]
fn what_a_reservation_by_region_made_is_not_taken_for_one_on_a_machine() {
    let mut scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() })
        .nodes(["a"])
        .pool(pool("p").wants(2));
    scene.fault(is_create, Fault::Lost);
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(5));
    // The machine is gone before its address was recorded, so the address is unassigned now.
    scene.cloud.place(made(1), None);
    scene.remove_node("a");
    scene.run(seconds(120));
    assert_eq!(scene.cloud.made, 2);
    assert_eq!(scene.stored("p").ledger.created.len(), 1);
    assert_eq!(scene.reason("p"), &Reason::CreateOutcomeUnknown(vec![made(1)]));
}

#[test]
fn an_address_in_our_project_that_somebody_moved_before_it_was_written_down_is_asked_about() {
    let mut scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() })
        .pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(5));
    scene.cloud.place(made(1), Some("machine-of-others"));
    scene.run(seconds(120));
    assert_eq!(scene.cloud.made, 1);
    assert_eq!(scene.reason("p"), &Reason::CreateOutcomeUnknown(vec![made(1)]));
}

#[test]
fn an_address_that_is_being_adopted_is_not_adopted_again() {
    let mut scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() })
        .pool(pool("p").wants(1))
        .pool(pool("q").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.fault(is_create, Fault::Dropped);
    scene.settle();
    scene.pass(seconds(12));
    scene.begin();
    scene.answer();
    let planned = scene.begin();
    assert_eq!(count(&planned, is_ledger), 1, "{planned:#?}");
    scene.change_pool("q", |pool| pool);
    let planned = scene.planned();
    assert_eq!(count(&planned, is_ledger), 0, "{planned:#?}");
}

#[test]
fn an_address_made_on_a_node_that_never_got_there_is_not_forgotten() {
    let mut scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() })
        .nodes(["a"])
        .pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.settle();
    scene.cloud.place(made(1), None);
    scene.run(seconds(30));
    assert_eq!(scene.reason("p"), &Reason::Creating, "the cloud may still be putting it there");
    scene.run(seconds(30));
    assert_eq!(scene.reason("p"), &Reason::CreateOutcomeUnknown(vec![made(1)]));
    assert_eq!(scene.cloud.made, 1);
}

#[test]
fn an_address_that_is_still_being_placed_is_waited_for_and_watched() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.settle();
    scene.cloud.place(made(1), None);
    scene.cloud.addresses.get_mut(&made(1)).unwrap().busy = true;
    let done = scene.run(seconds(20));
    assert_eq!((scene.reason("p"), scene.cloud.made), (&Reason::Creating, 1));
    assert!((4..8).contains(&count(&done, is_list)), "{}", count(&done, is_list));
    scene.cloud.addresses.get_mut(&made(1)).unwrap().busy = false;
    scene.cloud.place(made(1), Some("m-a"));
    scene.run(seconds(3));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_refused_reservation_made_none_whatever_is_on_its_target() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Answer(pontoon_core::action::FailureKind::Rejected));
    scene.until_begun(is_create);
    scene.cloud.place(ip(66), Some("m-a"));
    scene.answer();
    scene.run(seconds(30));
    assert_eq!(scene.stored("p").ledger.created, [made(1)], "66 is a stranger's");
    assert_eq!(scene.home(made(1)), Some("b"));
}

#[test]
fn an_address_that_is_being_written_down_is_not_taken_off_its_node() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1)).address(ip(9), None);
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(5));
    scene.set_pool(pool("q").ips([9]));
    for _ in 0..200 {
        scene.pass(seconds(1));
        let begun = scene.begin();
        let meanwhile = scene.planned();
        assert!(!begun.iter().chain(&meanwhile).any(is_unassign), "{begun:?} {meanwhile:?}");
        scene.answer();
    }
    assert_eq!(scene.home(made(1)), Some("a"));
}

#[test]
fn a_reservation_of_another_account_explains_no_address() {
    let other = AccountSetup { cloud: "other".into(), ..setup() };
    let mut scene = scene().account("second", other).nodes(["a"]);
    scene.set_pool(pool("p").wants(1).created_at(at(-20)));
    scene.set_pool(pool("q").wants(1).created_at(at(-10)).in_account("second"));
    scene.fault(of_p, Fault::Lost);
    scene.fault(is_create, Fault::Dropped);
    scene.settle();
    // A stranger was assigned to the target first.
    scene.cloud.place(made(1), None);
    scene.cloud.place(made(66), Some("m-a"));
    scene.run(seconds(30));
    assert!(!scene.stored("p").ledger.created.contains(&made(66)), "66 is a stranger's");
}

#[test]
fn a_reservation_of_an_invalid_pool_of_another_account_explains_no_address() {
    let project = AccountSetup { project: Some("project".into()), ..setup() };
    let mut scene = scene_at(project).account("second", able(|one| one.marks_new = true));
    let mut invalid = pool("q").in_account("second").with_intent(None).invalid();
    invalid.ledger.account = Some("second".into());
    scene.set_pool(invalid);
    let mut scene = scene.pool(pool("p").wants(1)).address(ip(9), None);
    scene.cloud.addresses.get_mut(&ip(9)).unwrap().project = Some("project".into());
    scene.fault(is_create, Fault::Dropped);
    scene.run(seconds(30));
    assert!(!scene.stored("p").ledger.created.contains(&ip(9)), "9 was there before");
}

fn of_p(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Create { pool, .. }) if *pool == key("p"))
}

#[test]
fn a_strangers_address_on_the_target_is_not_adopted_while_two_loose_ones_have_one_explanation() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(3));
    for _ in 0..3 {
        scene.fault(is_create, Fault::Lost);
    }
    scene.settle();
    assert_eq!(scene.cloud.made, 3);
    // The second address was meant for `b`, but a stranger was assigned to `b` first.
    scene.cloud.place(made(2), None);
    scene.cloud.place(ip(50), Some("m-b"));
    scene.run(seconds(60));
    assert!(!scene.stored("p").ledger.created.contains(&ip(50)));
    assert!(
        matches!(scene.reason("p"), Reason::CreateOutcomeUnknown(_)),
        "{:?}",
        scene.reason("p")
    );
}

#[test]
fn a_reservation_whose_address_is_being_written_down_explains_no_other_address() {
    let scene = scene_at(AccountSetup { project: Some("project".into()), ..setup() });
    let by_region = pool("p").wants(1).on("role=none");
    let mut scene = scene.nodes(["a", "b"]).pool(by_region).pool(pool("q").wants(2));
    for _ in 0..3 {
        scene.fault(is_create, Fault::Lost);
    }
    scene.settle();
    // Two addresses are on their way to their machines, and a stranger was assigned to `b` first.
    for ip in [1, 2, 3].map(made) {
        let seen = scene.cloud.addresses.get_mut(&ip).unwrap();
        if seen.holder.take().is_some() {
            (seen.busy, seen.project) = (true, Some("default".into()));
        }
    }
    scene.cloud.place(ip(50), Some("m-b"));
    scene.run(seconds(30));
    assert_eq!(scene.stored("p").ledger.created.len(), 1);
    assert!(!scene.stored("q").ledger.created.contains(&ip(50)), "50 is a stranger's");
}

#[test]
fn a_reservation_that_is_wiped_off_its_object_is_written_down_again_and_resolved() {
    for fault in [None, Some(Fault::Lost)] {
        let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
        if let Some(fault) = fault {
            scene.fault(is_create, fault);
        }
        while !scene.begin().iter().any(is_create) {
            scene.answer();
        }
        let create = scene.held_back.pop().unwrap();
        let intents = scene.stored("p").ledger.intents.clone();
        scene.change_pool("p", |mut pool| {
            pool.ledger = Default::default();
            pool
        });
        scene.settle();
        assert_eq!(scene.stored("p").ledger.intents, intents);
        // Once more, while the outcome of the intent is unknown.
        scene.held_back.push(create);
        scene.answer();
        scene.change_pool("p", |mut pool| {
            pool.ledger.intents.clear();
            pool
        });
        scene.run(seconds(60));
        assert_eq!(scene.stored("p").ledger.created, [made(1)]);
        assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
    }
}

#[test]
fn a_reservation_that_is_wiped_off_its_object_between_two_terms_of_a_process_is_not_lost() {
    for wiped_late in [false, true] {
        let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
        while !scene.begin().iter().any(is_create) {
            scene.answer();
        }
        let (create, _) = scene.held_back.pop().unwrap();
        let wipe = |mut pool: pontoon_core::model::Pool| {
            (pool.ledger, pool.ledger_stripped) = (Default::default(), true);
            pool
        };
        if !wiped_late {
            scene.change_pool("p", wipe);
        }
        scene.world.take_over(scene.now + seconds(10));
        if wiped_late {
            scene.change_pool("p", wipe);
        }
        scene.run(seconds(8));
        drop(scene.carry_out(&create));
        scene.run(seconds(90));
        assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
        assert_eq!(scene.stored("p").ledger.created, [made(1)]);
    }
}

#[test]
fn a_reservation_that_made_nothing_and_was_wiped_off_its_object_does_not_stop_the_next() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    while !scene.begin().iter().any(is_create) {
        scene.answer();
    }
    scene.held_back.clear();
    scene.world.take_over(scene.now + seconds(10));
    scene.run(seconds(14));
    // The annotation is removed when a listing is about to show that the reservation made nothing.
    scene.change_pool("p", |mut pool| {
        (pool.ledger, pool.ledger_stripped) = (Default::default(), true);
        pool
    });
    scene.fault(is_ledger, Fault::Answer(pontoon_core::action::FailureKind::Conflict));
    scene.run(seconds(120));
    assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
}

#[test]
fn an_address_of_a_deleted_pool_is_not_taken_for_the_result_of_another_pools_reservation() {
    let setup = AccountSetup { project: Some("project".into()), ..setup() };
    let mut scene = scene_at(setup).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Dropped);
    scene.settle();
    scene.set_pool(pool("q").wants(1));
    scene.settle();
    assert_eq!(scene.stored("q").ledger.created, [made(1)]);
    scene.remove_pool("q");
    scene.run(seconds(60));
    assert_eq!(scene.stored("p").ledger.created, [made(2)]);
}

#[test]
fn a_reservation_of_the_leader_before_is_found_although_the_first_listing_does_not_show_it() {
    let setup = AccountSetup { project: Some("project".into()), ..setup() };
    let mut scene = scene_at(setup).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.settle();
    scene.cloud.hidden.push(made(1));
    scene.restart(seconds(0));
    scene.run(seconds(3));
    scene.cloud.hidden.clear();
    scene.run(seconds(30));
    assert_eq!((scene.cloud.made, scene.stored("p").ledger.created.clone()), (1, vec![made(1)]));
}
