//! Garbage collection. On the real server kube-controller-manager collects.

use serde_json::{Value, json};

use crate::server::{Answer, Server};
use crate::workloads::workload;
use crate::{collected, config_map, with_meta};

/// The group of the kinds below.
const GROUP: &str = "garbage.example";
/// The newer version of the group, and the older, which is served too.
const NEW: &str = "garbage.example/v1";
const OLD: &str = "garbage.example/v1beta1";

/// Custom kinds for owners and dependents: boats have a namespace, harbours have none.
pub(crate) fn definitions() -> [Value; 2] {
    let definition = |kind: &str, plural: &str, scope: &str| {
        let version = |name: &str| {
            let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            json!({"name": name, "served": true, "storage": name == "v1",
                "schema": {"openAPIV3Schema": schema}})
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{GROUP}")},
            "spec": {"group": GROUP, "scope": scope, "names": {"plural": plural, "kind": kind},
                "versions": [version("v1"), version("v1beta1")]},
        })
    };
    [definition("Boat", "boats", "Namespaced"), definition("Harbour", "harbours", "Cluster")]
}

fn boat(name: &str) -> Value {
    json!({"apiVersion": NEW, "kind": "Boat", "metadata": {"name": name}})
}

fn boats(s: &Server, rest: &str) -> String {
    s.group(NEW, &format!("boats{rest}"))
}

fn maps(s: &Server, name: &str) -> String {
    s.core(&format!("configmaps/{name}"))
}

async fn new_boat(s: &Server, object: &Value) -> Answer {
    let created = s.post(&boats(s, ""), object).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created
}

/// Creates a ConfigMap with owners.
async fn new_map(s: &Server, name: &str, owners: &[Value]) -> Answer {
    let object = with_meta(config_map(name), "ownerReferences", json!(owners));
    let created = s.post(&s.core("configmaps"), &object).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created
}

/// A reference to an owner.
fn owned_by(owner: &Answer) -> Value {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    json!({"apiVersion": text(&owner.body["apiVersion"]), "kind": text(&owner.body["kind"]),
        "name": text(&owner.body["metadata"]["name"]), "uid": owner.uid()})
}

/// A reference to an owner that must not go before.
fn blocking(owner: &Answer) -> Value {
    let mut reference = owned_by(owner);
    reference["blockOwnerDeletion"] = json!(true);
    reference
}

fn policy(name: &str) -> Value {
    json!({"propagationPolicy": name})
}

fn is_gone(answer: &Answer) -> bool {
    answer.status == 404
}

fn is_going(answer: &Answer) -> bool {
    answer.body["metadata"]["deletionTimestamp"].is_string()
}

/// Waits until the collector has seen all ConfigMaps up to now: garbage that is made now is
/// collected. The real collector forgets a dependent of a foreground or orphaning deletion that
/// it sees only after the deletion began.
async fn sweep(s: &Server, name: &str) {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody",
        "uid": "11111111-2222-3333-4444-555555555555"});
    s.compare(false);
    new_map(s, name, &[owner]).await;
    s.until(&maps(s, name), is_gone).await;
    s.compare(true);
}

