//! How the page selects pools, and its manual VIP.

use serde_json::{Value, json};

use super::stage::{CLAIM, CLUSTER, Generation, Management, printed};
use crate::arena::{On, on_both};

/// The page's pool with another name and these labels.
fn pool(name: &str, class: &str, role: &str) -> Value {
    let mut pool = printed("GlobalInClusterIPPool");
    pool["metadata"] = json!({"name": name, "labels": {
        "vip.capi.gorizond.io/cluster-class": class, "vip.capi.gorizond.io/role": role,
    }});
    pool
}

/// Among pools of other classes and roles; of two that match, the first by name.
async fn the_pool_is_the_one_with_the_labels_of_class_and_role(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta1).await else { return };
    management.apply(pool("a-other-class", "other-class", "control-plane")).await.unwrap();
    management.apply(pool("a-other-case", "My-Cluster-Class", "control-plane")).await.unwrap();
    management.apply(pool("a-ingress", "my-cluster-class", "ingress")).await.unwrap();
    management.apply(pool("z-later", "my-cluster-class", "control-plane")).await.unwrap();
    let _replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    let claim = management.claim(CLAIM).await;
    assert_eq!(claim.data["spec"]["poolRef"]["name"], "control-plane-vip-pool");
    let ingress = management.claim("vip-ingress-my-cluster").await;
    assert_eq!(ingress.data["spec"]["poolRef"]["name"], "a-ingress");
}

/// The page's manual VIP. The second Cluster, with a claim, shows that the first was considered.
async fn a_manual_vip_stays_and_claims_nothing(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta1).await else { return };
    let mut manual = printed("Cluster");
    manual["spec"]["controlPlaneEndpoint"] = json!({"host": "10.0.0.100", "port": 6443});
    management.apply(manual).await.unwrap();
    let mut other = printed("Cluster");
    other["metadata"]["name"] = json!("other");
    management.apply(other).await.unwrap();
    let _replica = management.replica("only");
    management.claim("vip-cp-other").await;
    management.told(CLUSTER, "Manual").await;
    assert!(management.claims().get_opt(CLAIM).await.unwrap().is_none());
    let cluster = management.endpoint(CLUSTER, "10.0.0.100").await;
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["port"], 6443);
}

on_both!(
    the_pool_is_the_one_with_the_labels_of_class_and_role,
    a_manual_vip_stays_and_claims_nothing,
);

/// Lists of classes or roles, which the predecessor's code understands in a label: no API server has ever
/// stored one. The list is in the annotation, with `true` as the label.
#[tokio::test]
async fn a_list_in_a_label_is_refused_and_one_in_the_annotation_selects() {
    let Some(management) = Management::furnished(On::RealServer, Generation::V1Beta1).await else {
        return;
    };
    for (class, role) in [("a,my-cluster-class", "ingress"), ("a", "control-plane,ingress")] {
        let refused = management.apply(pool("list", class, role)).await.unwrap_err().to_string();
        assert!(refused.contains("valid label must"), "{refused}");
    }
    let mut shared = pool("a-shared", "true", "true");
    shared["metadata"]["annotations"] = json!({
        "vip.capi.gorizond.io/cluster-class": "a, my-cluster-class",
        "vip.capi.gorizond.io/role": "control-plane, ingress",
    });
    management.apply(shared).await.unwrap();
    let _replica = management.replica("only");
    management.apply(printed("Cluster")).await.unwrap();
    for name in [CLAIM, "vip-ingress-my-cluster"] {
        let claim = management.claim(name).await;
        assert_eq!(claim.data["spec"]["poolRef"]["name"], "a-shared", "{name}");
    }
}
