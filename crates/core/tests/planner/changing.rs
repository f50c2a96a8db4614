//! Changes of names that fail, have no answer, or are held back.

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::model::{NodeAddress, RecordChange};
use pontoon_core::records::verdict::RecordReason;

use super::cloud::Fault;
use super::fixture::*;
use super::recording::*;
use super::scene::{Scene, scene};

#[test]
fn a_change_without_an_answer_is_read_once_it_cannot_take_effect_any_more() {
    let mut scene = served();
    scene.change_node("b", NodeFixture::not_ready);
    scene.fault(is_change_of_records, Fault::Lost);
    let sent = scene.now;
    scene.settle();
    let done = scene.run(seconds(20));
    assert_eq!(writes(&done), 0, "it had come through");
    assert_eq!(count(&done, is_read_of_records), 1);
    assert!(scene.now.since(sent) >= seconds(5));
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current);
}

#[test]
fn trouble_is_tried_again_with_a_longer_wait_each_time() {
    let mut scene = served();
    scene.run(seconds(10));
    scene.change_node("b", NodeFixture::not_ready);
    for _ in 0..3 {
        scene.fault(is_change_of_records, Fault::Answer(FailureKind::Unavailable));
    }
    let done = scene.run(seconds(6));
    assert!(matches!(scene.record_verdict(&key("p")).reason, RecordReason::Failed(..)));
    assert_eq!(writes(&done), 2, "the records are read after five seconds, and changed again");
    let done = scene.run(seconds(20));
    assert_eq!(writes(&done), 2);
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
}

#[test]
fn what_would_be_refused_again_is_a_verdict_and_not_a_loop() {
    type Told = fn(&RecordReason) -> bool;
    let cases: [(FailureKind, Told); 4] = [
        (FailureKind::NotFound, |reason| matches!(reason, RecordReason::ZoneNotFound(..))),
        (FailureKind::Rejected, |reason| matches!(reason, RecordReason::Rejected(..))),
        (FailureKind::Quota, |reason| matches!(reason, RecordReason::ZoneFull(..))),
        (FailureKind::Refused, |reason| matches!(reason, RecordReason::CredentialsRefused(..))),
    ];
    for (kind, is_told) in cases {
        let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).records(of_pool("p"));
        scene = scene.address(ip(1), Some("a"));
        for _ in 0..100 {
            scene.fault(is_read_of_records, Fault::Answer(kind));
        }
        let done = scene.run(seconds(3_600));
        let reads = count(&done, is_read_of_records);
        assert!((20..=50).contains(&reads), "{kind:?}: {reads}");
        let done = scene.run(seconds(3_600));
        assert_eq!(count(&done, is_read_of_records), 12, "{kind:?}");
        assert!(is_told(&scene.record_verdict(&key("p")).reason), "{kind:?}");
        assert_eq!(scene.home(ip(1)), Some("a"));
        scene.cloud.faults.clear();
        scene.run(seconds(301));
        assert_eq!(scene.dns.listed(NAME), [ip(1)], "{kind:?}");
    }
}

#[test]
fn a_rate_limit_holds_for_every_name_of_the_account_and_for_no_address() {
    let mut scene = served();
    let set = ask(of_nodes("other", NodeAddress::External), |one| one.name = "other".into());
    scene = scene.records(set);
    scene.fault(is_change_of_records, Fault::Answer(FailureKind::Throttled { wait: seconds(60) }));
    scene.change_node("b", NodeFixture::not_ready);
    scene.settle();
    scene.set_node(edge("c", ip(7)));
    let done = scene.run(seconds(50));
    assert_eq!(scene.home(ip(2)), Some("c"), "failover waits for nothing");
    let about_dns = |action: &Action| matches!(action, Action::Record(_));
    assert_eq!(count(&done, about_dns), 0, "{done:#?}");
    assert!(matches!(scene.record_verdict(&nodes_key("other")).reason, RecordReason::Throttled(_)));
    scene.run(seconds(30));
    assert_eq!(scene.dns.listed("other.example.com"), [ip(7)]);
}

#[test]
fn a_change_that_was_never_sent_is_made_from_what_was_read_before() {
    let mut scene = served();
    for _ in 0..3 {
        scene.fault(is_change_of_records, super::cloud::held_back(10));
    }
    scene.change_node("b", NodeFixture::not_ready);
    let done = scene.run(seconds(35));
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    assert_eq!((writes(&done), count(&done, is_read_of_records)), (4, 0), "{done:#?}");
}

