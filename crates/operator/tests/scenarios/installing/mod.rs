//! The folder `deploy` and the `Containerfile`, as those meet them who install the operator.
//!
//! | what must fit | here |
//! |---|---|
//! | the manifests to each other, to the binary and to the image | `fitting` |
//! | the manifests to an API server | `applying` |
//! | all of it to the commands that our pages print | `printed` |
//! | the rights to what the operator does | `permissions` beside this folder |
//! | all of it to the commands of the predecessor's README | `flipop_readme::installation` |
//!
//! That `deploy/crds.yaml` is what `pontoon crds` prints is tested where that is generated.

mod applying;
mod fitting;
mod printed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::Value;

use crate::arena::Arena;

/// The folder that holds everything that we ship.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every object of the folder, in the order in which kubectl applies them.
pub fn objects() -> Vec<Value> {
    let mut files: Vec<_> =
        root().join("deploy").read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |file| std::fs::read_to_string(file).unwrap();
    files
        .iter()
        .flat_map(|file| serde_saphyr::from_multiple::<Value>(&read(file)).unwrap())
        .collect()
}

/// The one object of a kind.
pub fn shipped(kind: &str) -> Value {
    let mut all = objects().into_iter().filter(|object| object["kind"] == kind);
    let one = all.next().unwrap_or_else(|| panic!("no {kind}"));
    assert_eq!(all.next(), None, "one {kind}");
    one
}

/// The operator's container.
pub fn container() -> Value {
    shipped("Deployment")["spec"]["template"]["spec"]["containers"][0].take()
}

/// What the container is started with, each in words.
pub fn arguments() -> Vec<String> {
    serde_json::from_value(container()["args"].take()).unwrap()
}

/// The UID of the pod that [`environment`] is for.
pub const POD_UID: &str = "5b1c7c2e-0f6d-4a51-9d5e-7f3a1f0c2d11";

/// The container's variables as the kubelet would set them in a pod of this name, each as
/// `NAME=value`; without a value where an optional Secret has none.
pub async fn environment(arena: &Arena, pod: &str) -> Vec<String> {
    let namespace = shipped("Deployment")["metadata"]["namespace"].as_str().unwrap().to_owned();
    let mut variables = Vec::new();
    for variable in container()["env"].as_array().unwrap() {
        let from = &variable["valueFrom"];
        let value = match from["fieldRef"]["fieldPath"].as_str() {
            Some("metadata.name") => pod.to_owned(),
            Some("metadata.namespace") => namespace.clone(),
            Some("metadata.uid") => POD_UID.to_owned(),
            Some(other) => panic!("{other}: what is that?"),
            None => from_secret(arena, &namespace, &from["secretKeyRef"]).await,
        };
        variables.push(format!("{}={value}", variable["name"].as_str().unwrap()));
    }
    variables
}

async fn from_secret(arena: &Arena, namespace: &str, reference: &Value) -> String {
    let secrets: Api<Secret> = Api::namespaced(arena.client.clone(), namespace);
    let secret = secrets.get_opt(reference["name"].as_str().unwrap()).await.unwrap();
    let data: BTreeMap<_, _> = secret.and_then(|secret| secret.data).unwrap_or_default();
    match data.get(reference["key"].as_str().unwrap()) {
        Some(value) => String::from_utf8(value.0.clone()).unwrap(),
        None => {
            assert_eq!(reference["optional"], true, "{reference}: the pod would not start");
            String::new()
        }
    }
}
