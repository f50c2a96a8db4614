//! Deployments, ReplicaSets, StatefulSets and DaemonSets.

use serde_json::{Value, json};

use crate::server::{JSON_PATCH, STRATEGIC, Server};
use crate::{both, with_meta};

pub(crate) const KINDS: [(&str, &str); 4] = [
    ("Deployment", "deployments"),
    ("ReplicaSet", "replicasets"),
    ("StatefulSet", "statefulsets"),
    ("DaemonSet", "daemonsets"),
];

pub(crate) const APPS: &str = "apps/v1";

pub(crate) fn workload(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": APPS, "kind": kind, "metadata": {"name": name, "labels": {"l": "v"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

pub(crate) fn with_spec(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

pub(crate) fn path(s: &Server, plural: &str, rest: &str) -> String {
    s.group(APPS, &format!("{plural}{rest}"))
}

#[tokio::test]
async fn a_workload_gets_its_defaults() {
    both("workload-defaults", async |s| {
        s.with_managers();
        for (kind, plural) in KINDS {
            let mut sent = workload(kind, "a");
            sent["status"] = json!({"replicas": 7, "observedGeneration": 3});
            let created = s.post(&path(s, plural, ""), &sent).await;
            assert_eq!(created.status, 201, "{}", created.body);
            assert_eq!(created.body["metadata"]["generation"], 1);
            assert_eq!(created.body["status"].get("observedGeneration"), None);
            assert_eq!(s.get(&path(s, plural, "/a")).await.status, 200);
            assert_eq!(s.post(&path(s, plural, ""), &sent).await.status, 409);
        }
    })
    .await;
}

#[tokio::test]
async fn the_template_of_a_workload_gets_the_defaults_of_a_pod() {
    both("workload-template", async |s| {
        let mut sent = workload("Deployment", "a");
        sent["spec"]["template"]["spec"] = json!({
            "hostNetwork": true, "serviceAccountName": "s", "nodeSelector": {"n": "v"},
            "initContainers": [{"name": "init", "image": "i", "command": ["x"]}],
            "containers": [{
                "name": "c", "image": "i@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "ports": [{"containerPort": 80, "hostPort": 80}],
                "env": [{"name": "A", "value": "b"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "livenessProbe": {"httpGet": {"port": 80}},
                "readinessProbe": {"grpc": {"port": 81}},
                "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
                "volumeMounts": [{"name": "config", "mountPath": "/c"}],
                "resources": {"limits": {"cpu": "1"}},
            }],
            "volumes": [
                {"name": "none"},
                {"name": "config", "configMap": {"name": "c"}},
                {"name": "host", "hostPath": {"path": "/x"}},
                {"name": "down", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                {"name": "many", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            ],
        });
        let created = s.post(&path(s, "deployments", ""), &sent).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let mut pod = sent["spec"]["template"].take();
        pod["metadata"]["name"] = json!("a");
        assert_eq!(s.post(&s.core("pods"), &pod).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn strategies_have_defaults_of_their_own() {
    both("workload-strategies", async |s| {
        for (plural, object) in [
            (
                "deployments",
                with_spec(workload("Deployment", "a"), "strategy", json!({"type": "Recreate"})),
            ),
            (
                "deployments",
                with_spec(
                    workload("Deployment", "b"),
                    "strategy",
                    json!({"rollingUpdate": {"maxSurge": 1}}),
                ),
            ),
            (
                "daemonsets",
                with_spec(
                    workload("DaemonSet", "a"),
                    "updateStrategy",
                    json!({"type": "OnDelete"}),
                ),
            ),
            (
                "statefulsets",
                with_spec(
                    workload("StatefulSet", "a"),
                    "updateStrategy",
                    json!({"type": "OnDelete"}),
                ),
            ),
            (
                "statefulsets",
                with_spec(
                    workload("StatefulSet", "b"),
                    "updateStrategy",
                    json!({"type": "RollingUpdate"}),
                ),
            ),
            ("statefulsets", with_spec(workload("StatefulSet", "c"), "serviceName", json!("s"))),
            ("deployments", with_spec(workload("Deployment", "c"), "minReadySeconds", json!(0))),
            ("deployments", with_spec(workload("Deployment", "d"), "paused", json!(false))),
        ] {
            let created = s.post(&path(s, plural, ""), &object).await;
            assert_eq!(created.status, 201, "{}", created.body);
        }
        let claim = json!({"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let stateful =
            with_spec(workload("StatefulSet", "d"), "volumeClaimTemplates", json!([claim]));
        assert_eq!(s.post(&path(s, "statefulsets", ""), &stateful).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn a_generation_counts_the_changes_of_the_spec() {
    both("workload-generations", async |s| {
        s.with_managers();
        for (kind, plural) in KINDS {
            s.post(&path(s, plural, ""), &workload(kind, "a")).await;
            let one = path(s, plural, "/a");
            let labelled = s.merge(&one, &json!({"metadata": {"labels": {"l": "w"}}})).await;
            assert_eq!(labelled.body["metadata"]["generation"], 1);
            s.merge(&one, &json!({"metadata": {"annotations": {"a": "b"}}})).await;
            let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}});
            let patched = s.patch(&one, STRATEGIC, &image).await;
            assert_eq!(patched.status, 200, "{}", patched.body);
            let seconds = json!([{"op": "add", "path": "/spec/minReadySeconds", "value": 5}]);
            assert_eq!(s.patch(&one, JSON_PATCH, &seconds).await.status, 200);
            assert_eq!(s.put(&one, &workload(kind, "a")).await.status, 200);
            assert_eq!(s.merge(&one, &json!({})).await.status, 200);
        }
    })
    .await;
}

#[tokio::test]
async fn the_status_of_a_workload_is_written_apart() {
    both("workload-status", async |s| {
        s.with_managers();
        for (kind, plural) in KINDS {
            s.post(&path(s, plural, ""), &workload(kind, "a")).await;
            let condition = json!({"type": "Available", "status": "True"});
            let status = match kind {
                "DaemonSet" => {
                    json!({"desiredNumberScheduled": 2, "numberReady": 1, "numberAvailable": 0})
                }
                _ => json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 0}),
            };
            let mut written = json!({
                "metadata": {"labels": {"l": "w"}, "annotations": {"a": "b"}},
                "spec": {"minReadySeconds": 9}, "status": status,
            });
            written["status"]["observedGeneration"] = json!(1);
            written["status"]["conditions"] = json!([condition]);
            let answer = s.merge(&path(s, plural, "/a/status"), &written).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert_eq!(answer.body["spec"].get("minReadySeconds"), None);
            let kept = s
                .merge(&path(s, plural, "/a"), &json!({"status": {"observedGeneration": 5}}))
                .await;
            assert_eq!(kept.body["status"]["observedGeneration"], 1);
            let wrong = json!({"status": {"observedGeneration": -1}});
            assert_eq!(s.merge(&path(s, plural, "/a/status"), &wrong).await.status, 422);
        }
        let mut whole = s.get(&path(s, "deployments", "/a")).await.body;
        whole["status"]["replicas"] = json!(4);
        let put = s.put(&path(s, "deployments", "/a/status"), &whole).await;
        assert_eq!(put.body["status"]["replicas"], 4);
        let ahead = json!({"status": {"replicas": 4, "readyReplicas": 1, "availableReplicas": 2}});
        for (_, plural) in &KINDS[..3] {
            assert_eq!(s.merge(&path(s, plural, "/a/status"), &ahead).await.status, 422);
        }
        let many = json!({"status": {"readyReplicas": 5}});
        assert_eq!(s.merge(&path(s, "deployments", "/a/status"), &many).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn workloads_are_listed_selected_and_watched() {
    both("workload-lists", async |s| {
        for (kind, plural) in KINDS {
            for (name, label) in [("a", "x"), ("b", "y")] {
                let object = with_meta(workload(kind, name), "labels", json!({"l": label}));
                s.post(&path(s, plural, ""), &object).await;
            }
            let chosen = s.get(&path(s, plural, "?labelSelector=l%3Dy")).await;
            assert_eq!(chosen.names(), ["b"]);
            let chosen = s.get(&path(s, plural, "?fieldSelector=metadata.name%3Da")).await;
            assert_eq!(chosen.names(), ["a"]);
            assert_eq!(
                s.get(&path(s, plural, "?fieldSelector=spec.replicas%3D1")).await.status,
                400
            );
            let since = s.get(&path(s, plural, "")).await.version();
            s.merge(&path(s, plural, "/a"), &json!({"spec": {"minReadySeconds": 1}})).await;
            s.delete(&path(s, plural, "/b")).await;
            let seen = s
                .get(&path(
                    s,
                    plural,
                    &format!("?watch=1&timeoutSeconds=1&resourceVersion={since}"),
                ))
                .await;
            assert_eq!(seen.body.as_array().unwrap().len(), 2);
            let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
            assert_eq!(s.get_as(&path(s, plural, ""), table).await.status, 200);
            let metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
            assert_eq!(s.get_as(&path(s, plural, "/a"), metadata).await.status, 200);
            assert_eq!(s.delete(&path(s, plural, "")).await.names(), ["a"]);
        }
    })
    .await;
}

#[tokio::test]
async fn an_applied_workload_is_merged() {
    both("workload-apply", async |s| {
        s.with_managers();
        for (kind, plural) in KINDS {
            let one = path(s, plural, "/a");
            let mut config = workload(kind, "a");
            assert_eq!(s.apply(&one, "one", &config).await.status, 201);
            assert_eq!(s.apply(&one, "one", &config).await.status, 200);
            config["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:2");
            assert_eq!(s.apply(&one, "one", &config).await.body["metadata"]["generation"], 2);
            config["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:3");
            assert_eq!(s.apply(&one, "two", &config).await.status, 409);
            let status = json!({"apiVersion": APPS, "kind": kind, "metadata": {"name": "a"},
                "status": {"conditions": [{"type": "A", "status": "True"}]}});
            assert_eq!(s.apply(&path(s, plural, "/a/status"), "three", &status).await.status, 200);
        }
    })
    .await;
}
