//! Addresses reserved for a pool are released when the pool is deleted, if the pool asks for it.

use pontoon_core::action::{Action, AddressAction, Done, FailureKind};
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::{EmptyPolicy, Pool, Sighting};

use super::cloud::Fault;
use super::fixture::*;
use super::recording::{NAME, ask, of_pool, writes};
use super::scene::{Scene, able, scene, scene_at};

/// Two reserved addresses on nodes `a` and `b`, and a listed address on `c`.
fn three_in_place() -> Scene {
    let scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1]).wants(3).releasing());
    scene.address(ip(1), Some("c")).settled()
}

fn released(actions: &[Action]) -> Vec<std::net::IpAddr> {
    let ip = |action: &Action| match action {
        Action::Address(AddressAction::Release { ip, .. }) => Some(*ip),
        _ => None,
    };
    actions.iter().filter_map(ip).collect()
}

#[test]
fn a_pool_is_guarded_before_anything_is_reserved_for_it() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1).releasing());
    for _ in 0..10 {
        let begun = scene.begin();
        let sent = count(&begun, is_create) > 0;
        assert!(!sent || scene.stored("p").ledger.guarded, "reserved without a guard");
        scene.answer();
    }
    assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
    assert!(scene.stored("p").ledger.guarded);
}

#[test]
fn a_pool_is_not_guarded_unless_it_says_so_and_has_reserved_addresses() {
    let scene = scene().nodes(["a", "b"]).pool(pool("keeps").wants(1));
    let scene = scene.pool(pool("lists").ips([1]).releasing()).address(ip(1), None).settled();
    assert!(!scene.stored("keeps").ledger.guarded && !scene.stored("lists").ledger.guarded);
}

#[test]
fn a_pool_that_changes_its_mind_is_guarded_or_not_at_once() {
    let mut scene = three_in_place();
    scene.change_pool("p", |pool| Pool { releases: false, ..pool });
    let done = scene.settle();
    assert!(!scene.stored("p").ledger.guarded);
    scene.change_pool("p", PoolFixture::releasing);
    let again = scene.settle();
    assert!(scene.stored("p").ledger.guarded);
    assert_eq!(count(&done, Action::changes_provider) + count(&again, Action::changes_provider), 0);
}

#[test]
fn what_was_reserved_is_taken_off_given_back_and_forgotten_and_what_was_listed_stays() {
    let mut scene = three_in_place();
    let created = scene.stored("p").ledger.created.clone();
    scene.change_pool("p", PoolFixture::deleted);
    let done = scene.run(seconds(30));
    assert_eq!(released(&done), created);
    assert_eq!(scene.cloud.addresses.keys().collect::<Vec<_>>(), [&ip(1)]);
    assert_eq!(scene.home(ip(1)), Some("c"));
    assert_eq!((scene.mark("a"), scene.mark("c")), (None, Some("192.0.2.1")));
    let ledger = &scene.stored("p").ledger;
    assert!(ledger.created.is_empty() && !ledger.guarded, "the object may go");
}

/// The other address cannot be released, so that the pool stays for long.
#[test]
fn a_pool_that_is_being_deleted_keeps_no_mark_of_an_address_that_another_pool_had() {
    let scene = scene_at(able(|one| one.per_machine = 20)).nodes(["a", "b"]);
    let scene = scene.pool(pool("p").wants(2).releasing()).pool(pool("q").ips([5]));
    let mut scene = scene.address(ip(5), Some("b")).settled();
    let created = scene.stored("p").ledger.created.clone();
    let (stays, goes): (Vec<_>, Vec<_>) =
        created.iter().copied().partition(|ip| scene.home(*ip) == Some("b"));
    let both = vec![ip(5), stays[0]];
    scene.change_pool("q", |pool| pool.ask(|request| request.listed = both.clone()).invalid());
    scene.settle();
    scene.cloud.refuses.push((is_release, FailureKind::Rejected));
    scene.change_pool("p", PoolFixture::deleted);
    scene.run(seconds(30));
    assert_eq!((&scene.stored("p").ledger.created, scene.home(stays[0])), (&goes, Some("b")));
    scene.set_pool(pool("q").ips([5]));
    scene.run(seconds(30));
    assert_eq!((scene.home(stays[0]), scene.mark("b")), (Some("b"), Some("192.0.2.5")));
}

