//! The rights for VIPs of Clusters. Only the real API server has RBAC.

use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::allocations::stage::create;
use crate::arena::{On, eventually};
use crate::installing::{objects_of, root};
use crate::permissions::{ACCOUNT, Right, are_used, rights_in};
use crate::predecessor::{Predecessor, VIPS_LEASE, VIPS_NAMESPACE};
use crate::replica::Replica;
use crate::vip_readme::stage::{CLAIM, CLUSTER, Generation, Management, NAMESPACE, printed};

const ROLE: &str = "deploy/rbac.yaml";
const VIPS: &str = "deploy/capi/rbac.yaml";
const HOLDERS: &str = "deploy/capi/rbac-holders.yaml";
const COMPONENTS: &str = "deploy/capi/addon-components.yaml";

fn apply(management: &Management, file: impl AsRef<Path>) {
    let file = root().join(file);
    let applied = management.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
}

/// Rights that this scenario cannot use: older Clusters have a test of their own, and the right on
/// finalizers is asked for by an admission plugin.
fn can_be_seen(right: &Right) -> bool {
    let (resource, verb) = (&*right.resource, &*right.verb);
    (resource, verb) != ("clusters", "get") && resource != "clusters/finalizers"
}

fn assert_nothing_was_forbidden(management: &Management, replicas: &[&Replica]) {
    for replica in replicas {
        let log = replica.log();
        assert!(!log.to_lowercase().contains("forbidden"), "{log}");
    }
    let log = management.plane().audit_log().unwrap();
    let denied: Vec<_> = log.into_iter().filter(|entry| entry.code == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

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
async fn left_by_the_predecessor(management: &Management, holds: bool) {
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
async fn everything(management: &Management) {
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

/// Runs everything under an account, and asserts that each right is used and none is missing.
async fn these_rights_are_used(
    management: &Management,
    (namespace, user): (&str, &str),
    extra: &[&str],
    rights: impl Fn() -> Vec<Right>,
) {
    let account = management.plane().kubeconfig_for(namespace, "pontoon").await.unwrap();
    left_by_the_predecessor(management, extra.contains(&"--hold-vips")).await;
    let predecessor = Predecessor::capi_vip_allocator(management).await;
    let own = format!("POD_NAMESPACE={namespace}");
    let base = [&*own, "--kubeconfig", account.to_str().unwrap()];
    let all: Vec<_> = base.iter().chain(extra).copied().collect();
    let replica = Replica::start(management, "least", &all);
    replica.leads().await;
    drop(predecessor);
    let held = |holder: &str, _: &_| holder.starts_with("pontoon/");
    management.lease_of(VIPS_NAMESPACE, VIPS_LEASE, "held", held).await;
    everything(management).await;
    let observe: Vec<_> = all.iter().copied().chain(["--mode=observe"]).collect();
    let observer = Replica::start(management, "watcher", &observe);
    observer.leads().await;

    assert_nothing_was_forbidden(management, &[&replica, &observer]);
    let seen = || rights().into_iter().filter(can_be_seen);
    are_used(management, user, seen().filter(|right| right.verb != "watch").collect()).await;
    // A watch appears in the log after its end.
    replica.terminate().await;
    observer.terminate().await;
    are_used(management, user, seen().collect()).await;
}

#[tokio::test]
async fn the_rights_for_vips_beside_the_shipped_role_are_enough_and_no_more() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta2).await else {
        return;
    };
    for file in [ROLE, VIPS, HOLDERS] {
        apply(&management, file);
    }
    let rights = || [VIPS, HOLDERS].iter().flat_map(|file| rights_in(&objects_of(file))).collect();
    these_rights_are_used(&management, ("flipop", ACCOUNT), &["--hold-vips"], rights).await;
}

#[tokio::test]
async fn the_rights_of_the_components_for_clusterctl_are_enough_and_no_more() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta2).await else {
        return;
    };
    apply(&management, COMPONENTS);
    let user = "system:serviceaccount:pontoon-system:pontoon";
    let rights = || rights_in(&objects_of(COMPONENTS));
    these_rights_are_used(&management, ("pontoon-system", user), &["--namespace="], rights).await;
}

/// Clusters as Cluster API 1.7 defines them, whose variables have one owner together.
#[tokio::test]
async fn the_right_to_get_clusters_is_used_where_variables_are_one_list() {
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
    for file in [ROLE, VIPS] {
        apply(&management, file);
    }
    let account = management.plane().kubeconfig_for("flipop", "pontoon").await.unwrap();
    let extra = ["POD_NAMESPACE=flipop", "--kubeconfig", account.to_str().unwrap()];
    let replica = Replica::start(&management, "old", &extra);
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    let cluster = management.endpoint(CLUSTER, "10.0.0.15").await;
    assert_eq!(cluster["spec"]["topology"]["variables"].as_array().unwrap().len(), 2);
    assert_nothing_was_forbidden(&management, &[&replica]);
    let get = |right: &Right| (&*right.resource, &*right.verb) == ("clusters", "get");
    let rights: Vec<_> = rights_in(&objects_of(VIPS)).into_iter().filter(get).collect();
    assert_eq!(rights.len(), 1);
    are_used(&management, ACCOUNT, rights).await;
}

/// A cluster with Clusters, and the shipped role without the rights for them.
#[tokio::test]
async fn without_the_rights_for_vips_pools_are_served_and_clusters_are_not() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta2).await else {
        return;
    };
    management.define(pontoon::fronts::crds()).await;
    management.apply(printed("Cluster")).await.unwrap();
    apply(&management, ROLE);
    management.serving_node("a", 1).await;
    management.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    management.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let account = management.plane().kubeconfig_for("flipop", "pontoon").await.unwrap();
    let extra = ["POD_NAMESPACE=flipop", "--kubeconfig", account.to_str().unwrap()];
    let replica = Replica::start(&management, "trimmed", &extra);
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
    apply(&management, VIPS);
    management.bind(CLAIM, "10.0.0.15").await;
    management.endpoint(CLUSTER, "10.0.0.15").await;
}
