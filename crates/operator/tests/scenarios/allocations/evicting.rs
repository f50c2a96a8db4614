//! Pods that relied on an address leave the node that lost it, within their disruption budget.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Patch, PatchParams};
use pontoon::fronts::net_ip_allocation::EVICT_ANNOTATION;
use serde_json::{Value, json};

use super::stage::{IP, create, stage};
use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// An address on `a`, where a pod of the Deployment runs; `b` is free.
async fn at_work(on: On, spec: Value) -> Option<(Arena, Replica)> {
    let arena = stage(on, &["a", "b"]).await?;
    arena.record();
    arena.pod_of("web", "a").await;
    arena.allocation("edge", spec).await;
    let replica = Replica::start(&arena, "only", &["--retry-max=1s"]);
    arena.labelled("a", true).await;
    arena.tells("edge", "Ready", "AllAssigned").await;
    Some((arena, replica))
}

/// Waits until nothing is left to evict from a node.
async fn over(arena: &Arena, node: &str) {
    eventually("the evictions are over", || async {
        let annotations = arena.nodes().get(node).await.unwrap().metadata.annotations;
        let noted = annotations.is_some_and(|all| all.contains_key(EVICT_ANNOTATION));
        let conditions = arena.allocated("edge").await.conditions;
        let told = conditions.iter().any(|one| one.type_ == "Evicting");
        if noted || told { Err((noted, conditions)) } else { Ok(()) }
    })
    .await;
}

async fn a_node_that_is_not_ready_loses_the_address_after_the_grace_period_and_its_pods(on: On) {
    let Some((arena, _replica)) = at_work(on, json!({"gracePeriodSeconds": 3})).await else {
        return;
    };
    let uid = arena.namespaced::<Pod>().get("web-a").await.unwrap().metadata.uid;
    let mark = arena.cloud.mark();
    arena.set_ready("a", false).await;
    arena.tells("edge", "Ready", "GracePeriod").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0, "the node may recover");
    assert!(arena.pod_is_there("web-a").await, "the address has not left");

    arena.labelled("b", true).await;
    arena.attached("edge", IP, "b").await;
    arena.labelled("a", false).await;
    arena.pod_is_gone("web-a").await;
    let note = arena.node_event("edge", "Evicted").await;
    assert!(note.contains("flipop/web-a evicted from a"), "{note}");
    over(&arena, "a").await;
    assert!(arena.pod_is_there("ingress-a").await, "of no interest");
    let writes = arena.writes();
    let pods: Vec<_> = writes.iter().filter(|path| path.contains("/pods/")).collect();
    assert_eq!(pods, ["/api/v1/namespaces/flipop/pods/web-a/eviction"]);
    let asked = arena.evictions();
    assert_eq!(asked[0]["deleteOptions"]["preconditions"]["uid"], json!(uid), "{asked:#?}");
}

/// A budget for the pods of the Deployment, as its controller would keep it.
async fn budget(arena: &Arena) {
    let selector = json!({"matchLabels": {"deployment": "web"}});
    let budget =
        json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": selector}});
    create(&arena.namespaced::<PodDisruptionBudget>(), budget).await;
    allow(arena, 0).await;
}

async fn allow(arena: &Arena, disruptions: i32) {
    let status = json!({
        "observedGeneration": 1, "disruptionsAllowed": disruptions, "currentHealthy": 1 + disruptions,
        "desiredHealthy": 1, "expectedPods": 1,
    });
    let patch = Patch::Merge(json!({"status": status}));
    let budgets = arena.namespaced::<PodDisruptionBudget>();
    budgets.patch_status("web", &PatchParams::default(), &patch).await.unwrap();
}

async fn a_disruption_budget_delays_evictions_which_is_told(on: On) {
    let spec = json!({"gracePeriodSeconds": 0});
    let Some((arena, _replica)) = at_work(on, spec).await else { return };
    budget(&arena).await;
    arena.set_ready("a", false).await;
    arena.labelled("b", true).await;
    let message = arena.tells("edge", "Evicting", "EvictionRefused").await;
    assert!(message.starts_with("1 pod to be evicted from a; flipop/web-a: "), "{message}");
    assert!(message.contains("disruption budget"), "{message}");
    let note = arena.node_event("edge", "EvictionRefused").await;
    assert!(note.contains("flipop/web-a"), "{note}");
    assert!(arena.pod_is_there("web-a").await);
    arena.tells("edge", "Ready", "AllAssigned").await;

    allow(&arena, 1).await;
    arena.pod_is_gone("web-a").await;
    over(&arena, "a").await;
}

async fn with_eviction_off_pods_stay_where_they_are(on: On) {
    let spec = json!({"gracePeriodSeconds": 0, "eviction": "Disabled"});
    let Some((arena, _replica)) = at_work(on, spec).await else { return };
    arena.set_ready("a", false).await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached("edge", IP, "b").await;
    arena.considered("a").await;
    assert!(arena.pod_is_there("web-a").await);
    let writes = arena.writes();
    assert!(!writes.iter().any(|path| path.ends_with("/eviction")), "{writes:#?}");
}

on_both! {
    a_node_that_is_not_ready_loses_the_address_after_the_grace_period_and_its_pods,
    a_disruption_budget_delays_evictions_which_is_told,
    with_eviction_off_pods_stay_where_they_are,
}
