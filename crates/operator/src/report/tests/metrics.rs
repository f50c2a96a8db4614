//! Which series are shown, and for how long.

use std::time::Duration;

use pontoon_core::action::{Action, AddressAction};
use pontoon_core::addresses::verdict::{AddressVerdict, Note, Reason, State, Verdict};
use pontoon_core::model::{Kind, ObjectKey, Remembered};
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};

use crate::fronts::dns_record;
use crate::fronts::floating_ip_pool::FLOATING_IP_POOL;
use crate::fronts::ledger::POOL_NAMES;
use crate::fronts::node_dns_record_set::NODE_DNS_RECORD_SET;
use crate::report::metrics::Metrics;
use crate::report::object_series::SeriesLabels;

fn key(kind: &'static Kind, name: &str) -> ObjectKey {
    ObjectKey { kind, namespace: "flipop".into(), name: name.into() }
}

fn leading() -> Metrics {
    let metrics = Metrics::new().unwrap();
    metrics.leads(true);
    metrics
}

fn assign(pool: &ObjectKey) -> Action {
    Action::Address(AddressAction::Assign {
        account: "digitalocean".into(),
        pool: pool.clone(),
        ip: "192.0.2.1".parse().unwrap(),
        node: "a".into(),
        machine: "1".into(),
    })
}

fn list() -> Action {
    Action::Address(AddressAction::List {
        account: "digitalocean".into(),
        families: Vec::new(),
        confirms: false,
        scope: Default::default(),
    })
}

fn count(metrics: &Metrics, part: &str) -> usize {
    metrics.page().lines().filter(|line| !line.starts_with('#') && line.contains(part)).count()
}

/// An assignment, as reported by the executor and the announcer.
fn assigns(metrics: &Metrics, pool: &ObjectKey) {
    metrics.called(&assign(pool), None, Duration::from_millis(3));
    let labels = SeriesLabels { key: pool, provider: "digitalocean", dns: "" };
    metrics.assigned(labels, "192.0.2.1".parse().unwrap(), true);
}

/// The verdict on a name that should list so many addresses.
fn lists(wanted: usize) -> RecordVerdict {
    RecordVerdict {
        reason: RecordReason::Current,
        site: None,
        listed: Some(wanted),
        wanted: Some(wanted),
        held: None,
        withheld: None,
        names: &dns_record::NAMES,
    }
}

#[test]
fn counters_go_with_their_object_and_leave_those_of_others() {
    let metrics = leading();
    let (gone, stays) = (key(&FLOATING_IP_POOL, "gone"), key(&FLOATING_IP_POOL, "stays"));
    for pool in [&gone, &stays] {
        metrics.see(pool, "1");
        assigns(&metrics, pool);
    }
    metrics.called(&list(), None, Duration::ZERO);
    metrics.forget(&gone);
    assert_eq!(count(&metrics, "name=\"gone\""), 0, "{}", metrics.page());
    assert_eq!(count(&metrics, "ip_assignments{"), 1);
    assert_eq!(count(&metrics, "calls_total{"), 2, "the pool's and the account's");
    assert_eq!(count(&metrics, "call_duration_seconds_count{"), 2);
}

#[test]
fn a_call_that_comes_back_after_its_object_has_gone_brings_nothing_back() {
    let metrics = leading();
    let gone = key(&FLOATING_IP_POOL, "gone");
    metrics.see(&gone, "1");
    metrics.forget(&gone);
    assigns(&metrics, &gone);
    assert_eq!(count(&metrics, "flipop_"), 0, "{}", metrics.page());
}

#[test]
fn an_object_that_is_seen_again_goes_on_counting_and_another_of_its_name_begins_anew() {
    let metrics = leading();
    let pool = key(&FLOATING_IP_POOL, "ingress");
    for _ in 0..2 {
        metrics.see(&pool, "1");
        assigns(&metrics, &pool);
    }
    assert_eq!(count(&metrics, "provider=\"digitalocean\"} 2"), 3, "{}", metrics.page());
    metrics.see(&pool, "2");
    assert_eq!(count(&metrics, "flipop_"), 0, "{}", metrics.page());
}

#[test]
fn a_pool_and_a_record_set_of_one_name_are_two_objects() {
    let metrics = leading();
    let (pool, set) = (key(&FLOATING_IP_POOL, "edge"), key(&NODE_DNS_RECORD_SET, "edge"));
    metrics.see(&pool, "1");
    metrics.see(&set, "2");
    assigns(&metrics, &pool);
    let labels = SeriesLabels { key: &set, provider: "digitalocean", dns: "x" };
    metrics.records(labels, &lists(3));
    metrics.forget(&pool);
    assert_eq!(count(&metrics, "flipop_"), 1, "{}", metrics.page());
    assert_eq!(count(&metrics, "flipop_nodednsrecordset_records{"), 1);
}

#[test]
fn a_replica_that_does_not_lead_shows_its_process_and_nothing_else() {
    let metrics = leading();
    let pool = key(&FLOATING_IP_POOL, "ingress");
    metrics.see(&pool, "1");
    assigns(&metrics, &pool);
    metrics.called(&list(), None, Duration::ZERO);
    metrics.leads(false);
    // Calls that were under way when leadership ended.
    assigns(&metrics, &pool);
    metrics.called(&list(), None, Duration::ZERO);
    assert_eq!(count(&metrics, "flipop_"), 0, "{}", metrics.page());
    assert_eq!(count(&metrics, "pontoon_leader 0"), 1);
    // The next term counts from zero.
    metrics.leads(true);
    assigns(&metrics, &pool);
    assert_eq!(count(&metrics, "ip_assignments{"), 1);
    assert_eq!(count(&metrics, "provider=\"digitalocean\"} 1"), 3, "{}", metrics.page());
}

