//! Reserving addresses: the intent is written, then the call is sent, then the result is recorded.

use pontoon_core::action::{Action, AddressAction, Done, FailureKind, LedgerWrite};
use pontoon_core::addresses::AccountSetup;
use pontoon_core::addresses::verdict::{Reason, State};
use pontoon_core::model::Intent;

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at, setup};

/// Nodes `a` and `b`, and a pool that wants `wanted` new addresses.
pub fn wanting(wanted: usize) -> Scene {
    scene().nodes(["a", "b"]).pool(pool("p").wants(wanted))
}

/// The ledger's number of addresses, and the targets of its intents.
pub fn ledger(scene: &Scene) -> (usize, Vec<Option<&str>>) {
    let ledger = &scene.stored("p").ledger;
    let target = |intent: &'_ Intent| intent.target.is_some();
    let targets = ledger.intents.iter().filter(|intent| target(intent)).count();
    let loose = ledger.intents.len() - targets;
    let names = ledger.intents.iter().filter_map(|intent| intent.target.as_ref());
    let names = names.map(|target| Some(&*target.0)).chain(std::iter::repeat_n(None, loose));
    (ledger.created.len(), names.collect())
}

#[test]
fn an_intent_is_written_before_the_reservation_is_sent_and_never_in_the_same_plan() {
    let mut scene = wanting(1);
    scene.begin();
    scene.answer();
    let planned = scene.begin();
    assert_eq!((count(&planned, is_ledger), count(&planned, is_create)), (1, 0));
    assert_eq!(scene.planned(), [], "nothing is sent before it is written");
    scene.answer();
    assert_eq!(ledger(&scene), (0, vec![Some("m-a")]));
    let planned = scene.begin();
    assert_eq!((creations(&planned), count(&planned, is_ledger)), (vec![Some("m-a")], 0));
    scene.answer();
    let planned = scene.begin();
    assert_eq!(count(&planned, is_ledger), 1, "the address is recorded");
    scene.answer();
    scene.settle();
    assert_eq!(ledger(&scene), (1, vec![]));
    assert_eq!(scene.mark("a"), Some("198.51.100.1"));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn listed_addresses_are_used_and_only_the_rest_is_reserved() {
    let mut scene = wanting(3).address(ip(1), None);
    scene.change_pool("p", |pool| pool.ips([1]));
    let done = scene.settle();
    assert_eq!((moves(&done)[0], creations(&done)), ((ip(1), "a"), vec![Some("m-b"), None]));
    assert_eq!(scene.states("p"), [State::Active, State::Active, State::Unassigned]);
}

#[test]
fn without_a_node_addresses_are_reserved_by_region_at_once() {
    let mut scene = scene().pool(pool("p").wants(2));
    assert_eq!(creations(&scene.settle()), [None, None]);
    assert_eq!(scene.states("p"), [State::Unassigned, State::Unassigned]);
    scene.set_node(node("a"));
    assert_eq!(moves(&scene.settle()).len(), 1);
}

#[test]
fn without_a_region_nothing_is_reserved_and_that_is_said() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1).without_region());
    assert_eq!(count(&scene.settle(), is_change), 0);
    assert_eq!(scene.reason("p"), &Reason::RegionMissing);
    let mut scene = scene_at(able(|one| one.region_required = false))
        .nodes(["a"])
        .pool(pool("p").wants(1).without_region());
    assert_eq!(creations(&scene.settle()), [Some("m-a")]);
}

#[test]
fn an_address_that_is_still_on_its_way_to_its_node_is_not_marked() {
    let mut scene = wanting(1);
    let create = scene.until_begun(is_create);
    scene.held_back.clear();
    let made = scene.carry_out(&create).unwrap();
    let Done::Created { ip, .. } = made else { panic!("{made:?}") };
    scene.cloud.place(ip, None);
    scene.finish(create, scene.now, Ok(Done::Created { ip, pending: Some("op".into()) }));
    scene.settle();
    assert_eq!((scene.states("p"), scene.mark("a")), (vec![State::InProgress], None));
    scene.cloud.place(ip, Some("m-a"));
    scene.run(seconds(2));
    assert_eq!((scene.states("p"), scene.mark("a")), (vec![State::Active], Some("198.51.100.1")));
}

#[test]
fn a_listing_that_is_late_to_show_a_new_address_is_ignored() {
    let mut scene = wanting(1);
    let create = scene.until_begun(is_create);
    scene.held_back.clear();
    let sent_at = scene.now;
    let result = scene.carry_out(&create);
    scene.pass(seconds(1));
    scene.finish(create, sent_at, result);
    let list = Action::Address(AddressAction::List {
        account: ACCOUNT.into(),
        families: vec![pontoon_core::model::Family::V4],
        confirms: false,
        scope: Default::default(),
    });
    scene.world.begin(&list);
    scene.pass(seconds(1));
    scene.finish(list, scene.now, Ok(Done::Listed(vec![])));
    let done = scene.settle();
    assert_eq!((count(&done, is_read), scene.states("p")), (0, vec![State::Active]));
}

