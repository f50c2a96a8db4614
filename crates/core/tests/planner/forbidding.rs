//! The administrator's policy: a forbidden object calls nothing, keeps what it has, and stands in
//! nobody's way.

use pontoon_core::action::Action;
use pontoon_core::addresses::verdict::Reason;
use pontoon_core::model::{Ledger, NodeAddress, ObjectKey, Pool, RecordSet, Resolution};
use pontoon_core::policy::{FORBIDDEN, Policy, Rule, plain_zone};
use pontoon_core::records::verdict::RecordReason;

use super::fixture::*;
use super::recording::{NAME, ask, nodes_key, of_nodes, of_pool};
use super::scene::{Scene, scene};

/// A rule for the namespaces that match a pattern, which permits everything.
fn rule(namespaces: &str) -> Rule {
    Rule { namespaces: vec![namespaces.parse().unwrap()], ..Rule::default() }
}

fn providers<const N: usize>(names: [&str; N]) -> Rule {
    Rule { providers: Some(names.into_iter().map(Into::into).collect()), ..rule("*") }
}

fn cidrs<const N: usize>(ranges: [&str; N]) -> Rule {
    let ranges = ranges.into_iter().map(|range| range.parse().unwrap());
    Rule { cidrs: Some(ranges.collect()), ..rule("*") }
}

fn zones<const N: usize>(names: [&str; N]) -> Rule {
    Rule { zones: Some(names.into_iter().map(plain_zone).collect()), ..rule("*") }
}

fn set(scene: &mut Scene, rules: impl Into<Vec<Rule>>) {
    scene.world.set_policy(Policy { rules: rules.into() });
}

fn forbidden(scene: &Scene, pool: &str) -> Option<String> {
    match scene.reason(pool) {
        Reason::Invalid(finding) if finding.reason == FORBIDDEN => {
            Some(finding.message.to_string())
        }
        _ => None,
    }
}

fn forbidden_records(scene: &Scene, key: &ObjectKey) -> bool {
    matches!(&scene.record_verdict(key).reason,
             RecordReason::Invalid(finding) if finding.reason == FORBIDDEN)
}

fn in_namespace(namespace: &str, pool: Pool) -> Pool {
    let key = ObjectKey { namespace: namespace.into(), ..pool.key.clone() };
    Pool { key, ..pool }
}

/// Calls of any sort, to a provider or to the API server.
fn calls(actions: &[Action]) -> usize {
    actions.len()
}

#[test]
fn a_forbidden_provider_gets_no_call_and_the_verdict_names_it() {
    let mut scene = scene().nodes(["a"]).address(ip(1), None);
    set(&mut scene, [providers(["other"])]);
    scene.set_pool(pool("p").ips([1]));
    scene.set_records(ask(of_pool("p"), |_| {}));
    assert_eq!(calls(&scene.run(seconds(3600))), 0, "{:?}", scene.history);
    let message = forbidden(&scene, "p").unwrap();
    assert!(message.contains("objects in namespace \"default\" use the provider \"account\""));
    assert!(forbidden_records(&scene, &key("p")), "a name for nothing is forbidden too");
}

#[test]
fn a_pool_beside_a_forbidden_one_is_served_though_the_older_one_lists_its_address() {
    let mut scene = scene().nodes(["a"]).address(ip(1), None);
    let team = in_namespace("team-a", pool("p").ips([1]).created_at(at(-5000)));
    set(&mut scene, [Rule { namespaces: vec!["team-*".parse().unwrap()], ..providers([]) }]);
    scene.set_pool(team);
    scene.set_pool(pool("q").ips([1]));
    scene.run(seconds(60));
    assert_eq!((scene.home(ip(1)), scene.reason("q")), (Some("a"), &Reason::AllAssigned));
}

#[test]
fn a_policy_that_is_tightened_leaves_the_address_and_keeps_it_from_others() {
    let mut scene = scene().nodes(["a", "b"]).pool(pool("p").ips([1])).address(ip(1), Some("a"));
    scene.set_records(of_pool("p"));
    scene.run(seconds(60));
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    set(&mut scene, [Rule { namespaces: vec!["default".parse().unwrap()], ..cidrs([]) }]);
    let rival = Pool { uid: "rival".into(), ..in_namespace("elsewhere", pool("q").ips([1])) };
    scene.set_pool(rival);
    scene.change_node("a", NodeFixture::not_ready);
    let done = scene.run(seconds(3600));
    assert_eq!((moves(&done), count(&done, is_unassign)), (vec![], 0));
    assert_eq!((scene.home(ip(1)), scene.mark("a")), (Some("a"), Some("192.0.2.1")));
    assert_eq!(scene.dns.listed(NAME), [ip(1)]);
    assert!(forbidden(&scene, "p").unwrap().contains("use 192.0.2.1 at the provider"));
    assert!(forbidden_records(&scene, &key("p")));
    set(&mut scene, []);
    scene.run(seconds(60));
    assert_eq!((scene.home(ip(1)), scene.reason("p")), (Some("b"), &Reason::AllAssigned));
}

