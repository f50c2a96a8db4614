//! Workloads that are no Deployments, and allocations without a workload.

use serde_json::{Value, json};

use super::stage::{IP, stage};
use crate::arena::{NAMESPACE, On, on_both};

fn workload(kind: &str, name: &str) -> Value {
    json!({"workloadRef": {"kind": kind, "name": name, "namespace": NAMESPACE}})
}

async fn pods_of_a_stateful_set_count_and_those_of_workloads_named_alike_do_not(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c"]).await else { return };
    arena.pod_owned_by(("StatefulSet", "web"), "web-0", "a").await;
    arena.pod_owned_by(("StatefulSet", "web-api"), "web-api-0", "a").await;
    arena.pod_of("web", "a").await;
    arena.allocation("edge", workload("StatefulSet", "web")).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;

    arena.cordon("a", true).await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1), "a pod of the StatefulSet is on the node");
    arena.delete_pod("web-0").await;
    arena.labelled("b", true).await;
    arena.held_by(IP, Some(2)).await;
    for other in ["web-api-0", "web-a"] {
        assert!(arena.pod_is_there(other).await, "{other} is of another workload");
    }
}

async fn pods_of_a_stateful_set_are_evicted_from_a_node_that_lost_the_address(on: On) {
    let Some(arena) = stage(on, &["a", "b"]).await else { return };
    arena.pod_owned_by(("StatefulSet", "web"), "web-0", "a").await;
    arena.pod_owned_by(("StatefulSet", "web-api"), "web-api-0", "a").await;
    let mut spec = workload("StatefulSet", "web");
    spec["gracePeriodSeconds"] = json!(0);
    arena.allocation("edge", spec).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;

    arena.set_ready("a", false).await;
    arena.labelled("b", true).await;
    arena.pod_is_gone("web-0").await;
    assert!(arena.pod_is_there("web-api-0").await, "of another StatefulSet");
}

async fn the_pods_of_a_daemon_set_stay_on_a_node_that_lost_the_address(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c"]).await else { return };
    arena.record();
    arena.pod_owned_by(("DaemonSet", "web"), "web-on-a", "a").await;
    arena.allocation("edge", workload("DaemonSet", "web")).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;

    arena.cordon("a", true).await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1), "a pod that can be evicted is on the node");
    arena.delete_pod("ingress-a").await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached("edge", IP, "b").await;
    arena.considered("c").await;
    assert!(arena.pod_is_there("web-on-a").await);
    let writes = arena.writes();
    assert!(!writes.iter().any(|path| path.ends_with("/eviction")), "{writes:#?}");
}

async fn without_a_workload_the_pods_with_an_app_label_count_except_those_of_the_system(on: On) {
    let Some(arena) = stage(on, &["a", "b", "c"]).await else { return };
    arena.record();
    let labelled = |name: &str| json!({"name": name, "labels": {"app": "proxy"}});
    arena.running_pod("kube-system", "a", labelled("of-the-system")).await;
    arena.running_pod(NAMESPACE, "a", json!({"name": "without-a-label"})).await;
    arena.pod_owned_by(("DaemonSet", "web"), "of-a-daemon-set", "a").await;
    arena.pod_of("web", "a").await;
    arena.allocation("edge", json!({"workloadRef": null})).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;

    arena.cordon("a", true).await;
    for one in ["web-a", "ingress-a"] {
        arena.considered("c").await;
        assert_eq!(arena.droplet_of(IP), Some(1), "{one} is on the node");
        arena.delete_pod(one).await;
    }
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached("edge", IP, "b").await;
    arena.considered("c").await;
    for other in ["without-a-label", "of-a-daemon-set"] {
        assert!(arena.pod_is_there(other).await, "{other} is not evicted");
    }
    let writes = arena.writes();
    assert!(!writes.iter().any(|path| path.ends_with("/eviction")), "{writes:#?}");
}

on_both! {
    pods_of_a_stateful_set_count_and_those_of_workloads_named_alike_do_not,
    pods_of_a_stateful_set_are_evicted_from_a_node_that_lost_the_address,
    the_pods_of_a_daemon_set_stay_on_a_node_that_lost_the_address,
    without_a_workload_the_pods_with_an_app_label_count_except_those_of_the_system,
}
