//! Allocations as people write them.

use pontoon_core::action::{Action, AddressAction, FailureKind, ListScope};
use pontoon_core::addresses::verdict::{AddressVerdict, Reason, State, Verdict};
use pontoon_core::model::{Finding, Owner, Remembered, Request};
use pontoon_core::nodes::{Cordon, OwnerMatch, PodMatch};
use serde_json::{Value, json};

use super::decode::decode;
use crate::fronts::ledger::POOL_NAMES;
use crate::fronts::{Controllers, Observed};
use crate::observe::schema::Schema;
use crate::report::metrics::Metrics;
use crate::report::object_series::{ReplicaLabels, SeriesLabels};

fn seen(spec: Value) -> Observed {
    let object = json!({
        "apiVersion": "netinfra.darkbrains.com/v1alpha1", "kind": "NetIPAllocation",
        "metadata": {"name": "edge", "uid": "u", "resourceVersion": "3"},
        "spec": spec,
    });
    decode(serde_json::from_value(object).unwrap(), Schema::Current).unwrap()
}

fn asked(mut more: Value) -> Result<Request, Finding> {
    let mut spec = json!({"reservedIPs": ["192.0.2.1"], "cloud": {"provider": "digitalocean"}});
    spec.as_object_mut().unwrap().append(more.as_object_mut().unwrap());
    seen(spec).addresses.unwrap().request
}

fn keeping(request: &Request) -> &PodMatch {
    let Cordon::KeepsWhile(pods) = &request.matching.cordon else { panic!("no rule for cordons") };
    pods
}

fn workload(kind: &str) -> Value {
    json!({"workloadRef": {"kind": kind, "name": "web", "namespace": "shop"}})
}

#[test]
fn the_pods_of_a_deployment_belong_to_it_through_replica_sets() {
    let request = asked(workload("Deployment")).unwrap();
    let pods = keeping(&request);
    assert_eq!(pods.namespace.as_deref(), Some("shop"));
    let OwnerMatch::Is(workload) = &pods.owner else { panic!("{:?}", pods.owner) };
    assert_eq!(workload.owner, Owner { kind: "Deployment".into(), name: "web".into() });
    assert_eq!(workload.through.as_deref(), Some("ReplicaSet"));
    assert!(request.evicts.unwrap().enabled);
}

#[test]
fn a_deployment_named_in_the_old_way_means_the_same_and_is_warned_of() {
    let old = json!({"deploymentRef": {"name": "web", "namespace": "shop"}});
    assert_eq!(
        asked(old.clone()).unwrap().matching,
        asked(workload("Deployment")).unwrap().matching
    );
    let mut spec = json!({"reservedIPs": ["192.0.2.1"], "cloud": {"provider": "digitalocean"}});
    spec["deploymentRef"] = old["deploymentRef"].clone();
    assert_eq!(seen(spec).face.warning().unwrap().0, "DeprecatedField");
}

#[test]
fn for_a_daemon_set_every_pod_counts_that_can_be_evicted_and_none_is_evicted() {
    let request = asked(workload("DaemonSet")).unwrap();
    let pods = keeping(&request);
    assert_eq!(pods.namespace, None);
    assert!(matches!(&pods.owner, OwnerMatch::NotOfKinds(kinds) if kinds.len() == 2));
    assert!(!request.evicts.unwrap().enabled);
}

#[test]
fn without_a_workload_pods_with_an_app_label_count_outside_of_the_systems_namespaces() {
    let request = asked(json!({})).unwrap();
    let pods = keeping(&request);
    assert_eq!(pods.labels.to_string(), "app");
    assert_eq!(pods.except.len(), 3);
    assert!(!request.evicts.unwrap().enabled);
}

#[test]
fn eviction_can_be_switched_off() {
    let mut more = workload("StatefulSet");
    more["eviction"] = "Disabled".into();
    assert!(!asked(more).unwrap().evicts.unwrap().enabled);
}

#[test]
fn intervals_and_grace_have_their_defaults() {
    let times = |more: Value| {
        let request = asked(more).unwrap();
        (request.reread.unwrap().as_secs(), request.grace.as_secs())
    };
    assert_eq!(times(json!({})), (30, 30));
    assert_eq!(times(json!({"reconcileInterval": 60, "gracePeriodSeconds": 0})), (60, 0));
    assert_eq!(
        times(json!({"reconcileInterval": 1})).0,
        5,
        "an older definition may have let it in"
    );
}

#[test]
fn region_and_zones_rule_out_nodes_that_say_otherwise() {
    let more = json!({"cloud": {"provider": "digitalocean", "region": "r1", "zones": ["r1-a"]},
                      "nodeSelector": {"role": "edge"}});
    let request = asked(more).unwrap();
    let accepts = |labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        request.matching.nodes.accepts(&labels)
    };
    let (region, zone) = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone");
    assert!(accepts(&[("role", "edge"), (region, "r1"), (zone, "r1-a")]));
    assert!(accepts(&[("role", "edge")]), "labels of topology may be missing");
    assert!(!accepts(&[("role", "edge"), (region, "r2")]));
    assert!(!accepts(&[("role", "edge"), (zone, "r1-b")]));
    assert!(!accepts(&[(region, "r1")]));
}