#[test]
fn an_object_that_is_deleted_without_a_guard_gives_nothing_back() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1)).settled();
    scene.change_pool("p", |pool| pool.deleted().releasing());
    let done = scene.run(seconds(100));
    assert_eq!((count(&done, is_release), count(&done, is_unassign)), (0, 0));
    assert!(!scene.stored("p").ledger.guarded, "one that is being deleted cannot be guarded");
}

#[test]
fn a_pool_that_says_retain_after_all_goes_with_everything_as_it_is() {
    let mut scene = three_in_place();
    scene.fault(is_unassign, Fault::Answer(FailureKind::Unavailable));
    scene.change_pool("p", PoolFixture::deleted);
    drop(scene.begin());
    scene.answer();
    scene.change_pool("p", |pool| Pool { releases: false, ..pool });
    let done = scene.settle();
    assert_eq!(count(&done, is_release), 0);
    let ledger = &scene.stored("p").ledger;
    assert!(!ledger.guarded && ledger.created.len() == 2, "{ledger:?}");
}

#[test]
fn a_pool_that_says_retain_after_all_stays_until_its_last_call_has_ended() {
    for ends in [valid, PoolFixture::invalid] {
        let mut scene = three_in_place();
        scene.change_pool("p", PoolFixture::deleted);
        let begun = scene.until_begun(is_unassign);
        scene.change_pool("p", |pool| Pool { releases: false, ..ends(pool) });
        let meanwhile = scene.begin();
        assert_eq!(count(&meanwhile, is_ledger), 0, "the object would go during {begun:?}");
        scene.answer();
        scene.settle();
        assert!(!scene.stored("p").ledger.guarded);
    }
}

#[test]
fn a_pool_that_says_retain_after_all_stays_until_what_then_begins_has_ended() {
    let mut scene = three_in_place();
    scene.change_pool("p", PoolFixture::deleted);
    scene.until_begun(is_unassign);
    scene.answer();
    // The addresses are free again, and their nodes lack them.
    scene.change_pool("p", |pool| Pool { releases: false, ..pool });
    for _ in 0..20 {
        let begun = scene.begin();
        let moved = count(&begun, is_assign) > 0;
        assert!(!moved || scene.stored("p").ledger.guarded, "the object would go: {begun:?}");
        let goes = count(&begun, is_ledger) > 0;
        assert!(!(moved && goes), "{begun:?}");
        scene.answer();
    }
    assert!(!scene.stored("p").ledger.guarded);
}

#[test]
fn a_pool_that_says_retain_after_all_stays_until_its_last_reservation_has_ended() {
    let mut scene = three_in_place();
    scene.set_node(node("d"));
    scene.change_pool("p", |pool| pool.wants(4));
    scene.until_begun(is_create);
    scene.change_pool("p", |pool| Pool { releases: false, ..pool.deleted() });
    let meanwhile = scene.begin();
    assert_eq!(count(&meanwhile, is_ledger), 0, "the object would go: {meanwhile:?}");
    scene.answer();
    scene.settle();
    let ledger = &scene.stored("p").ledger;
    assert!(!ledger.guarded && ledger.created.len() == 3, "{ledger:?}");
}

fn valid(pool: Pool) -> Pool {
    pool
}

#[test]
fn what_another_pool_lists_or_a_list_once_named_is_not_given_back() {
    let mut scene = three_in_place();
    let created = scene.stored("p").ledger.created.clone();
    scene.set_pool(pool("q").ask(|request| request.listed = vec![created[0]]));
    scene.change_pool("p", |pool| {
        let mut pool = pool.ask(|request| request.listed = vec![]);
        pool.ledger.kept = vec![ip(1)];
        pool.deleted()
    });
    let done = scene.run(seconds(30));
    assert_eq!(released(&done), [created[1]]);
    assert!(scene.cloud.addresses.contains_key(&ip(1)));
    assert!(!scene.stored("p").ledger.guarded);
}

