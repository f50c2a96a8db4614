//! Requests that use the rights of the controller of NodeDNSRecordSets.

use kube::Api;
use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::json;

use super::{kind_of, pauses_twice};
use crate::arena::{Arena, NAMESPACE};

/// A name that lists the node `n` of its own.
pub async fn before(arena: &Arena) {
    arena.serving_node("n", 9).await;
    arena.label("n", "pool", "named").await;
    arena.report("n", &[("ExternalIP", "203.0.113.9")]).await;
    arena.cloud.domain("example.com");
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    let matching = json!({"nodeLabel": "pool=named", "podLabel": "app=ingress"});
    arena.record_set("nodes", json!({"dnsRecordSet": record, "match": matching})).await;
}

pub async fn during(arena: &Arena) {
    arena.listed("nodes", "A", &["203.0.113.9"]).await;
    arena.record_state("nodes", "active").await;
    arena.event("nodes", "RecordUpdated").await;
    let sets =
        Api::namespaced_with(arena.client.clone(), NAMESPACE, &kind_of::<NodeDNSRecordSet>());
    pauses_twice(&sets, "nodes").await;
    // The status of an undecodable object is written with a patch.
    let odd = json!({
        "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "NodeDNSRecordSet",
        "metadata": {"name": "odd"}, "spec": {"match": 7},
    });
    arena.manifest(odd).await;
}
