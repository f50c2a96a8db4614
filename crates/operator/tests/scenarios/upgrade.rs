//! Coming from the predecessor: its definitions, its objects, then ours over them.

use std::net::IpAddr;
use std::path::Path;

use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};

/// The predecessor's definitions, test data beside the clone.
pub fn predecessors_definition(file: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/crds/flipop");
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
    // A record as the predecessor left it.
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

    arena.define(pontoon::api::crds()).await;
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
    arena.define(pontoon::api::crds()).await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    arena.ready("ingress").await;
}

on_both! {
    objects_of_the_predecessors_definition_are_observed_and_after_the_upgrade_served,
    definitions_that_appear_later_are_found,
}
