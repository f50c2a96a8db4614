//! PodDisruptionBudgets, and evictions under them.

use serde_json::{Value, json};

use crate::both;
use crate::server::{APPLY, STRATEGIC, Server};

fn path(s: &Server, rest: &str) -> String {
    s.group("policy/v1", &format!("poddisruptionbudgets{rest}"))
}

fn budget(name: &str) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    })
}

/// Creates a budget whose controller has reported a status.
async fn reported(s: &Server, name: &str, status: Value) {
    assert_eq!(s.post(&path(s, ""), &budget(name)).await.status, 201);
    report(s, name, status).await;
}

async fn report(s: &Server, name: &str, mut status: Value) {
    if status.get("observedGeneration").is_none() {
        status["observedGeneration"] = json!(1);
    }
    let answer = s.merge(&path(s, &format!("/{name}/status")), &json!({"status": status})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Creates a pod that runs on a node.
async fn running(s: &Server, name: &str, ready: bool) {
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": "x"}},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i:1"}]},
    });
    assert_eq!(s.post(&s.core("pods"), &pod).await.status, 201);
    let ready = if ready { "True" } else { "False" };
    let status =
        json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}});
    s.merge(&s.core(&format!("pods/{name}/status")), &status).await;
}

async fn evict_with(s: &Server, name: &str, options: Value) -> u16 {
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options});
    s.post(&s.core(&format!("pods/{name}/eviction")), &eviction).await.status
}

async fn evict(s: &Server, name: &str) -> u16 {
    evict_with(s, name, json!({})).await
}

/// The disruptions that a budget still allows, and the names of the evicted pods.
async fn left(s: &Server, name: &str) -> (i64, Vec<String>) {
    let status = s.get(&path(s, &format!("/{name}"))).await.body["status"].take();
    let pods = status["disruptedPods"].as_object().cloned().unwrap_or_default();
    (status["disruptionsAllowed"].as_i64().unwrap(), pods.keys().cloned().collect())
}

