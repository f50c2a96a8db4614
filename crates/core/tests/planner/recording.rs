//! DNS names list the right addresses, and no record is deleted because of an unknown.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::action::{Action, FailureKind, RecordAction};
use pontoon_core::model::{
    Addresses, EmptyPolicy, Finding, Node, NodeAddress, ObjectKey, RecordChange, RecordRequest,
    RecordSet, RecordSource,
};
use pontoon_core::nodes::{Match, Selector};
use pontoon_core::records::verdict::RecordReason;

use super::cloud::Fault;
use super::dns::DNS;
use super::evicting::noting;
use super::fixture::*;
use super::scene::{Scene, able, scene, scene_at};

pub const NAME: &str = "www.example.com";

pub fn nodes_key(name: &str) -> ObjectKey {
    ObjectKey { kind: &RECORD_SET, namespace: "default".into(), name: name.into() }
}

fn records(key: ObjectKey, source: RecordSource) -> RecordSet {
    RecordSet {
        uid: format!("uid-{}", key.name).as_str().into(),
        key,
        version: 1,
        created_at: at(-1000),
        request: Ok(RecordRequest {
            account: DNS.into(),
            zone: "example.com".into(),
            name: "www".into(),
            ttl: Some(60),
            empty: EmptyPolicy::Keep,
            source,
            mark: None,
        }),
        held: None,
        paused: None,
        names: &RECORD_NAMES,
    }
}

/// The records of a pool.
pub fn of_pool(name: &str) -> RecordSet {
    records(key(name), RecordSource::Pool)
}

/// Records of the nodes with the label role=edge.
pub fn of_nodes(name: &str, addresses: NodeAddress) -> RecordSet {
    let nodes = Selector::parse("role=edge").expect("a selector");
    let matching = Arc::new(Match { nodes, ..Match::default() });
    records(nodes_key(name), RecordSource::Nodes { matching, addresses })
}

pub fn ask(mut set: RecordSet, change: impl FnOnce(&mut RecordRequest)) -> RecordSet {
    change(set.request.as_mut().expect("a request"));
    set
}

pub fn edge(name: &str, external: IpAddr) -> Node {
    let addresses = Addresses { external: vec![external], internal: vec![] };
    Node { addresses, ..node(name).labelled("role", "edge") }
}

pub fn is_change_of_records(action: &Action) -> bool {
    matches!(action, Action::Record(RecordAction::Change { .. }))
}

pub fn is_read_of_records(action: &Action) -> bool {
    matches!(action, Action::Record(RecordAction::Read { .. }))
}

pub fn writes(actions: &[Action]) -> usize {
    count(actions, is_change_of_records)
}

pub fn last_change(actions: &[Action]) -> RecordChange {
    let change = |action: &Action| match action {
        Action::Record(RecordAction::Change { change, .. }) => Some(change.clone()),
        _ => None,
    };
    actions.iter().rev().find_map(change).expect("a change")
}

/// Two nodes with an address each, both in DNS.
pub fn served() -> Scene {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2])).records(of_pool("p"));
    scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
    scene.settle();
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
    scene
}

#[test]
fn a_name_lists_the_addresses_that_are_confirmed_on_nodes() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1, 2])).records(of_pool("p"));
    scene = scene.address(ip(1), None).address(ip(2), None);
    let done = scene.settle();
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    assert_eq!((writes(&done), count(&done, is_read_of_records)), (1, 1), "{done:#?}");
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current);
    assert_eq!(scene.record_verdict(&key("p")).to_string(), "www.example.com lists 1 address");
}

#[test]
fn an_address_without_a_node_leaves_the_name_and_comes_back_once_its_move_is_confirmed() {
    let mut scene = served();
    scene.change_node("b", NodeFixture::not_ready);
    let change = last_change(&scene.settle());
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    assert_eq!((change.update.len(), change.delete.len()), (0, 1));

    scene.fault(is_assign, Fault::Slow);
    scene.set_node(node("c"));
    assert_eq!(writes(&scene.settle()), 0, "the move is not confirmed yet");
    scene.cloud.work();
    assert_eq!(writes(&scene.run(seconds(5))), 1);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
}

