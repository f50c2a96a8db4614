//! Work that controllers do in a real cluster.

use fakekube::FakeKube;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use crate::{client, from, object};

async fn full(client: &Client) -> (Api<Namespace>, Api<ConfigMap>, Api<Pod>) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let params = PostParams::default();
    namespaces.create(&params, &object("n")).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "n");
    maps.create(&params, &object("a")).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "n");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "x", "containers": [{"name": "c", "image": "i"}]}});
    pods.create(&params, &from(pod)).await.unwrap();
    (namespaces, maps, pods)
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_its_contents() {
    let fake = FakeKube::new(1);
    let (namespaces, maps, pods) = full(&client(&fake)).await;
    namespaces.delete("n", &Default::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
    assert!(pods.get_opt("p").await.unwrap().is_none());
    assert!(namespaces.get_opt("n").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_waits_for_finalizers() {
    let fake = FakeKube::new(1);
    let (namespaces, maps, _) = full(&client(&fake)).await;
    let params = PatchParams::default();
    let hold = json!({"metadata": {"finalizers": ["a.b/c"]}});
    maps.patch("a", &params, &Patch::Merge(&hold)).await.unwrap();
    namespaces.delete("n", &Default::default()).await.unwrap();
    let going = namespaces.get("n").await.unwrap();
    assert_eq!(going.status.unwrap().phase.as_deref(), Some("Terminating"));
    let free = json!({"metadata": {"finalizers": null}});
    maps.patch("a", &params, &Patch::Merge(&free)).await.unwrap();
    assert!(namespaces.get_opt("n").await.unwrap().is_none());
}
