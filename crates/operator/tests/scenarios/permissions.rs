//! The role that we ship. Only the real API server has RBAC.

use std::path::Path;

use serde_json::json;

use crate::arena::{Arena, On};
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
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let extra = ["POD_NAMESPACE=pontoon-system", "--kubeconfig", account.to_str().unwrap()];
    let replica = Replica::start(&arena, "least", &extra);
    arena.ready("ingress").await;
    arena.event("ingress", "AllAssigned").await;
    let created = arena.status("ingress").await.created_ips;
    arena.marked("a", Some(&created[0])).await;
    arena.set_ready("a", false).await;
    arena.marked("b", Some(&created[0])).await;
    arena.marked("a", None).await;

    let log = replica.log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
    let denied: Vec<_> =
        arena.plane().audit_log().unwrap().into_iter().filter(|entry| entry.code == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}
