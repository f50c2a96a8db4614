//! Requests that use the rights of the controller of Clusters, and what is served without them.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use pontoon::fronts;
use serde_json::{Value, json};

use super::chart::{Chart, USER};
use super::rights::{Right, are_used, assert_granted};
use crate::allocations::stage::create;
use crate::arena::{On, eventually};
use crate::vip_readme::stage::{CLAIM, CLUSTER, Generation, Management, NAMESPACE, printed};

/// The page's Cluster with another name, and with a claim of the predecessor.
async fn legacy(management: &Management, name: &str, pool: &str) {
    let mut cluster = printed("Cluster");
    cluster["metadata"]["name"] = json!(name);
    let cluster = management.apply(cluster).await.unwrap();
    management.legacy_claim(&cluster, "control-plane", pool).await;
}

async fn room(management: &Management, pool: &str, free: i64) {
    let pools = management.objects("ipam.cluster.x-k8s.io", "GlobalInClusterIPPool");
    let counts = json!({"total": 10, "used": 10 - free, "free": free, "outOfRange": 0});
    let patch = Patch::Merge(json!({"status": {"ipAddresses": counts}}));
    pools.patch_status(pool, &PatchParams::default(), &patch).await.unwrap();
}

/// A holder that was moved here with its Cluster, and names the Cluster's UID there.
async fn moved_holder(management: &Management, claim: &str, cluster: &str) {
    let holder = json!({
        "metadata": {
            "name": claim,
            "labels": {"vip.capi.gorizond.io/role": "control-plane"},
            "annotations": {
                "pontoon.dev/held-for": cluster,
                "pontoon.dev/held-for-uid": "5b1c7c2e-0f6d-4a51-9d5e-7f3a1f0c2d11",
            },
        },
    });
    create(&Api::<ConfigMap>::namespaced(management.client.clone(), NAMESPACE), holder).await;
}

/// Clusters and claims that the predecessor leaves: a claim that has to be adopted, and one of a full pool;
/// with a holder if there are holders.
pub async fn before(management: &Management, holds: bool) {
    let mut full = printed("GlobalInClusterIPPool");
    full["metadata"]["name"] = json!("a-full");
    management.apply(full).await.unwrap();
    room(management, "a-full", 0).await;
    room(management, "control-plane-vip-pool", 10).await;
    if holds {
        moved_holder(management, "vip-cp-moved", "moved").await;
    }
    legacy(management, "moved", "control-plane-vip-pool").await;
    legacy(management, "waiting", "a-full").await;
}

/// Everything that VIPs can ask for: claims, adoption, another pool, endpoints, conditions, events; with
/// holders, those too.
pub async fn during(management: &Management) {
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    management.endpoint(CLUSTER, "10.0.0.15").await;
    management.told(CLUSTER, "Allocated").await;
    eventually("the claim of the next pool", || async {
        let claim = management.claim("vip-cp-waiting").await;
        let pool = claim.data["spec"]["poolRef"]["name"].clone();
        if pool == "control-plane-vip-pool" { Ok(()) } else { Err(pool) }
    })
    .await;
    management.bind("vip-cp-moved", "10.0.0.16").await;
    management.endpoint("moved", "10.0.0.16").await;
    // An event that comes again is a patch.
    for _ in 0..2 {
        pools_come_and_go(management).await;
    }
    management.clusters().delete("moved", &DeleteParams::default()).await.unwrap();
}

/// Takes the pools from the class of a Cluster and gives them back, so that an event comes again.
async fn pools_come_and_go(management: &Management) {
    let class = |class: &str| {
        Patch::Merge(json!({"metadata": {"labels": {"vip.capi.gorizond.io/cluster-class": class}}}))
    };
    let pools = management.objects("ipam.cluster.x-k8s.io", "GlobalInClusterIPPool");
    let params = PatchParams::default();
    let mut cluster = printed("Cluster");
    cluster["metadata"]["name"] = json!("lone");
    for one in ["a-full", "control-plane-vip-pool"] {
        pools.patch(one, &params, &class("other")).await.unwrap();
    }
    if management.clusters().get_opt("lone").await.unwrap().is_none() {
        management.apply(cluster).await.unwrap();
    } else {
        management.claims().delete("vip-cp-lone", &DeleteParams::default()).await.unwrap();
    }
    management.told("lone", "PoolNotFound").await;
    for one in ["a-full", "control-plane-vip-pool"] {
        pools.patch(one, &params, &class("my-cluster-class")).await.unwrap();
    }
    management.claim("vip-cp-lone").await;
}

/// Clusters as Cluster API 1.7 defines them, whose variables have one owner together.
#[tokio::test]
async fn the_right_to_get_clusters_is_used_where_variables_are_one_list() {
    let Some(chart) = Chart::of(&["clusters"], &[]) else { return };
    let Some(mut definitions) = Generation::V1Beta1.definitions().await.unwrap() else { return };
    for one in &mut definitions {
        let text = serde_json::to_string(one).unwrap();
        let mut crd: Value = serde_json::from_str(&text).unwrap();
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let path =
            "/schema/openAPIV3Schema/properties/spec/properties/topology/properties/variables";
        let lists = versions.iter_mut().filter_map(|version| version.pointer_mut(path));
        for list in lists {
            let fields = list.as_object_mut().unwrap();
            fields.remove("x-kubernetes-list-map-keys");
            fields.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
        }
        *one = serde_json::from_value(crd).unwrap();
    }
    let Some(management) = Management::with(On::RealServer, Generation::V1Beta1, definitions).await
    else {
        return;
    };
    management.furnish().await;
    chart.apply(&management);
    let _replica = chart.start(&management, "old", &[]).await;
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    let cluster = management.endpoint(CLUSTER, "10.0.0.15").await;
    assert_eq!(cluster["spec"]["topology"]["variables"].as_array().unwrap().len(), 2);
    assert_granted(&management, USER, &chart.rights());
    let get = |right: &Right| (&*right.resource, &*right.verb) == ("clusters", "get");
    let rights: BTreeSet<_> = chart.rights().into_iter().filter(get).collect();
    assert_eq!(rights.len(), 1);
    are_used(&management, USER, &rights).await;
}

/// A cluster with Clusters, and all controllers with the rights of pools alone.
#[tokio::test]
async fn without_the_rights_for_vips_pools_are_served_and_clusters_are_not() {
    let (Some(less), Some(all)) = (Chart::of(&["floatingippools"], &[]), Chart::of(&[], &[]))
    else {
        return;
    };
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta2).await else {
        return;
    };
    let pools = fronts::crds().into_iter().filter(|crd| crd.spec.names.plural == "floatingippools");
    management.define(pools.collect()).await;
    management.apply(printed("Cluster")).await.unwrap();
    less.apply(&management);
    management.serving_node("a", 1).await;
    management.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    management.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let chosen = "--controllers=clusters";
    let replica = less.start(&management, "trimmed", &[chosen]).await;
    management.ready("ingress").await;
    management.marked("a", Some("198.51.100.1")).await;
    eventually("the missing right in the log", || async {
        let log = replica.log();
        let told = log.contains("forbidden") && log.contains("clusters.cluster.x-k8s.io");
        if told { Ok(()) } else { Err(log) }
    })
    .await;
    let page = replica.page("/readyz").await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(management.claims().get_opt(CLAIM).await.unwrap().is_none());
    all.apply(&management);
    management.bind(CLAIM, "10.0.0.15").await;
    management.endpoint(CLUSTER, "10.0.0.15").await;
}
