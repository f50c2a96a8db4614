//! The folder `deploy` and the `Containerfile`, as seen by a user who installs the operator.
//!
//! | must agree | here |
//! |---|---|
//! | the manifests with each other, the binary and the image | `fitting` |
//! | the manifests with an API server | `applying` |
//! | the components for clusterctl with its contract and with the folder | `clusterctl` |
//! | the runtime extension with the manifests, the binary and Cluster API | `extension` |
//! | everything with the commands in our documentation | `printed` |
//! | the rights with the operator's requests | `permissions`, `vip_rights` beside this folder |
//! | everything with the commands of the predecessor's README | `flipop_readme::installation` |
//!
//! The equality of `deploy/crds.yaml` and the output of `pontoon crds` is tested beside the
//! generator.

mod applying;
mod clusterctl;
mod extension;
mod fitting;
pub mod printed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::Value;

use crate::arena::Arena;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every object of the folder, in kubectl's order: without the folders in it.
pub fn objects() -> Vec<Value> {
    let all = root().join("deploy").read_dir().unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> = all.filter(|file| file.is_file()).collect();
    files.sort();
    files.iter().flat_map(objects_of).collect()
}

/// Every object of a file of the repository.
pub fn objects_of(file: impl AsRef<Path>) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    serde_saphyr::from_multiple::<Value>(&text).unwrap()
}

/// The only object of a kind.
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

/// The container's arguments.
pub fn arguments() -> Vec<String> {
    serde_json::from_value(container()["args"].take()).unwrap()
}

/// The UID of the pod in [`environment`].
pub const POD_UID: &str = "5b1c7c2e-0f6d-4a51-9d5e-7f3a1f0c2d11";

/// The container's variables as `NAME=value`, as the kubelet would set them in a pod of this name.
/// The value is empty if an optional Secret is missing.
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
