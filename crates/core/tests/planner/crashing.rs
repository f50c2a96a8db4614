//! Crashes at any point, up to twice: the next process still reaches the desired state.

use pontoon_core::action::{Action, AddressAction};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Resolution;

use super::fixture::*;
use super::scene::{Scene, scene, scene_at, setup};

/// Number of changes before the crash, and whether the last change took effect.
type Crash = (usize, bool);

/// Runs until the `crash.0`th change is sent, and ends the process there. Returns false if the
/// scene settled before.
fn crash(scene: &mut Scene, (index, happened): Crash) -> bool {
    let mut changes = 0;
    for _ in 0..60 {
        scene.begin();
        for (action, sent_at) in std::mem::take(&mut scene.held_back) {
            if is_change(&action) && changes == index {
                if happened {
                    drop(scene.carry_out(&action));
                }
                scene.restart(seconds(13));
                return true;
            }
            changes += usize::from(is_change(&action));
            let result = scene.carry_out(&action);
            scene.finish(action, sent_at, result);
        }
        if let Some(wake) = scene.wake {
            scene.now = wake;
        }
    }
    false
}

/// Every possible crash point in a run without crashes.
fn crashes(scene: impl Fn() -> Scene) -> Vec<Crash> {
    let mut scene = scene();
    scene.run(seconds(60));
    let changes = count(&scene.history, is_change);
    (0..changes).flat_map(|index| [(index, false), (index, true)]).collect()
}

/// Crashes at every point, and then the next process at every point again.
fn crash_twice(make: impl Fn() -> Scene, judge: impl Fn(&Scene, &str)) {
    let crashes = crashes(&make);
    assert!(crashes.len() > 6, "{}", crashes.len());
    for once in &crashes {
        for twice in &crashes {
            let mut scene = make();
            assert!(crash(&mut scene, *once), "{once:?}");
            crash(&mut scene, *twice);
            scene.run(seconds(100));
            judge(&scene, &format!("{once:?} {twice:?}"));
        }
    }
}

/// The provider has reserved exactly `wanted` addresses, all are in the ledger, and no intent is
/// left.
fn assert_exact(scene: &Scene, wanted: usize, how: &str) {
    let ledger = &scene.stored("p").ledger;
    assert_eq!(usize::from(scene.cloud.made), wanted, "made; {how}");
    assert_eq!((ledger.created.len(), ledger.intents.len()), (wanted, 0), "{how}");
}

#[test]
fn with_nodes_to_reserve_on_every_crash_ends_with_exactly_what_was_wanted() {
    let make = || scene().nodes(["a", "b"]).pool(pool("p").wants(2));
    crash_twice(make, |scene, how| {
        assert_exact(scene, 2, how);
        assert_eq!(scene.reason("p"), &Reason::AllAssigned, "{how}");
    });
}

#[test]
fn in_a_project_of_its_own_every_crash_ends_with_exactly_what_was_wanted() {
    let setup = AccountSetup { project: Some("project".into()), ..setup() };
    let make = || scene_at(setup.clone()).pool(pool("p").wants(3));
    crash_twice(make, |scene, how| assert_exact(scene, 3, how));
}

#[test]
fn without_any_mark_a_crash_ends_with_what_was_wanted_or_with_a_question() {
    let mut questions = 0;
    let make = || scene().pool(pool("p").wants(2));
    for once in crashes(make) {
        let mut scene = make();
        assert!(crash(&mut scene, once));
        scene.run(seconds(100));
        if let Reason::CreateOutcomeUnknown(candidates) = scene.reason("p").clone() {
            questions += 1;
            for candidate in candidates {
                scene.change_pool("p", |mut pool| {
                    pool.resolution = Some(Resolution::Adopt(candidate));
                    pool
                });
                scene.run(seconds(100));
            }
        }
        assert_exact(&scene, 2, &format!("{once:?}"));
    }
    assert!(questions > 0);
}

#[test]
fn a_crash_during_a_failover_ends_where_it_would_have_ended_without() {
    let make = || {
        let mut scene = scene()
            .nodes(["a", "b", "c", "d"])
            .pool(pool("p").ips([1, 2]))
            .address(ip(1), Some("a"))
            .address(ip(2), Some("b"))
            .settled();
        scene.history.clear();
        scene.change_node("a", NodeFixture::not_ready);
        scene.change_node("b", NodeFixture::not_ready);
        scene
    };
    crash_twice(make, |scene, how| {
        assert_eq!([scene.home(ip(1)), scene.home(ip(2))], [Some("c"), Some("d")], "{how}");
        let marks = ["a", "b", "c", "d"].map(|node| scene.mark(node).is_some());
        assert_eq!(marks, [false, false, true, true], "{how}");
    });
}

#[test]
fn an_intent_found_at_start_in_every_state_of_the_cloud_ends_with_one_address() {
    for target in [Some("a"), None] {
        for there in [true, false] {
            let setup = AccountSetup { project: Some("project".into()), ..setup() };
            let mut scene = scene_at(setup)
                .nodes(["a", "b"])
                .pool(pool("p").wants(1).with_intent(target))
                .address(ip(5), None);
            if there {
                let intent = scene.stored("p").ledger.intents[0].clone();
                let (account, pool) = (ACCOUNT.into(), key("p"));
                let create =
                    Action::Address(AddressAction::Create { account, pool, intent, mark: None });
                drop(scene.carry_out(&create));
            }
            scene.cloud.addresses.remove(&ip(5));
            scene.restart(seconds(13));
            scene.run(seconds(60));
            assert_exact(&scene, 1, &format!("{target:?} {there}"));
        }
    }
}

#[test]
fn a_new_address_is_not_moved_before_it_is_written_down() {
    let make = || scene_at(AccountSetup { project: Some("project".into()), ..setup() });
    let on_a_node = || make().nodes(["a"]).pool(pool("p").wants(1));
    let by_region = || make().pool(pool("p").wants(1));
    for mut scene in [on_a_node(), by_region()] {
        scene.until_begun(is_create);
        if scene.world.node(&"a".into()).is_some() {
            scene.change_node("a", NodeFixture::not_ready);
        }
        scene.set_node(node("b"));
        scene.answer();
        let planned = scene.planned();
        assert_eq!((count(&planned, is_ledger), moves(&planned)), (1, vec![]));
        assert_eq!(scene.reason("p"), &Reason::Creating);
        assert_eq!(moves(&scene.settle()).len(), 1);
        assert_exact(&scene, 1, "");
    }
}
