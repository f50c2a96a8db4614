//! What deleted pools leave behind is taken by no other pool for its own.

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::Pool;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at, setup};

/// A pool that keeps the account in use.
fn with_another(scene: Scene) -> Scene {
    scene.nodes(["b"]).pool(pool("other").ips([5])).address(ip(5), Some("b"))
}

fn created(scene: &Scene) -> &[std::net::IpAddr] {
    &scene.stored("q").ledger.created
}

/// A project of the account's own, where new addresses are recognised.
fn with_project() -> Scene {
    scene_at(AccountSetup { project: Some("project".into()), ..setup() })
}

/// The addresses that the cloud makes, in order.
fn made(number: u8) -> std::net::IpAddr {
    [198, 51, 100, number].into()
}

#[test]
fn a_pool_reserves_nothing_before_a_listing_shows_what_a_deleted_pool_may_have_reserved() {
    for gone_before_the_answer in [true, false] {
        let mut scene = with_another(scene()).nodes(["a"]).pool(pool("p").wants(1));
        scene.fault(is_create, Fault::Lost);
        scene.until_begun(is_create);
        scene.cloud.refuses.push((is_list, FailureKind::Unavailable));
        if !gone_before_the_answer {
            scene.answer();
            scene.run(seconds(60));
        }
        scene.remove_pool("p");
        scene.set_pool(pool("q").wants(1));
        let done = scene.run(seconds(60));
        assert_eq!((count(&done, is_create), count(&done, is_ledger)), (0, 0));
        scene.cloud.refuses.clear();
        scene.run(seconds(120));
        assert_eq!(scene.home(made(1)), Some("a"), "it stays where it is");
        assert_eq!(created(&scene), [made(2)]);
    }
}

#[test]
fn an_address_that_is_reserved_for_a_pool_that_is_being_deleted_is_nobodys() {
    let mut scene = with_another(with_project()).pool(pool("p").wants(1));
    scene.until_begun(is_create);
    scene.remove_pool("p");
    scene.set_pool(pool("q").wants(1));
    assert_eq!(count(&scene.begin(), is_ledger), 0, "the answer is awaited");
    scene.answer();
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(60));
    assert_eq!(created(&scene), [made(2)]);
}

#[test]
fn a_reservation_of_a_deleted_pool_that_was_refused_delays_nobody() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Answer(FailureKind::Quota));
    scene.until_begun(is_create);
    scene.remove_pool("p");
    scene.set_pool(pool("q").wants(1));
    scene.settle();
    assert_eq!(created(&scene), [made(1)]);
}

#[test]
fn an_open_reservation_of_another_pool_takes_no_address_whose_answer_is_due() {
    let mut scene = with_another(with_project());
    scene = scene.pool(pool("p").wants(1)).pool(pool("q").wants(1));
    scene.until_begun(is_create);
    scene.fault(is_create, Fault::Answer(FailureKind::Unavailable));
    scene.answer_one(1);
    let (call, sent_at) = scene.held_back.remove(0);
    let result = scene.carry_out(&call);
    scene.remove_pool("p");
    assert!(count(&scene.run(seconds(9)), is_list) > 0, "listings show the address");
    assert_eq!(created(&scene), [] as [std::net::IpAddr; 0]);
    scene.finish(call, sent_at, result);
    scene.run(seconds(30));
    assert_eq!(created(&scene), [made(2)]);
}

#[test]
fn a_reservation_is_recognised_beside_one_whose_pool_was_deleted_meanwhile() {
    let mut scene = scene().nodes(["b"]).pool(pool("q").wants(1)).pool(pool("z").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.fault(is_create, Fault::Lost);
    scene.until_begun(is_create);
    scene.answer();
    scene.remove_pool("z");
    scene.run(seconds(60));
    assert_eq!((scene.home(made(1)), scene.home(made(2))), (Some("b"), None));
    assert_eq!((created(&scene), scene.reason("q")), (&[made(1)][..], &Reason::AllAssigned));
}

#[test]
fn an_address_that_no_pool_is_left_to_take_goes_to_the_reservation_that_is_open() {
    let mut scene = with_project().nodes(["b"]).pool(pool("q").wants(1)).pool(pool("z").wants(1));
    scene.fault(is_create, Fault::Dropped);
    scene.fault(is_create, Fault::Lost);
    scene.until_begun(is_create);
    scene.answer();
    scene.remove_pool("z");
    scene.run(seconds(60));
    assert_eq!((created(&scene), scene.reason("q")), (&[made(1)][..], &Reason::AllAssigned));
}

#[test]
fn a_pool_that_waits_for_a_listing_says_so_and_tells_of_an_account_that_stays_silent() {
    let mut scene = with_another(scene()).nodes(["a", "c"]).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Lost);
    scene.until_begun(is_create);
    scene.answer();
    scene.cloud.refuses.push((is_list, FailureKind::Unavailable));
    scene.remove_pool("p");
    scene.set_pool(pool("q").wants(1));
    scene.run(seconds(20));
    assert_eq!(scene.reason("q"), &Reason::Creating);
    scene.run(seconds(7200));
    assert_eq!(scene.reason("q").word(), "CloudUnavailable", "once that is worth telling");
}

