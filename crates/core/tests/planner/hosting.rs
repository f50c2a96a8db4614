//! Requests beyond the abilities of a DNS host are told, and never sent.

use pontoon_core::model::{EmptyPolicy, NodeAddress, RecordSet};
use pontoon_core::records::RecordAbilities;
use pontoon_core::records::verdict::RecordReason;
use pontoon_core::verdict::Outlook;

use super::dns::{DNS, host};
use super::fixture::*;
use super::recording::{NAME, ask, edge, of_nodes, of_pool, served, writes};
use super::scene::{Scene, scene};

fn asking_for(ttl: u32) -> RecordSet {
    ask(of_pool("p"), |request| request.ttl = Some(ttl))
}

/// Asks for another time to live of the name of `p`.
fn ask_for(scene: &mut Scene, ttl: u32) {
    scene.change_records("p", |set| ask(set, |request| request.ttl = Some(ttl)));
}

#[test]
fn a_time_to_live_that_the_host_refuses_is_told_with_its_field_and_the_range_and_not_sent() {
    for ttl in [0, 29, 86_401, u32::MAX] {
        let mut scene = served();
        ask_for(&mut scene, ttl);
        scene.change_node("b", NodeFixture::not_ready);
        assert_eq!(writes(&scene.run(seconds(600))), 0, "a TTL of {ttl}");
        let verdict = scene.record_verdict(&key("p"));
        assert_eq!(
            (verdict.reason.word(), verdict.reason.outlook()),
            ("InvalidRecord", Outlook::Stuck)
        );
        let said = verdict.to_string();
        let wanted = format!(
            "test.ttl is {ttl}, and dns accepts 30 to 86400 seconds, or 1, which leaves the choice \
             to dns; no record is written until the field is corrected"
        );
        assert_eq!(said, wanted);
        assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)], "the name stays as it is");
        ask_for(&mut scene, 60);
        assert_eq!(writes(&scene.settle()), 1, "corrected, and tried at once");
        assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    }
}

#[test]
fn the_ends_of_the_range_and_the_automatic_time_to_live_are_sent() {
    for ttl in [1, 30, 86_400] {
        let mut scene = served();
        ask_for(&mut scene, ttl);
        assert_eq!(writes(&scene.settle()), 1, "a TTL of {ttl}");
        assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current);
    }
}

#[test]
fn a_host_without_an_automatic_time_to_live_is_not_said_to_have_one() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).records(asking_for(1));
    scene = scene.address(ip(1), Some("a"));
    scene
        .world
        .set_record_account(DNS.into(), Ok(RecordAbilities { automatic_ttl: None, ..host() }));
    assert_eq!(writes(&scene.run(seconds(60))), 0);
    let said = scene.record_verdict(&key("p")).to_string();
    assert!(said.contains("is 1, and dns accepts 30 to 86400 seconds; no record"), "{said}");
}

#[test]
fn a_refused_time_to_live_is_told_before_there_is_an_address_to_list() {
    let mut scene = scene().pool(pool("p").ips([1])).records(asking_for(7)).address(ip(1), None);
    scene.settle();
    assert_eq!(scene.record_verdict(&key("p")).reason.word(), "InvalidRecord");
}

#[test]
fn the_usual_time_to_live_of_a_request_without_one_is_judged_too() {
    let set = ask(of_nodes("s", NodeAddress::External), |request| request.ttl = None);
    let mut scene = scene().node(edge("a", ip(1))).records(set.clone());
    scene.world.set_record_account(DNS.into(), Ok(RecordAbilities { ttls: 300..=600, ..host() }));
    assert_eq!(writes(&scene.run(seconds(60))), 0);
    let said = scene.record_verdict(&set.key).to_string();
    assert!(said.starts_with("test.ttl is 60, and dns accepts 300 to 600 seconds"), "{said}");
}

#[test]
fn a_name_is_emptied_whatever_time_to_live_is_asked_for() {
    let mut scene = served();
    scene.change_records("p", |set| {
        ask(set, |request| (request.ttl, request.empty) = (Some(7), EmptyPolicy::Remove))
    });
    for node in ["a", "b"] {
        scene.change_node(node, NodeFixture::not_ready);
    }
    assert_eq!(writes(&scene.settle()), 1, "a deletion has no time to live");
    assert!(scene.dns.listed(NAME).is_empty());
}

#[test]
fn an_older_object_whose_time_to_live_is_refused_has_the_name_all_the_same() {
    let older = RecordSet { created_at: at(-2000), ..of_nodes("b", NodeAddress::External) };
    let mut scene = scene().node(edge("a", ip(1)));
    scene.set_records(ask(older.clone(), |request| request.ttl = Some(7)));
    let younger = of_nodes("a", NodeAddress::External);
    scene.set_records(younger.clone());
    assert_eq!(writes(&scene.run(seconds(60))), 0);
    assert_eq!(scene.record_verdict(&older.key).reason.word(), "InvalidRecord");
    assert_eq!(scene.record_verdict(&younger.key).reason.word(), "Conflict");
}