#[test]
fn an_address_that_moves_at_once_stays_in_its_name() {
    let mut scene = served().nodes(["c"]);
    scene.settle();
    scene.change_node("b", NodeFixture::not_ready);
    let done = scene.run(seconds(5));
    assert_eq!(scene.home(ip(2)), Some("c"));
    assert_eq!(writes(&done), 0, "{done:#?}");
}

#[test]
fn an_address_that_moves_in_two_steps_stays_in_its_name_even_if_the_name_may_be_empty() {
    let in_two_steps = scene_at(able(|abilities| abilities.moves_at_once = false));
    for scene in [in_two_steps, noting()] {
        let empties = ask(of_pool("p"), |request| request.empty = EmptyPolicy::Remove);
        let scene = scene.nodes(["a", "b"]).pool(pool("p").ips([1])).records(empties);
        let mut scene = scene.address(ip(1), Some("a")).settled();
        scene.change_node("a", NodeFixture::not_ready);
        let done = scene.run(seconds(60));
        assert_eq!(scene.home(ip(1)), Some("b"));
        assert_eq!(writes(&done), 0, "{done:#?}");
    }
}

#[test]
fn an_address_of_which_nothing_is_known_stays_in_its_name() {
    let mut scene = served();
    scene.restart(Duration::ZERO);
    for _ in 0..4 {
        scene.fault(is_list, Fault::Answer(FailureKind::Throttled { wait: seconds(30) }));
    }
    assert_eq!(writes(&scene.run(seconds(100))), 0);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
    scene.cloud.hidden.push(ip(2));
    scene.fault(is_read, Fault::Dropped);
    assert_eq!(writes(&scene.run(seconds(60))), 0);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
}

#[test]
fn a_name_is_never_emptied_unless_its_object_says_so() {
    let mut scene = served();
    for node in ["a", "b"] {
        scene.change_node(node, NodeFixture::not_ready);
    }
    assert_eq!(writes(&scene.run(seconds(300))), 0);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::NothingToList);

    scene.change_records("p", |set| ask(set, |request| request.empty = EmptyPolicy::Remove));
    assert_eq!(writes(&scene.settle()), 1);
    assert_eq!(scene.dns.listed(NAME), [] as [IpAddr; 0]);
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Removed);
}

#[test]
fn a_kind_of_record_that_is_not_wanted_and_was_never_ours_is_not_touched() {
    let mut scene = served();
    scene.dns.list(NAME, &[ip6(9)]);
    scene.change_records("p", |set| ask(set, |request| request.empty = EmptyPolicy::Remove));
    for node in ["a", "b"] {
        scene.change_node(node, NodeFixture::not_ready);
    }
    scene.run(seconds(300));
    assert_eq!(scene.dns.listed(NAME), [ip6(9)]);
}

#[test]
fn a_restart_with_everything_in_place_reads_each_name_once_and_writes_nothing() {
    let mut scene = served();
    scene.restart(seconds(3));
    let done = scene.run(seconds(30));
    assert_eq!((writes(&done), count(&done, is_read_of_records)), (0, 1));
}

#[test]
fn records_that_a_predecessor_wrote_are_adopted_without_a_write() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).records(of_pool("p"));
    scene = scene.address(ip(1), Some("a"));
    scene.dns.list(NAME, &[ip(1)]);
    assert_eq!(writes(&scene.run(seconds(600))), 0);
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::Current);
}

#[test]
fn what_somebody_else_put_there_is_put_right_with_the_fewest_records() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1, 2])).records(of_pool("p"));
    scene = scene.address(ip(1), Some("a")).address(ip(2), Some("b"));
    // A duplicate address, a record with another TTL, two unexpected addresses.
    scene.dns.add(NAME, ip(1), 30);
    scene.dns.list(NAME, &[ip(1), ip(8), ip(9)]);
    let change = last_change(&scene.settle());
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
    let sizes = (change.create.len(), change.update.len(), change.delete.len());
    assert_eq!(sizes, (0, 1, 2), "{change:?}");
}

