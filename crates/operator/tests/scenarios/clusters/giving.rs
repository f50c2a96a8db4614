//! Clusters get their VIPs, and give them back.

use control_plane::Generation;
use serde_json::{Value, json};

use super::on_both_generations;
use super::stage::{ADDRESS, CLAIM, CLUSTER, Stage, vip};

async fn a_cluster_gets_its_vips_and_gives_the_addresses_back(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.20"]).await;
    let ingress = stage.pool("in", "ingress", &["10.2.0.10-10.2.0.20"]).await;
    stage.cluster("prod").await;

    let cluster = stage.endpoint("prod", "10.1.0.10", 6443).await;
    let variable = json!([{"name": "clusterVip", "value": "10.1.0.10"}]);
    assert_eq!(cluster["spec"]["topology"]["variables"], variable);
    stage.ingress("prod", "10.2.0.10").await;
    let told = stage.says("prod", "True", "Allocated").await;
    assert_eq!(
        told,
        format!("control plane: 10.1.0.10 from {pool}; ingress: 10.2.0.10 from {ingress}")
    );
    let claim = stage.get(CLAIM, "vip-cp-prod").await.unwrap();
    let owner = &claim["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["controller"], &owner["blockOwnerDeletion"]), (&json!(true), &json!(true)));
    assert_eq!(claim["spec"]["clusterName"], "prod");
    assert_eq!(claim["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], "prod");

    stage.delete(CLUSTER, "prod").await;
    for name in ["vip-cp-prod", "vip-ingress-prod"] {
        stage.gone(CLAIM, name).await;
        stage.gone(ADDRESS, name).await;
    }
    stage.used(&pool, 0).await;
    stage.used(&ingress, 0).await;
}

async fn a_class_without_an_ingress_pool_gets_the_vip_of_the_control_plane(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.says("prod", "True", "Allocated").await;
    assert_eq!(stage.get(CLAIM, "vip-ingress-prod").await, None);
}

async fn the_vip_of_the_control_plane_and_the_vip_of_ingress_may_come_from_one_pool(
    on: Generation,
) {
    let Some(stage) = Stage::open(on).await else { return };
    let both = json!({
        "name": format!("{}-both", stage.name),
        "labels": {vip("cluster-class"): "true", vip("role"): "true"},
        "annotations": {
            vip("cluster-class"): format!("other, {0}/{0}", stage.name),
            vip("role"): "control-plane, ingress",
        },
    });
    let spec = json!({"addresses": ["10.1.0.10-10.1.0.11"], "prefix": 24});
    stage.create("GlobalInClusterIPPool", both, spec).await;
    stage.cluster("prod").await;
    let key = vip("ingress-vip");
    let shown = |one: &Value| one["metadata"]["annotations"][&key].is_string();
    let cluster = stage.until(CLUSTER, "prod", "ingress", shown).await;
    let ingress = cluster["metadata"]["annotations"][&key].as_str().unwrap();
    let host = if ingress == "10.1.0.10" { "10.1.0.11" } else { "10.1.0.10" };
    stage.endpoint("prod", host, 6443).await;
}

async fn a_class_without_the_variable_is_a_warning_and_the_endpoint_is_set(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.delete("ClusterClass", &stage.name).await;
    stage.class(&stage.name, &[]).await;
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.cluster("prod").await;
    let cluster = stage.endpoint("prod", "10.1.0.10", 6443).await;
    assert_eq!(cluster["spec"]["topology"]["variables"], Value::Null);
    let told = stage.says("prod", "True", "ClusterVipVariableMissing").await;
    assert!(told.contains("add clusterVip to the variables of the class"), "{told}");
    let (note, type_) = stage.event("prod", "ClusterVipVariableMissing").await;
    assert_eq!((note.as_str(), type_.as_str()), (told.as_str(), "Warning"));
}

async fn a_users_port_and_other_variables_survive(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.delete("ClusterClass", &stage.name).await;
    stage.class(&stage.name, &["cni", "clusterVip", "ingressVip"]).await;
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.pool("in", "ingress", &["10.2.0.10"]).await;
    // The default of the class, as Cluster API's webhook writes it.
    let variables = json!([{"name": "cni", "value": "x"}, {"name": "clusterVip", "value": ""}]);
    let spec = json!({
        "controlPlaneEndpoint": {"port": 8443},
        "topology": {"variables": variables},
    });
    stage.cluster_with("prod", json!({}), endpoint_of(&stage, spec)).await;
    stage.endpoint("prod", "10.1.0.10", 8443).await;
    stage.ingress("prod", "10.2.0.10").await;
    let all = json!([
        {"name": "cni", "value": "x"},
        {"name": "clusterVip", "value": "10.1.0.10"},
        {"name": "ingressVip", "value": "10.2.0.10"},
    ]);
    stage
        .until(CLUSTER, "prod", "variables", |one| one["spec"]["topology"]["variables"] == all)
        .await;
}

/// Client-side apply replaces the whole list of variables.
async fn a_vip_that_an_apply_drops_is_put_back(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let others = json!([{"name": "cni", "value": "x"}]);
    let topology = json!({"variables": others});
    stage.patch(CLUSTER, "prod", json!({"spec": {"topology": topology}})).await;
    let both = |one: &Value| {
        let variables = one["spec"]["topology"]["variables"].as_array().unwrap();
        variables.len() == 2
            && variables.contains(&json!({"name": "clusterVip", "value": "10.1.0.10"}))
    };
    stage.until(CLUSTER, "prod", "the variable is back", both).await;
    stage.patch(CLUSTER, "prod", json!({"spec": {"controlPlaneEndpoint": null}})).await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.says("prod", "True", "Allocated").await;
}

/// The older generation requires a host, which may be empty.
fn endpoint_of(stage: &Stage, mut spec: Value) -> Value {
    if !stage.is_newer() {
        spec["controlPlaneEndpoint"]["host"] = json!("");
    }
    spec
}

async fn a_cluster_without_a_topology_opts_in_and_gets_an_endpoint_only(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.pool("in", "ingress", &["10.2.0.10"]).await;
    let network = json!({"clusterNetwork": {"pods": {"cidrBlocks": ["10.128.0.0/12"]}}});
    stage.create(CLUSTER, json!({"name": "quiet"}), network.clone()).await;
    let annotations = json!({vip("cluster-class"): &stage.name});
    let metadata = json!({"name": "opted", "annotations": annotations});
    stage.create(CLUSTER, metadata, network).await;
    let cluster = stage.endpoint("opted", "10.1.0.10", 6443).await;
    assert_eq!(cluster["spec"]["topology"], Value::Null);
    stage.says("opted", "True", "Allocated").await;
    assert_eq!(stage.get(CLAIM, "vip-ingress-opted").await, None);
    let quiet = stage.get(CLUSTER, "quiet").await.unwrap();
    assert_eq!(
        (&quiet["spec"]["controlPlaneEndpoint"], &quiet["status"]),
        (&Value::Null, &Value::Null)
    );
}

on_both_generations! {
    a_cluster_gets_its_vips_and_gives_the_addresses_back,
    a_class_without_an_ingress_pool_gets_the_vip_of_the_control_plane,
    the_vip_of_the_control_plane_and_the_vip_of_ingress_may_come_from_one_pool,
    a_class_without_the_variable_is_a_warning_and_the_endpoint_is_set,
    a_users_port_and_other_variables_survive,
    a_vip_that_an_apply_drops_is_put_back,
    a_cluster_without_a_topology_opts_in_and_gets_an_endpoint_only,
}
