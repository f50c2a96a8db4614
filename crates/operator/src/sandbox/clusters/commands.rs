//! What users do to Clusters and VIP pools.

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::{Api, ResourceExt};
use pontoon_core::model::Kind;
use serde_json::json;

use super::super::cluster::{Cluster, told};
use super::super::story::Story;
use super::{NAMESPACE, manifests};
use crate::api::objects;
use crate::management::{ADDRESS, CLAIM, CLASS, CLUSTER, GLOBAL_POOL, IPAM, names};

/// The label of claims that only take addresses away.
const FILLER: &str = "sandbox/filler";

/// The beginning of the names of these claims, and of their addresses.
const FILLERS: &str = "filler-";

/// Whether an address belongs to a claim that only takes addresses away.
pub(super) fn is_filler(address: &DynamicObject) -> bool {
    address.name_any().starts_with(FILLERS)
}

/// Interval of looks.
const LOOK: Duration = Duration::from_millis(50);

impl Cluster {
    /// The name of the next Cluster.
    pub async fn next_cluster(&self) -> Result<String, String> {
        let all = self.all_of(&CLUSTER).await?;
        let number = |one: &DynamicObject| one.name_any().strip_prefix("cluster-")?.parse().ok();
        let last: u64 = all.iter().filter_map(number).max().unwrap_or(0);
        Ok(format!("cluster-{}", last + 1))
    }

    /// Creates a Cluster of the first class.
    pub async fn create_cluster(&self, name: &str) -> Result<(), String> {
        let classes = self.all_of(&CLASS).await?;
        let class = classes.first().ok_or("there is no class; apply a ClusterClass first")?;
        let namespace = class.namespace().unwrap_or_default();
        let object = manifests::cluster(name, &namespace, &class.name_any());
        let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
        let api = objects(self.client().clone(), &CLUSTER, &namespace);
        api.create(&PostParams::default(), &object).await.map(drop).map_err(told)
    }

    /// The named Cluster, else the oldest one that is not being deleted.
    pub async fn chosen_cluster(&self, name: Option<String>) -> Result<DynamicObject, String> {
        let mut all = self.all_of(&CLUSTER).await?;
        all.sort_by_key(|one| (one.creation_timestamp(), one.name_any()));
        let found = match &name {
            Some(name) => all.into_iter().find(|one| one.name_any() == *name),
            None => all.into_iter().find(|one| one.metadata.deletion_timestamp.is_none()),
        };
        found.ok_or_else(|| match name {
            Some(name) => format!("there is no Cluster \"{name}\""),
            None => "there is no Cluster".to_owned(),
        })
    }

    /// Deletes a Cluster, in the foreground if asked to, and waits until the Cluster and its addresses
    /// are gone.
    pub async fn delete_cluster(&self, one: DynamicObject, front: bool) -> Result<(), String> {
        let (namespace, name) = (one.namespace().unwrap_or_default(), one.name_any());
        let to = |kind: &Kind| objects(self.client().clone(), kind, &namespace);
        let (clusters, addresses) = (to(&CLUSTER), to(&ADDRESS));
        let own = ListParams::default().labels(&format!("{}={name}", names::CLUSTER_NAME));
        let claims = to(&CLAIM).list(&own).await.map_err(told)?.items;
        let mut held = addresses.list(&ListParams::default()).await.map_err(told)?.items;
        held.retain(|address| claims.iter().any(|claim| claim.name_any() == address.name_any()));
        let params = if front { DeleteParams::foreground() } else { DeleteParams::background() };
        clusters.delete(&name, &params).await.map_err(told)?;
        gone(&clusters, &one).await?;
        for address in &held {
            gone(&addresses, address).await?;
        }
        Ok(())
    }

    /// Takes every free address of a VIP pool, or of all for control planes; or gives back what was
    /// taken before. Tells before it acts.
    pub async fn fill_pools(&self, name: Option<String>, story: &Story) -> Result<(), String> {
        let fillers = self.fillers().await?;
        if !fillers.is_empty() {
            story.tell_now(&format!("{} addresses are given back", fillers.len()));
            for one in &fillers {
                let namespace = one.namespace().unwrap_or_default();
                let api = objects(self.client().clone(), &CLAIM, &namespace);
                let params = DeleteParams::default();
                api.delete(&one.name_any(), &params).await.map_err(told)?;
            }
            return Ok(());
        }
        let mut pools = self.all_vip_pools().await?;
        pools.retain(|(_, pool)| match &name {
            Some(name) => pool.name_any() == *name,
            None => pool.labels().get(names::ROLES).is_none_or(|role| role != "ingress"),
        });
        if pools.is_empty() {
            return Err(match name {
                Some(name) => format!("there is no VIP pool \"{name}\""),
                None => "there is no VIP pool for control planes".to_owned(),
            });
        }
        let taken = |pool: &DynamicObject| format!("{} of {}", free(pool), pool.name_any());
        let taken: Vec<_> = pools.iter().map(|(_, pool)| taken(pool)).collect();
        story.tell_now(&format!("somebody takes every free address: {}", taken.join(", ")));
        for (kind, pool) in pools {
            self.take_addresses(kind, &pool).await?;
        }
        Ok(())
    }

    /// Claims that only take addresses away.
    async fn fillers(&self) -> Result<Vec<DynamicObject>, String> {
        let mut all = self.all_of(&CLAIM).await?;
        all.retain(|one| one.labels().contains_key(FILLER));
        all.retain(|one| one.metadata.deletion_timestamp.is_none());
        Ok(all)
    }

    async fn take_addresses(&self, kind: &Kind, pool: &DynamicObject) -> Result<(), String> {
        let namespace = pool.namespace().unwrap_or_else(|| NAMESPACE.to_owned());
        let api = objects(self.client().clone(), &CLAIM, &namespace);
        let prefix = if kind == &GLOBAL_POOL { "global-" } else { "" };
        for number in 1..=free(pool) {
            let name = format!("{FILLERS}{prefix}{}-{number}", pool.name_any());
            let object = json!({
                "apiVersion": format!("{}/{}", CLAIM.group, CLAIM.version), "kind": CLAIM.name,
                "metadata": {"name": name, "labels": {FILLER: "true"}},
                "spec": {
                    "poolRef": {"apiGroup": IPAM, "kind": kind.name, "name": pool.name_any()},
                },
            });
            let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
            api.create(&PostParams::default(), &object).await.map_err(told)?;
        }
        Ok(())
    }
}

/// The number of free addresses of a VIP pool.
fn free(pool: &DynamicObject) -> i64 {
    pool.data["status"]["ipAddresses"]["free"].as_i64().unwrap_or(0).max(0)
}

/// Waits until an object is gone.
async fn gone(api: &Api<DynamicObject>, one: &DynamicObject) -> Result<(), String> {
    let name = one.name_any();
    while api.get_opt(&name).await.map_err(told)?.is_some_and(|now| now.uid() == one.uid()) {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
