//! Pods.

use serde_json::{Value, json};

use crate::both;

fn pod(name: &str, node: &str) -> Value {
    let mut spec =
        json!({"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]}]});
    if !node.is_empty() {
        spec["nodeName"] = json!(node);
    }
    json!({"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec, "status": {"phase": "Running"}})
}

#[tokio::test]
async fn a_pod_gets_its_defaults() {
    both("pod-defaults", async |s| {
        let created = s.post(&s.core("pods"), &pod("a", "n")).await;
        assert_eq!(created.body["status"]["phase"], "Pending");
        assert_eq!(
            s.post(&s.core("pods"), &json!({"metadata": {"name": "b"}, "spec": {}})).await.status,
            422
        );
        let many = json!({"metadata": {"name": "c"}, "spec": {
            "hostNetwork": true, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}},
                "readinessProbe": {"httpGet": {"port": 80}}}],
            "tolerations": [{"operator": "Exists"}],
        }});
        assert_eq!(s.post(&s.core("pods"), &many).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn the_status_of_a_pod_is_written_apart() {
    both("pod-status", async |s| {
        s.post(&s.core("pods"), &pod("a", "n")).await;
        let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
            "conditions": [{"type": "Ready", "status": "True"}]}});
        let patched = s.merge(&s.core("pods/a/status"), &status).await;
        assert_eq!(patched.body["status"]["phase"], "Running");
        assert_eq!(patched.body["metadata"]["generation"], 1);
        let kept = s.merge(&s.core("pods/a"), &json!({"status": {"phase": "Failed"}})).await;
        assert_eq!(kept.body["status"]["phase"], "Running");
        assert_eq!(s.merge(&s.core("pods/a"), &json!({"metadata": {"labels": {"l": "2"}}})).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_pod_on_a_node_ends_gracefully() {
    both("pod-grace", async |s| {
        s.post(&s.core("pods"), &pod("a", "n")).await;
        let going = s.delete(&s.core("pods/a")).await;
        assert_eq!(going.body["metadata"]["deletionGracePeriodSeconds"], 30);
        assert_eq!(s.delete(&s.core("pods/a")).await.status, 200);
        assert_eq!(s.delete(&s.core("pods/a?gracePeriodSeconds=0")).await.status, 200);
        assert_eq!(s.get(&s.core("pods/a")).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_pod_without_a_node_or_grace_goes_at_once() {
    both("pod-at-once", async |s| {
        s.post(&s.core("pods"), &pod("a", "")).await;
        s.post(&s.core("pods"), &pod("b", "n")).await;
        assert_eq!(s.delete(&s.core("pods/a")).await.status, 200);
        assert_eq!(
            s.delete_with(&s.core("pods/b"), &json!({"gracePeriodSeconds": 0})).await.status,
            200
        );
        for name in ["a", "b"] {
            assert_eq!(s.get(&s.core(&format!("pods/{name}"))).await.status, 404);
        }
    })
    .await;
}

#[tokio::test]
async fn pods_are_selected_by_node_and_phase() {
    both("pod-fields", async |s| {
        s.post(&s.core("pods"), &pod("a", "n1")).await;
        s.post(&s.core("pods"), &pod("b", "n2")).await;
        s.merge(&s.core("pods/b/status"), &json!({"status": {"phase": "Running"}})).await;
        for (selector, names) in [
            ("spec.nodeName%3Dn1", vec!["a"]),
            ("spec.nodeName!%3Dn1", vec!["b"]),
            ("status.phase%3DRunning", vec!["b"]),
            ("status.phase%3D%3DPending,spec.nodeName%3Dn1", vec!["a"]),
            ("status.podIP%3D", vec!["a", "b"]),
            ("spec.restartPolicy%3DAlways,metadata.name%3Da", vec!["a"]),
        ] {
            let found = s.get(&s.core(&format!("pods?fieldSelector={selector}"))).await;
            assert_eq!(found.names(), names, "{selector}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_pod_stays_on_its_node() {
    both("pod-moves", async |s| {
        s.post(&s.core("pods"), &pod("a", "n1")).await;
        // The real server shows a diff of its own types.
        s.compare(false);
        let answer = s.merge(&s.core("pods/a"), &json!({"spec": {"nodeName": "n2"}})).await;
        assert_eq!((answer.status, &answer.body["reason"]), (422, &json!("Invalid")));
        let message = answer.body["message"].as_str().unwrap();
        let known = "Pod \"a\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`";
        assert!(message.starts_with(known), "{message}");
    })
    .await;
}

fn eviction(name: &str, options: &Value) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options})
}

#[tokio::test]
async fn an_evicted_pod_is_marked_and_deleted() {
    both("pod-eviction", async |s| {
        s.post(&s.core("pods"), &pod("a", "n")).await;
        let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        s.merge(&s.core("pods/a/status"), &running).await;
        let path = s.core("pods/a/eviction");
        assert_eq!(s.post(&path, &eviction("b", &json!({}))).await.status, 400);
        assert_eq!(s.post(&s.core("pods/b/eviction"), &eviction("b", &json!({}))).await.status, 404);
        let other = json!({"preconditions": {"uid": "4d3c0d4e-0000-4000-8000-000000000000"}});
        assert_eq!(s.post(&path, &eviction("a", &other)).await.status, 409);
        let dry = eviction("a", &json!({"dryRun": ["All"]}));
        assert_eq!(s.post(&path, &dry).await.status, 201);
        assert_eq!(s.get(&s.core("pods/a")).await.body["metadata"].get("deletionTimestamp"), None);
        assert_eq!(s.post(&path, &eviction("a", &json!({}))).await.status, 201);
        let going = s.get(&s.core("pods/a")).await;
        assert_eq!(going.body["metadata"]["deletionGracePeriodSeconds"], 30);
        assert_eq!(s.post(&path, &eviction("a", &json!({"gracePeriodSeconds": 0}))).await.status, 201);
        assert_eq!(s.get(&s.core("pods/a")).await.status, 404);
        assert_eq!(s.get(&path).await.status, 405);
        assert_eq!(s.put(&path, &json!({})).await.status, 405);
    })
    .await;
}
