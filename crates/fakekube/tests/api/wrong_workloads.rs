//! Workloads that the server refuses, or accepts with a warning.

use serde_json::json;

use crate::workloads::{KINDS, path, with_spec, workload};
use crate::{both, with_meta};

#[tokio::test]
async fn wrong_workloads_are_refused() {
    both("workload-wrong", async |s| {
        for (kind, plural) in KINDS {
            let all = path(s, plural, "");
            let good = workload(kind, "a");
            let mut others = good.clone();
            others["spec"]["template"]["metadata"]["labels"] = json!({"app": "db"});
            let mut never = good.clone();
            never["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
            let mut limited = good.clone();
            limited["spec"]["template"]["spec"]["activeDeadlineSeconds"] = json!(5);
            let expression = json!([{"key": "app", "operator": "In"}, {"key": "a b", "operator": "Odd"}]);
            for object in [
                json!({"metadata": {"name": "a"}}),
                json!({"metadata": {"name": "a"}, "spec": {"selector": {}, "template": good["spec"]["template"]}}),
                with_spec(good.clone(), "replicas", json!(-1)),
                with_spec(good.clone(), "minReadySeconds", json!(-1)),
                with_spec(good.clone(), "revisionHistoryLimit", json!(-1)),
                with_spec(good.clone(), "selector", json!({"matchExpressions": expression})),
                with_meta(good.clone(), "name", "a.b"),
                with_meta(good.clone(), "name", "A_b"),
                others,
                never,
                limited,
            ] {
                s.post(&all, &object).await;
            }
            s.compare(false);
            s.delete(&all).await;
            s.compare(true);
            s.post(&all, &good).await;
            let other = json!({"spec": {"selector": {"matchLabels": {"app": "web", "x": "y"}},
                "template": {"metadata": {"labels": {"x": "y"}}}}});
            assert_eq!(s.merge(&path(s, plural, "/a"), &other).await.status, 422);
        }
    })
    .await;
}

#[tokio::test]
async fn wrong_strategies_are_refused() {
    both("workload-wrong-strategies", async |s| {
        for (kind, plural, field, strategy) in [
            ("Deployment", "deployments", "strategy", json!({"type": "Odd"})),
            (
                "Deployment",
                "deployments",
                "strategy",
                json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
            ),
            (
                "Deployment",
                "deployments",
                "strategy",
                json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
            ),
            (
                "Deployment",
                "deployments",
                "strategy",
                json!({"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "101%"}}),
            ),
            ("Deployment", "deployments", "strategy", json!({"rollingUpdate": {"maxSurge": -1}})),
            ("Deployment", "deployments", "progressDeadlineSeconds", json!(0)),
            ("DaemonSet", "daemonsets", "updateStrategy", json!({"type": "Odd"})),
            (
                "DaemonSet",
                "daemonsets",
                "updateStrategy",
                json!({"rollingUpdate": {"maxSurge": 1}}),
            ),
            (
                "DaemonSet",
                "daemonsets",
                "updateStrategy",
                json!({"rollingUpdate": {"maxUnavailable": 0}}),
            ),
            ("StatefulSet", "statefulsets", "updateStrategy", json!({"type": "Odd"})),
            (
                "StatefulSet",
                "statefulsets",
                "updateStrategy",
                json!({"rollingUpdate": {"partition": -1}}),
            ),
            ("StatefulSet", "statefulsets", "podManagementPolicy", json!("Odd")),
            (
                "StatefulSet",
                "statefulsets",
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Odd"}),
            ),
        ] {
            let object = with_spec(workload(kind, "a"), field, strategy);
            assert_eq!(s.post(&path(s, plural, ""), &object).await.status, 422);
        }
    })
    .await;
}

#[tokio::test]
async fn the_fixed_part_of_a_stateful_set_stays() {
    both("workload-stateful", async |s| {
        s.post(&path(s, "statefulsets", ""), &workload("StatefulSet", "a")).await;
        let one = path(s, "statefulsets", "/a");
        assert_eq!(s.merge(&one, &json!({"spec": {"serviceName": "s"}})).await.status, 422);
        assert_eq!(s.merge(&one, &json!({"spec": {"replicas": 3}})).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused() {
    both("workload-kinds", async |s| {
        let all = path(s, "deployments", "");
        assert_eq!(s.post(&all, &workload("ReplicaSet", "a")).await.status, 400);
        assert_eq!(s.post(&all, &workload("Odd", "a")).await.status, 400);
        let mut typed = workload("Deployment", "a");
        typed["spec"]["replicas"] = json!("x");
        assert_eq!(s.post(&all, &typed).await.status, 400);
        let mut odd = workload("Deployment", "a");
        odd["spec"]["odd"] = json!(1);
        assert_eq!(s.post(&format!("{all}?fieldValidation=Strict"), &odd).await.status, 400);
        assert_eq!(s.post(&format!("{all}?fieldValidation=Warn"), &odd).await.status, 201);
        assert_eq!(s.get("/apis/apps/v1/nope").await.status, 404);
        assert_eq!(s.get("/apis/apps/v2/deployments").await.status, 404);
    })
    .await;
}
