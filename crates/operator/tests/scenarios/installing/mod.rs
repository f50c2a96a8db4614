//! The manifests in `deploy` and the `Containerfile`, as seen by a user who installs the operator.
//!
//! | must agree | here |
//! |---|---|
//! | the manifests with each other, the binary and the image | `fitting` |
//! | the manifests with an API server | `applying` |
//! | the components for clusterctl with its contract and with the folder | `clusterctl` |
//! | the runtime extension with the manifests, the binary and Cluster API | `extension` |
//! | versions with each other and with the changelog | `versions` |
//! | everything with the commands in our documentation | `printed` |
//! | the rights with the operator's requests | `permissions` beside this folder |
//! | Pontoon under the predecessors' names with the predecessors | `compat` beside this folder |
//! | everything with the commands of the predecessor's README | `flipop_readme::installation` |
//!
//! The equality of `deploy/crds.yaml` and the output of `pontoon crds` is tested beside the
//! generator.

mod applying;
mod clusterctl;
mod extension;
mod fitting;
pub mod printed;
mod versions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::Value;

use crate::arena::Arena;
use crate::replica::{Replica, free_port};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every object of a file of the repository.
pub fn objects_of(file: impl AsRef<Path>) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    serde_saphyr::from_multiple::<Value>(&text).unwrap()
}

/// A folder of manifests in the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folder(pub &'static str);

/// Pontoon under the names of FLIPOP.
pub const FLIPOP: Folder = Folder("deploy/compat/flipop");

/// Pontoon under the names of ip-address-controller.
pub const ALLOCATIONS: Folder = Folder("deploy/compat/ip-address-controller");

/// Pontoon under the names of capi-vip-allocator.
pub const VIPS: Folder = Folder("deploy/compat/capi-vip-allocator");

/// The UID of the pod in [`Folder::environment`].
pub const POD_UID: &str = "5b1c7c2e-0f6d-4a51-9d5e-7f3a1f0c2d11";

/// Flags with addresses to listen on, which concurrent tests cannot share.
const LISTENS: [&str; 2] = ["--metrics-bind-addr", "--health-probe-bind-addr"];

impl Folder {
    /// Every object of the folder, in kubectl's order: without the folders in it.
    pub fn objects(self) -> Vec<Value> {
        let all = root().join(self.0).read_dir().unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = all.filter(|file| file.is_file()).collect();
        files.sort();
        files.iter().flat_map(objects_of).collect()
    }

    /// The first object of a kind.
    pub fn one(self, kind: &str) -> Value {
        let first = self.objects().into_iter().find(|object| object["kind"] == kind);
        first.unwrap_or_else(|| panic!("no {kind}"))
    }

    /// The namespace of the Deployment.
    pub fn namespace(self) -> String {
        self.one("Deployment")["metadata"]["namespace"].as_str().unwrap().to_owned()
    }

    /// The operator's container.
    pub fn container(self) -> Value {
        self.one("Deployment")["spec"]["template"]["spec"]["containers"][0].take()
    }

    /// The container's arguments.
    pub fn arguments(self) -> Vec<String> {
        serde_json::from_value(self.container()["args"].take()).unwrap()
    }

    /// Runs kubectl at the root of the repository. Returns what it prints.
    pub fn kubectl(self, plane: &ControlPlane, args: &[&str]) -> String {
        let done = plane.kubectl().current_dir(root()).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// The container's variables as `NAME=value`, as the kubelet would set them in a pod of this name.
    /// The value is empty if an optional Secret is missing.
    pub async fn environment(self, arena: &Arena, pod: &str) -> Vec<String> {
        let namespace = self.namespace();
        let mut variables = Vec::new();
        for variable in self.container()["env"].as_array().unwrap() {
            let from = &variable["valueFrom"];
            let value = match (from["fieldRef"]["fieldPath"].as_str(), variable["value"].as_str()) {
                (_, Some(value)) => value.to_owned(),
                (Some("metadata.name"), _) => pod.to_owned(),
                (Some("metadata.namespace"), _) => namespace.clone(),
                (Some("metadata.uid"), _) => POD_UID.to_owned(),
                (Some(other), _) => panic!("{other}: what is that?"),
                (None, _) => from_secret(arena, &namespace, &from["secretKeyRef"]).await,
            };
            variables.push(format!("{}={value}", variable["name"].as_str().unwrap()));
        }
        variables
    }

    /// Starts the Deployment's container as the kubelet would: with its account, arguments and variables,
    /// and with free ports in place of its own.
    pub async fn pod(self, arena: &Arena) -> Replica {
        let pod = self.one("Deployment")["spec"]["template"]["spec"].take();
        let account = pod["serviceAccountName"].as_str().unwrap();
        let account = arena.plane().kubeconfig_for(&self.namespace(), account).await.unwrap();
        let mut given = self.environment(arena, "pontoon-7d4b9").await;
        for port in given.iter_mut().filter(|one| one.starts_with("METRICS_PORT=")) {
            *port = format!("METRICS_PORT={}", free_port());
        }
        let arguments = self.arguments();
        let [run, flags @ ..] = &arguments[..] else { panic!("no arguments") };
        assert_eq!(run, "run");
        let listens = |flag: &str| LISTENS.iter().any(|one| flag.starts_with(one));
        given.extend(flags.iter().filter(|flag| !listens(flag)).cloned());
        given.extend(["--kubeconfig".to_owned(), account.to_str().unwrap().to_owned()]);
        let given: Vec<_> = given.iter().map(String::as_str).collect();
        Replica::start(arena, "pod", &given)
    }
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
