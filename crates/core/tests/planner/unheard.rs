//! Outages of a provider: reports to pools, and the time of the next attempt.

use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Done, FailureKind, RecordAction};
use pontoon_core::addresses::verdict::{Reason, State};
use pontoon_core::model::{Family, Pool, RecordChange, Site};

use super::cloud::{Fault, held_back, throttled};
use super::fixture::*;
use super::scene::{Scene, scene};

/// Address 1 on `a`, address 2 on `b`, each of a separate pool; `c` is free.
fn at_rest() -> Scene {
    scene()
        .nodes(["a", "b", "c"])
        .pool(pool("p").ips([1]))
        .pool(pool("q").ips([2]))
        .address(ip(1), Some("a"))
        .address(ip(2), Some("b"))
        .settled()
}

fn calls_cloud(action: &Action) -> bool {
    action.account().is_some()
}

/// Makes every further call to the provider fail, with the given faults in turn.
fn goes_wrong(scene: &mut Scene, faults: &[Fault]) {
    for fault in faults.iter().cycle().take(1000) {
        scene.fault(calls_cloud, fault.clone());
    }
}

fn is_well(scene: &mut Scene) {
    scene.cloud.faults.clear();
}

fn refused() -> Fault {
    Fault::Answer(FailureKind::Refused)
}

fn unavailable() -> Fault {
    Fault::Answer(FailureKind::Unavailable)
}

/// Runs for a while; returns each new reason of a pool, with its time.
fn told(scene: &mut Scene, pool: &str, time: Duration) -> Vec<(Time, Reason)> {
    let (end, mut said) = (scene.now + time, vec![(scene.now, scene.reason(pool).clone())]);
    while scene.now < end {
        let next = scene.wake.filter(|wake| *wake > scene.now && *wake < end);
        scene.now = next.unwrap_or(end);
        scene.settle();
        if said.last().is_none_or(|(_, last)| last != scene.reason(pool)) {
            said.push((scene.now, scene.reason(pool).clone()));
        }
    }
    said.remove(0);
    said
}

#[test]
fn refused_credentials_are_told_to_a_pool_at_rest_by_the_first_listing_once_and_until_one_works() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[refused()]);
    let said = told(&mut scene, "p", seconds(600));
    assert!(matches!(&said[..], [(_, Reason::CredentialsRefused(_))]), "{said:?}");
    assert!(matches!(scene.reason("q"), Reason::CredentialsRefused(_)));
    assert_eq!(scene.verdict("p").is_ready(), None);
    assert_eq!(scene.states("p"), [State::Active]);
    let message = scene.verdict("p").to_string();
    assert!(message.starts_with("1 of 1 in place when the provider was last heard; "), "{message}");
    is_well(&mut scene);
    let said = told(&mut scene, "p", seconds(310));
    assert!(matches!(&said[..], [(_, Reason::AllAssigned)]), "{said:?}");
}

#[test]
fn what_is_known_to_be_lacking_is_not_in_doubt_while_the_credentials_are_refused() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[refused()]);
    scene.run(seconds(100));
    scene.change_node("a", NodeFixture::not_ready);
    scene.settle();
    assert_eq!(scene.verdict("p").is_ready(), Some(false));
    assert_eq!(scene.verdict("q").is_ready(), None);
    scene.restart(seconds(0));
    scene.run(seconds(100));
    assert!(matches!(scene.reason("q"), Reason::CredentialsRefused(_)));
    assert_eq!(scene.verdict("q").is_ready(), None, "as before the restart");
}

#[test]
fn a_listing_that_fails_once_is_told_to_nobody_who_lacks_nothing() {
    for fault in [unavailable(), Fault::Dropped, throttled(30)] {
        let mut scene = at_rest();
        scene.fault(is_list, fault);
        assert_eq!(told(&mut scene, "p", seconds(200)), []);
    }
}

#[test]
fn an_outage_is_told_after_two_intervals_once_and_until_it_is_over() {
    let mut scene = at_rest();
    let heard = scene.now;
    goes_wrong(&mut scene, &[unavailable(), Fault::Dropped]);
    let said = told(&mut scene, "p", seconds(900));
    let [(when, Reason::CloudUnavailable(_))] = &said[..] else { panic!("{said:?}") };
    assert!((119..=121).contains(&when.since(heard).as_secs()), "{:?}", when.since(heard));
    assert_eq!(scene.states("p"), [State::Active]);
    assert_eq!(scene.verdict("p").is_ready(), None);
    is_well(&mut scene);
    let said = told(&mut scene, "q", seconds(310));
    assert!(matches!(&said[..], [(_, Reason::AllAssigned)]), "{said:?}");
}

#[test]
fn a_long_rate_limit_is_told_without_another_call_and_without_a_time() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[throttled(400)]);
    let before = scene.history.len();
    let said = told(&mut scene, "p", seconds(300));
    assert!(matches!(&said[..], [(_, Reason::Throttled(None))]), "{said:?}");
    assert_eq!(scene.history.len() - before, 1, "{:?}", &scene.history[before..]);
    assert_eq!(told(&mut scene, "p", seconds(900)), [], "as long as it lasts");
    assert_eq!(scene.states("p"), [State::Active]);
}

#[test]
fn what_we_keep_back_ourselves_is_no_silence_of_the_cloud() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[held_back(600)]);
    assert_eq!(told(&mut scene, "p", seconds(600)), []);
}