#[test]
fn a_release_without_an_answer_is_not_repeated_because_a_listing_still_shows_the_address() {
    let mut scene = three_in_place();
    let ours = scene.stored("p").ledger.created.clone();
    scene.fault(is_release, Fault::Dropped);
    scene.fault(is_release, Fault::Dropped);
    scene.change_pool("p", PoolFixture::deleted);
    assert_eq!(released(&scene.settle()), ours);
    for _ in 0..8 {
        let shown = ours.iter().map(|ip| (*ip, Sighting::default())).collect();
        let list = Action::Address(AddressAction::List {
            account: ACCOUNT.into(),
            families: vec![],
            confirms: false,
            scope: Default::default(),
        });
        scene.finish(list, scene.now, Ok(Done::Listed(shown)));
        let sent = scene.run(seconds(1));
        assert_eq!(count(&sent, is_release), 0, "the first calls may still take effect");
    }
    assert_eq!(released(&scene.run(seconds(10))), ours);
}

#[test]
fn a_call_without_an_answer_is_looked_at_and_repeated_if_need_be() {
    for fault in [Fault::Lost, Fault::Dropped] {
        let mut scene = three_in_place();
        scene.fault(is_release, fault);
        scene.change_pool("p", PoolFixture::deleted);
        scene.run(seconds(120));
        assert_eq!(scene.cloud.addresses.len(), 1);
        assert!(!scene.stored("p").ledger.guarded);
    }
}

#[test]
fn a_refusal_is_told_and_tried_again() {
    let mut scene = three_in_place();
    scene.fault(is_release, Fault::Answer(FailureKind::Rejected));
    scene.change_pool("p", PoolFixture::deleted);
    scene.settle();
    assert!(matches!(scene.reason("p"), Reason::ReleaseFailed(..)), "{:?}", scene.reason("p"));
    assert!(scene.verdict("p").to_string().contains("; choose to retain to keep the address"));
    scene.run(seconds(30));
    assert!(!scene.stored("p").ledger.guarded);
}

#[test]
fn a_restart_at_any_point_of_it_ends_as_without_one() {
    for steps in 0..12 {
        let mut scene = three_in_place();
        scene.change_pool("p", PoolFixture::deleted);
        for _ in 0..steps {
            scene.begin();
            if !scene.held_back.is_empty() {
                scene.answer_one(0);
            }
        }
        scene.restart(seconds(13));
        scene.run(seconds(60));
        assert_eq!(scene.cloud.addresses.len(), 1, "after {steps} steps");
        assert!(!scene.stored("p").ledger.guarded, "after {steps} steps");
    }
}

#[test]
fn without_credentials_it_says_what_it_waits_for_and_how_to_let_it_go() {
    let mut scene = three_in_place();
    scene.world.set_account(ACCOUNT.into(), Err(unusable(CLOUD)));
    scene.change_pool("p", PoolFixture::deleted);
    let done = scene.settle();
    assert_eq!(count(&done, is_change), 0);
    assert_eq!(scene.reason("p").word(), "CredentialsMissing");
    let words = scene.verdict("p").to_string();
    assert!(words.contains("no token") && words.contains("cannot go: choose to retain"), "{words}");
    scene.change_pool("p", |pool| Pool { releases: false, ..pool });
    scene.settle();
    assert!(!scene.stored("p").ledger.guarded);
}

#[test]
fn a_reservation_whose_outcome_is_open_is_found_before_the_object_goes() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1).releasing());
    scene.fault(is_create, Fault::Lost);
    scene.settle();
    assert_eq!((scene.cloud.made, scene.stored("p").ledger.intents.len()), (1, 1));
    scene.change_pool("p", PoolFixture::deleted);
    scene.run(seconds(60));
    assert_eq!(scene.cloud.addresses.len(), 0);
    let ledger = &scene.stored("p").ledger;
    assert!(!ledger.guarded && ledger.intents.is_empty(), "{ledger:?}");
}

#[test]
fn a_pool_that_gives_nothing_back_after_all_goes_and_leaves_its_name_as_it_is() {
    let set = ask(of_pool("p"), |request| request.empty = EmptyPolicy::Remove);
    let mut scene = scene().nodes(["a", "b"]).records(set).pool(pool("p").wants(2).releasing());
    scene.settle();
    assert!(scene.stored("p").ledger.guarded);
    let listed = scene.dns.listed(NAME);
    assert_eq!(listed.len(), 2);
    // The policy and the deletion arrive together, as after a pause.
    scene.change_pool("p", |pool| Pool { releases: false, ..pool.deleted() });
    assert_eq!(writes(&scene.run(seconds(30))), 0);
    assert_eq!(scene.dns.listed(NAME), listed);
    assert!(!scene.stored("p").ledger.guarded);
}