#[test]
fn one_address_outside_the_ranges_forbids_the_pool_wherever_it_stands() {
    let created = |n| Ledger { created: vec![ip(n)], ..Ledger::default() };
    let kept = Ledger { kept: vec![ip(9)], ..Ledger::default() };
    let deleted = pool("p").ips([1]).releasing().deleted();
    for (fits, pool) in [
        (true, pool("p").ips([1, 2])),
        (true, Pool { ledger: created(2), ..pool("p").ips([1]) }),
        (false, pool("p").ips([1, 9])),
        (false, Pool { ledger: created(9), ..pool("p").ips([1]) }),
        (false, Pool { ledger: kept, ..pool("p").ips([1]) }),
        (false, Pool { ledger: Ledger { guarded: true, ..created(9) }, ..deleted }),
    ] {
        let mut scene = scene().nodes(["a", "b"]).address(ip(1), None).address(ip(2), None);
        scene = scene.address(ip(9), None);
        set(&mut scene, [cidrs(["192.0.2.0/29"])]);
        scene.set_pool(pool.clone());
        let done = scene.run(seconds(60));
        assert_eq!(forbidden(&scene, "p").is_none(), fits, "{pool:?}");
        assert_eq!(calls(&done) == 0, !fits, "{done:?}");
        assert!(scene.cloud.addresses.contains_key(&ip(9)));
    }
}

#[test]
fn where_ranges_are_set_nothing_is_reserved_because_the_address_is_not_known_before() {
    let adopts = Pool { resolution: Some(Resolution::Adopt(ip(9))), ..pool("p").ips([1]) };
    for pool in
        [pool("p").wants(1), pool("p").ips([1]).wants(2), pool("p").with_intent(None), adopts]
    {
        let mut scene = scene().nodes(["a"]).address(ip(1), None);
        set(&mut scene, [cidrs(["0.0.0.0/0"])]);
        scene.set_pool(pool);
        assert_eq!(calls(&scene.run(seconds(60))), 0);
        assert!(forbidden(&scene, "p").unwrap().contains("reserve addresses"));
    }
    let mut scene = scene().nodes(["a"]);
    set(&mut scene, [cidrs(["0.0.0.0/0"]), providers([ACCOUNT])]);
    scene.set_pool(pool("p").wants(1));
    scene.run(seconds(60));
    assert_eq!(
        (scene.cloud.made, scene.reason("p")),
        (1, &Reason::AllAssigned),
        "another rule may"
    );
}

#[test]
fn several_rules_permit_what_one_of_them_permits_as_a_whole() {
    let both = |provider, range| Rule { cidrs: cidrs([range]).cidrs, ..providers([provider]) };
    let rules = vec![both(ACCOUNT, "192.0.2.1"), both("other", "192.0.2.2"), providers([])];
    for (n, fits) in [(1, true), (2, false)] {
        let mut scene = scene().nodes(["a"]).address(ip(n), None);
        set(&mut scene, rules.clone());
        scene.set_pool(pool("p").ips([n]));
        scene.run(seconds(60));
        assert_eq!(forbidden(&scene, "p").is_none(), fits, "{n}");
    }
}

#[test]
fn a_forbidden_zone_is_neither_read_nor_written_and_the_addresses_are_served() {
    let mut scene = scene().nodes(["a"]).address(ip(1), None);
    let in_zone = |set: RecordSet, zone: &str| ask(set, |request| request.zone = zone.into());
    set(&mut scene, [zones(["example.org"])]);
    scene.set_pool(pool("p").ips([1]));
    scene.set_records(of_pool("p"));
    scene.set_records(of_nodes("n", NodeAddress::External));
    let done = scene.run(seconds(3600));
    let about_dns = |action: &Action| matches!(action, Action::Record(_));
    assert_eq!(count(&done, about_dns), 0, "{done:?}");
    assert_eq!(scene.reason("p"), &Reason::AllAssigned);
    assert!(forbidden_records(&scene, &key("p")) && forbidden_records(&scene, &nodes_key("n")));
    set(&mut scene, [zones(["example.com"])]);
    scene.change_records("p", |set| in_zone(set, "Example.COM."));
    assert!(count(&scene.run(seconds(60)), about_dns) > 0);
    assert!(!forbidden_records(&scene, &key("p")));
}

#[test]
fn an_object_without_a_namespace_is_governed_by_the_empty_name_and_by_the_star() {
    for (namespaces, fits) in [("", false), ("*", false), ("default", true)] {
        let mut scene = scene().nodes(["a"]).address(ip(1), None);
        set(&mut scene, [Rule { providers: Some([].into()), ..rule(namespaces) }]);
        let key = ObjectKey { kind: &ALLOCATION, namespace: "".into(), name: "p".into() };
        scene.set_pool(Pool { key, ..pool("p").ips([1]) });
        scene.run(seconds(60));
        assert_eq!(scene.home(ip(1)).is_some(), fits, "{namespaces:?}");
    }
}

#[test]
fn a_permitted_spec_is_served_at_once_and_an_older_version_changes_nothing() {
    let mut scene = scene().nodes(["a"]).address(ip(1), None);
    set(&mut scene, [cidrs(["192.0.2.1"])]);
    scene.set_pool(pool("p").ips([9]));
    scene.run(seconds(60));
    assert!(forbidden(&scene, "p").is_some());
    scene.change_pool("p", |_| pool("p").ips([1]));
    scene.run(seconds(60));
    assert_eq!((scene.home(ip(1)), scene.reason("p")), (Some("a"), &Reason::AllAssigned));
    scene.world.set_pool(Pool { version: 1, ..pool("p").ips([9]) });
    set(&mut scene, [cidrs(["192.0.2.0/24"])]);
    scene.run(seconds(60));
    assert_eq!((scene.home(ip(1)), scene.reason("p")), (Some("a"), &Reason::AllAssigned));
}