#[test]
fn bad_input_is_a_finding_that_says_what_to_write() {
    let cases = [
        (json!({"reservedIPs": []}), "NoAddresses", "nothing to attach"),
        (json!({"reservedIPs": ["192.0.2"]}), "InvalidAddress", "spec.reservedIPs: \"192.0.2\""),
        (json!({"cloud": {"provider": "moon"}}), "UnknownProvider", "known providers: "),
        (workload("Job"), "InvalidWorkload", "use Deployment, StatefulSet, DaemonSet"),
        (json!({"eviction": "maybe"}), "InvalidEviction", "use Enabled or Disabled"),
    ];
    for (more, reason, words) in cases {
        let finding = asked(more).unwrap_err();
        assert_eq!(finding.reason, reason);
        assert!(finding.message.contains(words), "{}", finding.message);
    }
}

#[test]
fn an_object_that_cannot_be_decoded_keeps_the_addresses_that_it_lists() {
    let observed = seen(json!({"reservedIPs": ["192.0.2.1", 7], "cloud": 3}));
    let pool = observed.addresses.unwrap();
    assert_eq!(pool.request.unwrap_err().reason, "Undecodable");
    assert_eq!(pool.named.unwrap().len(), 1);
}

#[test]
fn the_predecessors_series_of_the_process_name_pod_version_and_cluster() {
    let labels = ReplicaLabels {
        cluster: Some("prod".to_owned()),
        pod: "pontoon-0".to_owned(),
        version: None,
    };
    let metrics = Metrics::of(&labels, &Controllers::default()).unwrap();
    metrics.leads(true);
    metrics.health(true, true);
    let list = AddressAction::List {
        account: "gcp".into(),
        families: vec![],
        confirms: false,
        scope: ListScope::default(),
    };
    let refused = Some(FailureKind::Refused);
    metrics.called(&Action::Address(list), refused, std::time::Duration::from_millis(300));
    let page = metrics.page();
    for series in [
        "netipallocation_controller_is_leader{cluster=\"prod\",pod_name=\"pontoon-0\"} 1",
        "netipallocation_controller_ready{cluster=\"prod\",pod_name=\"pontoon-0\"} 1",
        "netipallocation_controller_healthy{cluster=\"prod\",pod_name=\"pontoon-0\"} 1",
        "netipallocation_controller_info{cluster=\"prod\",pod_name=\"pontoon-0\",version=\"1.0.0\"} 1",
        "netipallocation_gcp_api_errors_total{cluster=\"prod\",error_type=\"permission_denied\",\
         operation=\"check_ip\"} 1",
        "netipallocation_gcp_api_duration_seconds_bucket{cluster=\"prod\",operation=\"check_ip\",\
         le=\"0.25\"} 0",
    ] {
        assert!(page.contains(series), "{series} is not in\n{page}");
    }
}

#[test]
fn an_address_that_is_on_no_node_is_shown_on_none_and_a_cordoned_node_as_such() {
    let metrics = Metrics::new().unwrap();
    metrics.leads(true);
    let key = seen(json!({})).key;
    metrics.see(&key, "u");
    let address = |last: u8, node: Option<&str>| AddressVerdict {
        ip: [192, 0, 2, last].into(),
        state: if node.is_some() { State::Active } else { State::Unassigned },
        node: node.map(Into::into),
        machine: node.map(Into::into),
        provider_id: None,
        cordoned: node.is_some(),
        note: None,
        memory: Remembered::default(),
    };
    let verdict = Verdict {
        reason: Reason::NoMatchingNode,
        addresses: vec![address(1, Some("a")), address(2, None)],
        wanted: 2,
        available: vec![],
        available_count: 0,
        eligible: 1,
        census: None,
        unusable: vec![],
        last_assignment: None,
        created: vec![],
        kept: vec![],
        creation_error: None,
        evicting: vec![],
        limited: None,
        withheld: None,
        names: &POOL_NAMES,
    };
    metrics.addresses(SeriesLabels { key: &key, provider: "moon", dns: "" }, &verdict);
    let page = metrics.page();
    for series in [
        "netipallocation_crd_status{crd_name=\"edge\"} 0",
        "netipallocation_reserved_ips_total{crd_name=\"edge\"} 2",
        "netipallocation_attached_ips_total{crd_name=\"edge\"} 1",
        "netipallocation_unattached_ips_total{crd_name=\"edge\"} 1",
        "netipallocation_ip_attached{crd_name=\"edge\",ip=\"192.0.2.1\",node=\"a\"} 1",
        "netipallocation_ip_attached{crd_name=\"edge\",ip=\"192.0.2.2\",node=\"none\"} 0",
        "netipallocation_node_cordoned{node=\"a\"} 1",
        "netipallocation_node_ip_ready{crd_name=\"edge\",node=\"a\"} 1",
    ] {
        assert!(page.contains(series), "{series} is not in\n{page}");
    }
}