#[test]
fn at_rest_one_name_is_read_every_two_minutes_however_many_there_are() {
    let mut scene = scene();
    for n in 1..=20_u8 {
        scene = scene.node(edge(&format!("n{n}"), ip(n)));
        let set = of_nodes(&format!("s{n}"), NodeAddress::External);
        scene = scene.records(ask(set, |request| request.name = format!("w{n}").as_str().into()));
    }
    let first = scene.run(seconds(60));
    assert_eq!(count(&first, is_read_of_records), 20);
    let hour = scene.run(seconds(3600));
    assert_eq!((writes(&hour), count(&hour, is_read_of_records)), (0, 30));
    let mut names: Vec<_> = hour
        .iter()
        .filter_map(|action| match action {
            Action::Record(RecordAction::Read { owner, .. }) => Some(owner.clone()),
            _ => None,
        })
        .collect();
    names.truncate(20);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20, "each in its turn");
}

#[test]
fn a_hundred_addresses_in_dns_at_rest_cost_two_listings_a_minute_at_most() {
    let mut scene = scene();
    for n in 1..=100_u8 {
        let name = format!("n{n}");
        scene = scene.nodes([&*name]).address(ip(n), Some(&name));
        // Half of the addresses in a common name, the others with separate names.
        let pool_name = if n % 2 == 0 { "p".to_owned() } else { format!("p{n}") };
        let mut set = of_pool(&pool_name);
        set = ask(set, |request| request.name = pool_name.as_str().into());
        let listed = (1..=100).filter(|m| *m == n || n % 2 == 0 && m % 2 == 0).map(ip);
        let pool = pool(&pool_name).ask(|request| request.listed.extend(listed));
        scene = scene.pool(pool).records(set);
    }
    scene.run(seconds(120));
    let hour = scene.run(seconds(3600));
    let listings = count(&hour, is_list) + count(&hour, is_read_of_records);
    assert_eq!(listings, hour.len(), "nothing but listings");
    assert!(listings <= 120, "{listings} in an hour");
}

#[test]
fn what_somebody_changed_by_hand_is_put_right_when_it_is_read_again() {
    let mut scene = served();
    scene.dns.list(NAME, &[ip(9)]);
    assert_eq!(writes(&scene.run(seconds(240))), 1);
    assert_eq!(scene.dns.listed(NAME), [ip(1), ip(2)]);
}

#[test]
fn names_that_cannot_be_changed_put_off_the_reading_of_no_other() {
    fn is_of_others(action: &Action) -> bool {
        matches!(action, Action::Record(RecordAction::Change { owner, .. }) if *owner != nodes_key("s1"))
    }
    let mut scene = scene();
    for n in 1..=10_u8 {
        scene = scene.node(edge(&format!("n{n}"), ip(n)));
        let set = of_nodes(&format!("s{n}"), NodeAddress::External);
        scene = scene.records(ask(set, |request| request.name = format!("w{n}").as_str().into()));
    }
    for _ in 0..1000 {
        scene.fault(is_of_others, Fault::Answer(FailureKind::Refused));
    }
    scene.run(seconds(1200));
    let listed = scene.dns.listed("w1.example.com");
    assert_eq!(listed.len(), 10);
    scene.dns.list("w1.example.com", &[ip(99)]);
    scene.run(seconds(600));
    assert_eq!(scene.dns.listed("w1.example.com"), listed, "somebody's change is found and undone");
}

#[test]
fn each_kind_of_address_of_the_matching_nodes_is_listed() {
    let addresses = Addresses { external: vec![ip(1), ip6(1)], internal: vec![ip(2)] };
    let one = Node { addresses, ..edge("a", ip(1)).marked("192.0.2.3, 192.0.2.4") };
    let cases = [
        (NodeAddress::External, vec![ip(1), ip6(1)]),
        (NodeAddress::Internal, vec![ip(2)]),
        (NodeAddress::Marked(&MARKS[0]), vec![ip(3), ip(4)]),
    ];
    for (which, listed) in cases {
        let mut scene = scene().node(one.clone()).nodes(["other"]).records(of_nodes("s", which));
        scene.settle();
        assert_eq!(scene.dns.listed(NAME), listed, "{which:?}");
    }
}

#[test]
fn a_node_that_changes_its_address_changes_the_name() {
    let mut scene = scene().node(edge("a", ip(1))).records(of_nodes("s", NodeAddress::External));
    scene.settle();
    scene.change_node("a", |_| edge("a", ip(2)));
    let change = last_change(&scene.settle());
    assert_eq!(scene.dns.listed(NAME), [ip(2)]);
    assert_eq!(change.update.len(), 1, "one call");
}

