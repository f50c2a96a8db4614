//! The state of the sandbox: nodes, pools, allocations, Deployments, names, and whether they are
//! complete.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::cluster::{Cluster, listed};
use super::dns;
use super::nodes::{ailments, is_well};
use super::scene::Scene;
use crate::api::CONDITION_READY;
use crate::fronts::address_status::IpStatus;
use crate::fronts::floating_ip_pool::FloatingIPPool;

impl Cluster {
    async fn all_pools(&self) -> Result<Option<Vec<FloatingIPPool>>, String> {
        let pools: Api<FloatingIPPool> = Api::all(self.client().clone());
        listed(pools.list(&ListParams::default()).await)
    }

    /// Pools, allocations, record sets, Deployments and Clusters that are not ready, or have an
    /// outdated status.
    pub async fn unready(&self) -> Result<Vec<String>, String> {
        if self.scene() == Scene::Management {
            return self.unready_clusters().await;
        }
        let nodes = self.all_nodes().await?;
        let by_name: BTreeMap<_, _> = nodes.iter().map(|node| (node.name_any(), node)).collect();
        let unready = |pool: &FloatingIPPool| {
            let Some(status) = &pool.status else { return true };
            let reported = status
                .conditions
                .iter()
                .any(|one| one.type_ == CONDITION_READY && one.status == "True");
            let current = status.observed_generation == pool.metadata.generation;
            let stale = |(ip, one): (&String, &IpStatus)| {
                let holder = ip.parse::<IpAddr>().ok().and_then(|ip| self.cloud().holder(ip));
                let moved = holder.is_none() || holder != fakecloud::machine_of(&one.provider_id);
                let Some(node) = by_name.get(&one.node_name) else { return true };
                let unmarked = dns::mark(node).as_ref() != Some(ip) && !ip.contains(':');
                // A pool with tolerations may use tainted nodes.
                let tolerates =
                    !pool.spec.matching.tolerations.is_empty() && node.status.are_ready();
                moved || unmarked || !(is_well(node) || tolerates)
            };
            let dns = dns::is_current(self.cloud(), pool);
            !reported || !current || !dns || status.ips.iter().any(stale)
        };
        let pools = self.all_pools().await?.unwrap_or_default();
        let unready = pools.iter().filter(|pool| unready(pool)).map(ResourceExt::name_any);
        let mut all: Vec<_> = unready.collect();
        all.extend(self.unready_record_sets(&nodes).await?);
        all.extend(self.unready_allocations(&nodes).await?);
        all.extend(self.unready_deployments().await?);
        Ok(all)
    }

    /// Nodes with their addresses, then pools and allocations, Deployments, and names in DNS; or
    /// Clusters and VIP pools.
    pub async fn status(&self) -> Result<String, String> {
        if self.scene() == Scene::Management {
            return self.tell_clusters().await;
        }
        let mut text = String::new();
        let ingress = self.ingress().await?;
        // Writing to a string cannot fail.
        for node in self.all_nodes().await? {
            let state = match ailments(&node, ingress.as_deref()) {
                none if none.is_empty() => "well".to_owned(),
                some => some.join(", "),
            };
            let held: Vec<_> = self.held_by(&node).iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "{:<12} {state:<9} {}", node.name_any(), held.join(" "));
        }
        match self.all_pools().await? {
            Some(pools) => pools.iter().for_each(|pool| line(&mut text, pool)),
            None => text.push_str("FloatingIPPool is not defined any more\n"),
        }
        self.tell_allocations(&mut text).await?;
        self.tell_deployments(&mut text).await?;
        for ((name, kind), listed) in dns::names(self.cloud()) {
            let _ = writeln!(text, "{name:<22} {kind:<5} {}", listed.join(" "));
        }
        Ok(text.trim_end().to_owned())
    }
}

fn line(text: &mut String, pool: &FloatingIPPool) {
    let status = pool.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|one| one.type_ == CONDITION_READY);
    let message = ready.map_or("not looked at yet", |one| one.message.as_str());
    let name = format!("{}/{}", pool.namespace().unwrap_or_default(), pool.name_any());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:<22} {:<5} {message}", status.assigned);
}
