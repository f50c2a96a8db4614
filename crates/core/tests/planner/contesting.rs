//! DNS names that another controller writes too, and DNS hosts that store other values than
//! requested.

use pontoon_core::action::{Action, Done};
use pontoon_core::model::{NodeAddress, Record};
use pontoon_core::records::verdict::RecordReason;
use pontoon_core::verdict::Outlook;

use super::fixture::*;
use super::recording::{NAME, ask, edge, of_nodes, of_pool, served, writes};
use super::recording::{is_read_of_records, nodes_key};
use super::scene::{Scene, scene};

/// Another controller changes the name, and the operator reads it again.
fn taken(scene: &mut Scene) {
    scene.dns.clear(NAME);
    scene.dns.list(NAME, &[ip(9)]);
    read_again(scene);
}

fn read_again(scene: &mut Scene) {
    while scene.record_verdict(&key("p")).reason == RecordReason::Current {
        scene.now = scene.wake.expect("it is read again");
        scene.settle();
    }
}

fn held(scene: &Scene) -> (u32, u64) {
    let RecordReason::Drift(times, until) = scene.record_verdict(&key("p")).reason else {
        panic!("{:?}", scene.record_verdict(&key("p")).reason)
    };
    (times, until.since(scene.now).as_secs())
}

#[test]
fn a_name_that_somebody_else_changes_is_left_alone_for_a_while_and_longer_each_time() {
    let mut scene = served();
    let mut waits = vec![];
    for times in 1..=8 {
        taken(&mut scene);
        assert_eq!(held(&scene).0, times);
        waits.push(held(&scene).1);
        let wait = seconds(held(&scene).1);
        assert_eq!(scene.dns.listed(NAME), [ip(9)]);
        let done = scene.run(wait + seconds(1));
        assert_eq!((writes(&done), scene.dns.listed(NAME)), (1, vec![ip(1), ip(2)]));
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
    let verdict = scene.record_verdict(&key("p"));
    assert_eq!(verdict.reason, RecordReason::Current);
    scene.run(seconds(1200));
    taken(&mut scene);
    assert_eq!(held(&scene).0, 1, "after a quiet time it is the first time again");
}

#[test]
fn a_name_in_dispute_is_told_as_such() {
    let mut scene = served();
    taken(&mut scene);
    let verdict = scene.record_verdict(&key("p"));
    assert_eq!((verdict.reason.word(), verdict.reason.outlook()), ("DNSDrift", Outlook::Working));
    let said = verdict.to_string();
    assert!(
        said.starts_with("somebody else changed www.example.com; the name is put back at"),
        "{said}"
    );
}

#[test]
fn what_the_object_itself_has_to_change_does_not_wait_for_the_dispute() {
    let mut scene = scene().records(of_nodes("s", NodeAddress::External));
    scene = scene.node(edge("a", ip(1))).node(edge("b", ip(2)));
    scene.settle();
    scene.dns.add(NAME, ip(9), 60);
    scene.run(seconds(125));
    let reason = &scene.record_verdict(&nodes_key("s")).reason;
    assert!(matches!(reason, RecordReason::Drift(1, _)), "{reason:?}");
    scene.change_node("b", NodeFixture::not_ready);
    assert_eq!(writes(&scene.settle()), 1, "clients must not be sent to a node that is lost");
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
}

#[test]
fn a_name_that_is_put_back_by_whoever_changed_it_is_not_written() {
    let mut scene = served();
    taken(&mut scene);
    let wait = seconds(held(&scene).1);
    scene.dns.clear(NAME);
    scene.dns.list(NAME, &[ip(1), ip(2)]);
    let done = scene.run(wait + seconds(1));
    assert_eq!((count(&done, is_read_of_records), writes(&done)), (1, 0), "{done:#?}");
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current);
}

#[test]
fn of_two_equal_records_none_is_deleted_after_somebody_deleted_the_other() {
    let mut scene = served();
    scene.dns.add(NAME, ip(2), 60);
    read_again(&mut scene);
    let wait = seconds(held(&scene).1);
    scene.dns.delete_oldest(NAME, ip(2));
    scene.run(wait + seconds(1));
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
}

