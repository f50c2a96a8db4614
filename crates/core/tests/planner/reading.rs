//! Knowledge about addresses and its age, and the actions that wait for it.

use pontoon_core::action::{Action, AddressAction, Done, Failure, FailureKind};
use pontoon_core::addresses::Knowledge;
use pontoon_core::addresses::verdict::{Note, Reason, State};
use pontoon_core::model::{Family, Pool, Sighting};

use super::cloud::Fault;
use super::fixture::*;
use super::scene::{Scene, scene};

/// Address 1 on node `a`, and a second node.
fn at_rest() -> Scene {
    scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a")).settled()
}

fn listed(holders: &[(u8, Option<&str>)]) -> Result<Done, Failure> {
    let seen = |node: &Option<&str>| Sighting {
        holder: node.map(|node| machine(node).as_str().into()),
        ..Sighting::default()
    };
    Ok(Done::Listed(holders.iter().map(|(n, node)| (ip(*n), seen(node))).collect()))
}

fn list() -> Action {
    Action::Address(AddressAction::List {
        account: ACCOUNT.into(),
        families: vec![Family::V4],
        confirms: false,
        scope: Default::default(),
    })
}

#[test]
fn nothing_is_planned_before_nodes_and_every_kind_of_pool_were_read() {
    use pontoon_core::plan::Planner;
    use pontoon_core::world::{Settings, Source, World};
    let mut world = World::new(Settings::default(), &[&POOL, &ALLOCATION, &RECORD_SET]);
    let mut planner = Planner::default();
    world.set_account(ACCOUNT.into(), Ok(super::scene::setup()));
    world.set_pool(pool("p").ips([1]));
    for source in [Source::Nodes, Source::Objects(&POOL), Source::Objects(&ALLOCATION)] {
        assert_eq!(planner.next(&mut world, at(0)).actions, []);
        world.source_read(source);
    }
    assert_eq!(planner.next(&mut world, at(0)).actions, [list()]);
}

#[test]
fn before_the_first_listing_nothing_is_changed() {
    let mut scene = scene()
        .node(node("a").marked("192.0.2.1"))
        .nodes(["b"])
        .pool(pool("p").ips([1]).wants(2))
        .address(ip(1), None);
    assert_eq!(scene.begin(), [list()]);
    assert_eq!(scene.reason("p"), &Reason::Reading);
    assert_eq!(scene.states("p"), [State::Unknown]);
    scene.change_node("b", |node| node.labelled("any", "thing"));
    assert_eq!(scene.planned(), [], "nor while it is under way");
}

#[test]
fn a_listing_that_fails_changes_nothing_and_is_repeated_ever_more_slowly() {
    let mut scene = scene()
        .node(node("a").marked("192.0.2.1"))
        .pool(pool("p").ips([1]))
        .address(ip(1), Some("a"));
    for _ in 0..3 {
        scene.fault(is_list, Fault::Answer(FailureKind::Unavailable));
    }
    let done = scene.run(seconds(6));
    assert_eq!((done.len(), count(&done, is_list)), (3, 3), "at 0, 1 and 3 s: {done:#?}");
    assert!(matches!(scene.reason("p"), Reason::CloudUnavailable(_)));
    let done = scene.run(seconds(2));
    assert_eq!((done.len(), count(&done, is_list)), (1, 1), "at 7 s: {done:#?}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn refused_credentials_are_tried_again_ever_more_slowly() {
    let mut scene = at_rest();
    scene.restart(seconds(0));
    for _ in 0..4 {
        scene.fault(is_list, Fault::Answer(FailureKind::Refused));
    }
    let done = scene.run(seconds(8));
    assert_eq!(count(&done, is_list), 4, "at 0, 1, 3 and 7 s");
    assert!(matches!(scene.reason("p"), Reason::CredentialsRefused(_)));
}

#[test]
fn an_account_is_listed_once_a_minute_and_nothing_else_happens_at_rest() {
    let mut scene = at_rest();
    let done = scene.run(seconds(600));
    assert_eq!((done.len(), count(&done, is_list)), (10, 10));
}

#[test]
fn nothing_is_sent_before_the_previous_leaders_calls_are_over() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.restart(seconds(3));
    assert_eq!(marks(&scene.settle()), [("a", None)], "a mark is no call to a cloud");
    assert_eq!(scene.wake, Some(scene.world.open_from()));
    assert_eq!(moves(&scene.run(seconds(4))), [(ip(1), "b")]);
}

