//! The role that we ship. Only the real API server has RBAC.

use std::path::Path;

use pontoon::api::IPV4_ANNOTATION;
use serde_json::json;

use crate::arena::{Arena, On};
use crate::predecessor::Predecessor;
use crate::replica::Replica;

#[tokio::test]
async fn the_shipped_role_is_enough_for_everything_that_the_operator_does() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/rbac.yaml");
    let applied = arena.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    let account = arena.plane().kubeconfig_for("pontoon-system", "pontoon").await.unwrap();

    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.domain("example.com");
    let record = |name: &str| json!({"zone": "example.com", "recordName": name});
    let spec = json!({"desiredIPs": 1, "region": "nyc3", "dnsRecordSet": record("hello")});
    arena.pool("ingress", spec).await;
    let reserved = json!({"dnsRecordSet": record("nodes"), "addressType": IPV4_ANNOTATION});
    arena.record_set("nodes", reserved).await;
    let flipop = Predecessor::start(&arena).await;
    let extra = ["POD_NAMESPACE=pontoon-system", "--kubeconfig", account.to_str().unwrap()];
    let replica = Replica::start(&arena, "least", &extra);
    arena.event("ingress", "CompetingController").await;
    drop(flipop);
    arena.flipop_lease("held", |holder, _| holder.starts_with("pontoon/")).await;
    arena.ready("ingress").await;
    arena.event("ingress", "AllAssigned").await;
    let created = arena.status("ingress").await.created_ips;
    arena.marked("a", Some(&created[0])).await;
    arena.set_ready("a", false).await;
    arena.marked("b", Some(&created[0])).await;
    arena.marked("a", None).await;
    arena.listed("hello", "A", &[&created[0]]).await;
    arena.listed("nodes", "A", &[&created[0]]).await;
    arena.record_state("nodes", "active").await;
    arena.event("nodes", "RecordUpdated").await;
    let extra = ["--mode=observe", extra[0], extra[1], extra[2]];
    let observer = Replica::start(&arena, "watcher", &extra);
    observer.leads().await;

    let log = format!("{}{}", replica.log(), observer.log());
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
    let denied: Vec<_> =
        arena.plane().audit_log().unwrap().into_iter().filter(|entry| entry.code == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}
