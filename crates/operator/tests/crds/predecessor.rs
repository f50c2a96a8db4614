//! Objects that FLIPOP's definitions stored, after the upgrade to our definitions.

use std::fs;

use control_plane::ControlPlane;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use pontoon::fronts::address_status::IpStatus;
use pontoon::fronts::crds;
use pontoon::fronts::floating_ip_pool::{FloatingIPPool, FloatingIPPoolStatus};
use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::{Value, json};

use crate::{api_of, apply, create, pool, record_set, shared, try_create, until_ours_are_served};

#[tokio::test]
async fn what_the_predecessor_stored_stays_readable_and_updatable() {
    let Some((_plane, client)) = upgraded().await else {
        return;
    };
    for object in broken_pools().iter().chain(&broken_record_sets()) {
        let name = &object["metadata"]["name"];
        let anew = try_create(&client, object).await;
        assert!(anew.is_err(), "{name} breaks no rule");
        the_rest_of_the_spec_can_be_edited(&client, object).await;
    }
    for object in &everything() {
        labels_can_be_edited(&client, object).await;
        if object["kind"] == "FloatingIPPool" {
            a_pools_status_can_be_replaced(&client, object).await;
        } else {
            a_record_sets_status_can_be_replaced(&client, object).await;
        }
    }
}

#[test]
fn every_field_of_the_predecessor_is_still_there_with_its_type() {
    let Some(theirs) = theirs() else { return };
    for (theirs, ours) in theirs.iter().zip(crds()) {
        let [theirs, ours] = [theirs, &ours].map(|crd| {
            let version = serde_json::to_value(&crd.spec.versions[0]).unwrap();
            version["schema"]["openAPIV3Schema"].clone()
        });
        contains(&ours, &theirs, "");
    }
}

/// Asserts that a schema has every field of another one.
pub fn contains(ours: &Value, theirs: &Value, path: &str) {
    assert_eq!(ours["type"], theirs["type"], "{path}");
    for below in ["items", "additionalProperties"] {
        if !theirs[below].is_null() {
            contains(&ours[below], &theirs[below], &format!("{path}.{below}"));
        }
    }
    for (name, theirs) in theirs["properties"].as_object().into_iter().flatten() {
        contains(&ours["properties"][name], theirs, &format!("{path}.{name}"));
    }
}

/// A plane with all objects below, stored with a status by FLIPOP's definitions before the upgrade.
async fn upgraded() -> Option<(ControlPlane, Client)> {
    let theirs = theirs()?;
    let plane = ControlPlane::start().await.unwrap()?;
    let client = plane.client().unwrap();
    apply(&client, "flipop", &theirs).await;
    for object in everything() {
        let name = create(&client, &object).await.name_any();
        let patch = Patch::Merge(json!({"status": old_status(&object)}));
        let stored =
            api_of(&client, &object).patch_status(&name, &PatchParams::default(), &patch).await;
        assert_eq!(stored.unwrap().data["status"], old_status(&object));
    }
    apply(&client, "pontoon", &crds()).await;
    until_ours_are_served(&client).await;
    Some((plane, client))
}

/// FLIPOP's definitions, in the order of ours.
fn theirs() -> Option<[CustomResourceDefinition; 2]> {
    let folder = shared("crds/flipop")?;
    let read = |kind| fs::read_to_string(folder.join(format!("flipop.{kind}.crd.yaml"))).unwrap();
    let kinds = ["floatingippool", "nodednsrecordset"];
    Some(kinds.map(|kind| serde_saphyr::from_str(&read(kind)).unwrap()))
}

/// Every object that FLIPOP's definitions stored.
fn everything() -> Vec<Value> {
    [broken_pools(), broken_record_sets(), odd_ones()].concat()
}

/// FLIPOP's status of an object.
fn old_status(object: &Value) -> Value {
    if object["kind"] != "FloatingIPPool" {
        return json!({"state": "error", "error": "something"});
    }
    json!({
        "error": "something", "nodeErrors": ["node-b"], "assignableNodes": ["node-c"],
        "ips": {"192.0.2.1": {
            "state": "active", "nodeName": "node-a", "providerID": "digitalocean://1", "error": "e",
        }},
    })
}

