//! The page's troubleshooting: what keeps a Cluster from its VIP is told on the Cluster.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::stage::{CLAIM, CLUSTER, Generation, Management, class, printed, variable};
use crate::arena::{On, on_both};

async fn a_cluster_without_a_pool_says_which_labels_are_looked_for_and_is_served_once_there_is_one(
    on: On,
) {
    let Some(management) = Management::open(on, Generation::V1Beta2).await else { return };
    management.apply(class()).await.unwrap();
    let _replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    let message = management.told(CLUSTER, "PoolNotFound").await;
    assert!(message.contains("vip.capi.gorizond.io/cluster-class"), "{message}");
    assert!(message.contains("my-cluster-class"), "{message}");
    management.apply(printed("GlobalInClusterIPPool")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    management.endpoint(CLUSTER, "10.0.0.15").await;
}

/// The predecessor's page calls this an error. Here the endpoint is set, and the fix is told.
async fn a_class_without_the_variable_is_told_with_the_fix_and_the_endpoint_is_set(on: On) {
    let Some(management) = Management::open(on, Generation::V1Beta2).await else { return };
    let mut class = class();
    class["spec"]["variables"].as_array_mut().unwrap().remove(0);
    management.apply(class).await.unwrap();
    management.apply(printed("GlobalInClusterIPPool")).await.unwrap();
    let _replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    let cluster = management.endpoint(CLUSTER, "10.0.0.15").await;
    assert!(variable(&cluster, "clusterVip").is_null(), "Cluster API refuses unknown variables");
    let message = management.told(CLUSTER, "ClusterVipVariableMissing").await;
    assert!(message.contains("clusterVip") && message.contains("my-cluster-class"), "{message}");
}

/// The page has the user look at the pool's free addresses.
async fn a_full_pool_is_told(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta2).await else { return };
    let pools = management.objects("ipam.cluster.x-k8s.io", "GlobalInClusterIPPool");
    let full =
        json!({"status": {"ipAddresses": {"total": 11, "used": 11, "free": 0, "outOfRange": 0}}});
    let params = PatchParams::default();
    pools.patch_status("control-plane-vip-pool", &params, &Patch::Merge(full)).await.unwrap();
    let replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    let message = management.told(CLUSTER, "PoolExhausted").await;
    assert!(message.contains("control-plane-vip-pool"), "{message}");
    let free = "capi_vip_allocator_pool_addresses_free{pool_name=\"control-plane-vip-pool\"}";
    replica.metric(free, "0").await;
}

on_both!(
    a_cluster_without_a_pool_says_which_labels_are_looked_for_and_is_served_once_there_is_one,
    a_class_without_the_variable_is_told_with_the_fix_and_the_endpoint_is_set,
    a_full_pool_is_told,
);
