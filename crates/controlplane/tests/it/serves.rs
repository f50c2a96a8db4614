//! Features of a plane: clients, kubeconfigs, kubectl, audit log, controllers.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ServiceAccount};
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use crate::wait_until;

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

async fn make_namespace(client: &Client, name: &str) {
    let namespace = Namespace { metadata: named(name), ..Namespace::default() };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let create = PostParams::default();
    namespaces.create(&create, &namespace).await.unwrap();
}

fn succeeded(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_plane_serves_objects_to_its_client_and_to_kubectl() {
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };
    let client = plane.client().unwrap();
    make_namespace(&client, "objects").await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "objects");
    let map = ConfigMap { metadata: named("a"), ..ConfigMap::default() };

    maps.create(&PostParams::default(), &map).await.unwrap();

    let mut kubectl = plane.kubectl();
    let output = kubectl
        .args(["get", "configmaps", "--namespace=objects", "--output=name"])
        .output()
        .unwrap();
    assert_eq!(succeeded(&output), "configmap/a\n");
}

#[tokio::test]
async fn a_node_is_stored_without_taints_and_a_pod_without_a_service_account() {
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };
    let client = plane.client().unwrap();
    make_namespace(&client, "bare").await;
    let nodes: Api<Node> = Api::all(client.clone());
    let node = Node { metadata: named("bare"), ..Node::default() };
    let pod = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "a"},
        "spec": {
            "nodeName": "bare",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i", "securityContext": {"privileged": true}}],
        },
    }));

    let node = nodes.create(&PostParams::default(), &node).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, "bare");
    pods.create(&PostParams::default(), &pod.unwrap()).await.unwrap();
    pods.delete("a", &DeleteParams::default()).await.unwrap();

    assert_eq!(node.spec.unwrap_or_default().taints, None);
    assert!(pods.get_opt("a").await.unwrap().is_none(), "gone at once");
}

async fn client_from(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

#[tokio::test]
async fn a_service_account_has_its_own_rights_only_and_is_named_in_the_audit_log() {
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };
    let admin = plane.client().unwrap();
    make_namespace(&admin, "lean").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(admin, "lean");
    let account = ServiceAccount { metadata: named("reader"), ..ServiceAccount::default() };
    accounts.create(&PostParams::default(), &account).await.unwrap();
    for grant in [
        "create role reader --verb=list --resource=pods",
        "create rolebinding reader --role=reader --serviceaccount=lean:reader",
    ] {
        let mut kubectl = plane.kubectl();
        kubectl.arg("--namespace=lean").args(grant.split(' '));
        succeeded(&kubectl.output().unwrap());
    }

    let client = client_from(&plane.kubeconfig_for("lean", "reader").await.unwrap()).await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "lean");
    let nodes: Api<Node> = Api::all(client);
    // The binding reaches the authorizer through a watch.
    let start = Instant::now();
    while pods.list(&ListParams::default()).await.is_err() {
        assert!(start.elapsed() < Duration::from_secs(10), "never allowed");
    }
    let refused = nodes.list(&ListParams::default()).await.unwrap_err();

    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");
    let logged = |resource: &str, code: u16| {
        plane.audit_log().unwrap().iter().any(|entry| {
            entry.user == "system:serviceaccount:lean:reader"
                && (entry.verb.as_str(), entry.resource.as_str()) == ("list", resource)
                && entry.code == code
                && entry.received <= entry.completed
        })
    };
    wait_until("the audit log has both", || logged("pods", 200) && logged("nodes", 403));
}

#[tokio::test]
async fn an_unknown_service_account_is_an_error() {
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };

    let refused = plane.kubeconfig_for("default", "nobody").await.unwrap_err();

    assert!(refused.to_string().contains("not found"), "{refused}");
}

#[tokio::test]
async fn planes_run_side_by_side_and_know_nothing_of_each_other() {
    let (one, other) = tokio::join!(ControlPlane::start(), ControlPlane::start());
    let (Some(one), Some(other)) = (one.unwrap(), other.unwrap()) else {
        return;
    };

    make_namespace(&one.client().unwrap(), "only-here").await;

    let namespaces: Api<Namespace> = Api::all(other.client().unwrap());
    assert!(namespaces.get_opt("only-here").await.unwrap().is_none());
    drop(one);
    namespaces.get("default").await.unwrap();
}

#[tokio::test]
async fn the_controller_manager_runs_the_controllers_it_is_given() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        return;
    };
    let client = plane.client().unwrap();
    plane.controller_manager(&["namespace-controller"]).await.unwrap();
    make_namespace(&client, "to-be-finalized").await;
    let namespaces: Api<Namespace> = Api::all(client);

    let delete = DeleteParams::default();
    namespaces.delete("to-be-finalized", &delete).await.unwrap();

    let start = Instant::now();
    while namespaces.get_opt("to-be-finalized").await.unwrap().is_some() {
        assert!(start.elapsed() < Duration::from_secs(30), "never finalized");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_controller_manager_that_does_not_start_shows_its_log() {
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };

    let refused = plane.controller_manager(&["no-such-controller"]).await;

    let error = format!("{:?}", refused.unwrap_err());
    assert!(error.starts_with("kube-controller-manager ended"), "{error}");
    assert!(error.contains("known controllers"), "{error}");
}

#[tokio::test]
async fn every_future_can_be_spawned() {
    let shared = tokio::spawn(ControlPlane::shared()).await.unwrap();
    let Some(plane) = shared.unwrap() else {
        return;
    };

    let manager = tokio::spawn(plane.controller_manager(&["namespace-controller"]));
    let token = tokio::spawn(plane.kubeconfig_for("default", "nobody"));

    manager.await.unwrap().unwrap();
    token.await.unwrap().unwrap_err();
}
