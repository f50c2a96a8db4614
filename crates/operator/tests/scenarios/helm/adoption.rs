//! Definitions that kubectl has applied, with objects of theirs.

use serde_json::json;

use super::{RELEASE_NAMESPACE, Stage};
use crate::installing::printed::page;

#[tokio::test]
async fn definitions_applied_by_kubectl_are_taken_over_by_the_documented_flag_with_their_objects() {
    let Some(stage) = Stage::open().await else { return };
    stage.run("kubectl apply --server-side -f deploy/crds.yaml").await;
    stage.arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let before = stage.arena.stored("ingress").await;

    let install =
        format!("helm install pontoon charts/pontoon -n {RELEASE_NAMESPACE} --create-namespace");
    let message = stage.refused(&install).await;
    assert!(message.contains("invalid ownership metadata"), "{message}");
    let flag = "--take-ownership";
    assert!(page("docs/install.md").contains(flag));
    stage.run(&format!("{install} {flag}")).await;
    let after = stage.arena.stored("ingress").await;
    assert_eq!(after.metadata.uid, before.metadata.uid);

    stage.run(&format!("helm uninstall pontoon -n {RELEASE_NAMESPACE}")).await;
    assert_eq!(stage.arena.stored("ingress").await.metadata.uid, before.metadata.uid);
}