#[test]
fn a_node_of_any_cloud_is_listed() {
    let scene = scene().node(edge("a", ip(1)).of_unknown_cloud());
    let mut scene = scene.node(edge("b", ip(2)).without_provider_id());
    scene.set_records(of_nodes("s", NodeAddress::External));
    scene.settle();
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
}

#[test]
fn an_account_that_cannot_be_used_is_told_to_the_records_and_the_addresses_are_served() {
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).records(of_pool("p"));
    scene = scene.address(ip(1), None);
    let finding = Finding { reason: "CredentialsMissing", message: "no token".into() };
    scene.world.set_record_account(DNS.into(), Err(finding.clone()));
    let done = scene.settle();
    assert_eq!(scene.home(ip(1)), Some("a"));
    assert!(!done.iter().any(|action| matches!(action, Action::Record(_))));
    assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::NoAccount(finding));
}

#[test]
fn a_new_time_to_live_is_written_to_every_record() {
    let mut scene = served();
    scene.change_records("p", |set| ask(set, |request| request.ttl = Some(300)));
    let change = last_change(&scene.settle());
    assert_eq!((change.ttl, change.update.len()), (300, 2));
    assert_eq!(writes(&scene.run(seconds(600))), 0);
}

#[test]
fn where_no_time_to_live_is_asked_for_that_of_records_that_are_there_stays() {
    let mut scene = served();
    scene.change_records("p", |set| ask(set, |request| request.ttl = Some(1800)));
    scene.settle();
    scene.change_records("p", |set| ask(set, |request| request.ttl = None));
    assert_eq!(writes(&scene.run(seconds(600))), 0);
}

#[test]
fn what_was_written_just_before_there_was_nothing_to_list_is_removed_too() {
    let set = ask(of_pool("p"), |request| request.empty = EmptyPolicy::Remove);
    let mut scene = scene().nodes(["a"]).pool(pool("p").ips([1])).records(set);
    scene = scene.address(ip(1), Some("a"));
    while !scene.begin().iter().any(is_change_of_records) {
        scene.answer();
    }
    scene.change_node("a", NodeFixture::not_ready);
    scene.answer();
    scene.run(seconds(60));
    let verdict = scene.record_verdict(&key("p"));
    assert_eq!(verdict.reason, RecordReason::Removed);
    assert!(verdict.to_string().ends_with("lists none (the policy of removal)"), "{verdict}");
    assert!(scene.dns.listed(NAME).is_empty());
}

#[test]
fn credentials_that_work_again_are_found_out_also_with_nothing_to_list() {
    let mut scene = served();
    scene.fault(is_change_of_records, Fault::Answer(FailureKind::Refused));
    scene.fault(is_read_of_records, Fault::Answer(FailureKind::Refused));
    scene.change_node("a", NodeFixture::not_ready);
    scene.run(seconds(5));
    scene.change_node("b", NodeFixture::not_ready);
    scene.settle();
    let reason = |scene: &Scene| scene.record_verdict(&key("p")).reason.clone();
    assert!(matches!(reason(&scene), RecordReason::CredentialsRefused(..)), "{:?}", reason(&scene));
    scene.run(seconds(600));
    assert_eq!(reason(&scene), RecordReason::NothingToList);
}

#[test]
fn records_that_were_at_a_new_name_before_are_not_the_objects_to_remove() {
    for restarts in [false, true] {
        let mut scene = served();
        scene.change_records("p", |set| ask(set, |request| request.empty = EmptyPolicy::Remove));
        scene.settle();
        scene.dns.list("new.example.com", &[ip(9)]);
        for node in ["a", "b"] {
            scene.change_node(node, NodeFixture::not_ready);
        }
        scene.change_records("p", |set| ask(set, |request| request.name = "new".into()));
        if restarts {
            scene.restart(seconds(3));
        }
        assert_eq!(writes(&scene.run(seconds(300))), 0);
        assert_eq!(scene.dns.listed("new.example.com"), [ip(9)]);
        assert_eq!(scene.record_verdict(&key("p")).reason, RecordReason::NothingToList);
    }
}