/// Pools that each break a rule of ours.
fn broken_pools() -> Vec<Value> {
    let ips = |ips: &[&str]| json!({"ips": ips});
    let zone = "x".repeat(80);
    let many: Vec<_> = (0..300).map(|n| format!("2001:db8::{n}")).collect();
    let tolerations: Vec<_> = (0..300).map(|n| json!({"key": n.to_string()})).collect();
    let odd = json!({"operator": "Exist", "effect": "All"});
    [
        ("unknown-provider", json!({"provider": "digitalocaen"})),
        ("empty-provider", json!({"provider": ""})),
        ("octal-address", ips(&["010.0.0.1"])),
        ("zoned-address", ips(&["fe80::1%eth0"])),
        ("long-address", ips(&[&format!("fe80::1%{zone}")])),
        ("duplicates", ips(&["192.0.2.1", "192.0.2.1"])),
        ("many-addresses", json!({"ips": many})),
        ("no-addresses", ips(&[])),
        ("no-region", json!({"desiredIPs": 3})),
        ("broken-node-label", json!({"match": {"nodeLabel": "a==,,b"}})),
        ("broken-pod-label", json!({"match": {"podLabel": "="}})),
        ("long-node-label", json!({"match": {"nodeLabel": "a".repeat(5000)}})),
        ("odd-toleration", json!({"match": {"tolerations": [odd]}})),
        ("many-tolerations", json!({"match": {"tolerations": tolerations}})),
        ("unknown-dns", json!({"dnsRecordSet": {"provider": "bind"}})),
        ("negative-ttl", json!({"dnsRecordSet": {"provider": "digitalocean", "ttl": -3}})),
    ]
    .map(|(name, changes)| {
        let mut spec = json!({"provider": "digitalocean", "ips": ["192.0.2.1"]});
        let changes = changes.as_object().unwrap().clone();
        spec.as_object_mut().unwrap().extend(changes);
        pool(name, spec)
    })
    .into()
}

/// Record sets that each break a rule of ours.
fn broken_record_sets() -> Vec<Value> {
    vec![
        record_set("unknown-dns", json!({"dnsRecordSet": {"provider": "bind"}})),
        record_set("odd-address-type", json!({"addressType": "externalIP"})),
        record_set("broken-label", json!({"match": {"podLabel": "a==,,b"}})),
    ]
}

/// Objects that break no rule, but have extreme numbers, or no spec.
fn odd_ones() -> Vec<Value> {
    let numbers = json!({
        "provider": "digitalocean", "region": "nyc3", "desiredIPs": 9e15,
        "assignmentCoolOffSeconds": 1e300, "dnsRecordSet": {"ttl": i64::MIN},
    });
    let without_spec = |mut object: Value| {
        object.as_object_mut().unwrap().remove("spec");
        object
    };
    vec![
        pool("huge-numbers", numbers),
        without_spec(pool("bare", json!({}))),
        without_spec(record_set("bare", json!({}))),
    ]
}

async fn labels_can_be_edited(client: &Client, object: &Value) {
    let metadata = json!({"labels": {"team": "edge"}, "annotations": {"pontoon.dev/x": "y"}});
    edited(client, object, json!({"metadata": metadata})).await;
}

/// Edits fields without rules, some of them next to the broken field.
async fn the_rest_of_the_spec_can_be_edited(client: &Client, object: &Value) {
    let spec = json!({"match": {"podNamespace": "web"}, "dnsRecordSet": {"zone": "example.net", "recordName": "edge"}});
    edited(client, object, json!({"spec": spec})).await;
}

async fn edited(client: &Client, object: &Value, changes: Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let answer =
        api_of(client, object).patch(name, &PatchParams::default(), &Patch::Merge(&changes)).await;
    let stored = answer.unwrap_or_else(|error| panic!("{name}, {changes}: {error}"));
    assert_eq!(stored.data["status"], old_status(object), "{name}");
}

async fn a_pools_status_can_be_replaced(client: &Client, object: &Value) {
    let api: Api<FloatingIPPool> = Api::namespaced(client.clone(), "default");
    let name = object["metadata"]["name"].as_str().unwrap();
    let mut stored = api.get(name).await.unwrap();
    let old = stored.status.take().unwrap();
    assert_eq!(serde_json::to_value(&old).unwrap(), old_status(object), "{name}");

    let placed = IpStatus {
        state: "active".into(),
        last_assignment_time: Some(time()),
        ineligible_since: Some(time()),
        ..IpStatus::default()
    };
    let new = FloatingIPPoolStatus {
        conditions: vec![condition()],
        observed_generation: Some(1),
        assigned: "1/1".into(),
        created_ips: vec!["192.0.2.9".into()],
        ips: [("192.0.2.1".to_owned(), placed)].into(),
        last_assignment_time: Some(time()),
        ..old
    };
    stored.status = Some(new.clone());
    let answer = api.replace_status(name, &PostParams::default(), &stored).await;
    let replaced = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(replaced.status, Some(new), "{name}");
    assert_eq!(replaced.spec, stored.spec, "{name}");
}

async fn a_record_sets_status_can_be_replaced(client: &Client, object: &Value) {
    let api: Api<NodeDNSRecordSet> = Api::namespaced(client.clone(), "default");
    let name = object["metadata"]["name"].as_str().unwrap();
    let mut stored = api.get(name).await.unwrap();
    let mut status = stored.status.take().unwrap();
    assert_eq!(serde_json::to_value(&status).unwrap(), old_status(object), "{name}");

    status.conditions.push(condition());
    stored.status = Some(status.clone());
    let answer = api.replace_status(name, &PostParams::default(), &stored).await;
    let replaced = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(replaced.status, Some(status), "{name}");
}

fn condition() -> Condition {
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "Invalid", "message": "broken",
        "lastTransitionTime": "2026-11-15T03:35:57Z", "observedGeneration": 1,
    });
    serde_json::from_value(condition).unwrap()
}

fn time() -> MicroTime {
    serde_json::from_value(json!("2026-11-15T03:35:57.123456Z")).unwrap()
}
