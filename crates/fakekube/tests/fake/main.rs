//! Features of fakekube alone: time under a test's control, faults, the record, TCP.
//!
//! Clippy lets test functions unwrap, but not helper functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod faults;
mod garbage;
mod lifecycle;
mod odd;
mod record;
mod tcp;

use fakekube::FakeKube;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{Api, Client};
use serde_json::{Value, json};

fn client(fake: &FakeKube) -> Client {
    Client::new(fake.service(), "default")
}

fn nodes(fake: &FakeKube) -> Api<Node> {
    Api::all(client(fake))
}

fn maps(fake: &FakeKube) -> Api<ConfigMap> {
    Api::default_namespaced(client(fake))
}

fn object<K: serde::de::DeserializeOwned>(name: &str) -> K {
    from(json!({"metadata": {"name": name}}))
}

fn from<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}