#[test]
fn a_lost_answer_is_found_by_the_target() {
    let mut scene = wanting(1);
    scene.fault(is_create, Fault::Lost);
    scene.run(seconds(30));
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_call_that_was_lost_on_its_way_is_sent_again_after_a_listing_showed_nothing() {
    let mut scene = wanting(1);
    scene.fault(is_create, Fault::Dropped);
    let done = scene.run(seconds(30));
    assert_eq!((count(&done, is_create), scene.cloud.made), (2, 1));
    let sent = done.iter().rposition(is_create).unwrap();
    assert!(done[..sent].iter().rposition(is_list) > done.iter().position(is_create));
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn the_node_of_a_reservation_in_doubt_is_kept_for_it() {
    let mut scene = wanting(1).address(ip(1), None);
    scene.fault(is_create, Fault::Lost);
    scene.settle();
    scene.set_pool(pool("q").ips([1]));
    assert_eq!(moves(&scene.run(seconds(30))), [(ip(1), "b")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_machine_that_an_address_is_being_reserved_on_is_left_alone_though_the_pool_is_gone() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1)).address(ip(1), None);
    scene.until_begun(is_create);
    scene.remove_pool("p");
    scene.set_pool(pool("q").ips([1]));
    assert_eq!(moves(&scene.begin()), []);
    scene.answer();
    assert_eq!(moves(&scene.run(seconds(30))), [], "a has what was reserved");
}

#[test]
fn a_machine_whose_reservation_had_no_answer_is_left_alone_though_the_pool_is_gone() {
    for gone_before_the_answer in [true, false] {
        let mut scene = scene().nodes(["a"]).pool(pool("p").wants(1)).address(ip(1), None);
        scene.fault(is_create, Fault::Dropped);
        scene.until_begun(is_create);
        if !gone_before_the_answer {
            scene.answer();
        }
        scene.remove_pool("p");
        scene.answer();
        scene.set_pool(pool("q").ips([1]));
        assert_eq!(moves(&scene.run(seconds(9))), [], "the call may still take effect");
        assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "a")]);
    }
}

#[test]
fn an_address_that_was_there_before_is_never_adopted() {
    let project = AccountSetup { project: Some("project".into()), ..setup() };
    let mut scene = scene_at(project).pool(pool("p").wants(1)).address(ip(9), None);
    scene.cloud.addresses.get_mut(&ip(9)).unwrap().project = Some("project".into());
    scene.fault(is_create, Fault::Dropped);
    scene.run(seconds(30));
    assert_eq!(
        scene.stored("p").ledger.created,
        ["198.51.100.1".parse::<std::net::IpAddr>().unwrap()]
    );
}

#[test]
fn there_are_never_more_addresses_and_intents_than_wanted() {
    let mut scene = wanting(3);
    for fault in [Fault::Lost, Fault::Dropped, Fault::Answer(FailureKind::Unavailable)] {
        scene.fault(is_create, fault);
    }
    for _ in 0..60 {
        scene.run(seconds(1));
        let ledger = &scene.stored("p").ledger;
        assert!(ledger.created.len() + ledger.intents.len() <= 3, "{ledger:?}");
        assert!(scene.cloud.made <= 3);
    }
    assert_eq!(ledger(&scene), (3, vec![]));
}

#[test]
fn an_intent_that_is_no_longer_wanted_is_taken_out_unsent() {
    let mut scene = wanting(1).address(ip(1), None);
    scene.until_begun(is_ledger);
    scene.change_pool("p", |pool| pool.ips([1]));
    scene.answer();
    let seen = scene.stored("p").clone();
    scene.world.set_pool(seen.ips([1]));
    scene.settle();
    assert_eq!((scene.cloud.made, ledger(&scene)), (0, (0, vec![])));
}

