//! CustomResourceDefinitions themselves.

use std::time::Duration;

use serde_json::{Value, json};

use crate::both;
use crate::custom::{definition, install};
use crate::server::Answer;

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[tokio::test]
async fn a_definition_is_established() {
    both("crd-new", async |s| {
        let created = s.post(PATH, &definition("crd-new.example")).await;
        assert_eq!(created.body["spec"]["names"]["listKind"], "GadgetList");
        let path = format!("{PATH}/gadgets.crd-new.example");
        let established = |answer: &Answer| {
            answer.body["status"]["conditions"][1]["reason"] == "InitialNamesAccepted"
                && answer.body["status"]["conditions"][1]["status"] == "True"
        };
        let answer = s.until(&path, established).await;
        assert_eq!(answer.body["status"]["storedVersions"], json!(["v1"]));
        assert_eq!(s.post(PATH, &definition("crd-new.example")).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn a_definition_must_be_sound() {
    both("crd-bad", async |s| {
        let mut misnamed = definition("crd-bad.example");
        misnamed["metadata"]["name"] = json!("wrong");
        assert_eq!(s.post(PATH, &misnamed).await.status, 422);
        let mut schemaless = definition("crd-bad.example");
        schemaless["spec"]["versions"][0]["schema"] = Value::Null;
        assert_eq!(s.post(PATH, &schemaless).await.status, 422);
        let mut unstored = definition("crd-bad.example");
        unstored["spec"]["versions"][0]["storage"] = json!(false);
        // The real server's message shows values of its Go types.
        s.compare(false);
        let answer = s.post(PATH, &unstored).await;
        assert_eq!(answer.status, 422);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.contains("must have exactly one version marked as storage version"));
    })
    .await;
}

#[tokio::test]
async fn a_definition_goes_with_its_objects() {
    both("crd-gone", async |s| {
        let group = install(s, true).await;
        let object = json!({"apiVersion": group, "kind": "Gadget", "metadata": {"name": "a"}});
        assert_eq!(s.post(&s.group(&group, "gadgets"), &object).await.status, 201);
        let path = format!("{PATH}/gadgets.crd-gone.example");
        s.compare(false);
        let going = s.delete(&path).await;
        s.compare(true);
        assert!(going.body["metadata"]["deletionTimestamp"].is_string());
        s.until(&path, |answer| answer.status == 404).await;
        s.until(&s.group(&group, "gadgets"), |answer| answer.status == 404).await;
    })
    .await;
}

#[tokio::test]
async fn a_definition_can_be_changed() {
    both("crd-change", async |s| {
        let group = install(s, true).await;
        let path = format!("{PATH}/gadgets.crd-change.example");
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        s.compare(false);
        assert_eq!(s.merge(&path, &labels).await.body["metadata"]["generation"], 1);
        let add = json!([{"op": "add",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/new",
            "value": {"type": "string", "default": "here"}}]);
        let changed = s.patch(&path, "application/json-patch+json", &add).await;
        assert_eq!(changed.body["metadata"]["generation"], 2);
        for attempt in 0..3000 {
            let object = json!({"apiVersion": group, "kind": "Gadget",
                "metadata": {"name": format!("a{attempt}")}, "spec": {"size": 1}});
            let created = s.post(&s.group(&group, "gadgets"), &object).await;
            if created.body["spec"]["new"] == "here" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{}: the new field never came", s.name);
    })
    .await;
}

#[tokio::test]
async fn discovery_knows_the_kind() {
    both("crd-found", async |s| {
        let group = install(s, true).await;
        let path = format!("/apis/{group}");
        let known = |answer: &Answer| answer.status == 200;
        // fakekube has no hashes of storage versions.
        s.compare(false);
        let answer = s.until(&path, known).await;
        let resources = answer.body["resources"].as_array().unwrap().clone();
        assert_eq!(resources[0]["shortNames"], json!(["gd"]));
        assert_eq!(resources[1]["name"], "gadgets/status");
        s.compare(true);
        let answer = s.until("/apis/crd-found.example", known).await;
        assert_eq!(answer.body["preferredVersion"]["version"], "v1");
    })
    .await;
}

#[tokio::test]
async fn nothing_new_comes_while_a_definition_goes() {
    both("crd-held", async |s| {
        let group = install(s, true).await;
        let gadgets = s.group(&group, "gadgets");
        let object = |name: &str| {
            json!({"apiVersion": group, "kind": "Gadget",
            "metadata": {"name": name, "finalizers": ["a.example/f"]}})
        };
        assert_eq!(s.post(&gadgets, &object("a")).await.status, 201);
        let path = format!("{PATH}/gadgets.crd-held.example");
        s.compare(false);
        assert_eq!(s.delete(&path).await.status, 200);
        let held = s.group(&group, "gadgets/a");
        s.until(&held, |answer| answer.body["metadata"]["deletionTimestamp"].is_string()).await;
        // The real server's handler of the kind notices the deletion a moment later.
        while s.post(&format!("{gadgets}?dryRun=All"), &object("b")).await.status != 403 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        s.compare(true);
        assert_eq!(s.post(&gadgets, &object("b")).await.status, 403);
        let free = json!({"metadata": {"finalizers": null}});
        assert_eq!(s.merge(&held, &free).await.status, 200);
        s.until(&path, |answer| answer.status == 404).await;
    })
    .await;
}

#[tokio::test]
async fn the_versions_of_a_kind_show_the_same_objects() {
    both("crd-versions", async |s| {
        let mut definition = definition("crd-versions.example");
        let mut other = definition["spec"]["versions"][0].clone();
        other["name"] = json!("v1beta1");
        other["storage"] = json!(false);
        definition["spec"]["versions"].as_array_mut().unwrap().push(other);
        s.compare(false);
        assert_eq!(s.post(PATH, &definition).await.status, 201);
        let (new, old) = ("crd-versions.example/v1", "crd-versions.example/v1beta1");
        for group in [new, old] {
            s.until(&s.group(group, "gadgets"), |answer| answer.status == 200).await;
        }
        s.compare(true);
        let object = json!({"apiVersion": old, "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"size": 1}});
        assert_eq!(s.post(&s.group(old, "gadgets"), &object).await.status, 201);
        assert_eq!(s.get(&s.group(new, "gadgets/a")).await.body["apiVersion"], new);
        assert_eq!(s.get(&s.group(old, "gadgets")).await.names(), ["a"]);
        s.until("/apis/crd-versions.example", |answer| {
            answer.body["versions"].as_array().is_some_and(|versions| versions.len() == 2)
        })
        .await;
    })
    .await;
}
