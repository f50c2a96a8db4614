use pontoon_core::model::{Family, Kind};
use pontoon_core::vips::model::{ObjectName, PoolId, Role};
use serde_json::{Value, json};

use super::super::sources::{Addresses, Claims, Classes, GlobalPools, Holders, LocalPools};
use super::super::{CLUSTER, GENERATIONS, names};
use crate::fronts::dependency::Facts;
use crate::observe::schema::{Schema, Schemas};

/// The newer generation of Clusters is served.
fn schemas() -> Schemas {
    let mut schemas = Schemas::default();
    schemas.set(&CLUSTER, Schema::Theirs(&GENERATIONS[0]));
    schemas
}

fn value<F: Facts>(name: &str, metadata: Value, rest: Value) -> Option<F::Value> {
    let mut object = rest;
    object["metadata"] = json!({
        "name": name, "namespace": "infra", "uid": "u", "resourceVersion": "7",
        "creationTimestamp": "2026-11-15T03:35:57Z", "managedFields": [{"manager": "x"}],
    });
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    F::value(serde_json::from_value(object).unwrap(), &schemas())
}

fn owner(version: &str, kind: &str, name: &str, controller: bool) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": name, "uid": "o", "controller": controller})
}

#[test]
fn a_claim_is_read_in_both_generations_and_an_outdated_owner_is_noticed() {
    for (version, outdated) in [("v1beta1", true), ("v1beta2", false)] {
        let owner = owner(&format!("cluster.x-k8s.io/{version}"), "Cluster", "x", true);
        let pool = json!({"apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool", "name": "p"});
        let metadata = json!({"ownerReferences": [owner], "labels": {names::CLUSTER_NAME: "x"}});
        let rest = json!({
            "spec": {"poolRef": pool, "clusterName": "x"},
            "status": {"addressRef": {"name": "vip-cp-x"}},
        });
        let claim = value::<Claims>("vip-cp-x", metadata, rest).unwrap();
        let by = claim.owner.as_ref().unwrap();
        assert_eq!((by.outdated, by.controller, &*by.uid), (outdated, true, "o"));
        assert_eq!(claim.pool, Some(PoolId::global("p")));
        assert_eq!(claim.bound.as_deref(), Some("vip-cp-x"));
        assert!(claim.created_at.as_micros() > 0 && !claim.foreign && !claim.exhausted);
    }
}

#[test]
fn the_predecessors_claim_names_no_cluster_and_an_empty_reference_binds_nothing() {
    let rest = json!({
        "spec": {"poolRef": {"kind": "InClusterIPPool", "name": "p"}},
        "status": {"addressRef": {"name": ""}},
    });
    let claim = value::<Claims>("vip-cp-x", json!({}), rest).unwrap();
    assert_eq!((claim.owner, claim.cluster, claim.label), (None, None, None));
    assert_eq!((claim.bound, claim.pool), (None, Some(PoolId::local("infra", "p"))));
    let other =
        json!({"spec": {"poolRef": {"apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "p"}}});
    assert_eq!(value::<Claims>("vip-cp-x", json!({}), other).unwrap().pool, None);
}

#[test]
fn holders_and_foreign_controllers_of_a_claim_are_told_apart() {
    let owners = json!([
        owner("v1", "ConfigMap", "vip-cp-x", false),
        owner("example.com/v1", "Thing", "t", true),
    ]);
    let claim = value::<Claims>("vip-cp-x", json!({"ownerReferences": owners}), json!({})).unwrap();
    assert_eq!((claim.holder.as_deref(), claim.foreign), (Some("o"), true));
}

#[test]
fn an_exhausted_claim_is_noticed_wherever_its_generation_has_the_condition() {
    let condition = json!([{"type": "Ready", "status": "False", "reason": "PoolExhausted"}]);
    for status in [
        json!({"conditions": condition}),
        json!({"v1beta2": {"conditions": condition}}),
        json!({"deprecated": {"v1beta1": {"conditions": condition}}}),
    ] {
        let claim = value::<Claims>("vip-cp-x", json!({}), json!({"status": status})).unwrap();
        assert!(claim.exhausted);
    }
}

#[test]
fn addresses_of_machines_are_left_out() {
    let address = |claim: &str, ip: &str| {
        let spec = json!({"address": ip, "claimRef": {"name": claim}, "prefix": 24});
        value::<Addresses>("a", json!({}), json!({"spec": spec}))
    };
    assert_eq!(address("worker-7", "192.0.2.1"), None);
    assert_eq!(address("vip-cp-x", "192.0.2.1").unwrap().ip, Some("192.0.2.1".parse().unwrap()));
    assert_eq!(address("vip-ingress-x", "here").unwrap().ip, None);
}

#[test]
fn a_pool_has_classes_roles_family_and_room() {
    let metadata = json!({
        "labels": {names::CLASSES: "true", names::ROLES: "true"},
        "annotations": {
            names::CLASSES: "a, infra/b", names::ROLES: "control-plane,ingress",
            names::PRIORITY: "5", names::PAUSED: "",
        },
    });
    let rest = json!({
        "spec": {"addresses": ["2001:db8::10-2001:db8::20"], "prefix": 64},
        "status": {"ipAddresses": {"total": 17, "free": -1, "used": 18, "outOfRange": 1}},
    });
    let pool = value::<LocalPools>("p", metadata, rest).unwrap();
    assert_eq!(pool.id, PoolId::local("infra", "p"));
    assert_eq!(pool.roles, Role::ALL.into());
    assert_eq!((pool.family, pool.has_room()), (Some(Family::V6), Some(false)));
    assert_eq!((pool.priority, pool.paused), (5, true));
    let bare = value::<GlobalPools>("p", json!({}), json!({})).unwrap();
    assert_eq!((bare.id, bare.family, bare.room), (PoolId::global("p"), None, None));
}

#[test]
fn a_class_defines_variables_inline_or_by_an_extension() {
    let inline = json!({"spec": {"variables": [{"name": "clusterVip", "schema": {}}]}});
    let shown = json!({"status": {"variables": [{"name": "ingressVip", "definitions": []}]}});
    let defines = |rest| value::<Classes>("c", json!({}), rest).unwrap().defines;
    assert_eq!(defines(inline), [Role::ControlPlane]);
    assert_eq!(defines(shown), [Role::Ingress]);
    assert_eq!(defines(json!({"spec": {"variables": null}})), [] as [Role; 0]);
}

#[test]
fn a_config_map_is_a_holder_if_it_names_a_cluster() {
    let named =
        json!({"annotations": {"pontoon.dev/held-for": "x", "pontoon.dev/held-for-uid": "u1"}});
    let holder = value::<Holders>("vip-cp-x", named, json!({"data": {"a": "b"}})).unwrap();
    assert_eq!(holder.name, ObjectName::new("infra", "vip-cp-x"));
    assert_eq!((&*holder.cluster, &*holder.cluster_uid), ("x", "u1"));
    assert!(value::<Holders>("vip-cp-x", json!({}), json!({})).is_none());
    let moved = json!({"annotations": {names::MOVED_AWAY: ""}});
    assert!(value::<Holders>("vip-cp-x", moved, json!({})).unwrap().moved_away);
}

#[test]
fn every_source_of_vips_has_a_kind() {
    let kinds: std::collections::BTreeSet<&Kind> =
        super::super::sources::ALL.iter().map(|one| one.kind()).collect();
    assert_eq!(kinds.len(), pontoon_core::vips::VipSource::ALL.len());
}
