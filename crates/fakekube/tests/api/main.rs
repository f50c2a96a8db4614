//! fakekube and a real kube-apiserver must answer the same requests alike: the tests keep the fake
//! honest.
//!
//! Each scenario is a list of requests. A scenario runs on a fresh fakekube and on the shared real
//! server, and all answers (code, some headers, whole body) must be equal after masking UIDs, times and
//! resource versions. Without Go the real half is skipped with a line on stderr; with `CI=true` the
//! test fails instead.
//!
//! Clippy lets test functions unwrap, but not helper functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod mask;
#[path = "../schema/reference.rs"]
mod reference;
mod server;

mod apply;
mod apply_clusters;
mod apply_custom;
mod budgets;
mod create;
mod custom;
mod definitions;
mod delete;
mod events;
mod garbage;
mod leases;
mod list;
mod namespaces;
mod negotiation;
mod nodes;
mod owners;
mod patch;
mod pods;
mod routes;
mod scale;
mod selectors;
mod types;
mod update;
mod watch;
mod workloads;
mod wrong_workloads;

use std::time::Duration;

use control_plane::ControlPlane;
use fakekube::FakeKube;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use server::{Answer, Server};

/// Runs a scenario on both servers and compares the answers. `name` becomes the namespace.
async fn both(name: &str, scenario: impl AsyncFn(&Server)) {
    let fake = FakeKube::new(7);
    fake.track_managers();
    let fake = Server::new("fakekube", name, kube::Client::new(fake.service(), "default"));
    fake.begin().await;
    scenario(&fake).await;
    let Some(plane) = ControlPlane::shared().await.unwrap() else {
        return;
    };
    let real = Server::new("kube-apiserver", name, client_of(plane).await);
    real.begin().await;
    scenario(&real).await;
    compare(&fake.transcript(), &real.transcript());
}

/// As [`both`], on servers that collect garbage. The real server is another than for [`both`], where
/// dependents outlive their owners.
async fn collected(name: &str, scenario: impl AsyncFn(&Server)) {
    let fake = FakeKube::new(7);
    fake.track_managers().collect_garbage(Duration::ZERO);
    let fake = Server::new("fakekube", name, kube::Client::new(fake.service(), "default"));
    for definition in garbage::definitions() {
        fake.define(&definition).await;
    }
    fake.begin().await;
    scenario(&fake).await;
    let Some(plane) = collecting_plane().await else {
        return;
    };
    let real = Server::new("kube-apiserver", name, client_of(plane).await);
    real.begin().await;
    scenario(&real).await;
    compare(&fake.transcript(), &real.transcript());
}

/// The plane that all scenarios with garbage share. Its collector begins after the definitions are
/// served: it looks for new kinds every 30 seconds only.
async fn collecting_plane() -> Option<&'static ControlPlane> {
    static PLANE: OnceCell<Option<ControlPlane>> = OnceCell::const_new();
    let start = async || {
        let plane = ControlPlane::start().await.unwrap()?;
        let server = Server::new("kube-apiserver", "", client_of(&plane).await);
        for definition in garbage::definitions() {
            server.define(&definition).await;
        }
        let known = |answer: &Answer| answer.body["resources"].as_array().map(Vec::len) == Some(2);
        for version in ["v1", "v1beta1"] {
            server.until(&format!("/apis/garbage.example/{version}"), known).await;
        }
        plane.controller_manager(&["garbage-collector-controller"]).await.unwrap();
        Some(plane)
    };
    PLANE.get_or_init(start).await.as_ref()
}

/// A client without retries, so that failures are seen.
async fn client_of(plane: &ControlPlane) -> kube::Client {
    let file = kube::config::Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

fn compare(fake: &[String], real: &[String]) {
    let differences: Vec<String> = fake
        .iter()
        .zip(real)
        .filter(|(fake, real)| fake != real)
        .map(|(fake, real)| format!("fakekube answers\n{fake}\nkube-apiserver answers\n{real}\n"))
        .collect();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    assert_eq!(fake.len(), real.len());
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

fn with_meta(mut object: Value, field: &str, value: impl Into<Value>) -> Value {
    object["metadata"][field] = value.into();
    object
}