#[tokio::test]
async fn the_dependents_of_a_deleted_owner_follow() {
    collected("gc-background", async |s| {
        let deployments = s.group("apps/v1", "deployments");
        let owner = s.post(&deployments, &workload("Deployment", "a")).await;
        let boat = with_meta(boat("b"), "ownerReferences", json!([owned_by(&owner)]));
        let boat = new_boat(s, &boat).await;
        new_map(s, "c", &[blocking(&boat)]).await;
        new_map(s, "held", &[owned_by(&boat)]).await;
        let finalizer = json!({"metadata": {"finalizers": ["x.y/z"]}});
        assert_eq!(s.merge(&maps(s, "held"), &finalizer).await.status, 200);
        sweep(s, "first").await;
        assert_eq!(s.get(&maps(s, "c")).await.status, 200);
        assert_eq!(s.delete(&format!("{deployments}/a")).await.status, 200);
        s.until(&boats(s, "/b"), is_gone).await;
        s.until(&maps(s, "c"), is_gone).await;
        // A finalizer holds a dependent too.
        s.until(&maps(s, "held"), is_going).await;
        let released = json!({"metadata": {"finalizers": null}});
        assert_eq!(s.merge(&maps(s, "held"), &released).await.status, 200);
        assert_eq!(s.get(&maps(s, "held")).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_foreground_deletion_begins_with_the_dependents() {
    collected("gc-foreground", async |s| {
        let owner = new_boat(s, &with_meta(boat("a"), "finalizers", json!(["x.y/own"]))).await;
        new_map(s, "b", &[blocking(&owner)]).await;
        new_map(s, "free", &[owned_by(&owner)]).await;
        let finalizer = json!({"metadata": {"finalizers": ["x.y/z"]}});
        for name in ["b", "free"] {
            assert_eq!(s.merge(&maps(s, name), &finalizer).await.status, 200);
        }
        sweep(s, "seen").await;
        let going = s.delete_with(&boats(s, "/a"), &policy("Foreground")).await;
        assert_eq!(going.body["metadata"]["finalizers"], json!(["x.y/own", "foregroundDeletion"]));
        for name in ["b", "free"] {
            s.until(&maps(s, name), is_going).await;
        }
        sweep(s, "first").await;
        assert_eq!(s.get(&boats(s, "/a")).await.status, 200);
        // The owner waits for the dependent that blocks, and not for the other.
        let released = json!({"metadata": {"finalizers": null}});
        assert_eq!(s.merge(&maps(s, "b"), &released).await.status, 200);
        let left = |answer: &Answer| answer.body["metadata"]["finalizers"] == json!(["x.y/own"]);
        s.until(&boats(s, "/a"), left).await;
        assert_eq!(s.merge(&boats(s, "/a"), &released).await.status, 200);
        assert_eq!(s.get(&boats(s, "/a")).await.status, 404);
        assert_eq!(s.get(&maps(s, "free")).await.status, 200);
        assert_eq!(s.merge(&maps(s, "free"), &released).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_foreground_deletion_goes_down_to_the_last_dependent() {
    collected("gc-deep", async |s| {
        let top = new_boat(s, &boat("a")).await;
        let middle = with_meta(boat("b"), "ownerReferences", json!([blocking(&top)]));
        let middle = new_boat(s, &middle).await;
        new_map(s, "c", &[blocking(&middle)]).await;
        let finalizer = json!({"metadata": {"finalizers": ["x.y/z"]}});
        assert_eq!(s.merge(&maps(s, "c"), &finalizer).await.status, 200);
        sweep(s, "seen").await;
        s.delete_with(&boats(s, "/a"), &policy("Foreground")).await;
        s.until(&maps(s, "c"), is_going).await;
        for name in ["/a", "/b"] {
            let waits = s.get(&boats(s, name)).await;
            assert_eq!(waits.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        }
        s.merge(&maps(s, "c"), &json!({"metadata": {"finalizers": null}})).await;
        for name in ["/b", "/a"] {
            s.until(&boats(s, name), is_gone).await;
        }
    })
    .await;
}

#[tokio::test]
async fn owners_of_each_other_do_not_wait_for_each_other() {
    collected("gc-cycle", async |s| {
        s.with_managers();
        let one = new_boat(s, &boat("a")).await;
        let two = with_meta(boat("b"), "ownerReferences", json!([blocking(&one)]));
        let two = new_boat(s, &two).await;
        let back = json!({"metadata": {"ownerReferences": [blocking(&two)]}});
        assert_eq!(s.merge(&boats(s, "/a"), &back).await.status, 200);
        s.delete_with(&boats(s, "/a"), &policy("Foreground")).await;
        for name in ["/a", "/b"] {
            s.until(&boats(s, name), is_gone).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_dependent_stays_as_long_as_one_owner_does() {
    collected("gc-several", async |s| {
        s.with_managers();
        let kept = new_boat(s, &boat("kept")).await;
        let mut others = Vec::new();
        for name in ["fore", "back"] {
            others.push(new_boat(s, &boat(name)).await);
        }
        let absent = json!({"apiVersion": NEW, "kind": "Boat", "name": "never",
            "uid": "11111111-2222-3333-4444-555555555555"});
        let all = [blocking(&others[0]), owned_by(&kept), owned_by(&others[1]), absent];
        new_map(s, "m", &all).await;
        let owners = |count: usize| {
            move |answer: &Answer| {
                answer.body["metadata"]["ownerReferences"].as_array().map(Vec::len) == Some(count)
            }
        };
        s.until(&maps(s, "m"), owners(3)).await;
        s.delete_with(&boats(s, "/fore"), &policy("Foreground")).await;
        s.until(&boats(s, "/fore"), is_gone).await;
        s.until(&maps(s, "m"), owners(2)).await;
        s.delete_with(&boats(s, "/back"), &policy("Background")).await;
        let left = s.until(&maps(s, "m"), owners(1)).await;
        assert_eq!(left.body["metadata"]["ownerReferences"], json!([owned_by(&kept)]));
        assert_eq!(s.delete(&boats(s, "/kept")).await.status, 200);
        s.until(&maps(s, "m"), is_gone).await;
    })
    .await;
}

#[tokio::test]
async fn orphans_stay_without_their_owner() {
    collected("gc-orphan", async |s| {
        s.with_managers();
        let owner = new_boat(s, &boat("a")).await;
        new_map(s, "b", &[blocking(&owner)]).await;
        let child = with_meta(boat("c"), "ownerReferences", json!([owned_by(&owner)]));
        new_boat(s, &child).await;
        sweep(s, "seen").await;
        let going = s.delete_with(&boats(s, "/a"), &policy("Orphan")).await;
        assert_eq!(going.body["metadata"]["finalizers"], json!(["orphan"]));
        s.until(&boats(s, "/a"), is_gone).await;
        for path in [maps(s, "b"), boats(s, "/c")] {
            let orphan = s.get(&path).await;
            assert_eq!(orphan.status, 200);
            assert_eq!(orphan.body["metadata"].get("ownerReferences"), None);
        }
    })
    .await;
}

#[tokio::test]
async fn the_policy_of_a_collected_object_is_in_its_finalizers() {
    collected("gc-policies", async |s| {
        let owner = new_boat(s, &boat("a")).await;
        let middle = with_meta(boat("b"), "ownerReferences", json!([owned_by(&owner)]));
        let middle = new_boat(s, &with_meta(middle, "finalizers", json!(["orphan"]))).await;
        new_map(s, "c", &[owned_by(&middle)]).await;
        sweep(s, "seen").await;
        assert_eq!(s.delete(&boats(s, "/a")).await.status, 200);
        s.until(&boats(s, "/b"), is_gone).await;
        let orphan = s.get(&maps(s, "c")).await;
        assert_eq!(orphan.body["metadata"].get("ownerReferences"), None);
    })
    .await;
}

#[tokio::test]
async fn a_reference_to_nobody_makes_garbage() {
    collected("gc-absent", async |s| {
        let owner = new_boat(s, &boat("a")).await;
        let other = format!("{}-other", s.namespace());
        let namespace = json!({"metadata": {"name": other}});
        assert_eq!(s.post("/api/v1/namespaces", &namespace).await.status, 201);
        let mut stranger = owned_by(&owner);
        stranger["uid"] = json!("11111111-2222-3333-4444-555555555555");
        new_map(s, "uid", &[stranger]).await;
        let mut renamed = owned_by(&owner);
        renamed["name"] = json!("b");
        new_map(s, "name", &[renamed]).await;
        let elsewhere = with_meta(config_map("m"), "ownerReferences", json!([owned_by(&owner)]));
        let path = format!("/api/v1/namespaces/{other}/configmaps");
        assert_eq!(s.post(&path, &elsewhere).await.status, 201);
        for gone in [maps(s, "uid"), maps(s, "name"), format!("{path}/m")] {
            s.until(&gone, is_gone).await;
        }
        assert_eq!(s.get(&boats(s, "/a")).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_reference_to_a_kind_that_is_not_served_keeps_its_object() {
    collected("gc-unserved", async |s| {
        let owner = new_boat(s, &boat("a")).await;
        let as_version = |version: &str| {
            let mut reference = owned_by(&owner);
            reference["apiVersion"] = json!(version);
            reference
        };
        new_map(s, "old", &[as_version(OLD)]).await;
        new_map(s, "older", &[as_version("garbage.example/v1alpha1")]).await;
        new_map(s, "gone", &[as_version("unserved.example/v1")]).await;
        sweep(s, "first").await;
        assert_eq!(s.get(&maps(s, "old")).await.status, 200);
        assert_eq!(s.delete(&boats(s, "/a")).await.status, 200);
        s.until(&maps(s, "old"), is_gone).await;
        sweep(s, "second").await;
        for name in ["older", "gone"] {
            assert_eq!(s.get(&maps(s, name)).await.status, 200);
        }
    })
    .await;
}

#[tokio::test]
async fn owners_without_a_namespace_have_dependents_everywhere() {
    collected("gc-cluster", async |s| {
        let name = s.namespace().to_owned();
        let harbours = format!("/apis/{NEW}/harbours");
        let harbour =
            |name: &str| json!({"apiVersion": NEW, "kind": "Harbour", "metadata": {"name": name}});
        let owner = s.post(&harbours, &harbour(&name)).await;
        new_map(s, "b", &[owned_by(&owner)]).await;
        let boat = new_boat(s, &boat("a")).await;
        // An owner with a namespace cannot have dependents without one.
        let odd =
            with_meta(harbour(&format!("{name}-odd")), "ownerReferences", json!([owned_by(&boat)]));
        assert_eq!(s.post(&harbours, &odd).await.status, 201);
        assert_eq!(s.delete(&boats(s, "/a")).await.status, 200);
        assert_eq!(s.delete(&format!("{harbours}/{name}")).await.status, 200);
        s.until(&maps(s, "b"), is_gone).await;
        sweep(s, "first").await;
        let odd = format!("{harbours}/{name}-odd");
        assert_eq!(s.get(&odd).await.status, 200);
        assert_eq!(s.delete(&odd).await.status, 200);
    })
    .await;
}
