//! The scene of a management cluster: VIP pools, a class, and Clusters of Cluster API, with stand-ins
//! for Cluster API and for the IPAM provider.

mod commands;
mod manifests;
mod tally;
mod told;
mod view;

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use pontoon_core::model::Kind;
use serde_json::Value;

use super::cluster::{Cluster, listed};
use crate::api::objects_within;
use crate::management::{self, CLASS, CLUSTER, GLOBAL_POOL, LOCAL_POOL};
pub use tally::{Vips, Writes};
pub use told::follow;

/// The namespace of the scene's own objects.
const NAMESPACE: &str = "default";

/// Time that the machines of a deleted Cluster take to go.
const MACHINES_TAKE: Duration = Duration::from_secs(4);

/// Time from a write to the round of the garbage collector that follows.
pub const COLLECTOR_LAG: Duration = Duration::from_millis(100);

/// The groups of the kinds of a management cluster.
pub fn is_of_management(version: &str) -> bool {
    let group = version.split_once('/').map_or("", |(group, _)| group);
    [CLUSTER.group, GLOBAL_POOL.group].contains(&group)
}

/// Plays Cluster API and the IPAM provider.
pub async fn play(client: Client) {
    management::play(client, Timestamp::now, MACHINES_TAKE).await;
}

/// Namespace and name of an object, or the name alone.
fn called(one: &DynamicObject) -> String {
    match one.namespace() {
        Some(namespace) => format!("{namespace}/{}", one.name_any()),
        None => one.name_any(),
    }
}

impl Cluster {
    /// Creates the scene's own objects that the user's objects leave open: VIP pools, the classes of
    /// Clusters, and Clusters.
    pub async fn furnish(&self, given: &[Value]) -> Result<(), String> {
        let is = |kind: &Kind| given.iter().any(|one| manifests::is_of(one, kind));
        let classes = manifests::classes(given);
        for (namespace, name) in &classes {
            let is_given = |one: &Value| {
                let metadata = &one["metadata"];
                let place = metadata["namespace"].as_str().unwrap_or(NAMESPACE);
                manifests::is_of(one, &CLASS) && metadata["name"] == *name && place == namespace
            };
            if !given.iter().any(is_given) {
                self.apply(&manifests::class(namespace, name)).await?;
            }
        }
        if !is(&GLOBAL_POOL) && !is(&LOCAL_POOL) {
            for pool in manifests::pools(&classes) {
                self.apply(&pool).await?;
            }
        }
        if !is(&CLUSTER)
            && let Some((namespace, class)) = classes.first()
        {
            for number in 1..=2 {
                let name = format!("cluster-{number}");
                self.apply(&manifests::cluster(&name, namespace, class)).await?;
            }
        }
        Ok(())
    }

    /// All objects of a kind; none if the kind is not defined.
    async fn all_of(&self, kind: &Kind) -> Result<Vec<DynamicObject>, String> {
        let api = objects_within::<DynamicObject>(self.client().clone(), kind, kind.version, None);
        Ok(listed(api.list(&ListParams::default()).await)?.unwrap_or_default())
    }

    /// All VIP pools, with their kinds.
    async fn all_vip_pools(&self) -> Result<Vec<(&'static Kind, DynamicObject)>, String> {
        let mut pools = Vec::new();
        for kind in [&LOCAL_POOL, &GLOBAL_POOL] {
            pools.extend(self.all_of(kind).await?.into_iter().map(|pool| (kind, pool)));
        }
        Ok(pools)
    }
}
