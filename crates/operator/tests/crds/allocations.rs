//! NetIPAllocations: ip-address-controller's manifests and definition, and refused objects.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use pontoon::fronts::crds;
use pontoon::fronts::net_ip_allocation::NET_IP_ALLOCATION;
use serde_json::{Value, json};

use crate::accepted::applied;
use crate::predecessor::contains;
use crate::refused::{check, with};
use crate::{allocation, ours, shared};

/// The manifests of the predecessor's README, field for field, and its old way to name a Deployment.
const MANIFESTS: &str = include_str!("../netip_manifests/allocations.yaml");

#[tokio::test]
async fn the_manifests_of_the_predecessors_readme_apply_without_an_unknown_field() {
    let Some((plane, _)) = ours().await else { return };
    let said = applied(plane, &["--validate=strict"], MANIFESTS);
    let kind = "netipallocation.netinfra.darkbrains.com";
    let names = ["example-allocation", "my-app-ips", "old-way"];
    let wanted: String = names.iter().map(|name| format!("{kind}/{name} created\n")).collect();
    assert_eq!(said, wanted);
}

#[test]
fn every_field_of_the_predecessor_is_still_there_with_its_type() {
    let Some(folder) = shared("crds/netip") else { return };
    let theirs = std::fs::read_to_string(folder.join("net-ip-allocation-crds.yaml")).unwrap();
    let theirs: CustomResourceDefinition = serde_saphyr::from_str(&theirs).unwrap();
    let is_it = |crd: &CustomResourceDefinition| crd.spec.names.kind == NET_IP_ALLOCATION.name;
    let ours = crds().into_iter().find(is_it).unwrap();
    let [theirs, ours] = [theirs, ours].map(|crd| {
        assert_eq!(crd.spec.names.short_names.unwrap(), ["nia"]);
        let version = serde_json::to_value(&crd.spec.versions[0]).unwrap();
        version["schema"]["openAPIV3Schema"].clone()
    });
    contains(&ours, &theirs, "");
}

/// A valid allocation with some fields changed.
fn allocation_with(changes: Value) -> Value {
    let spec = json!({"reservedIPs": ["192.0.2.1"], "cloud": {"provider": "gcp"}});
    with(allocation("bad", spec), changes)
}

#[tokio::test]
async fn a_bad_allocation_is_refused_and_what_is_known_is_named() {
    check(&[
        (
            allocation_with(json!({"reservedIPs": ["192.0.2.1", "192.0.2"]})),
            r#"spec.reservedIPs[1]: Invalid value: "192.0.2": "192.0.2" is not an IPv4 or IPv6 address"#,
        ),
        (
            allocation_with(json!({"reservedIPs": ["192.0.2.1", "192.0.2.1"]})),
            r#"spec.reservedIPs: Invalid value: "192.0.2.1" is listed more than once"#,
        ),
        (
            allocation_with(json!({"cloud": {"provider": "aws"}})),
            r#"spec.cloud.provider: Invalid value: "aws": "aws" is not a known provider; known: digitalocean, gcp"#,
        ),
        (
            allocation_with(json!({"workloadRef": {"kind": "Job", "name": "web"}})),
            "spec.workloadRef.kind: Invalid value: \"Job\": \"Job\" is not a known kind of workload; \
             known: Deployment, StatefulSet, DaemonSet",
        ),
        (
            allocation_with(json!({"eviction": "Never"})),
            "spec.eviction: Invalid value: \"Never\": \"Never\" is not a known eviction policy; \
             known: Enabled, Disabled",
        ),
        (
            allocation_with(json!({"reconcileInterval": 1})),
            "spec.reconcileInterval: Invalid value: 1: spec.reconcileInterval in body should be \
             greater than or equal to 5",
        ),
    ])
    .await;
}