#[test]
fn a_listing_that_was_sent_before_an_outcome_does_not_override_it() {
    let mut scene = at_rest();
    scene.pass(seconds(100));
    let sent_at = scene.now;
    scene.world.begin(&list());
    scene.pass(seconds(1));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    assert_eq!(scene.home(ip(1)), Some("b"));
    scene.pass(seconds(20));
    scene.finish(list(), sent_at, listed(&[(1, Some("a"))]));
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn a_listing_that_is_late_to_show_our_own_move_is_ignored() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    scene.pass(seconds(2));
    scene.world.begin(&list());
    scene.finish(list(), scene.now, listed(&[(1, Some("a"))]));
    assert_eq!(moves(&scene.settle()), []);
    assert_eq!(scene.states("p"), [State::Active]);
    scene.pass(seconds(6));
    scene.world.begin(&list());
    scene.finish(list(), scene.now, listed(&[(1, Some("a"))]));
    scene.settle();
    assert_eq!(scene.states("p"), [State::NoMatch], "later it is the truth");
}

#[test]
fn an_older_listing_does_not_override_a_newer_one_that_said_nothing_new() {
    let mut scene = at_rest();
    scene.pass(seconds(100));
    let (older, newer) = (scene.now, scene.now + seconds(10));
    scene.pass(seconds(20));
    scene.finish(list(), newer, listed(&[(1, Some("a"))]));
    scene.finish(list(), older, listed(&[(1, None)]));
    assert_eq!(moves(&scene.planned()), []);
}

#[test]
fn an_address_that_a_person_moved_away_is_brought_back() {
    let mut scene = at_rest();
    scene.cloud.place(ip(1), None);
    assert_eq!(moves(&scene.run(seconds(72))), [(ip(1), "a")]);
}

#[test]
fn an_address_that_a_person_moved_to_another_matching_node_stays_there() {
    let mut scene = at_rest();
    scene.cloud.place(ip(1), Some("m-b"));
    let done = scene.run(seconds(61));
    assert_eq!(moves(&done), []);
    assert_eq!(marks(&done), [("a", None), ("b", Some("192.0.2.1"))]);
}

#[test]
fn an_address_that_a_listing_leaves_out_is_read_and_nothing_else_is_done() {
    let mut scene = at_rest();
    scene.cloud.hidden.push(ip(1));
    scene.pass(seconds(60));
    scene.begin();
    scene.answer();
    let planned = scene.begin();
    assert_eq!(
        planned,
        [Action::Address(AddressAction::Read { account: ACCOUNT.into(), ip: ip(1) })]
    );
    assert_eq!(scene.verdict("p").addresses[0].note, Some(Note::Missing));
    assert_eq!(scene.planned(), [], "it is being read");
    scene.answer();
    assert_eq!(scene.settle(), []);
    assert_eq!((scene.states("p"), scene.mark("a")), (vec![State::Active], Some("192.0.2.1")));
}

#[test]
fn a_node_whose_address_a_listing_leaves_out_is_not_free() {
    let mut scene = scene()
        .nodes(["a"])
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]))
        .address(ip(1), Some("a"))
        .address(ip(2), None)
        .settled();
    scene.cloud.hidden.push(ip(1));
    scene.fault(is_read, Fault::Answer(FailureKind::Unavailable));
    let done = scene.run(seconds(62));
    assert_eq!(count(&done, is_read), 1);
    assert_eq!(moves(&done), []);
}

