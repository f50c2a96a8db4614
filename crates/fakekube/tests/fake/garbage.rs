//! The time of the garbage collector. `tests/api` compares what it collects.

use std::time::Duration;

use fakekube::FakeKube;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::time::sleep;

use crate::{client, from, maps};

/// Creates a chain: each object owns the next.
async fn chain(maps: &Api<ConfigMap>, names: &[&str]) {
    let mut owners = json!([]);
    for name in names {
        let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
        let made = maps.create(&PostParams::default(), &from(object)).await.unwrap();
        let uid = made.uid().unwrap();
        owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]);
    }
}

async fn names(maps: &Api<ConfigMap>) -> Vec<String> {
    let list = maps.list(&Default::default()).await.unwrap();
    list.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test(start_paused = true)]
async fn without_a_collector_dependents_stay() {
    let maps = maps(&FakeKube::new(1));
    chain(&maps, &["a", "b"]).await;
    maps.delete("a", &Default::default()).await.unwrap();
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(names(&maps).await, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn dependents_follow_their_owner_one_lag_after_another() {
    let fake = FakeKube::new(1);
    fake.collect_garbage(Duration::from_secs(10));
    let maps = maps(&fake);
    chain(&maps, &["a", "b", "c"]).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(names(&maps).await, ["a", "b", "c"]);
    maps.delete("a", &Default::default()).await.unwrap();
    sleep(Duration::from_secs(9)).await;
    assert_eq!(names(&maps).await, ["b", "c"]);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(names(&maps).await, ["c"]);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(names(&maps).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn garbage_from_before_is_collected_too() {
    let fake = FakeKube::new(1);
    let maps = maps(&fake);
    chain(&maps, &["a", "b"]).await;
    maps.delete("a", &Default::default()).await.unwrap();
    fake.collect_garbage(Duration::from_secs(1));
    assert_eq!(names(&maps).await, ["b"]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(names(&maps).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_again_has_its_garbage_collected() {
    let fake = FakeKube::new(1);
    fake.collect_garbage(Duration::from_secs(1));
    let maps = maps(&fake);
    let uid = "11111111-2222-3333-4444-555555555555";
    let owner = json!([{"apiVersion": "late.example/v1", "kind": "Late", "name": "a", "uid": uid}]);
    let object = json!({"metadata": {"name": "b", "ownerReferences": owner}});
    maps.create(&PostParams::default(), &from(object)).await.unwrap();
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(names(&maps).await, ["b"]);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lates.late.example"},
        "spec": {"group": "late.example", "scope": "Namespaced",
            "names": {"plural": "lates", "singular": "late", "kind": "Late", "listKind": "LateList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(client(&fake));
    definitions.create(&PostParams::default(), &from(definition)).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(names(&maps).await, [""; 0]);
}
