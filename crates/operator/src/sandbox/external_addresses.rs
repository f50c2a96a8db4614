//! Plays the cloud controller: a node shows the external address that its machine has now, at
//! providers where a reserved address takes the place of the machine's own.

use std::collections::BTreeMap;
use std::time::Duration;

use fakecloud::FakeCloud;
use futures::StreamExt;
use k8s_openapi::api::core::v1::NodeAddress;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::objects::{Node, watched};

/// The kind of the address in a node's status.
const EXTERNAL: &str = "ExternalIP";

/// Interval of looks at the provider.
const INTERVAL: Duration = Duration::from_millis(100);

/// Keeps the nodes' external addresses true until the API server ends.
pub async fn keep(client: Client, cloud: FakeCloud) {
    let nodes: Api<Node> = Api::all(client);
    let mut changes = Box::pin(watched(nodes.clone()));
    let mut known: BTreeMap<String, Node> = BTreeMap::new();
    let mut looks = tokio::time::interval(INTERVAL);
    loop {
        tokio::select! {
            change = changes.next() => match change {
                Some(Ok(node)) => drop(known.insert(node.name_any(), node)),
                Some(Err(node)) => drop(known.remove(&node.name_any())),
                None => return,
            },
            _ = looks.tick() => {
                for (name, addresses) in known.values().filter_map(|node| outdated(node, &cloud)) {
                    let patch = Patch::Merge(json!({"status": {"addresses": addresses}}));
                    // A node that is gone needs no address.
                    drop(nodes.patch_status(&name, &PatchParams::default(), &patch).await);
                }
            }
        }
    }
}

/// The addresses that a node should show, if it shows others.
fn outdated(node: &Node, cloud: &FakeCloud) -> Option<(String, Vec<NodeAddress>)> {
    let external = cloud.external(node.spec.provider_id.as_ref()?)?.to_string();
    let mut addresses = node.status.addresses.clone();
    let shown = addresses.iter_mut().find(|one| one.type_ == EXTERNAL)?;
    if shown.address == external {
        return None;
    }
    shown.address = external;
    Some((node.name_any(), addresses))
}
