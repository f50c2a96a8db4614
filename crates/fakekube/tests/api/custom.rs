//! Objects of CustomResourceDefinitions.

use serde_json::{Value, json};

use crate::both;
use crate::server::{JSON_PATCH, STRATEGIC, Server};

/// Installs a definition for the scenario and waits until it is served; returns group and version.
pub(crate) async fn install(s: &Server, status: bool) -> String {
    let group = format!("{}.example", s.namespace());
    let mut definition = definition(&group);
    if status {
        definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    }
    s.define(&definition).await;
    format!("{group}/v1")
}

pub(crate) fn definition(group: &str) -> Value {
    let spec = json!({
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "default": "auto", "enum": ["auto", "man"]},
            "ips": {"type": "array", "items": {"type": "string"}},
        },
        "x-kubernetes-validations": [{
            "rule": "self.mode != 'man' || self.size < 10", "message": "man is small",
        }],
    });
    let status = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }],
        },
    })
}

fn gadget(group: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": group, "kind": "Gadget", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn a_custom_object_is_pruned_and_defaulted() {
    both("cr-create", async |s| {
        let group = install(s, true).await;
        let mut object = gadget(&group, "a", json!({"size": 1, "odd": 2}));
        object["status"] = json!({"ok": true});
        object["extra"] = json!(1);
        let created = s.post(&s.group(&group, "gadgets"), &object).await;
        assert_eq!(created.body["spec"], json!({"size": 1, "mode": "auto"}));
        assert!(created.body.get("status").is_none());
        let strict = s.group(&group, "gadgets?fieldValidation=Strict");
        object["metadata"] = json!({"name": "b", "odd": 1});
        assert_eq!(s.post(&strict, &object).await.status, 400);
    })
    .await;
}