#[test]
fn a_reservation_of_another_family_is_not_waited_for() {
    let scene = with_another(scene()).pool(pool("p").ips6([1]).wants(2));
    let mut scene = scene.address(ip6(1), None);
    scene.fault(is_create, Fault::Lost);
    scene.until_begun(is_create);
    scene.answer();
    scene.remove_pool("p");
    scene.set_pool(pool("q").wants(1));
    scene.settle();
    assert_eq!(created(&scene), [made(2)]);
}

#[test]
fn a_reservation_of_a_deleted_pool_is_awaited_in_the_next_term_too() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1));
    scene.until_begun(is_create);
    scene.remove_pool("p");
    scene.held_back.clear();
    scene.world.take_over(scene.now + seconds(1));
    scene.set_pool(pool("q").wants(1));
    let done = scene.run(seconds(2));
    assert_eq!((count(&done, is_list), count(&done, is_ledger)), (1, 0));
    scene.cloud.place(ip(9), Some("m-a"));
    scene.run(seconds(60));
    assert_eq!((scene.home(ip(9)), created(&scene)), (Some("a"), &[made(1)][..]));
}

#[test]
fn an_answer_frees_no_machine_of_a_reservation_of_the_same_moment() {
    let mut scene = scene().nodes(["a", "b"]).address(ip(1), None);
    scene = scene.pool(pool("p").wants(1)).pool(pool("q").wants(1));
    scene.until_begun(is_create);
    assert_eq!(scene.held_back.len(), 2, "both reservations are under way");
    scene.answer_one(0);
    scene.remove_pool("q");
    scene.set_pool(pool("r").ips([1]));
    assert!(scene.begin().iter().any(is_list), "an address is read before it is moved");
    while scene.held_back.len() > 1 {
        scene.answer_one(1);
    }
    assert_eq!(moves(&scene.begin()), [], "b gets the address that is being reserved");
}

/// The address of the deleted pool `p` is gone, and the provider hands out its number again, to a
/// reservation of `q` without an answer.
fn handed_out_again(mut scene: Scene) -> Scene {
    scene.cloud.addresses.remove(&made(1));
    scene.run(seconds(3600));
    scene.cloud.made = 0;
    scene.fault(is_create, Fault::Lost);
    scene.set_pool(pool("q").wants(1));
    scene.run(seconds(600));
    scene
}

#[test]
fn a_number_that_the_provider_hands_out_again_is_recognised() {
    for marks_new in [false, true] {
        let scene = with_another(scene_at(able(|one| one.marks_new = marks_new))).nodes(["a"]);
        let mut scene = scene.pool(pool("p").wants(1)).settled();
        scene.remove_pool("p");
        let scene = handed_out_again(scene);
        assert_eq!((created(&scene), scene.cloud.made), (&[made(1)][..], 1));
    }
}

#[test]
fn the_number_of_a_released_address_is_recognised_when_it_is_handed_out_again() {
    let scene = with_another(scene()).nodes(["a"]);
    let mut scene = scene.pool(pool("p").wants(1).releasing()).settled();
    scene.change_pool("p", PoolFixture::deleted);
    scene.until_begun(is_release);
    scene.answer();
    // The object is gone before the answer to the write that removes the finalizer.
    scene.until_begun(is_ledger);
    scene.remove_pool("p");
    scene.answer();
    let scene = handed_out_again(scene);
    assert_eq!((created(&scene), scene.cloud.made), (&[made(1)][..], 1));
}

#[test]
fn a_listing_of_another_account_shows_no_orphan_of_an_unknown_account() {
    let mut scene = scene().account("second", setup()).nodes(["a", "b"]);
    scene.set_pool(pool("other").ips([5]).in_account("second"));
    scene.cloud.place(ip(5), Some("m-b"));
    scene.set_pool(pool("idle").ips([6]).on("no=where"));
    scene.cloud.place(ip(6), None);
    // The ledger of an earlier version names no account, and the spec is invalid now.
    scene.set_pool(pool("p").with_intent(None).invalid());
    scene.run(seconds(30));
    let is_here = |action: &Action| {
        is_list(action) && action.account().is_some_and(|id| *id == ACCOUNT.into())
    };
    scene.cloud.refuses.push((is_here, FailureKind::Unavailable));
    scene.remove_pool("p");
    scene.cloud.place(ip(9), None);
    scene.set_pool(pool("q").wants(1));
    assert_eq!(count(&scene.run(seconds(600)), is_ledger), 0);
}

/// A pool whose reservation is under way, as it is stored.
fn reserving() -> (Scene, Pool) {
    let mut scene = with_another(scene()).nodes(["a"]).pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Dropped);
    scene.until_begun(is_create);
    let stored = Pool { uid: "restored".into(), ..scene.stored("p").clone() };
    (scene, stored)
}

#[test]
fn a_reservation_of_a_pool_that_is_restored_and_deleted_again_is_awaited_as_before() {
    let (mut scene, restored) = reserving();
    scene.answer();
    scene.remove_pool("p");
    scene.set_pool(restored);
    scene.remove_pool("p");
    scene.set_pool(pool("q").wants(1));
    let done = scene.run(seconds(4));
    assert_eq!(count(&done, is_ledger), 0, "the call may still take effect");
}

#[test]
fn a_restored_pool_finds_the_result_of_its_reservation() {
    let (mut scene, restored) = reserving();
    scene.cloud.faults.clear();
    scene.remove_pool("p");
    scene.answer();
    scene.set_pool(restored);
    scene.run(seconds(600));
    assert_eq!((&scene.stored("p").ledger.created[..], scene.cloud.made), (&[made(1)][..], 1));
}