#[test]
fn a_new_wish_is_written_at_once() {
    let mut scene = served();
    taken(&mut scene);
    scene.change_records("p", |set| ask(set, |request| request.ttl = Some(90)));
    assert_eq!(writes(&scene.settle()), 1);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
}

#[test]
fn whoever_edits_the_name_of_a_paused_object_is_not_in_dispute_with_it() {
    let mut scene = served();
    scene.change_records("p", |mut set| {
        set.paused = Some("maintenance".into());
        set
    });
    scene.settle();
    scene.dns.clear(NAME);
    scene.dns.list(NAME, &[ip(9)]);
    scene.now = scene.now + seconds(130);
    let read = scene.planned().into_iter().find(is_read_of_records).expect("it is read in turn");
    scene.world.begin(&read);
    let result = scene.carry_out(&read);
    let now = scene.now;
    scene.finish(read, now, result);
    scene.plan();
    let reason = &scene.record_verdict(&key("p")).reason;
    assert!(!matches!(reason, RecordReason::Drift(..)), "{reason:?}");
}

/// Carries out changes on a DNS host that stores altered records and reports success.
fn stubborn(scene: &mut Scene, odd: fn(Record) -> Record) -> Vec<Action> {
    let actions = scene.begin();
    for (action, sent_at) in std::mem::take(&mut scene.held_back) {
        let mut result = scene.carry_out(&action);
        if let Ok(Done::RecordsChanged(written)) = &mut result {
            *written = std::mem::take(written).into_iter().map(odd).collect();
            scene.dns.replace(NAME, written.clone());
        }
        scene.finish(action, sent_at, result);
    }
    actions
}

#[test]
fn a_host_that_stores_another_ttl_or_proxies_is_told_and_not_asked_again_at_once() {
    let slow: fn(Record) -> Record = |record| Record { ttl: 300, ..record };
    let proxied: fn(Record) -> Record = |record| Record { proxied: true, ..record };
    for (odd, words) in [(slow, "a TTL of 300 s instead of 60 s"), (proxied, "the host's proxy on")]
    {
        let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).records(of_pool("p"));
        scene = scene.address(ip(1), Some("a"));
        let mut changes = 0;
        let started = scene.now;
        while scene.now.since(started) < seconds(299) {
            let done = stubborn(&mut scene, odd);
            changes += writes(&done);
            if done.is_empty() {
                scene.now = scene.wake.expect("there is more to do");
            }
        }
        assert_eq!(changes, 1, "{words}");
        let verdict = scene.record_verdict(&key("p"));
        assert!(matches!(verdict.reason, RecordReason::Rejected(..)), "{:?}", verdict.reason);
        assert!(verdict.to_string().contains(words), "{verdict}");
        scene.run(seconds(10));
        assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current, "once it does");
    }
}

#[test]
fn a_host_that_stores_another_ttl_still_learns_of_another_address_at_once() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2])).records(of_pool("p"));
    scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
    let odd: fn(Record) -> Record = |record| Record { ttl: 300, ..record };
    while !stubborn(&mut scene, odd).is_empty() {}
    assert!(matches!(scene.record_verdict(&key("p")).reason, RecordReason::Rejected(..)));
    scene.change_node("b", NodeFixture::not_ready);
    let mut changes = 0;
    for _ in 0..5 {
        changes += writes(&stubborn(&mut scene, odd));
    }
    assert_eq!((changes, scene.dns.listed(NAME)), (1, vec![ip(1)]));
}

#[test]
fn the_next_change_by_somebody_else_is_held_too_although_the_last_one_was_put_back() {
    let mut scene = served();
    taken(&mut scene);
    scene.dns.clear(NAME);
    scene.dns.list(NAME, &[ip(1), ip(2)]);
    scene.run(seconds(60));
    taken(&mut scene);
    assert_eq!(held(&scene).0, 2);
    assert_eq!(scene.dns.listed(NAME), [ip(9)], "left alone for a while");
}
