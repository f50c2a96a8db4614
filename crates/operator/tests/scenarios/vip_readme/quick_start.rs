//! The page's quick start: a pool, a Cluster, its endpoint; and the release with the Cluster.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::stage::{CLAIM, CLUSTER, Generation, Management, printed, variable};
use crate::arena::{On, eventually, on_both};

/// The address of the page.
const VIP: &str = "10.0.0.15";

async fn served(on: On, generation: Generation) {
    let Some(management) = Management::furnished(on, generation).await else { return };
    let replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    let claim = management.claim(CLAIM).await;
    let cluster = management.clusters().get(CLUSTER).await.unwrap();
    let owners = claim.metadata.owner_references.clone().unwrap();
    assert_eq!(owners.len(), 1);
    let owner = &owners[0];
    assert_eq!((&*owner.kind, &*owner.name), ("Cluster", CLUSTER));
    assert_eq!(Some(&owner.uid), cluster.metadata.uid.as_ref());
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
    let labels = claim.metadata.labels.clone().unwrap();
    assert_eq!(labels["vip.capi.gorizond.io/role"], "control-plane");
    assert_eq!(labels["cluster.x-k8s.io/cluster-name"], CLUSTER);
    let pool = json!({
        "apiGroup": "ipam.cluster.x-k8s.io", "kind": "GlobalInClusterIPPool",
        "name": "control-plane-vip-pool",
    });
    assert_eq!(claim.data["spec"]["poolRef"], pool);

    management.bind(CLAIM, VIP).await;
    let cluster = management.endpoint(CLUSTER, VIP).await;
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["port"], 6443, "with the host");
    assert_eq!(variable(&cluster, "clusterVip"), VIP, "with the host");
    assert_eq!(variable(&cluster, "cni"), "calico", "the user's variable stays");
    management.told(CLUSTER, "Allocated").await;
    let allocated = "capi_vip_allocator_allocations_total{cluster_class=\"my-cluster-class\",\
                     role=\"control-plane\"}";
    replica.metric(allocated, "1").await;
}

async fn the_quick_start_gives_the_cluster_its_endpoint_and_variable(on: On) {
    served(on, Generation::V1Beta1).await;
}

async fn the_quick_start_works_in_the_newer_generation_too(on: On) {
    served(on, Generation::V1Beta2).await;
}

on_both!(
    the_quick_start_gives_the_cluster_its_endpoint_and_variable,
    the_quick_start_works_in_the_newer_generation_too,
);

/// The page's commands of its verification and of its troubleshooting, and what they print.
#[tokio::test]
async fn the_commands_of_the_page_print_the_vip_the_pool_and_the_claim() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta1).await else {
        return;
    };
    let _replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, VIP).await;
    management.endpoint(CLUSTER, VIP).await;
    let prints = async |command: &str| {
        let done = management.shell(command).await.unwrap();
        assert!(done.status.success(), "{command}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let host = "kubectl get cluster my-cluster -o jsonpath='{.spec.controlPlaneEndpoint.host}'";
    assert_eq!(prints(host).await, VIP);
    let pools = "kubectl get globalinclusterippool -o name \
                 -l vip.capi.gorizond.io/cluster-class=my-cluster-class";
    assert!(prints(pools).await.ends_with("/control-plane-vip-pool\n"));
    // The page's `ipaddress` alone is another kind since Kubernetes 1.33.
    for kind in ["ipaddressclaim", "ipaddress.ipam.cluster.x-k8s.io"] {
        let found = prints(&format!("kubectl get {kind} -n default -o name")).await;
        assert!(found.ends_with("/vip-cp-my-cluster\n"), "{found}");
    }
}

/// The garbage collector follows the owner references, from the Cluster to the address.
#[tokio::test]
async fn the_address_goes_with_the_cluster() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta1).await else {
        return;
    };
    management.plane().controller_manager(&["garbage-collector-controller"]).await.unwrap();
    let _replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, VIP).await;
    management.endpoint(CLUSTER, VIP).await;
    management.clusters().delete(CLUSTER, &DeleteParams::default()).await.unwrap();
    for api in [management.claims(), management.addresses()] {
        eventually("gone", || async {
            let left = api.get_opt(CLAIM).await.unwrap();
            left.map_or(Ok(()), |left| Err(serde_json::to_value(left).unwrap_or(Value::Null)))
        })
        .await;
    }
}