#[test]
fn a_pool_that_goes_takes_what_it_gives_back_out_of_its_name_and_leaves_what_serves_on() {
    for empty in [EmptyPolicy::Keep, EmptyPolicy::Remove] {
        let set = ask(of_pool("p"), |request| request.empty = empty);
        let mut scene = scene().nodes(["a", "b"]).records(set);
        scene = scene.pool(pool("p").ips([1]).wants(2).releasing()).address(ip(1), Some("a"));
        scene.settle();
        assert_eq!(scene.dns.listed(NAME).len(), 2);
        scene.change_pool("p", PoolFixture::deleted);
        scene.run(seconds(60));
        assert_eq!(scene.dns.listed(NAME), [ip(1)], "{empty:?}");
    }
}

#[test]
fn an_address_that_a_list_once_named_stays_in_the_name_of_a_pool_that_goes() {
    let set = ask(of_pool("p"), |request| request.empty = EmptyPolicy::Remove);
    let mut scene = scene().nodes(["a", "b"]).records(set);
    scene = scene.pool(pool("p").ips([1]).wants(2).releasing()).address(ip(1), Some("a"));
    scene.settle();
    scene.change_pool("p", |pool| pool.ask(|request| request.listed = vec![]));
    scene.settle();
    assert_eq!(scene.stored("p").ledger.kept, [ip(1)]);
    scene.change_pool("p", PoolFixture::deleted);
    scene.run(seconds(60));
    assert_eq!((scene.dns.listed(NAME), scene.home(ip(1))), (vec![ip(1)], Some("a")));
}

/// Three in place, and a pool that cannot go because its addresses cannot be released.
fn stuck() -> Scene {
    let mut scene = three_in_place();
    scene.cloud.refuses.push((is_release, FailureKind::Rejected));
    scene.change_pool("p", PoolFixture::deleted);
    scene.run(seconds(30));
    scene
}

#[test]
fn the_mark_of_a_listed_address_stays_true_while_its_pool_cannot_go() {
    let mut scene = stuck();
    scene.change_node("c", NodeFixture::not_ready);
    scene.run(seconds(5));
    assert_eq!((scene.home(ip(1)), scene.mark("c")), (Some("c"), None));
    scene.change_node("c", NodeFixture::ready);
    scene.run(seconds(5));
    assert_eq!((scene.home(ip(1)), scene.mark("c")), (Some("c"), Some("192.0.2.1")));
    assert_eq!((scene.mark("a"), scene.mark("b")), (None, None));
}

#[test]
fn a_listed_address_of_a_pool_that_cannot_go_makes_no_room() {
    let mut scene = stuck();
    scene.change_pool("p", |pool| pool.on("role=none"));
    for name in ["a", "b"] {
        scene.remove_node(name);
    }
    scene.cloud.place(ip(9), None);
    scene.set_pool(pool("q").ips([9]));
    let done = scene.run(seconds(120));
    assert_eq!((count(&done, is_unassign), scene.home(ip(1))), (0, Some("c")));
}

#[test]
fn an_address_that_a_failed_call_may_have_assigned_is_looked_for_before_it_is_given_back() {
    let unready = node("a").not_ready();
    let mut scene = scene().node(unready).pool(pool("p").wants(1).releasing()).settled();
    scene.run(seconds(60));
    scene.fault(is_assign, Fault::Although(FailureKind::Unavailable));
    scene.change_node("a", |node| node.ready());
    scene.until_begun(is_assign);
    scene.answer();
    scene.change_pool("p", PoolFixture::deleted);
    let done = scene.run(seconds(60));
    let order: Vec<_> = done.iter().filter(|one| is_unassign(one) || is_release(one)).collect();
    assert!(matches!(order[..], [off, back] if is_unassign(off) && is_release(back)), "{order:?}");
    assert!(scene.cloud.addresses.is_empty());
}
