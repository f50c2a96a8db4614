//! The ledger of a pool: its writes, their answers, and a ledger that somebody else changed.

use pontoon_core::action::{Action, Failure, FailureKind};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Ledger;

use super::cloud::Fault;
use super::creating::{ledger, wanting};
use super::fixture::*;
use super::scene::{Scene, scene, scene_at, setup};

#[test]
fn a_ledger_that_changed_in_between_is_written_again_on_the_new_version() {
    let mut scene = wanting(1);
    scene.begin();
    scene.answer();
    assert_eq!(count(&scene.begin(), is_ledger), 1);
    scene.change_pool("p", |pool| pool);
    scene.answer();
    let done = scene.settle();
    assert_eq!((count(&done, is_ledger), scene.cloud.made), (2, 1), "{done:#?}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_status_write_of_ours_is_taken_into_account() {
    let mut scene = wanting(1);
    scene.begin();
    scene.answer();
    scene.change_pool("p", |pool| pool);
    let version = scene.stored("p").version;
    scene.world.wrote_pool(&key("p"), "uid-p", version);
    let done = scene.settle();
    assert_eq!((count(&done, is_ledger), scene.cloud.made), (2, 1));
}

#[test]
fn a_new_version_of_the_object_may_arrive_before_the_answer_to_the_write() {
    let mut scene = wanting(1);
    let write = scene.until_begun(is_ledger);
    scene.held_back.clear();
    let sent_at = scene.now;
    let result = scene.carry_out(&write);
    scene.watch();
    assert_eq!(count(&scene.settle(), is_create), 0, "not before the answer");
    scene.finish(write, sent_at, result);
    let done = scene.settle();
    assert_eq!((creations(&done), scene.cloud.made), (vec![Some("m-a")], 1));
}

#[test]
fn a_ledger_write_without_an_answer_is_settled_before_anything_is_sent() {
    for fault in [Fault::Lost, Fault::Dropped] {
        let mut scene = wanting(1);
        scene.fault(is_ledger, fault);
        let write = scene.until_begun(is_ledger);
        scene.answer();
        assert_eq!(count(&scene.settle(), is_create), 0);
        scene.watch();
        scene.run(seconds(30));
        assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])), "{write:?}");
    }
}

#[test]
fn an_intent_that_is_perhaps_out_of_the_ledger_is_not_sent() {
    let mut scene = wanting(1);
    let intent = scene.until_begun(is_create);
    scene.held_back.clear();
    let not_sent = Failure::plain(FailureKind::NotSent, "");
    scene.finish(intent, scene.now, Err(not_sent));
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_ledger, Fault::Lost);
    assert_eq!(count(&scene.begin(), is_ledger), 1, "it is taken out: its node is gone");
    scene.answer();
    scene.change_node("a", NodeFixture::ready);
    assert_eq!(count(&scene.run(seconds(30)), is_create), 0, "and nobody told what became of it");
    scene.watch();
    scene.run(seconds(30));
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

#[test]
fn intents_of_one_instant_have_different_names() {
    let mut scene = wanting(1);
    scene.until_begun(is_create);
    scene.held_back.clear();
    let now = scene.now;
    scene.change_pool("p", |pool| pool.wants(2));
    scene.now = at(0);
    for _ in 0..3 {
        for action in scene.planned() {
            scene.world.begin(&action);
            let result = scene.carry_out(&action);
            scene.finish(action, now, result);
            scene.now = at(0);
        }
    }
    let ids: std::collections::BTreeSet<_> =
        scene.stored("p").ledger.intents.iter().map(|intent| intent.id.clone()).collect();
    assert_eq!(ids.len(), scene.stored("p").ledger.intents.len());
}

#[test]
fn an_address_is_recorded_even_if_the_intent_was_wiped_off_the_object() {
    for made_first in [true, false] {
        let mut scene = wanting(1);
        scene.until_begun(is_create);
        if made_first {
            scene.answer();
        }
        scene.change_pool("p", |mut pool| {
            pool.ledger = Default::default();
            pool
        });
        scene.planned();
        scene.answer();
        scene.run(seconds(30));
        assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])), "{made_first}");
    }
}

#[test]
fn a_ledger_that_somebody_stripped_is_written_again_from_what_the_status_remembers() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").wants(2)).settled();
    let ledger = scene.stored("p").ledger.clone();
    assert_eq!(ledger.created.len(), 2);
    scene.change_pool("p", |mut pool| {
        pool.ledger_stripped = true;
        pool
    });
    let done = scene.settle();
    assert_eq!(count(&done, is_ledger), 1);
    assert_eq!(count(&done, Action::changes_provider), 0);
    assert_eq!((&scene.stored("p").ledger, scene.cloud.made), (&ledger, 2));
    assert_eq!(count(&scene.run(seconds(60)), is_ledger), 0);
}