#[test]
fn only_a_direct_answer_makes_an_address_gone() {
    let mut scene = at_rest();
    scene.cloud.addresses.remove(&ip(1));
    scene.fault(is_read, Fault::Answer(FailureKind::Unavailable));
    scene.fault(is_read, Fault::Dropped);
    scene.run(seconds(61));
    assert_eq!(scene.states("p"), [State::Unknown]);
    assert_eq!(scene.mark("a"), Some("192.0.2.1"), "an error is no answer");
    let done = scene.run(seconds(20));
    assert_eq!(count(&done, is_read), 2, "one more failed: {done:#?}");
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
    assert_eq!(scene.mark("a"), None);
}

#[test]
fn a_listed_address_that_never_existed_is_read_and_told() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2])).address(ip(2), None);
    let done = scene.settle();
    assert_eq!((count(&done, is_list), count(&done, is_read)), (1, 1));
    assert_eq!(moves(&done), [(ip(2), "a")]);
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
    assert_eq!(scene.verdict("p").addresses[0].note, Some(Note::Gone));
}

#[test]
fn an_address_that_appears_after_all_is_used() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).settled();
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
    scene.cloud.place(ip(1), None);
    assert_eq!(moves(&scene.run(seconds(61))), [(ip(1), "a")]);
}

#[test]
fn a_late_listing_does_not_bring_back_an_address_that_is_gone() {
    let mut scene = at_rest();
    let sent_at = scene.now;
    scene.cloud.addresses.remove(&ip(1));
    scene.run(seconds(70));
    assert_eq!(scene.reason("p"), &Reason::AddressNotFound(ip(1)));
    scene.finish(list(), sent_at + seconds(1), listed(&[(1, None)]));
    assert_eq!(moves(&scene.planned()), []);
}

#[test]
fn a_late_not_found_does_not_override_a_later_listing() {
    let mut scene = at_rest();
    scene.cloud.hidden.push(ip(1));
    scene.pass(seconds(60));
    scene.begin();
    scene.answer();
    let sent_at = scene.now;
    let read = scene.begin().remove(0);
    scene.held_back.clear();
    scene.pass(seconds(2));
    scene.world.begin(&list());
    scene.finish(list(), scene.now, listed(&[(1, Some("a"))]));
    scene.finish(read, sent_at, Ok(Done::Read(None)));
    scene.settle();
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn a_pool_that_names_an_address_never_heard_of_asks_for_a_listing_at_once() {
    let mut scene = at_rest();
    scene.cloud.place(ip(7), None);
    scene.pass(seconds(10));
    scene.set_pool(pool("q").ips([7]));
    let done = scene.settle();
    assert_eq!((count(&done, is_list), moves(&done)), (1, vec![(ip(7), "b")]));
}

#[test]
fn the_first_pool_with_an_ipv6_address_has_them_listed_too() {
    let mut scene = at_rest().address(ip6(1), None);
    scene.cloud.place(ip6(9), Some("m-a"));
    scene.set_pool(pool("six").ips6([1]));
    let done = scene.settle();
    assert_eq!(moves(&done), [(ip6(1), "b")], "a holds a stranger's IPv6 address");
    let both = |action: &Action| matches!(action, Action::Address(AddressAction::List { families, .. }) if families.len() == 2);
    assert_eq!(count(&done, both), 1);
}

#[test]
fn an_address_that_the_cloud_is_working_on_is_left_alone_and_watched() {
    let mut scene = at_rest();
    scene.cloud.addresses.get_mut(&ip(1)).unwrap().busy = true;
    scene.run(seconds(61));
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(10));
    assert_eq!(moves(&done), []);
    assert_eq!(count(&done, is_list), 5, "every two seconds");
    assert_eq!(scene.verdict("p").addresses[0].note, Some(Note::Busy));
    scene.cloud.addresses.get_mut(&ip(1)).unwrap().busy = false;
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "b")]);
}

#[test]
fn what_was_known_in_an_earlier_term_does_not_count() {
    let mut scene = at_rest();
    let open_from = scene.now + seconds(3);
    scene.world.take_over(open_from);
    scene.planner = Default::default();
    let knowledge = scene.world.account(&ACCOUNT.into()).unwrap();
    assert!(knowledge.address(ip(1)).is_none_or(|one| one.knowledge == Knowledge::Unknown));
    scene.cloud.place(ip(1), Some("m-b"));
    let done = scene.run(seconds(4));
    assert_eq!((count(&done, is_list), moves(&done)), (1, vec![]));
}