#[tokio::test]
async fn a_custom_object_must_fit_its_schema() {
    both("cr-schema", async |s| {
        let group = install(s, true).await;
        let path = s.group(&group, "gadgets");
        for spec in [
            json!({"size": 0, "mode": "odd"}),
            json!({}),
            json!({"size": "x"}),
            json!({"size": 50, "mode": "man"}),
            json!({"size": 1, "ips": [1]}),
        ] {
            assert_eq!(s.post(&path, &gadget(&group, "a", spec)).await.status, 422);
        }
        assert_eq!(s.post(&path, &gadget(&group, "Bad_", json!({"size": 1}))).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn a_custom_object_must_say_what_it_is() {
    both("cr-kind", async |s| {
        let group = install(s, true).await;
        let path = s.group(&group, "gadgets");
        for (version, kind, status) in [
            (group.as_str(), "Other", 422),
            ("cr-kind.example/v2", "Gadget", 400),
            (group.as_str(), "", 400),
        ] {
            let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}});
            assert_eq!(s.post(&path, &object).await.status, status);
        }
        assert_eq!(s.post(&path, &json!({"metadata": {"name": "x"}})).await.status, 400);
        for body in ["{bad", "", "[]"] {
            let headers = [("content-type", "application/json")];
            assert_eq!(s.ask("POST", &path, &headers, body).await.status, 400);
        }
        let object = json!({"apiVersion": group, "kind": "Gadget", "metadata": "text"});
        assert_eq!(s.post(&path, &object).await.status, 400);
    })
    .await;
}

#[tokio::test]
async fn generation_counts_changes_of_the_spec() {
    both("cr-generation", async |s| {
        let group = install(s, true).await;
        s.post(&s.group(&group, "gadgets"), &gadget(&group, "a", json!({"size": 1}))).await;
        let path = s.group(&group, "gadgets/a");
        for (patch, generation) in [
            (json!({"metadata": {"labels": {"x": "y"}}}), 1),
            (json!({"spec": {"size": 2}}), 2),
            (json!({"spec": {"size": 2}}), 2),
            (json!({"status": {"ok": true}}), 2),
            (json!({"metadata": {"generation": 99}}), 2),
        ] {
            let answer = s.merge(&path, &patch).await;
            assert_eq!(answer.body["metadata"]["generation"], generation);
        }
        let answer = s.merge(&format!("{path}/status"), &json!({"status": {"ok": true}})).await;
        assert_eq!(answer.body["metadata"]["generation"], 2);
    })
    .await;
}

#[tokio::test]
async fn without_a_status_subresource_all_counts() {
    both("cr-plain", async |s| {
        let group = install(s, false).await;
        let mut object = gadget(&group, "a", json!({"size": 1}));
        object["status"] = json!({"ok": true});
        let created = s.post(&s.group(&group, "gadgets"), &object).await;
        assert_eq!(created.body["status"]["ok"], true);
        let path = s.group(&group, "gadgets/a");
        let answer = s.merge(&path, &json!({"status": {"ok": false}})).await;
        assert_eq!(answer.body["metadata"]["generation"], 2);
        assert_eq!(s.merge(&format!("{path}/status"), &json!({})).await.status, 404);
        assert_eq!(s.get(&format!("{path}/status")).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn the_status_of_a_custom_object_is_written_apart() {
    both("cr-status", async |s| {
        let group = install(s, true).await;
        s.post(&s.group(&group, "gadgets"), &gadget(&group, "a", json!({"size": 1}))).await;
        let (path, status) = (s.group(&group, "gadgets/a"), s.group(&group, "gadgets/a/status"));
        let mut object = s.get(&path).await.body;
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        object["metadata"]["labels"] = json!({"via": "status"});
        object["spec"]["size"] = json!(77);
        object["status"] = json!({"ok": true, "odd": 1});
        let put = s.put(&status, &object).await;
        assert_eq!(put.body["spec"]["size"], 1);
        assert!(put.body["metadata"].get("labels").is_none());
        assert_eq!(s.put(&status, &object).await.status, 409);
        let mut bare = gadget(&group, "a", json!({}));
        assert_eq!(s.put(&status, &bare).await.status, 422);
        bare["metadata"]["name"] = json!("none");
        assert_eq!(s.put(&s.group(&group, "gadgets/none/status"), &bare).await.status, 404);
        assert_eq!(s.merge(&status, &json!({"status": {"ok": "text"}})).await.status, 422);
        assert_eq!(s.merge(&status, &json!({"status": null})).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_custom_object_is_only_updated_by_version() {
    both("cr-version", async |s| {
        let group = install(s, true).await;
        let object = gadget(&group, "a", json!({"size": 1}));
        let created = s.post(&s.group(&group, "gadgets"), &object).await;
        let path = s.group(&group, "gadgets/a");
        assert_eq!(s.put(&path, &object).await.status, 422);
        let mut next = gadget(&group, "a", json!({"size": 3}));
        next["metadata"]["resourceVersion"] = json!(created.version());
        assert_eq!(s.put(&path, &next).await.status, 200);
        assert_eq!(s.put(&path, &next).await.status, 409);
        let none = gadget(&group, "none", json!({"size": 1}));
        assert_eq!(s.put(&s.group(&group, "gadgets/none"), &none).await.status, 404);
        let uid = json!({"metadata": {"uid": "1"}});
        assert_eq!(s.merge(&path, &uid).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn patches_of_custom_objects() {
    both("cr-patch", async |s| {
        let group = install(s, true).await;
        s.post(&s.group(&group, "gadgets"), &gadget(&group, "a", json!({"size": 1}))).await;
        let path = s.group(&group, "gadgets/a");
        assert_eq!(s.merge(&path, &json!({"spec": {"size": "x"}})).await.status, 422);
        assert_eq!(s.merge(&path, &json!({"spec": {"odd": "x"}})).await.status, 200);
        assert_eq!(s.patch(&path, STRATEGIC, &json!({"spec": {"size": 5}})).await.status, 415);
        let operation = json!([{"op": "replace", "path": "/spec/size", "value": 4}]);
        assert_eq!(s.patch(&path, JSON_PATCH, &operation).await.body["spec"]["size"], 4);
        let failing = json!([{"op": "test", "path": "/spec/size", "value": 1}]);
        assert_eq!(s.patch(&path, JSON_PATCH, &failing).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn custom_objects_are_listed_and_selected() {
    both("cr-list", async |s| {
        let group = install(s, true).await;
        for name in ["a", "b"] {
            s.post(&s.group(&group, "gadgets"), &gadget(&group, name, json!({"size": 1}))).await;
        }
        let path = s.group(&group, "gadgets");
        assert_eq!(s.get(&path).await.names(), ["a", "b"]);
        assert_eq!(s.get(&format!("{path}?limit=1")).await.names(), ["a"]);
        assert_eq!(s.get(&format!("{path}?fieldSelector=metadata.name%3Db")).await.names(), ["b"]);
        assert_eq!(s.get(&format!("{path}?fieldSelector=spec.size%3D1")).await.status, 400);
        let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
        let answer = s.get_as(&path, table).await;
        assert_eq!(answer.body["rows"][0]["cells"], json!(["a", 1]));
        let partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        assert_eq!(s.get_as(&path, partial).await.names(), ["a", "b"]);
        assert_eq!(s.delete(&path).await.names(), ["a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn finalizers_hold_a_custom_object() {
    both("cr-finalizers", async |s| {
        let group = install(s, true).await;
        let mut object = gadget(&group, "a", json!({"size": 1}));
        object["metadata"]["finalizers"] = json!(["a.example/f"]);
        s.post(&s.group(&group, "gadgets"), &object).await;
        let path = s.group(&group, "gadgets/a");
        let going = s.delete(&path).await;
        assert_eq!(going.body["metadata"]["generation"], 2);
        let more = json!({"metadata": {"finalizers": ["a.example/f", "a.example/g"]}});
        assert_eq!(s.merge(&path, &more).await.status, 422);
        let none = json!({"metadata": {"finalizers": []}});
        assert_eq!(s.merge(&format!("{path}/status"), &none).await.status, 200);
        assert_eq!(s.merge(&path, &none).await.status, 200);
        assert_eq!(s.get(&path).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn paths_of_a_custom_group() {
    both("cr-paths", async |s| {
        let group = install(s, true).await;
        s.post(&s.group(&group, "gadgets"), &gadget(&group, "a", json!({"size": 1}))).await;
        for path in [
            s.group(&group, "gadgets/a/scale"),
            s.group(&group, "gadgets/none"),
            format!("/apis/{group}/gadgets/a"),
            format!("/apis/{group}/nope"),
            "/apis/cr-paths.example/v7/gadgets".to_owned(),
            s.group(&group, "nope/x"),
        ] {
            assert_eq!(s.get(&path).await.status, 404, "{path}");
        }
        assert_eq!(s.put(&s.group(&group, "gadgets"), &json!({})).await.status, 400);
        assert_eq!(s.delete(&s.group(&group, "gadgets/a/status")).await.status, 405);
        let path = format!("/apis/{group}/gadgets");
        assert_eq!(s.get(&path).await.names(), ["a"]);
    })
    .await;
}

#[tokio::test]
async fn a_watch_from_before_the_kind_was_served_is_too_old() {
    both("cr-too-old", async |s| {
        let group = install(s, true).await;
        // Fills the real server's cache.
        s.get(&s.group(&group, "gadgets?resourceVersion=0")).await;
        let path = s.group(&group, "gadgets?watch=true&timeoutSeconds=3&resourceVersion=1");
        let events = s.get(&path).await;
        assert_eq!(events.status, 200);
        assert_eq!(events.body[0]["type"], "ERROR");
        assert_eq!(events.body[0]["object"]["code"], 410);
    })
    .await;
}

#[tokio::test]
async fn a_custom_kind_is_watched() {
    both("cr-watch", async |s| {
        let group = install(s, true).await;
        let path = s.group(&group, "gadgets");
        let from = s.get(&path).await.version();
        s.post(&path, &gadget(&group, "a", json!({"size": 1}))).await;
        s.merge(&s.group(&group, "gadgets/a/status"), &json!({"status": {"ok": true}})).await;
        s.delete(&s.group(&group, "gadgets/a")).await;
        let query = format!("?watch=true&timeoutSeconds=3&resourceVersion={from}");
        let events = s.get(&format!("{path}{query}")).await;
        assert_eq!(events.body.as_array().unwrap().len(), 3);
    })
    .await;
}