#[test]
fn a_ledger_that_somebody_stripped_before_the_status_named_its_address_is_written_again() {
    for wanted in [None, Some(2)] {
        let mut scene = scene().nodes(["a", "b"]).address(ip(1), None);
        scene.set_pool(pool("p").ips([1]).wants(2));
        scene.settle();
        let ledger = scene.stored("p").ledger.clone();
        assert_eq!(ledger.created.len(), 1);
        scene.change_pool("p", |mut pool| {
            (pool.ledger, pool.ledger_stripped) = (Default::default(), true);
            pool.ask(|request| request.wanted = wanted)
        });
        let done = scene.run(seconds(60));
        assert_eq!(count(&done, is_ledger), 1, "{wanted:?}");
        assert_eq!(count(&done, Action::changes_provider), 0, "{wanted:?}");
        assert_eq!((&scene.stored("p").ledger, scene.cloud.made), (&ledger, 1), "{wanted:?}");
    }
}

#[test]
fn a_reservation_that_the_ledger_settles_is_not_settled_again_before_the_answer_to_the_write() {
    for lost in [false, true] {
        let project = AccountSetup { project: Some("project".into()), ..setup() };
        let mut scene = scene_at(project);
        scene.cloud.project = Some("project");
        scene.set_pool(pool("p").wants(2).created_at(at(-20)));
        scene.set_pool(pool("q").wants(2).created_at(at(-10)));
        for _ in 0..4 {
            scene.fault(is_create, Fault::Lost);
        }
        while scene.cloud.made < 4 || !scene.held_back.iter().any(|(action, _)| is_ledger(action)) {
            scene.answer();
            scene.pass(seconds(1));
            scene.begin();
        }
        let (write, sent_at) = scene.held_back.remove(0);
        let result = scene.carry_out(&write);
        let timed_out = Failure::plain(FailureKind::NoAnswer, "timed out");
        let answer = if lost { Err(timed_out) } else { result };
        // A change of the other pool makes its write fail.
        scene.change_pool("q", |pool| pool);
        scene.answer();
        scene.watch();
        scene.settle();
        scene.finish(write, sent_at, answer);
        scene.run(seconds(60));
        let created = ["p", "q"].map(|name| scene.stored(name).ledger.created.len());
        assert_eq!((scene.cloud.made, created), (4, [2, 2]), "lost: {lost}");
    }
}

#[test]
fn the_ledger_names_the_account_of_its_addresses_from_its_next_write_on() {
    let mut scene = wanting(1).settled();
    scene.run(seconds(5));
    let account = |scene: &Scene| scene.stored("p").ledger.account.clone();
    assert_eq!(account(&scene), Some(ACCOUNT.into()));
    // As an earlier version wrote it.
    scene.change_pool("p", |mut pool| {
        pool.ledger.account = None;
        pool
    });
    assert_eq!(count(&scene.run(seconds(60)), is_ledger), 0);
    scene.change_pool("p", |pool| pool.wants(2));
    scene.run(seconds(5));
    assert_eq!(account(&scene), Some(ACCOUNT.into()));
}

#[test]
fn a_ledger_that_is_stripped_together_with_a_change_of_the_provider_keeps_its_account() {
    let other = AccountSetup { cloud: "other".into(), ..setup() };
    let scene = scene().account("second", other).nodes(["a"]);
    let mut scene = scene.pool(pool("p").wants(1).releasing()).settled();
    let created = scene.stored("p").ledger.created.clone();
    scene.change_pool("p", |mut pool| {
        pool.ledger = Ledger { created: created.clone(), ..Ledger::default() };
        pool.ledger_stripped = true;
        pool.in_account("second")
    });
    scene.begin();
    scene.answer();
    let ledger = &scene.stored("p").ledger;
    assert_eq!((&ledger.created, &ledger.account), (&created, &Some(ACCOUNT.into())));
}

#[test]
fn a_write_without_effect_does_not_settle_a_reservation_that_is_sent_after_it() {
    let mut scene = wanting(1);
    let create = scene.until_begun(is_create);
    scene.held_back.clear();
    scene.finish(create, scene.now, Err(Failure::plain(FailureKind::NotSent, "")));
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_ledger, Fault::Answer(FailureKind::NotSent));
    assert_eq!(count(&scene.begin(), is_ledger), 1, "without the intent");
    scene.answer();
    scene.change_node("a", NodeFixture::ready);
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(3));
    assert_eq!(scene.cloud.made, 1);
    strip(&mut scene);
    scene.run(seconds(60));
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

#[test]
fn a_reservation_that_was_wiped_off_the_object_is_not_sent_before_it_is_written_again() {
    let mut scene = wanting(1);
    scene.fault(is_create, Fault::Answer(FailureKind::Unavailable));
    scene.until_begun(is_create);
    scene.answer();
    while !scene.begin().iter().any(is_list) {
        scene.answer();
        scene.now = scene.wake.unwrap();
    }
    strip(&mut scene);
    scene.answer();
    let planned = scene.planned();
    assert_eq!((count(&planned, is_ledger), count(&planned, is_create)), (1, 0));
    scene.run(seconds(30));
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

/// Removes the ledger of pool `p`, of which the status names no address.
fn strip(scene: &mut Scene) {
    scene.change_pool("p", |mut pool| {
        (pool.ledger, pool.ledger_stripped) = (Ledger::default(), true);
        pool
    });
}
