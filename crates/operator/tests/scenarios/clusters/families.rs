//! IPv6, and both families.

use control_plane::Generation;
use serde_json::{Value, json};

use super::on_both_generations;
use super::stage::{CLUSTER, Stage, vip};

async fn ipv6_alone_is_served_and_the_label_is_left_out(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("cp", "control-plane", &["fd00:1::10-fd00:1::1f"]).await;
    stage.pool("in", "ingress", &["fd00:2::10-fd00:2::1f"]).await;
    stage.cluster("six").await;
    stage.endpoint("six", "fd00:1::10", 6443).await;
    let key = vip("ingress-vip");
    let shown = |one: &Value| one["metadata"]["annotations"][&key] == "fd00:2::10";
    let cluster = stage.until(CLUSTER, "six", "ingress", shown).await;
    assert_eq!(cluster["metadata"]["labels"][&key], Value::Null);
    stage.says("six", "True", "Allocated").await;
}

async fn a_cluster_of_both_families_gets_an_address_of_each(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let four = stage.pool("four", "control-plane", &["10.1.0.10-10.1.0.11"]).await;
    let six = stage.pool("six", "control-plane", &["fd00:1::10-fd00:1::1f"]).await;
    let families = json!({"annotations": {vip("ip-families"): "IPv6,IPv4"}});
    stage.cluster_with("dual", families, json!({})).await;
    stage.endpoint("dual", "fd00:1::10", 6443).await;
    let key = vip("control-plane-vips");
    let listed = |one: &Value| one["metadata"]["annotations"][&key] == "fd00:1::10,10.1.0.10";
    stage.until(CLUSTER, "dual", "both addresses", listed).await;
    let told = stage.says("dual", "True", "Allocated").await;
    let both = format!(
        "control plane: fd00:1::10 from {six}; control plane (IPv4): 10.1.0.10 from {four}"
    );
    assert_eq!(told, both);
    stage.delete(CLUSTER, "dual").await;
    stage.used(&four, 0).await;
    stage.used(&six, 0).await;
}

on_both_generations! {
    ipv6_alone_is_served_and_the_label_is_left_out,
    a_cluster_of_both_families_gets_an_address_of_each,
}