#[test]
fn wanting_fewer_while_an_intent_is_ready_takes_it_out() {
    let mut scene = wanting(2);
    scene.until_begun(is_ledger);
    scene.answer();
    assert_eq!(ledger(&scene).1.len(), 2);
    scene.change_pool("p", |pool| pool.wants(1));
    scene.settle();
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

#[test]
fn wanting_fewer_while_answers_are_out_reserves_no_more_than_were_sent() {
    let mut scene = wanting(2);
    scene.fault(is_create, Fault::Dropped);
    scene.fault(is_create, Fault::Lost);
    scene.settle();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.run(seconds(30));
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

#[test]
fn an_intent_whose_node_may_no_longer_have_it_is_aimed_at_another() {
    let mut scene = wanting(1);
    scene.until_begun(is_ledger);
    scene.answer();
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(creations(&scene.settle()), [Some("m-b")]);
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

#[test]
fn machines_with_room_for_several_get_new_addresses_too() {
    let mut scene = scene_at(able(|one| one.per_machine = 3))
        .nodes(["a"])
        .pool(pool("p").ips([1]).wants(3))
        .address(ip(1), Some("a"));
    let done = scene.run(seconds(10));
    assert_eq!(scene.cloud.made, 2);
    assert!(count(&done, is_ledger) <= 6, "{done:#?}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_reservation_that_the_cloud_rejects_is_told_until_one_works_also_while_it_is_tried() {
    let mut scene = wanting(1);
    for _ in 0..100 {
        scene.fault(is_create, Fault::Answer(FailureKind::Rejected));
    }
    scene.settle();
    for _ in 0..40 {
        assert!(matches!(scene.reason("p"), Reason::CreateRejected(..)), "{:?}", scene.reason("p"));
        assert!(scene.verdict("p").creation_error.is_some());
        scene.pass(seconds(1));
        scene.begin();
        scene.answer();
    }
    scene.cloud.faults.clear();
    scene.run(seconds(120));
    assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
    assert_eq!(scene.verdict("p").creation_error, None);
}

#[test]
fn a_region_that_is_corrected_is_the_one_that_is_asked_for_next() {
    let mut scene = scene().pool(pool("p").wants(1));
    scene.fault(is_create, Fault::Answer(FailureKind::Rejected));
    scene.settle();
    assert!(matches!(scene.reason("p"), Reason::CreateRejected(..)), "{:?}", scene.reason("p"));
    scene.change_pool("p", |pool| pool.ask(|request| request.region = Some("fra1".into())));
    let done = scene.run(seconds(5));
    let asked = done.iter().filter_map(|action| match action {
        Action::Address(AddressAction::Create { intent, .. }) => Some(&*intent.region),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), ["fra1"]);
    assert_eq!((scene.cloud.made, ledger(&scene)), (1, (1, vec![])));
}

#[test]
fn a_full_account_is_told_and_tried_again_ever_more_slowly() {
    let mut scene = wanting(1);
    for _ in 0..100 {
        scene.fault(is_create, Fault::Answer(FailureKind::Quota));
    }
    scene.settle();
    assert!(matches!(scene.reason("p"), Reason::QuotaExceeded(..)), "{:?}", scene.reason("p"));
    let done = scene.run(seconds(30));
    assert_eq!(count(&done, is_create), 4, "at 1, 3, 7, 15 s");
    scene.cloud.faults.clear();
    scene.run(seconds(60));
    assert_eq!((scene.cloud.made, scene.reason("p")), (1, &Reason::AllAssigned));
}

#[test]
fn a_throttled_reservation_stays_ready() {
    let mut scene = wanting(1);
    scene.fault(is_create, super::cloud::throttled(20));
    scene.settle();
    assert_eq!(count(&scene.run(seconds(19)), |action| !action.changes_cluster()), 0);
    let done = scene.run(seconds(5));
    assert_eq!((creations(&done), scene.cloud.made), (vec![Some("m-a")], 1));
}

#[test]
fn addresses_that_were_reserved_are_disabled_before_listed_ones() {
    let mut scene = wanting(2).address(ip(1), None);
    scene.change_pool("p", |pool| pool.ips([1]));
    scene.settle();
    scene.change_pool("p", |pool| pool.wants(1));
    scene.settle();
    assert_eq!(scene.states("p"), [State::Active, State::Disabled]);
    scene.change_pool("p", |pool| pool.wants(2));
    assert_eq!(count(&scene.settle(), is_create), 0, "it is still there");
    assert_eq!(scene.states("p"), [State::Active, State::Active]);
}

#[test]
fn many_addresses_are_reserved_ten_at_a_time() {
    let mut scene = scene().pool(pool("p").wants(25));
    let intents = |actions: &[Action]| {
        let most = actions.iter().filter_map(|action| match action {
            Action::Ledger(LedgerWrite { ledger, .. }) => Some(ledger.intents.len()),
            _ => None,
        });
        most.max()
    };
    assert_eq!(intents(&scene.settle()), Some(10));
    assert_eq!((scene.cloud.made, ledger(&scene)), (25, (25, vec![])));
}

#[test]
fn a_reservation_that_has_to_wait_for_a_cool_off_is_not_written_down_before() {
    let mut scene = scene().nodes(["a", "b", "c"]);
    scene.set_pool(pool("p").wants(2).cooling_off(30));
    scene.until_begun(is_create);
    scene.begin();
    assert_eq!(scene.stored("p").ledger.intents.len(), 1);
    scene.answer();
    let done = scene.run(seconds(20));
    assert_eq!((count(&done, is_create), scene.stored("p").ledger.intents.len()), (0, 0));
    let done = scene.run(seconds(20));
    assert_eq!((count(&done, is_create), scene.cloud.made), (1, 2));
}
