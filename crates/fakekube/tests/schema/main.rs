//! Compares the pure parts of fakekube with the real API server: the same objects and definitions
//! must get the same answers. Answers in random order are compared as sets.

// Clippy lets `#[test]` functions panic, but not helper functions.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod creates;
mod documents;
mod mutations;
mod reference;
mod tables;
mod updates;

use std::time::Duration;

use control_plane::ControlPlane;
use fakekube::registry::{Kind, Registry};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use reference::{documents_of, shared};

/// Time limit for any operation of the API server.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the shared plane; `None` without a plane.
async fn real() -> Option<Client> {
    Some(ControlPlane::shared().await.unwrap()?.client().unwrap())
}

/// Sends a request; returns status and body of the answer.
async fn ask(client: &Client, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let kind =
        if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    ask_as(client, method, path, body, &[("content-type", kind)]).await
}

async fn ask_as(
    client: &Client,
    method: Method,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let response = client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// The path of a kind's collection.
fn path_of(kind: &Kind) -> String {
    let base = match kind.group.as_str() {
        "" => format!("/api/{}", kind.version),
        group => format!("/apis/{group}/{}", kind.version),
    };
    match kind.namespaced {
        true => format!("{base}/namespaces/default/{}", kind.plural),
        false => format!("{base}/{}", kind.plural),
    }
}

/// Creates or replaces a definition, and waits until it is served.
async fn install(client: &Client, definition: &Value) {
    let base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let name = definition["metadata"]["name"].as_str().unwrap();
    let (status, answer) = ask(client, Method::POST, base, definition).await;
    if status == 409 {
        let (status, answer) =
            ask(client, Method::PATCH, &format!("{base}/{name}"), definition).await;
        assert!(status < 300, "{name}: {answer}");
    } else {
        assert!(status < 300, "{name}: {answer}");
    }
    let mut registry = Registry::new();
    registry.install(definition).unwrap();
    for kind in registry.kinds().filter(|kind| !kind.built_in()) {
        let path = path_of(kind);
        timeout(PATIENCE, async {
            while ask(client, Method::GET, &path, &Value::Null).await.0 != 200 {
                sleep(Duration::from_millis(50)).await;
            }
        })
        .await
        .unwrap();
    }
}

/// The operator's own definitions.
fn ours() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds.yaml");
    documents_of(&std::fs::read_to_string(path).unwrap())
}

/// The single kind of a definition.
fn kind_of(definition: &Value) -> Kind {
    let mut registry = Registry::new();
    registry.install(definition).unwrap();
    let kind = registry.kinds().find(|kind| !kind.built_in()).unwrap();
    Kind::clone(kind)
}