#[tokio::test]
async fn a_budget_is_written_like_any_object() {
    both("budget-writes", async |s| {
        s.with_managers();
        let mut sent = budget("a");
        sent["status"] = json!({"disruptionsAllowed": 5});
        let created = s.post(&path(s, ""), &sent).await;
        assert_eq!(created.body["status"]["disruptionsAllowed"], 0);
        assert_eq!(created.body["metadata"]["generation"], 1);
        let one = path(s, "/a");
        assert_eq!(s.put(&one, &budget("a")).await.status, 422);
        let more = json!({"spec": {"selector": {"matchLabels": {"b": "c"}}}});
        let replaced = s.patch(&one, STRATEGIC, &more).await;
        assert_eq!(replaced.body["metadata"]["generation"], 2);
        assert_eq!(s.merge(&one, &json!({"metadata": {"labels": {"l": "v"}}})).await.body["metadata"]["generation"], 2);
        let mut applied = budget("a");
        applied["spec"]["minAvailable"] = json!("50%");
        let forced = format!("{one}?fieldManager=two&force=true");
        assert_eq!(s.patch(&forced, APPLY, &applied).await.status, 200);
        report(s, "a", json!({"disruptionsAllowed": 1, "disruptedPods": {}, "conditions": []})).await;
        let mut whole = s.get(&one).await.body;
        whole["status"]["expectedPods"] = json!(7);
        let put = s.put(&path(s, "/a/status"), &whole).await;
        assert_eq!(put.body["status"]["expectedPods"], 7);
        assert_eq!(s.put(&path(s, "/a/status"), &whole).await.status, 409);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        s.get_as(&path(s, ""), table).await;
        assert_eq!(s.delete(&one).await.status, 200);
        let bare = json!({"metadata": {"name": "B_c"}});
        assert_eq!(s.post(&path(s, ""), &bare).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn wrong_budgets_are_refused() {
    both("budget-wrong", async |s| {
        for spec in [
            json!({"minAvailable": 1, "maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}),
            json!({"minAvailable": -1}),
            json!({"maxUnavailable": "101%"}),
            json!({"maxUnavailable": "x"}),
            json!({"unhealthyPodEvictionPolicy": "Odd"}),
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}),
            json!({"selector": {"matchLabels": {"a b": "c d"}}}),
        ] {
            let sent = json!({"metadata": {"name": "a"}, "spec": spec});
            assert_eq!(s.post(&path(s, ""), &sent).await.status, 422);
        }
        s.post(&path(s, ""), &budget("a")).await;
        let negative = json!({"status": {"disruptionsAllowed": -1, "currentHealthy": -1}});
        assert_eq!(s.merge(&path(s, "/a/status"), &negative).await.status, 422);
        let good = json!({"type": "A", "status": "True", "reason": "R", "lastTransitionTime": "2024-01-01T00:00:00Z"});
        let with = |field: &str, value: Value| {
            let mut condition = good.clone();
            condition[field] = value;
            condition
        };
        for conditions in [
            json!([{"type": "A"}]),
            json!([with("type", json!("a b"))]),
            json!([with("status", json!("Odd"))]),
            json!([with("reason", json!("a-b"))]),
            json!([with("reason", json!(""))]),
            json!([good, good]),
        ] {
            let wrong = json!({"status": {"conditions": conditions}});
            assert_eq!(s.merge(&path(s, "/a/status"), &wrong).await.status, 422);
        }
        let right = json!({"status": {"conditions": [with("reason", json!("R_1:S,T"))]}});
        assert_eq!(s.merge(&path(s, "/a/status"), &right).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn an_eviction_spends_the_budget_of_the_pod() {
    both("budget-spent", async |s| {
        let enough = json!({"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "m", "lastTransitionTime": "2024-01-01T00:00:00Z"});
        reported(s, "a", json!({"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3, "conditions": [enough]})).await;
        for name in ["p1", "p2", "p3"] {
            running(s, name, true).await;
        }
        assert_eq!(evict_with(s, "p1", json!({"dryRun": ["All"]})).await, 201);
        assert_eq!(left(s, "a").await, (2, vec![]));
        assert_eq!(evict(s, "p1").await, 201);
        assert_eq!(left(s, "a").await, (1, vec!["p1".to_owned()]));
        assert_eq!(s.get(&s.core("pods/p1")).await.body["metadata"]["deletionGracePeriodSeconds"], 30);
        assert_eq!(evict(s, "p2").await, 201);
        assert_eq!(left(s, "a").await, (0, vec!["p1".to_owned(), "p2".to_owned()]));
        assert_eq!(evict(s, "p3").await, 429);
        assert_eq!(evict_with(s, "p3", json!({"dryRun": ["All"]})).await, 429);
        assert_eq!(s.get(&s.core("pods/p3")).await.body["metadata"].get("deletionTimestamp"), None);
        // A pod that is being deleted needs no budget.
        assert_eq!(evict(s, "p2").await, 201);
        assert_eq!(left(s, "a").await.0, 0);
    })
    .await;
}

#[tokio::test]
async fn a_budget_is_spent_before_preconditions_are_checked() {
    both("budget-preconditions", async |s| {
        reported(s, "a", json!({"disruptionsAllowed": 2})).await;
        running(s, "p", true).await;
        let other = json!({"preconditions": {"uid": "4d3c0d4e-0000-4000-8000-000000000000"}});
        assert_eq!(evict_with(s, "p", other).await, 409);
        assert_eq!(left(s, "a").await, (1, vec!["p".to_owned()]));
        assert_eq!(
            evict_with(s, "p", json!({"preconditions": {"resourceVersion": "1"}})).await,
            409
        );
        assert_eq!(left(s, "a").await.0, 0);
    })
    .await;
}

#[tokio::test]
async fn a_refused_eviction_says_why() {
    both("budget-reasons", async |s| {
        running(s, "p", true).await;
        s.post(&path(s, ""), &budget("a")).await;
        assert_eq!(evict(s, "p").await, 429);
        let told = |reason: &str, message: &str| json!([{
            "type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": "2024-01-01T00:00:00Z",
        }]);
        for status in [
            json!({}),
            json!({"currentHealthy": 1, "desiredHealthy": 2}),
            json!({"currentHealthy": 1, "desiredHealthy": 2, "conditions": told("SyncFailed", "no scale")}),
            json!({"currentHealthy": 3, "desiredHealthy": 2, "conditions": told("InsufficientPods", "few")}),
            json!({"currentHealthy": 3, "desiredHealthy": 2, "conditions": told("InsufficientPods", "")}),
            json!({"currentHealthy": 3, "desiredHealthy": 2, "conditions": []}),
        ] {
            report(s, "a", status).await;
            assert_eq!(evict(s, "p").await, 429);
        }
        report(s, "a", json!({"disruptionsAllowed": 1})).await;
        s.merge(&path(s, "/a"), &json!({"spec": {"minAvailable": 2}})).await;
        assert_eq!(evict(s, "p").await, 429);
        report(s, "a", json!({"observedGeneration": 2})).await;
        assert_eq!(evict(s, "p").await, 201);
    })
    .await;
}

#[tokio::test]
async fn a_budget_with_too_many_open_evictions_refuses_more() {
    both("budget-open", async |s| {
        running(s, "p", true).await;
        s.compare(false);
        let at = "2024-01-01T00:00:00Z";
        let mut pods: serde_json::Map<String, Value> =
            (0..2000).map(|index| (format!("q{index}"), json!(at))).collect();
        let status = |pods: &serde_json::Map<String, Value>| json!({"disruptionsAllowed": 5, "disruptedPods": pods});
        pods.insert("last".to_owned(), json!(at));
        reported(s, "a", status(&pods)).await;
        s.compare(true);
        assert_eq!(evict(s, "p").await, 403);
        s.compare(false);
        report(s, "a", json!({"disruptedPods": {"last": null}})).await;
        s.compare(true);
        assert_eq!(evict(s, "p").await, 201);
    })
    .await;
}

#[tokio::test]
async fn pods_that_do_not_run_need_no_budget() {
    both("budget-phases", async |s| {
        s.post(&path(s, ""), &budget("a")).await;
        for phase in ["Pending", "Succeeded", "Failed"] {
            let name = phase.to_lowercase();
            running(s, &name, false).await;
            s.merge(&s.core(&format!("pods/{name}/status")), &json!({"status": {"phase": phase}}))
                .await;
            assert_eq!(evict(s, &name).await, 201);
            s.get(&s.core(&format!("pods/{name}"))).await;
        }
        assert_eq!(left(s, "a").await, (0, vec![]));
        running(s, "unknown", false).await;
        s.merge(&s.core("pods/unknown/status"), &json!({"status": {"phase": "Unknown"}})).await;
        assert_eq!(evict(s, "unknown").await, 429);
    })
    .await;
}

#[tokio::test]
async fn pods_that_are_not_ready_go_if_enough_others_are() {
    both("budget-unready", async |s| {
        for name in ["p1", "p2", "p3", "p4"] {
            running(s, name, false).await;
        }
        reported(s, "a", json!({"currentHealthy": 1, "desiredHealthy": 2})).await;
        assert_eq!(evict(s, "p1").await, 429);
        report(s, "a", json!({"currentHealthy": 0, "desiredHealthy": 0})).await;
        assert_eq!(evict(s, "p1").await, 429);
        report(s, "a", json!({"currentHealthy": 2, "desiredHealthy": 2})).await;
        assert_eq!(evict(s, "p1").await, 201);
        assert_eq!(left(s, "a").await, (0, vec![]));
        // The asked version is replaced by that of the pod.
        assert_eq!(
            evict_with(s, "p2", json!({"preconditions": {"resourceVersion": "1"}})).await,
            201
        );
        s.merge(&path(s, "/a"), &json!({"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}))
            .await;
        report(s, "a", json!({"currentHealthy": 0, "desiredHealthy": 2})).await;
        assert_eq!(evict(s, "p3").await, 201);
        s.merge(
            &path(s, "/a"),
            &json!({"spec": {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}}),
        )
        .await;
        assert_eq!(evict(s, "p4").await, 429);
    })
    .await;
}

#[tokio::test]
async fn a_pod_has_one_budget_at_most() {
    both("budget-two", async |s| {
        running(s, "p", true).await;
        let mut others = budget("b");
        others["spec"]["selector"] =
            json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]});
        s.post(&path(s, ""), &others).await;
        let mut none = budget("c");
        none["spec"] = json!({"minAvailable": 1});
        s.post(&path(s, ""), &none).await;
        reported(s, "a", json!({"disruptionsAllowed": 1})).await;
        let mut all = budget("d");
        all["spec"]["selector"] = json!({});
        s.post(&path(s, ""), &all).await;
        let eviction =
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
        let answer = s.post(&s.core("pods/p/eviction"), &eviction).await;
        assert_eq!(answer.body["code"], 500);
        assert_eq!(left(s, "a").await.0, 1);
        s.delete(&path(s, "/d")).await;
        assert_eq!(evict(s, "p").await, 201);
        assert_eq!(left(s, "a").await.0, 0);
    })
    .await;
}
