//! Manual changes to pools, nodes and the provider.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use pontoon::fronts::flipop::IPV6_ANNOTATION;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::{Value, json};

use crate::arena::{Arena, eventually};

impl Arena {
    /// Edits a pool's spec.
    pub async fn edit(&self, pool: &str, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        let pools = self.namespaced::<FloatingIPPool>();
        pools.patch(pool, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Labels a node.
    pub async fn label(&self, node: &str, key: &str, value: &str) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {key: value}}}));
        self.nodes().patch(node, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until a node has this IPv6 mark.
    pub async fn marked6(&self, node: &str, ip: Option<&str>) {
        eventually(&format!("{node} marked {ip:?}"), || async {
            let node = self.nodes().get(node).await.unwrap();
            let mark = node.metadata.annotations.unwrap_or_default().remove(IPV6_ANNOTATION);
            if mark.as_deref() == ip { Ok(()) } else { Err(mark) }
        })
        .await;
    }

    /// Deletes a node and its pods.
    pub async fn remove_node(&self, node: &str) {
        let now = DeleteParams::default().grace_period(0);
        let pods = self.namespaced::<Pod>();
        pods.delete(&format!("ingress-{node}"), &now).await.unwrap();
        self.nodes().delete(node, &now).await.unwrap();
    }

    /// The droplet that holds an address at the provider.
    pub fn droplet_of(&self, ip: &str) -> Option<u64> {
        self.cloud.holder(ip.parse::<IpAddr>().unwrap())
    }

    /// Waits until an address is on this droplet, or on no droplet.
    pub async fn held_by(&self, ip: &str, droplet: Option<u64>) {
        eventually(&format!("{ip} on {droplet:?}"), || async {
            let holder = self.droplet_of(ip);
            if holder == droplet { Ok(()) } else { Err(holder) }
        })
        .await;
    }

    /// Waits until a pool's status lists exactly these addresses.
    pub async fn names(&self, pool: &str, ips: &[&str]) {
        eventually(&format!("{pool} names {ips:?}"), || async {
            let named: Vec<_> = self.status(pool).await.ips.into_keys().collect();
            if named == ips { Ok(()) } else { Err(named) }
        })
        .await;
    }

    /// The ledger in a pool's annotation.
    pub async fn ledger(&self, pool: &str) -> Value {
        let annotations = self.stored(pool).await.metadata.annotations.unwrap_or_default();
        let text = annotations.get(pontoon::api::ADDRESSES_ANNOTATION).cloned();
        text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }
}