fn address(last: u8, state: State, machine: Option<&str>, node: Option<&str>) -> AddressVerdict {
    AddressVerdict {
        ip: [192, 0, 2, last].into(),
        state,
        node: node.map(Into::into),
        machine: machine.map(Into::into),
        cordoned: false,
        provider_id: None,
        note: (state == State::NoMatch).then_some(Note::NoNode),
        memory: Remembered::default(),
    }
}

fn verdict(addresses: Vec<AddressVerdict>) -> Verdict {
    Verdict {
        reason: Reason::NoMatchingNode,
        wanted: addresses.len(),
        addresses,
        available: Vec::new(),
        available_count: 0,
        eligible: 1,
        census: None,
        unusable: Vec::new(),
        last_assignment: None,
        created: Vec::new(),
        kept: Vec::new(),
        creation_error: None,
        evicting: Vec::new(),
        limited: None,
        withheld: None,
        names: &POOL_NAMES,
    }
}

#[test]
fn an_address_on_a_machine_is_assigned_whether_that_matches_or_is_a_node_at_all() {
    let metrics = leading();
    let pool = key(&FLOATING_IP_POOL, "ingress");
    let labels = SeriesLabels { key: &pool, provider: "digitalocean", dns: "" };
    metrics.see(&pool, "1");
    metrics.addresses(
        labels,
        &verdict(vec![
            address(1, State::Active, Some("1"), Some("a")),
            address(2, State::InProgress, Some("2"), Some("b")),
            address(3, State::NoMatch, Some("3"), Some("c")),
            address(4, State::NoMatch, Some("4"), None),
            address(5, State::Unassigned, None, None),
            address(6, State::Disabled, Some("6"), Some("f")),
        ]),
    );
    assert_eq!(count(&metrics, "status=\"assigned\"} 4"), 1, "{}", metrics.page());
    let nodes = [("1", "a"), ("2", "b"), ("3", ""), ("4", "")];
    for (machine, node) in nodes {
        let part = format!(
            "node=\"{node}\",provider=\"digitalocean\",provider_id=\"digitalocean://{machine}\""
        );
        assert_eq!(count(&metrics, &part), 1, "{part}: {}", metrics.page());
    }
    assert_eq!(count(&metrics, "ip_node{"), nodes.len());
}

#[test]
fn what_is_counted_of_an_address_begins_at_zero_and_goes_with_it() {
    let metrics = leading();
    let pool = key(&FLOATING_IP_POOL, "ingress");
    let labels = SeriesLabels { key: &pool, provider: "digitalocean", dns: "" };
    metrics.see(&pool, "1");
    let first = address(1, State::Unassigned, None, None);
    metrics.addresses(
        labels,
        &verdict(vec![first.clone(), address(2, State::Active, Some("2"), None)]),
    );
    assert_eq!(count(&metrics, "ip_assignments{"), 2, "{}", metrics.page());
    assert_eq!(count(&metrics, "ip_assignment_errors{"), 2);
    assigns(&metrics, &pool);
    metrics.addresses(labels, &verdict(vec![first]));
    assert_eq!(count(&metrics, "192.0.2.2"), 0, "{}", metrics.page());
    assert_eq!(count(&metrics, "ip_assignments{dns=\"\",ip=\"192.0.2.1\""), 1);
    assert_eq!(count(&metrics, "provider=\"digitalocean\"} 1"), 3, "its own count goes on");
}

#[test]
fn a_condition_is_shown_with_its_status_and_goes_with_its_object() {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    let metrics = leading();
    let pool = key(&FLOATING_IP_POOL, "ingress");
    metrics.see(&pool, "1");
    let ready = |status: &str| Condition {
        type_: "Ready".into(),
        status: status.into(),
        reason: "NoFreeNode".into(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            jiff::Timestamp::UNIX_EPOCH,
        ),
    };
    metrics.conditions(&pool, &[ready("False")]);
    metrics.conditions(&pool, &[ready("True")]);
    let shown = "pontoon_condition{condition=\"Ready\",kind=\"FloatingIPPool\",name=\"ingress\",\
                 namespace=\"flipop\",reason=\"NoFreeNode\",status=\"True\"} 1";
    assert_eq!((count(&metrics, "pontoon_condition{"), count(&metrics, shown)), (1, 1));
    metrics.forget(&pool);
    assert_eq!(count(&metrics, "pontoon_condition{"), 0);
}

#[test]
fn the_age_of_watches_and_listings_is_shown_while_there_are_such() {
    let metrics = leading();
    let at = pontoon_core::Time::from_micros(1_500_000);
    let pods = |namespace: &str| format!("Pod in {namespace}");
    metrics.heard(&[("Node".to_owned(), Some(at)), (pods("a"), Some(at)), (pods("b"), None)]);
    metrics.listed("digitalocean", None);
    assert_eq!(count(&metrics, "heard_timestamp_seconds{kind=\"Node\"} 1.5"), 1);
    assert_eq!(count(&metrics, "heard_timestamp_seconds{kind=\"Pod\"} 0"), 1);
    assert_eq!(count(&metrics, "listing_last_success"), 0, "{}", metrics.page());
    metrics.heard(&[("Node".to_owned(), Some(at))]);
    metrics.listed("digitalocean", Some(at));
    assert_eq!(count(&metrics, "kind=\"Pod\""), 0);
    assert_eq!(count(&metrics, "success_timestamp_seconds{account=\"digitalocean\"} 1.5"), 1);
    metrics.leads(false);
    assert_eq!(count(&metrics, "listing_last_success"), 0, "a follower lists nothing");
}