#[test]
fn an_outage_that_turns_into_a_refusal_is_told_as_that() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[unavailable()]);
    told(&mut scene, "p", seconds(400));
    is_well(&mut scene);
    goes_wrong(&mut scene, &[refused()]);
    let said = told(&mut scene, "p", seconds(400));
    assert!(matches!(&said[..], [(_, Reason::CredentialsRefused(_))]), "{said:?}");
}

#[test]
fn at_rest_refused_credentials_cost_a_call_every_five_minutes() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[refused()]);
    scene.run(seconds(900));
    let done = scene.run(seconds(3000));
    assert_eq!((done.len(), count(&done, is_list)), (10, 10));
}

#[test]
fn a_failover_does_not_wait_for_the_long_back_off_once_the_credentials_are_accepted_again() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[refused()]);
    scene.run(seconds(900));
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(60));
    assert_eq!(moves(&done), [], "it is asked first whether there is any use: {done:#?}");
    assert!((11..=13).contains(&count(&done, is_list)), "every five seconds: {done:#?}");
    is_well(&mut scene);
    assert_eq!(moves(&scene.run(seconds(10))), [(ip(1), "c")]);
}

#[test]
fn a_failover_that_is_refused_is_repeated_once_a_listing_works() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, refused());
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
    let done = scene.run(seconds(2));
    assert_eq!((count(&done, is_list), moves(&done)), (1, vec![(ip(1), "c")]), "{done:#?}");
    assert!(is_list(&done[0]));
}

#[test]
fn a_failover_that_is_refused_does_not_wait_for_a_listing_that_we_keep_back_ourselves() {
    let mut scene = at_rest();
    scene.fault(is_list, held_back(600));
    scene.run(seconds(61));
    scene.change_node("a", NodeFixture::not_ready);
    scene.fault(is_assign, refused());
    assert_eq!(moves(&scene.settle()), [(ip(1), "c")]);
    assert_eq!(moves(&scene.run(seconds(2))), [(ip(1), "c")]);
    assert_eq!(scene.home(ip(1)), Some("c"));
}

#[test]
fn a_failover_does_not_wait_for_the_back_off_of_its_own_failures_once_the_cloud_is_heard_again() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[unavailable()]);
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(1200));
    is_well(&mut scene);
    assert_eq!(moves(&scene.run(seconds(12))), [(ip(1), "c")]);
}

#[test]
fn a_new_pool_does_not_wait_for_the_long_back_off() {
    let mut scene = at_rest().address(ip(3), None);
    goes_wrong(&mut scene, &[unavailable()]);
    scene.run(seconds(900));
    is_well(&mut scene);
    scene.set_pool(pool("new").ips([3]));
    assert_eq!(moves(&scene.run(seconds(10))), [(ip(3), "c")]);
}

#[test]
fn a_new_pool_that_reserves_its_address_does_not_wait_for_the_long_back_off_either() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[refused()]);
    scene.run(seconds(900));
    is_well(&mut scene);
    scene.set_pool(pool("new").wants(1));
    assert_eq!(creations(&scene.run(seconds(10))), [Some("m-c")]);
}

#[test]
fn an_address_that_no_node_could_take_does_not_make_anybody_ask_more_often() {
    let mut scene = at_rest();
    scene.change_node("c", NodeFixture::not_ready);
    goes_wrong(&mut scene, &[refused()]);
    scene.run(seconds(900));
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(count(&scene.run(seconds(3000)), is_list), 10);
}

#[test]
fn a_paused_pool_does_not_make_anybody_ask_more_often() {
    let paused = |pool: Pool| Pool { paused: Some("moving".into()), ..pool };
    let mut scene = at_rest();
    scene.change_pool("p", paused);
    goes_wrong(&mut scene, &[refused()]);
    scene.run(seconds(900));
    scene.change_node("a", NodeFixture::not_ready);
    assert_eq!(count(&scene.run(seconds(3000)), is_list), 10);
}

#[test]
fn what_the_cloud_asks_us_to_wait_for_is_waited_for_also_by_a_failover() {
    let mut scene = at_rest().address(ip(3), None);
    scene.fault(is_list, throttled(500));
    scene.run(seconds(61));
    scene.set_pool(pool("new").ips([3]));
    assert_eq!(count(&scene.run(seconds(490)), calls_cloud), 0);
    assert_eq!(moves(&scene.run(seconds(20))), [(ip(3), "c")]);
}

#[test]
fn whatever_works_on_an_account_ends_the_back_off_of_its_listings() {
    let mut scene = at_rest();
    goes_wrong(&mut scene, &[unavailable()]);
    scene.run(seconds(900));
    is_well(&mut scene);
    assert_eq!(count(&scene.run(seconds(11)), is_list), 0);
    assert!(matches!(scene.reason("p"), Reason::CloudUnavailable(_)));
    let site = Site { account: ACCOUNT.into(), zone: "z".into(), name: "n".into() };
    let change = RecordChange::default();
    let named =
        Action::Record(RecordAction::Change { owner: key("x"), site, family: Family::V4, change });
    scene.finish(named, scene.now, Ok(Done::RecordsChanged(vec![])));
    assert_eq!(count(&scene.settle(), is_list), 1);
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
}

#[test]
fn a_cloud_that_lists_now_and_then_and_moves_nothing_is_not_asked_in_haste() {
    let mut scene = at_rest();
    scene.change_node("a", NodeFixture::not_ready);
    for second in 0..100 {
        is_well(&mut scene);
        for _ in 0..10 {
            scene.fault(is_assign, unavailable());
        }
        if second % 2 == 0 {
            scene.fault(is_list, unavailable());
        }
        let done = scene.run(seconds(1));
        assert!(count(&done, calls_cloud) <= 4, "{done:#?}");
    }
}
