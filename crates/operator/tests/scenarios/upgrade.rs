//! Upgrade from the predecessor: its definitions and objects, then our definitions.

use std::net::IpAddr;
use std::path::Path;

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};

/// A definition of FLIPOP, from test data beside the clone.
pub fn predecessors_definition(file: &str) -> Option<String> {
    others_definition("flipop", file)
}

/// A definition of another predecessor, from the same place.
pub fn others_definition(folder: &str, file: &str) -> Option<String> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/crds");
    let folder = shared.join(folder);
    match std::fs::read_to_string(folder.join(file)) {
        Ok(text) => Some(text),
        Err(error) if std::env::var("CI").as_deref() == Ok("true") => panic!("{file}: {error}"),
        Err(error) => {
            eprintln!("SKIPPED: the predecessor's definitions are not here: {file}: {error}");
            None
        }
    }
}

async fn objects_of_the_predecessors_definition_are_observed_and_after_the_upgrade_served(on: On) {
    let Some(pools) = predecessors_definition("flipop.floatingippool.crd.yaml") else { return };
    let Some(sets) = predecessors_definition("flipop.nodednsrecordset.crd.yaml") else { return };
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    let old = [pools, sets].map(|text| serde_saphyr::from_str(&text).unwrap());
    arena.define(old.into()).await;
    for (name, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(name, droplet).await;
    }
    arena.cloud.reserve_on("198.51.100.1".parse::<IpAddr>().unwrap(), 1);
    arena.cloud.reserve("198.51.100.2".parse::<IpAddr>().unwrap(), "nyc3");
    arena.pool("ingress", json!({"ips": ["198.51.100.1", "198.51.100.2"]})).await;
    // A record left by the predecessor.
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    arena.cloud.record("example.com", "A", "nodes", "203.0.113.1", 120);
    let record = json!({"provider": "digitalocean", "zone": "example.com", "recordName": "nodes",
                        "ttl": 120});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;

    let replica = arena.replica("only");
    replica.leads().await;
    eventually("the old field says what to do", || async {
        let error = arena.status("ingress").await.error;
        if error.contains("pontoon crds | kubectl apply") { Ok(()) } else { Err(error) }
    })
    .await;
    arena.event("ingress", "OldDefinition").await;
    arena.event("nodes", "OldDefinition").await;
    assert_eq!(arena.cloud.mutations().len(), 0);

    arena.define(pontoon::fronts::crds()).await;
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.holder("198.51.100.1".parse::<IpAddr>().unwrap()), Some(1));
    assert_eq!(arena.cloud.holder("198.51.100.2".parse::<IpAddr>().unwrap()), Some(2));
    let status = arena.record_state("nodes", "active").await;
    assert_eq!(status.error, "");
    assert_eq!(arena.cloud.mutations().len(), 1, "what is in place stays");
    assert_eq!(arena.status("ingress").await.error, "");
}

async fn definitions_that_appear_later_are_found(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    let replica = arena.replica("only");
    replica.leads().await;
    arena.define(pontoon::fronts::crds()).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    arena.ready("ingress").await;
}

/// Our definitions as in an earlier release: with a status field less.
pub fn earlier_definitions()
-> Vec<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>
{
    let mut crds = pontoon::fronts::crds();
    for crd in &mut crds {
        let schema = crd.spec.versions[0].schema.as_mut().unwrap();
        let root = schema.open_api_v3_schema.as_mut().unwrap();
        let status = root.properties.as_mut().unwrap().get_mut("status").unwrap();
        status.properties.as_mut().unwrap().remove("observedGeneration").unwrap();
    }
    crds
}

async fn a_definition_that_drops_a_part_of_the_status_is_told_and_after_its_upgrade_has_it(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    arena.define(earlier_definitions()).await;
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    arena.serving_node("a", 1).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    let note = arena.event("ingress", "StatusDropped").await;
    assert!(note.contains("status.observedGeneration"), "{note}");
    assert!(note.contains("pontoon crds | kubectl apply"), "{note}");
    assert_eq!(arena.status("ingress").await.observed_generation, None);

    arena.define(pontoon::fronts::crds()).await;
    eventually("the whole status is stored", || async {
        let status = arena.status("ingress").await;
        status.observed_generation.ok_or(status)
    })
    .await;
}

on_both! {
    a_definition_that_drops_a_part_of_the_status_is_told_and_after_its_upgrade_has_it,
    objects_of_the_predecessors_definition_are_observed_and_after_the_upgrade_served,
    definitions_that_appear_later_are_found,
}
