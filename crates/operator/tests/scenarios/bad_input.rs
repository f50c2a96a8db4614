//! Invalid input: reported on the object itself, while everything else keeps running.

use std::net::IpAddr;

use kube::api::DynamicObject;
use pontoon::fronts;
use serde_json::{Value, json};

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Our definitions without rules, like an older server or an older definition.
pub fn lax_definitions()
-> Vec<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>
{
    let mut crds = fronts::crds();
    for crd in &mut crds {
        for version in &mut crd.spec.versions {
            let schema = version.schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
            let spec = schema.properties.as_mut().unwrap().get_mut("spec").unwrap();
            *spec = serde_json::from_value(
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            )
            .unwrap();
        }
    }
    crds
}

async fn each_object_that_makes_no_sense_says_so_and_the_others_are_served(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    arena.define(lax_definitions()).await;
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    let good = json!({"provider": "digitalocean", "ips": ["198.51.100.9"]});
    let with = |field: &str, value: Value| {
        let mut spec = good.clone();
        spec[field] = value;
        spec
    };
    let cases = [
        ("provider", with("provider", json!("digitalocaen")), "UnknownProvider"),
        ("selector", with("match", json!({"nodeLabel": "a==,,b"})), "InvalidSelector"),
        ("address", with("ips", json!(["not-an-ip"])), "InvalidAddress"),
        ("undecodable", with("ips", json!({"a": 1})), "Undecodable"),
        ("region", json!({"provider": "digitalocean", "desiredIPs": 2}), "RegionMissing"),
        ("empty", json!({"provider": "digitalocean"}), "NoAddresses"),
        // Its own address, because even an invalid pool keeps the addresses in its list.
        ("absent", with("ips", json!(["198.51.100.10"])), "AddressNotFound"),
    ];
    for (name, spec, _) in &cases {
        arena.raw_pool(name, spec.clone()).await;
    }
    arena.pool("good", json!({"ips": ["198.51.100.1"]})).await;
    let replica = arena.replica("only");
    arena.ready("good").await;
    for (name, _, wanted) in cases {
        let message = arena.reason(name, "Stalled", "True", wanted).await;
        assert!(!message.is_empty());
        arena.event(name, wanted).await;
        assert!(!arena.status(name).await.error.is_empty());
    }
    // Each status is written once, not every second: unchanged after two later status changes of
    // another pool.
    let version = |object: DynamicObject| object.metadata.resource_version;
    let before = version(arena.raw_pool_object("undecodable").await);
    for ready in [false, true] {
        arena.set_ready("a", ready).await;
        arena.condition("good", "Ready", if ready { "True" } else { "False" }).await;
    }
    assert_eq!(version(arena.raw_pool_object("undecodable").await), before);
    // A pool that becomes invalid leaves its address in place, and its metrics still show the
    // address.
    arena.edit("good", json!({"match": {"nodeLabel": "a==,,b"}})).await;
    arena.reason("good", "Stalled", "True", "InvalidSelector").await;
    let state = "flipop_floatingippoolcontroller_ip_state{dns=\"\",ip=\"198.51.100.1\",\
                 name=\"good\",namespace=\"flipop\",provider=\"digitalocean\",state=\"active\"}";
    replica.metric(state, "1").await;
    assert_eq!(arena.status("good").await.ips["198.51.100.1"].state, "active");
}

async fn credentials_that_are_missing_or_refused_are_told_to_the_pools_that_need_them(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let without = ["--leader-elect=false", "DIGITALOCEAN_ACCESS_TOKEN="];
    let replica = Replica::start(&arena, "without", &without);
    let (reason, message) = arena.condition("ingress", "Stalled", "True").await;
    assert_eq!(reason, "CredentialsMissing");
    assert!(message.contains("DIGITALOCEAN_ACCESS_TOKEN"), "{message}");
    replica.kill();

    arena.cloud.set(|knobs| knobs.token_expired = true);
    let refused = ["--leader-elect=false", "--retry-max=2s"];
    let _replica = Replica::start(&arena, "refused", &refused);
    arena.event("ingress", "CredentialsRefused").await;
    arena.reason("ingress", "Stalled", "True", "CredentialsRefused").await;
    arena.cloud.set(|knobs| knobs.token_expired = false);
    arena.ready("ingress").await;

    // Reported although nothing is lacking, before a node is lost.
    let mark = arena.cloud.mark();
    arena.cloud.set(|knobs| knobs.token_expired = true);
    arena.reason("ingress", "Ready", "Unknown", "CredentialsRefused").await;
    assert_eq!(arena.status("ingress").await.ips["198.51.100.1"].state, "active");
    arena.cloud.set(|knobs| knobs.token_expired = false);
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
}

async fn two_pools_that_list_one_address_leave_it_to_the_one_that_has_it(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    for ip in ["198.51.100.1", "198.51.100.2"] {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    for (name, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(name, droplet).await;
    }
    arena.pool("first", json!({"ips": ["198.51.100.1"]})).await;
    let _replica = arena.replica("only");
    arena.ready("first").await;
    arena.pool("second", json!({"ips": ["198.51.100.1", "198.51.100.2"]})).await;
    let (reason, message) = arena.condition("second", "Stalled", "True").await;
    assert_eq!(reason, "Conflict");
    assert!(message.contains("flipop/first"), "{message}");
    arena.marked("b", Some("198.51.100.2")).await;
    arena.marked("a", Some("198.51.100.1")).await;
    arena.ready("first").await;
}

/// An API server takes such an object where the definition admits any value; `kube` alone cannot read it.
#[tokio::test]
async fn an_object_of_great_depth_is_served_and_keeps_no_other_from_being_served() {
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    arena.define(lax_definitions()).await;
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.reserve_on("198.51.100.2".parse::<IpAddr>().unwrap(), 2);
    let deep = format!(
        r#"{{"apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "FloatingIPPool",
        "metadata": {{"name": "deep"}}, "spec": {{"provider": "digitalocean",
        "ips": ["198.51.100.2"], "anything": {}{}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    let pools = "/apis/flipop.digitalocean.com/v1alpha1/namespaces/flipop/floatingippools";
    let create = http::Request::post(pools).header("Content-Type", "application/json");
    arena.client.request_text(create.body(deep.into_bytes()).unwrap()).await.unwrap();
    arena.pool("good", json!({"ips": ["198.51.100.1"]})).await;
    let _replica = arena.replica("only");
    arena.ready("good").await;
    arena.marked("b", Some("198.51.100.2")).await;
    eventually("the status of the deep pool", || async {
        let read = http::Request::get(format!("{pools}/deep")).body(vec![]).unwrap();
        let stored = arena.client.request_text(read).await.unwrap();
        if stored.contains("AllAssigned") { Ok(()) } else { Err(stored) }
    })
    .await;
}

on_both! {
    each_object_that_makes_no_sense_says_so_and_the_others_are_served,
    credentials_that_are_missing_or_refused_are_told_to_the_pools_that_need_them,
    two_pools_that_list_one_address_leave_it_to_the_one_that_has_it,
}