/// Twenty nodes with an address each, all in the same name.
fn twenty_listed() -> Scene {
    let mut scene = scene().records(of_nodes("s", NodeAddress::External));
    for n in 1..=20 {
        scene = scene.node(edge(&format!("n{n}"), ip(n)));
    }
    scene.settle();
    assert_eq!(scene.dns.listed(NAME).len(), 20);
    scene.run(seconds(10));
    scene
}

#[test]
fn a_change_that_is_held_back_in_the_middle_goes_on_from_there_without_another_look() {
    let mut scene = twenty_listed();
    for n in 1..=10 {
        scene.change_node(&format!("n{n}"), NodeFixture::not_ready);
    }
    for n in 21..=23 {
        scene.set_node(edge(&format!("n{n}"), ip(n)));
    }
    for records in [1, 3, 4] {
        scene.fault(is_change_of_records, super::cloud::held_back_after(records, 4));
    }
    let mut done = scene.settle();
    assert!(matches!(scene.record_verdict(&nodes_key("s")).reason, RecordReason::Pacing(_)));
    let said = scene.record_verdict(&nodes_key("s")).to_string();
    assert!(said.starts_with("calls are paced to stay within the DNS host's rate"), "{said}");
    done.extend(scene.run(seconds(13)));
    assert_eq!(scene.dns.listed(NAME), (11..=23).map(ip).collect::<Vec<_>>());
    assert_eq!((writes(&done), count(&done, is_read_of_records)), (4, 0), "{done:#?}");
    let RecordChange { create, update, delete, .. } = last_change(&done);
    assert_eq!((create.len(), update.len(), delete.len()), (0, 0, 2), "3 + 7 in 1, 3, 4 and 2");
    assert_eq!(scene.record_verdict(&nodes_key("s")).reason, RecordReason::Current);
}

#[test]
fn what_is_left_of_a_change_follows_what_is_wanted_by_then() {
    let mut scene = twenty_listed();
    for n in 1..=10 {
        scene.change_node(&format!("n{n}"), NodeFixture::not_ready);
    }
    scene.fault(is_change_of_records, super::cloud::held_back_after(4, 4));
    scene.settle();
    for n in 1..=10 {
        scene.change_node(&format!("n{n}"), NodeFixture::ready);
    }
    let done = scene.run(seconds(5));
    assert_eq!(scene.dns.listed(NAME), (1..=20).map(ip).collect::<Vec<_>>());
    assert_eq!(last_change(&done).create.len(), 4, "the others were never taken out");
    assert_eq!(count(&done, is_read_of_records), 0);
}

#[test]
fn a_failed_change_is_forgotten_once_the_name_is_right() {
    let mut scene = served();
    scene.change_node("b", NodeFixture::not_ready);
    scene.fault(is_change_of_records, Fault::Lost);
    scene.run(seconds(3600));
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current);
    scene.change_node("b", NodeFixture::ready);
    scene.until_begun(is_change_of_records);
    scene.plan();
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Updating);
}

#[test]
fn a_long_series_of_failures_does_not_lengthen_the_waits_of_a_later_one() {
    let mut scene = served();
    scene.change_node("b", NodeFixture::not_ready);
    scene.cloud.refuses.push((is_change_of_records, FailureKind::Unavailable));
    scene.run(seconds(3600));
    scene.change_node("b", NodeFixture::ready);
    scene.run(seconds(600));
    scene.cloud.refuses.clear();
    scene.fault(is_change_of_records, Fault::Answer(FailureKind::Unavailable));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(10));
    assert_eq!(scene.dns.listed(NAME), [ip(2)]);
}

#[test]
fn after_a_change_of_several_records_that_was_throttled_reads_wait_until_they_show_a_part() {
    let mut scene = scene().records(of_nodes("s", NodeAddress::External));
    scene = scene.node(edge("a", ip(1))).node(edge("b", ip(2)));
    scene.settle();
    scene.run(seconds(10));
    let wait = FailureKind::Throttled { wait: seconds(1) };
    scene.fault(is_change_of_records, Fault::Although(wait));
    scene.change_node("a", |node| edge(&node.name.0, ip(3)));
    scene.change_node("b", |node| edge(&node.name.0, ip(4)));
    scene.until_begun(is_change_of_records);
    scene.answer();
    let done = scene.run(seconds(4));
    assert_eq!(count(&done, is_read_of_records), 0);
    scene.run(seconds(10));
    assert_eq!(scene.dns.listed(NAME), [ip(3), ip(4)]);
}
