//! Waits end with their causes: after a fault everything is right again within seconds.

use pontoon_core::action::{Action, FailureKind};
use pontoon_core::records::verdict::RecordReason;

use super::cloud::{Fault, throttled};
use super::fixture::*;
use super::recording::{NAME, is_change_of_records, is_read_of_records, served};
use super::scene::scene;

/// The longest wait for recovery in these tests, jitter included.
const SOON: u64 = 10;

fn is_of_records(action: &Action) -> bool {
    is_change_of_records(action) || is_read_of_records(action)
}

#[test]
fn a_name_is_right_soon_after_the_host_stops_refusing() {
    for kind in [
        FailureKind::Refused,
        FailureKind::NotFound,
        FailureKind::Rejected,
        FailureKind::Quota,
        FailureKind::Unavailable,
    ] {
        let mut scene = served();
        for _ in 0..100 {
            scene.fault(is_of_records, Fault::Answer(kind));
        }
        scene.change_node("b", NodeFixture::not_ready);
        scene.run(seconds(25));
        assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)], "{kind:?}");
        scene.cloud.faults.clear();
        scene.run(seconds(SOON));
        assert_eq!(scene.dns.listed(NAME), [ip(1)], "{kind:?}");
        assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current, "{kind:?}");
    }
}

#[test]
fn an_address_is_placed_soon_after_the_last_refusal() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.cloud.refuses.push((is_assign, FailureKind::Rejected));
    scene.run(seconds(25));
    assert_eq!(scene.home(ip(1)), None);
    scene.cloud.refuses.clear();
    scene.run(seconds(SOON));
    assert_eq!(scene.home(ip(1)), Some("a"));
}

#[test]
fn a_refusal_that_lasts_costs_few_calls() {
    let mut scene = scene().nodes(["a", "b", "c"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.cloud.refuses.push((is_assign, FailureKind::Rejected));
    let first_hour = count(&scene.run(seconds(3_600)), is_assign);
    assert!(first_hour <= 50, "{first_hour} calls in the first hour");
    let second_hour = count(&scene.run(seconds(3_600)), is_assign);
    assert!(second_hour <= 13, "{second_hour} calls in the second hour");
}

#[test]
fn an_account_is_asked_again_when_the_provider_says() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    for _ in 0..6 {
        scene.fault(is_list, Fault::Answer(FailureKind::Unavailable));
    }
    scene.fault(is_list, throttled(2));
    while scene.cloud.faults.len() > 1 {
        scene.run(seconds(1));
    }
    while !scene.cloud.faults.is_empty() {
        scene.run(seconds(1));
    }
    scene.run(seconds(2));
    assert_eq!(scene.home(ip(1)), Some("a"), "two seconds, whatever failed before");
}

#[test]
fn an_address_that_arrived_without_an_answer_is_known_before_the_doubt_ends() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_assign, Fault::Lost);
    scene.run(seconds(3));
    assert_eq!((scene.home(ip(1)), scene.mark("a")), (Some("a"), Some(&*ip(1).to_string())));
}

#[test]
fn an_address_that_has_not_arrived_is_not_assigned_again_before_the_doubt_ends() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).address(ip(1), None);
    scene.fault(is_assign, Fault::Dropped);
    assert_eq!(count(&scene.run(seconds(9)), is_assign), 1);
    scene.run(seconds(3));
    assert_eq!(scene.home(ip(1)), Some("a"));
}
