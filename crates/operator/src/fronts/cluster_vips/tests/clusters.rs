use pontoon_core::Time;
use pontoon_core::model::{Family, Subject};
use pontoon_core::vips::model::{Cluster, Role};
use pontoon_core::vips::verdict::{VipReason, VipVerdict};
use serde_json::{Value, json};

use super::super::{GENERATIONS, decode, names};
use crate::fronts::{Observed, Verdicts};
use crate::observe::schema::{Generation, Schema};

/// A Cluster as the API server sends it.
fn observed(generation: &'static Generation, metadata: Value, rest: Value) -> Observed {
    let mut object = rest;
    object["apiVersion"] = json!(format!("cluster.x-k8s.io/{}", generation.version));
    object["kind"] = json!("Cluster");
    object["metadata"] = json!({
        "name": "x", "namespace": "infra", "uid": "u", "resourceVersion": "7", "generation": 3,
    });
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    let object = serde_json::from_value(object).unwrap();
    decode::decode(&object, Schema::Theirs(generation)).unwrap()
}

fn cluster(metadata: Value, spec: Value) -> Cluster {
    observed(&GENERATIONS[0], metadata, json!({"spec": spec})).vips.unwrap()
}

fn class(cluster: &Cluster) -> String {
    cluster.class.as_ref().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn the_class_of_a_topology_is_read_in_both_generations() {
    for (topology, expected) in [
        (json!({"classRef": {"name": "c"}}), "infra/c"),
        (json!({"classRef": {"name": "c", "namespace": "shared"}}), "shared/c"),
        (json!({"class": "c"}), "infra/c"),
        (json!({"class": "c", "classNamespace": "shared"}), "shared/c"),
        (json!({"class": ""}), ""),
    ] {
        let cluster = cluster(json!({}), json!({"topology": topology}));
        assert_eq!((class(&cluster).as_str(), cluster.topology), (expected, !expected.is_empty()));
    }
}

#[test]
fn a_cluster_without_a_topology_opts_in_by_an_annotation() {
    let plain = cluster(json!({}), json!({}));
    assert!(!plain.asks() && !plain.topology);
    let named = json!({"annotations": {names::CLASSES: "shared/c"}});
    let opted = cluster(named, json!({}));
    assert_eq!((class(&opted).as_str(), opted.topology), ("shared/c", false));
    let pool = json!({"annotations": {names::wished_pool(Role::ControlPlane): "vips"}});
    assert_eq!(cluster(pool, json!({})).pools[&Role::ControlPlane].as_ref(), "vips");
}

#[test]
fn an_empty_endpoint_of_the_older_generation_counts_as_none() {
    let endpoint = |endpoint: Value| {
        let cluster = cluster(json!({}), json!({"controlPlaneEndpoint": endpoint}));
        (cluster.host.map(|host| host.to_string()), cluster.port)
    };
    assert_eq!(endpoint(json!({"host": "", "port": 0})), (None, None));
    assert_eq!(endpoint(json!(null)), (None, None));
    assert_eq!(endpoint(json!({"host": "", "port": 8443})), (None, Some(8443)));
    let set = endpoint(json!({"host": "api.example.com", "port": 6443}));
    assert_eq!(set, (Some("api.example.com".to_owned()), Some(6443)));
}

#[test]
fn a_variable_that_is_no_text_is_the_users_and_an_empty_one_is_none() {
    let value = |value: Value| {
        let variables =
            json!([{"name": "cni", "value": "a"}, {"name": "clusterVip", "value": value}]);
        let topology = json!({"class": "c", "variables": variables});
        cluster(json!({}), json!({"topology": topology})).variable.map(|text| text.to_string())
    };
    assert_eq!(value(json!("")), None);
    assert_eq!(value(json!(null)), None);
    assert_eq!(value(json!("192.0.2.1")).as_deref(), Some("192.0.2.1"));
    assert_eq!(value(json!({"ip": 1})).as_deref(), Some(r#"{"ip":1}"#));
}

#[test]
fn a_cluster_that_is_paused_deleted_or_moved_away_is_known_as_such() {
    let paused = cluster(json!({"annotations": {names::PAUSED: ""}}), json!({}));
    assert!(paused.paused && cluster(json!({}), json!({"paused": true})).paused);
    let leaving = json!({
        "deletionTimestamp": "2026-11-15T03:35:57Z",
        "finalizers": ["foregroundDeletion", "cluster.cluster.x-k8s.io"],
        "annotations": {names::MOVED_AWAY: ""},
    });
    let leaving = cluster(leaving, json!({}));
    assert!(leaving.deleting && leaving.guarded && leaving.moved_away);
}

#[test]
fn ingress_is_off_only_by_the_word_false_and_families_are_read_in_order() {
    let with = |name: &str, value: &str| cluster(json!({"annotations": {name: value}}), json!({}));
    assert!(!with(names::INGRESS_ENABLED, "false").ingress.enabled);
    assert!(with(names::INGRESS_ENABLED, "False").ingress.enabled);
    let both = with(names::FAMILIES, "IPv6, ipv4");
    assert_eq!((both.family, both.second), (Some(Family::V6), Some(Family::V4)));
    let odd = with(names::FAMILIES, "IPv5");
    assert_eq!((odd.family, odd.second), (None, None));
}

#[test]
fn our_condition_is_written_where_conditions_have_several_writers_and_nowhere_else() {
    let verdict = VipVerdict {
        reason: VipReason::NotConfigured,
        job: None,
        parts: [].into(),
        names: &names::NAMES,
        withheld: None,
    };
    let verdicts = Verdicts { vips: Some(&verdict), ..Verdicts::default() };
    let wanted = |generation: &'static Generation| {
        let face = observed(generation, json!({}), json!({})).face;
        face.wanted(verdicts, Time::default())
    };
    let place = ["/conditions/0/type", "/v1beta2/conditions/0/type"];
    for (generation, place) in GENERATIONS.iter().zip(place) {
        let wanted = wanted(generation).unwrap();
        assert_eq!(wanted.pointer(place), Some(&json!(names::CONDITION)), "{wanted}");
    }
    assert_eq!((wanted(&GENERATIONS[2]), wanted(&GENERATIONS[3])), (None, None));
}

#[test]
fn a_stored_condition_is_found_among_others_and_not_written_again() {
    let ours = json!({
        "type": names::CONDITION, "status": "True", "reason": "NotConfigured",
        "message": "no VIP pool is set up for this VIP", "observedGeneration": 3,
        "lastTransitionTime": "2026-11-15T03:35:57Z",
    });
    let other = json!({"type": "Available", "status": "True", "reason": "x", "message": "",
        "lastTransitionTime": "2026-11-15T03:35:57Z"});
    let status = json!({"status": {"conditions": [other, ours]}});
    let face = observed(&GENERATIONS[0], json!({}), status).face;
    assert_eq!(face.said(Subject::Vips), Some("NotConfigured"));
    let verdict = VipVerdict {
        reason: VipReason::NotConfigured,
        job: None,
        parts: [].into(),
        names: &names::NAMES,
        withheld: None,
    };
    let verdicts = Verdicts { vips: Some(&verdict), ..Verdicts::default() };
    assert_eq!(face.wanted(verdicts, Time::default()), Some(face.stored()));
}
