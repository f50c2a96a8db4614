//! The predecessor's Lease by another name.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;

use super::stage::stage;
use crate::arena::{On, eventually, on_both};
use crate::predecessor::Predecessor;
use crate::replica::Replica;

const RENAMED: &str = "sip-addresses-leader";

async fn the_lease_of_the_name_in_the_variable_is_heeded_and_then_held(on: On) {
    let Some(arena) = stage(on, &["a", "b"]).await else { return };
    let theirs = Predecessor::start_as(&arena, RENAMED, "kube-system", 6).await;
    arena.allocation("edge", json!({})).await;
    let variable = format!("LEASE_NAME={RENAMED}");
    let replica = Replica::start(&arena, "only", &[&variable]);
    let message = arena.tells("edge", "Ready", "CompetingController").await;
    assert!(message.contains(&format!("kube-system/{RENAMED}")), "{message}");
    assert_eq!(arena.cloud.mutations().len(), 0);

    drop(theirs);
    arena.labelled("a", true).await;
    let leases: Api<Lease> = Api::namespaced(arena.client.clone(), "kube-system");
    let holder = async || {
        let spec = leases.get(RENAMED).await.unwrap().spec.unwrap();
        spec.holder_identity.unwrap_or_default()
    };
    assert!(holder().await.starts_with("pontoon/"), "acting, and not holding it");
    replica.terminate().await;
    eventually("it is free again", || async {
        let holder = holder().await;
        if holder.is_empty() { Ok(()) } else { Err(holder) }
    })
    .await;
}

on_both! {
    the_lease_of_the_name_in_the_variable_is_heeded_and_then_held,
}
