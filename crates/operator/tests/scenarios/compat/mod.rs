//! `deploy/compat`: Pontoon under the names of each predecessor, applied over the predecessor's own objects.
//!
//! | must agree | here |
//! |---|---|
//! | each folder with the chart, the binary and an API server | `fitting` |
//! | the rights of each folder with those of the chart, which `permissions` proves | `fitting` |
//! | each folder with what the predecessor leaves: nothing moves | `replacing` |

mod fitting;
mod replacing;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::Api;

use crate::arena::Arena;
use crate::installing::{ALLOCATIONS, FLIPOP, Folder, VIPS};

/// Every folder, with the manifests of the predecessor.
const FOLDERS: [(Folder, &str); 3] = [
    (FLIPOP, include_str!("../../flipop_manifests/installation.yaml")),
    (ALLOCATIONS, include_str!("../../netip_manifests/installation.yaml")),
    (VIPS, include_str!("../../vip_manifests/installation.yaml")),
];

/// Applies the predecessor's manifests, then the folder, with kubectl. Returns the Deployment before and after.
async fn replaced(arena: &Arena, folder: Folder) -> [Deployment; 2] {
    let (_, theirs) = FOLDERS.into_iter().find(|(one, _)| *one == folder).unwrap();
    let file = arena.folder().join("theirs.yaml");
    std::fs::write(&file, theirs).unwrap();
    let deployment = folder.one("Deployment");
    let namespace = deployment["metadata"]["namespace"].as_str().unwrap();
    let name = deployment["metadata"]["name"].as_str().unwrap();
    let deployments: Api<Deployment> = Api::namespaced(arena.client.clone(), namespace);
    folder.kubectl(arena.plane(), &["apply", "-f", file.to_str().unwrap()]);
    let before = deployments.get(name).await.unwrap();
    // Definitions that a test has made without kubectl lack its annotation, of which kubectl warns.
    folder.kubectl(arena.plane(), &["apply", "-f", folder.0]);
    let after = deployments.get(name).await.unwrap();
    [before, after]
}
