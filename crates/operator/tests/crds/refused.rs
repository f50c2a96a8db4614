//! Objects that the API server refuses, with the messages.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{answer, api_of, create, ours, pool, record_set, try_create};

/// A valid pool with some fields changed.
fn pool_with(changes: Value) -> Value {
    with(pool("bad", json!({"provider": "digitalocean", "ips": ["192.0.2.1"]})), changes)
}

/// A valid record set with some fields changed.
fn record_set_with(changes: Value) -> Value {
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    with(record_set("bad", json!({"dnsRecordSet": record})), changes)
}

/// A valid record with some fields changed.
fn record(changes: Value) -> Value {
    let mut record = json!({"zone": "example.com", "recordName": "nodes"});
    let Value::Object(changes) = changes else { panic!("not fields") };
    record.as_object_mut().unwrap().extend(changes);
    record
}

pub fn with(mut manifest: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("not fields") };
    manifest["spec"].as_object_mut().unwrap().extend(changes);
    manifest
}

pub async fn check(table: &[(Value, &str)]) {
    let Some((_, client)) = ours().await else { return };
    for (manifest, message) in table {
        let refused = try_create(&client, manifest).await;
        assert_eq!(refused, Err((*message).to_owned()), "{}", manifest["spec"]);
    }
}

#[tokio::test]
async fn a_bad_address_is_refused_by_name() {
    check(&[
        (
            pool_with(json!({"ips": ["192.0.2.1", "not-an-ip"]})),
            r#"spec.ips[1]: Invalid value: "not-an-ip": "not-an-ip" is not an IPv4 or IPv6 address"#,
        ),
        (
            pool_with(json!({"ips": ["192.0.2.256"]})),
            r#"spec.ips[0]: Invalid value: "192.0.2.256": "192.0.2.256" is not an IPv4 or IPv6 address"#,
        ),
        (
            pool_with(json!({"ips": ["192.0.2.1", "192.0.2.2", "192.0.2.1"]})),
            r#"spec.ips: Invalid value: "192.0.2.1" is listed more than once"#,
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_pool_without_addresses_or_a_way_to_get_them_is_refused() {
    let no_address = "spec.ips: Required value: list at least one address, or set desiredIPs to \
                      have new ones reserved";
    let no_region = "spec.region: Required value: needed to reserve new addresses: desiredIPs is \
                     greater than the number of ips";
    check(&[
        (pool_with(json!({"ips": []})), no_address),
        (pool_with(json!({"ips": [], "desiredIPs": 0, "region": "nyc3"})), no_address),
        (pool_with(json!({"desiredIPs": 2})), no_region),
        (pool_with(json!({"desiredIPs": 2, "region": ""})), no_region),
        (
            pool_with(json!({"desiredIPs": -1})),
            "spec.desiredIPs: Invalid value: -1: spec.desiredIPs in body should be greater than or equal to 0",
        ),
        (
            pool_with(json!({"assignmentCoolOffSeconds": -0.5})),
            "spec.assignmentCoolOffSeconds: Invalid value: -0.5: \
             spec.assignmentCoolOffSeconds in body should be greater than or equal to 0",
        ),
        (
            pool_with(json!({"gracePeriodSeconds": -1})),
            "spec.gracePeriodSeconds: Invalid value: -1: \
             spec.gracePeriodSeconds in body should be greater than or equal to 0",
        ),
        (
            pool_with(json!({"deletionPolicy": "Delete"})),
            "spec.deletionPolicy: Invalid value: \"Delete\": \"Delete\" is not a known deletion \
             policy; known: Retain, Release",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_unknown_provider_is_refused_and_the_known_ones_are_named() {
    check(&[
        (
            pool_with(json!({"provider": "digitalocaen"})),
            r#"spec.provider: Invalid value: "digitalocaen": "digitalocaen" is not a known provider; known: digitalocean, gcp"#,
        ),
        (
            pool_with(json!({"provider": ""})),
            r#"spec.provider: Invalid value: "": "" is not a known provider; known: digitalocean, gcp"#,
        ),
        (
            pool_with(json!({"dnsRecordSet": record(json!({"provider": "bind"}))})),
            r#"spec.dnsRecordSet.provider: Invalid value: "bind": "bind" is not a known DNS provider; known: digitalocean, cloudflare"#,
        ),
        (
            record_set_with(json!({"provider": "bind"})),
            r#"spec.provider: Invalid value: "bind": "bind" is not a known DNS provider; known: digitalocean, cloudflare"#,
        ),
        (
            record_set_with(json!({"dnsRecordSet": record(json!({"provider": "bind"}))})),
            r#"spec.dnsRecordSet.provider: Invalid value: "bind": "bind" is not a known DNS provider; known: digitalocean, cloudflare"#,
        ),
        (
            record_set_with(json!({"addressType": "externalIP"})),
            "spec.addressType: Invalid value: \"externalIP\": \"externalIP\" is not a known address type; \
             known: ExternalIP, InternalIP, flipop.digitalocean.com/ipv4-reserved-ip",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_record_without_a_zone_or_a_name_or_with_a_negative_ttl_is_refused() {
    let no_zone = "spec.dnsRecordSet.zone: Required value: name the zone that holds the record, \
                   such as example.com";
    let no_name = "spec.dnsRecordSet.recordName: Required value: name the record, relative to its \
                   zone; write @ for the zone itself";
    check(&[
        (pool_with(json!({"dnsRecordSet": {"recordName": "www"}})), no_zone),
        (pool_with(json!({"dnsRecordSet": record(json!({"zone": ""}))})), no_zone),
        (pool_with(json!({"dnsRecordSet": {"zone": "example.com"}})), no_name),
        (record_set_with(json!({"dnsRecordSet": {"zone": "example.com"}})), no_name),
        (
            pool_with(json!({"dnsRecordSet": record(json!({"ttl": -3}))})),
            "spec.dnsRecordSet.ttl: Invalid value: -3: spec.dnsRecordSet.ttl in body should be \
             greater than or equal to 0",
        ),
        (
            record_set("bad", json!({})),
            "spec.dnsRecordSet: Required value: say which record shall list the nodes: zone and \
             recordName",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_match_that_cannot_work_is_refused() {
    let toleration = |toleration: Value| pool_with(json!({"match": {"tolerations": [toleration]}}));
    check(&[
        (
            pool_with(json!({"match": {"nodeLabel": "a==,,b"}})),
            "spec.match.nodeLabel: Invalid value: \"a==,,b\": \"a==,,b\" is not a label selector such as \
             app=web,tier!=db,zone in (a,b),!old",
        ),
        (
            record_set_with(json!({"match": {"podLabel": "app=web,"}})),
            "spec.match.podLabel: Invalid value: \"app=web,\": \"app=web,\" is not a label selector such as \
             app=web,tier!=db,zone in (a,b),!old",
        ),
        (
            toleration(json!({"key": "a", "operator": "Exist"})),
            r#"spec.match.tolerations[0].operator: Invalid value: "Exist": "Exist" is not a known operator; known: Exists, Equal"#,
        ),
        (
            toleration(json!({"key": "a", "effect": "Noschedule"})),
            "spec.match.tolerations[0].effect: Invalid value: \"Noschedule\": \"Noschedule\" is not a known effect; \
             known: NoSchedule, PreferNoSchedule, NoExecute",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_the_schema_itself_refuses_reads_well_too() {
    let unchecked = "<nil>: Invalid value: null: some validation rules were not checked because the object \
                     was invalid; correct the existing errors to complete validation";
    let ips: Vec<_> = (0..257).map(|n| format!("2001:db8::{n}")).collect();
    check(&[
        (
            pool("bad", json!({"ips": ["192.0.2.1"]})),
            &format!("[spec.provider: Required value, {unchecked}]"),
        ),
        (
            pool_with(json!({"ips": ips})),
            &format!("[spec.ips: Too many: 257: must have at most 256 items, {unchecked}]"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn every_mistake_is_named_at_once() {
    let Some((_, client)) = ours().await else { return };
    let bad = json!({"provider": "aws", "ips": ["x"], "match": {"podLabel": "="}});
    let said = try_create(&client, &pool_with(bad)).await.unwrap_err();
    for field in ["spec.provider: ", "spec.ips[0]: ", "spec.match.podLabel: "] {
        assert!(said.contains(field), "{field} is not in {said}");
    }
}

#[tokio::test]
async fn broken_label_selectors_are_refused() {
    let Some((_, client)) = ours().await else { return };
    for selector in [
        ",",
        "a,",
        ",a",
        "a,,b",
        "=",
        "=b",
        "a=b c",
        "a=b=c",
        "a===b",
        "a!b",
        "a in",
        "a in b",
        "a in (b",
        "a in (b))",
        "a notin",
        "!",
        "!a=b",
        "a>b",
        "-a",
        "a-",
        "a/b/c",
        "/a",
        "Prefix/a",
        "a=-b",
        "a b",
        "a=b;c=d",
        "ä=b",
    ] {
        let object = pool_with(json!({"match": {"nodeLabel": selector}}));
        assert!(try_create(&client, &object).await.is_err(), "{selector:?}");
    }
}

#[tokio::test]
async fn a_good_pool_cannot_be_edited_into_a_broken_one() {
    let Some((_, client)) = ours().await else { return };
    let good =
        pool("edited", json!({"provider": "digitalocean", "region": "nyc3", "desiredIPs": 2}));
    create(&client, &good).await;
    for (changes, field) in [
        (json!({"region": null}), "spec.region: Required value"),
        (json!({"desiredIPs": 0}), "spec.ips: Required value"),
        (json!({"provider": "aws"}), "spec.provider: Invalid value"),
        (json!({"ips": ["192.0.2.1", "192.0.2.1"]}), "spec.ips: Invalid value"),
    ] {
        let patch = Patch::Merge(json!({"spec": changes}));
        let edited = api_of(&client, &good).patch("edited", &PatchParams::default(), &patch).await;
        let message = answer(edited).unwrap_err();
        assert!(message.starts_with(field), "{changes}: {message}");
    }
}
