//! Values of the wrong type.

use serde_json::{Value, json};

use crate::server::{JSON_PATCH, MERGE, STRATEGIC};
use crate::{both, config_map, custom, with_meta};

#[tokio::test]
async fn metadata_has_types() {
    both("types-meta", async |s| {
        for (field, value) in [
            ("labels", json!({"a": 1})),
            ("labels", json!("x")),
            ("labels", json!(["x"])),
            ("name", json!(5)),
            ("finalizers", json!("x")),
            ("finalizers", json!([1])),
            ("ownerReferences", json!([{"name": 1}])),
            ("creationTimestamp", json!("xyz")),
            ("creationTimestamp", json!(5)),
            ("generation", json!("5")),
        ] {
            let answer =
                s.post(&s.core("configmaps"), &with_meta(config_map("a"), field, value)).await;
            assert_eq!(answer.status, 400, "{field}");
        }
        for metadata in [json!("x"), json!([])] {
            let answer = s.post(&s.core("configmaps"), &json!({"metadata": metadata})).await;
            assert_eq!(answer.status, 400);
        }
    })
    .await;
}

#[tokio::test]
async fn built_in_kinds_have_types() {
    both("types-builtin", async |s| {
        let of = |field: &str, value: Value| json!({"metadata": {"name": "types"}, field: value});
        let cases = [
            ("nodes", of("spec", json!("x"))),
            ("nodes", of("spec", json!({"unschedulable": "x"}))),
            ("nodes", of("spec", json!({"taints": {}}))),
            ("nodes", of("spec", json!({"taints": ["x"]}))),
            ("nodes", of("status", json!([]))),
            ("configmaps", of("data", json!({"k": 1}))),
            ("configmaps", of("data", json!([]))),
            ("configmaps", of("immutable", json!("x"))),
            ("secrets", of("data", json!({"k": "Z"}))),
            ("secrets", of("data", json!({"k": "ab!d"}))),
            ("secrets", of("data", json!({"k": 5}))),
            ("pods", of("spec", json!({"containers": [{"ports": [{"containerPort": "80"}]}]}))),
            ("pods", of("spec", json!({"terminationGracePeriodSeconds": "x"}))),
        ];
        for (plural, object) in cases {
            let path = match plural {
                "nodes" => "/api/v1/nodes".to_owned(),
                plural => s.core(plural),
            };
            assert_eq!(s.post(&path, &object).await.status, 400, "{object}");
        }
    })
    .await;
}

#[tokio::test]
async fn leases_have_times_of_microseconds() {
    both("types-lease", async |s| {
        let path = s.group("coordination.k8s.io/v1", "leases");
        for spec in [
            json!({"leaseDurationSeconds": "x"}),
            json!({"renewTime": "2020-01-01T00:00:00Z"}),
            json!({"renewTime": "x"}),
        ] {
            let lease = json!({"metadata": {"name": "l"}, "spec": spec});
            assert_eq!(s.post(&path, &lease).await.status, 400);
        }
    })
    .await;
}

#[tokio::test]
async fn patches_cannot_change_types() {
    both("types-patch", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        // The real server shows its managed fields, and words messages about strategic patches
        // differently.
        s.compare(false);
        for (way, patch) in [
            (MERGE, json!({"data": {"k": 1}})),
            (MERGE, json!({"metadata": {"labels": "x"}})),
            (STRATEGIC, json!({"data": {"k": 1}})),
            (STRATEGIC, json!({"data": "x"})),
            (JSON_PATCH, json!([{"op": "add", "path": "/data", "value": "1"}])),
        ] {
            let answer = s.patch(&path, way, &patch).await;
            let message = answer.body["message"].as_str().unwrap().to_owned();
            assert_eq!(answer.status, 422, "{}: {patch}", s.name);
            assert!(message.starts_with(" \"\" is invalid: patch: Invalid value: "), "{message}");
        }
        assert_eq!(s.get(&path).await.body["data"], json!({"k": "v"}));
    })
    .await;
}

#[tokio::test]
async fn the_metadata_of_custom_objects_has_types() {
    both("types-custom", async |s| {
        let group = custom::install(s, true).await;
        for metadata in [
            json!({"name": "a", "labels": {"a": 1}}),
            json!({"name": 5}),
            json!({"name": "a", "finalizers": "x"}),
            json!({"name": "a", "creationTimestamp": "xyz"}),
        ] {
            let object = json!({"apiVersion": group, "kind": "Gadget", "metadata": metadata});
            assert_eq!(s.post(&s.group(&group, "gadgets"), &object).await.status, 400);
        }
    })
    .await;
}