#[test]
fn a_read_that_is_throttled_holds_back_reads_and_no_failover() {
    let mut scene = at_rest();
    scene.pass(seconds(60));
    scene.fault(is_list, super::cloud::throttled(30));
    assert_eq!(count(&scene.settle(), is_list), 1);
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(29));
    assert_eq!((moves(&done), count(&done, is_list)), (vec![(ip(1), "b")], 0));
    assert_eq!(count(&scene.run(seconds(2)), is_list), 1);
}

#[test]
fn a_direct_read_that_is_throttled_waits_as_long_as_it_is_told() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1]));
    scene.fault(is_read, super::cloud::throttled(30));
    let done = scene.run(seconds(29));
    assert_eq!(count(&done, is_read), 1);
    assert_eq!(count(&scene.run(seconds(2)), is_read), 1);
}

#[test]
fn a_move_is_confirmed_although_routine_listings_are_held_back_for_an_hour() {
    let mut scene = at_rest();
    scene.pass(seconds(60));
    scene.fault(is_list, super::cloud::held_back(3600));
    assert_eq!(count(&scene.settle(), is_list), 1);
    assert_eq!(count(&scene.run(seconds(600)), is_list), 0, "it waits as long as it is told");
    scene.fault(is_assign, Fault::Slow);
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    // Listings that confirm are sometimes held back too, and soon sent again.
    scene.fault(is_list, super::cloud::held_back(3600));
    assert_eq!(count(&scene.run(seconds(2)), is_list), 1);
    scene.cloud.work();
    let confirms = |action: &Action| {
        matches!(action, Action::Address(AddressAction::List { confirms: true, .. }))
    };
    assert_eq!(count(&scene.run(seconds(10)), confirms), 1);
    assert_eq!(scene.states("p"), [State::Active]);
    assert_eq!(scene.mark("b"), Some("192.0.2.1"));
}

#[test]
fn pacing_is_not_told_as_a_limit_that_is_used_up() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    let paced = FailureKind::HeldBack { wait: seconds(9), pacing: true };
    scene.fault(is_assign, Fault::Answer(paced));
    scene.settle();
    assert!(matches!(scene.reason("p"), Reason::Pacing(_)), "{:?}", scene.reason("p"));
    assert_eq!(moves(&scene.run(seconds(10))), [(ip(1), "b")]);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn an_account_is_listed_at_the_shortest_interval_that_a_pool_asks_for() {
    let every = |interval: u64| {
        move |pool: Pool| pool.ask(|request| request.reread = Some(seconds(interval)))
    };
    let mut scene = scene().nodes(["a"]).pool(every(300)(pool("p").ips([1]))).settled();
    let listings =
        |scene: &mut Scene| scene.run(seconds(600)).iter().filter(|one| is_list(one)).count();
    assert_eq!(listings(&mut scene), 2);
    scene.set_pool(every(5)(pool("q").ips([2])));
    // A listing at once reads the new address.
    assert_eq!(listings(&mut scene), 121);
    scene.change_pool("q", every(200));
    assert_eq!(listings(&mut scene), 3);
    scene.remove_pool("q");
    assert_eq!(listings(&mut scene), 2);
}

#[test]
fn each_listing_counts_as_a_pass_for_a_pool_with_an_interval_of_its_own() {
    for (interval, planned) in [(Some(seconds(30)), true), (None, false)] {
        let asked = pool("p").ips([1]).ask(|request| request.reread = interval);
        let mut scene = scene().nodes(["a"]).pool(asked).address(ip(1), Some("a")).settled();
        scene.pass(seconds(61));
        assert!(scene.begin().iter().any(is_list));
        scene.answer();
        assert_eq!(scene.plan().verdicts.contains_key(&key("p")), planned, "{interval:?}");
    }
}
