//! Events and metrics.

use control_plane::Generation;
use serde_json::json;

use super::on_both_generations;
use super::stage::{CLUSTER, Stage};
use crate::arena::eventually;

async fn an_allocation_is_told_by_events_and_metrics(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    let pool = stage.pool("cp", "control-plane", &["10.1.0.10-10.1.0.12"]).await;
    stage.cluster("prod").await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    let (note, type_) = stage.event("prod", "Allocated").await;
    assert!(note.starts_with("control plane: 10.1.0.10 written on the Cluster"), "{note}");
    assert_eq!(type_, "Normal");
    let name = &stage.name;
    let lines = [
        format!(r#"allocations_total{{cluster_class="{name}",role="control-plane"}} 1"#),
        format!(
            r#"allocation_duration_seconds_count{{cluster_class="{name}",role="control-plane"}} 1"#
        ),
        format!(r#"pools_available{{cluster_class="{name}",role="control-plane"}} 1"#),
        format!(r#"pools_available{{cluster_class="{name}",role="ingress"}} 0"#),
        format!(r#"pool_addresses_total{{pool_name="{pool}"}} 3"#),
        format!(r#"pool_addresses_free{{pool_name="{pool}"}} 2"#),
        format!(r#"pool_addresses_used{{pool_name="{pool}"}} 1"#),
        format!(r#"claims_total{{namespace="{name}",role="control-plane"}} 1"#),
        format!(r#"claims_ready{{namespace="{name}",role="control-plane"}} 1"#),
        format!(r#"claims_pending{{namespace="{name}",role="control-plane"}} 0"#),
    ];
    for line in lines.map(|line| format!("capi_vip_allocator_{line}")) {
        eventually(&line, || async {
            let page = stage.management.page("/metrics").await;
            let ours = |one: &&str| one.contains(name.as_str());
            if page.lines().any(|one| one == line) {
                Ok(())
            } else {
                Err(page.lines().filter(ours).map(str::to_owned).collect::<Vec<_>>())
            }
        })
        .await;
    }
}

async fn a_missing_class_and_a_missing_pool_are_told_and_served_once_there(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.cluster("prod").await;
    let told = stage.says("prod", "False", "PoolNotFound").await;
    assert!(told.contains(&format!("no VIP pool serves the class {}", stage.name)), "{told}");
    stage.delete("ClusterClass", &stage.name).await;
    stage.says("prod", "False", "ClassNotFound").await;
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.class(&stage.name, &["clusterVip"]).await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.says("prod", "True", "Allocated").await;
}

async fn the_condition_stands_beside_those_of_other_writers(on: Generation) {
    let Some(stage) = Stage::open(on).await else { return };
    stage.pool("cp", "control-plane", &["10.1.0.10"]).await;
    stage.cluster("prod").await;
    let other = json!([{
        "type": "Other", "status": "True", "reason": "Any", "message": "",
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    }]);
    let place = if stage.is_newer() { "/conditions" } else { "/v1beta2/conditions" };
    let status = match stage.is_newer() {
        true => json!({"conditions": other}),
        false => json!({"v1beta2": {"conditions": other}}),
    };
    stage.apply_status("prod", &status).await;
    stage.endpoint("prod", "10.1.0.10", 6443).await;
    stage.says("prod", "True", "Allocated").await;
    stage.apply_status("prod", &status).await;
    let cluster = stage.get(CLUSTER, "prod").await.unwrap();
    let types = cluster["status"].pointer(place).and_then(|list| list.as_array()).unwrap();
    let mut types: Vec<_> = types.iter().filter_map(|one| one["type"].as_str()).collect();
    types.sort_unstable();
    assert_eq!(types, ["Other", "vip.capi.gorizond.io/VIPReady"]);
}

on_both_generations! {
    an_allocation_is_told_by_events_and_metrics,
    a_missing_class_and_a_missing_pool_are_told_and_served_once_there,
    the_condition_stands_beside_those_of_other_writers,
}
