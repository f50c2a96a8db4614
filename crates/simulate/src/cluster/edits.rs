//! Edits of pools by users, mostly mistakes.

use std::net::IpAddr;

use kube::ResourceExt;
use pontoon::api::ADDRESSES_ANNOTATION;
use serde_json::{Value, json};

use super::{Cluster, matching, pool_name};
use crate::schedule::{Typo, Wish};

/// An unreadable value for our annotation.
const SPOILED: &str = "[[";

/// The annotation of a pool before it was made unreadable.
#[derive(Debug)]
pub struct Spoiled {
    uid: Option<String>,
    before: Option<String>,
}

impl Cluster {
    /// Restores the `match` of the manifest.
    pub async fn ask_as_at_first(&self, index: usize) {
        self.patch_match(index, self.pools[index]["spec"]["match"].clone()).await;
    }

    /// Makes the pool's `match` unparsable.
    pub async fn mistype(&self, index: usize, typo: Typo) {
        let mut asked = self.pools[index]["spec"]["match"].clone();
        match typo {
            Typo::Nodes => asked["nodeLabel"] = json!("role in (edge"),
            Typo::Pods => asked["podLabel"] = json!("app in (app-0"),
        }
        self.patch_match(index, asked).await;
    }

    /// Changes the nodes requested by the pool, keeping the app.
    pub async fn rematch(&self, index: usize, wish: Wish) {
        let app = &self.pools[index]["spec"]["match"]["podLabel"];
        let app = app.as_str().and_then(|label| label.strip_prefix("app=app-")?.parse().ok());
        self.patch_match(index, matching(app, wish)).await;
    }

    /// Replaces `match`. Missing fields are removed.
    async fn patch_match(&self, index: usize, mut asked: Value) {
        for field in ["nodeLabel", "podNamespace", "podLabel", "tolerations"] {
            if asked[field].is_null() {
                asked[field] = Value::Null;
            }
        }
        self.patch_pool(index, &json!({"spec": {"match": asked}})).await;
    }

    /// The addresses listed in the pool's manifest.
    fn manifest_ips(&self, index: usize) -> Vec<Value> {
        self.pools[index]["spec"]["ips"].as_array().cloned().unwrap_or_default()
    }

    /// The last address listed in the pool's manifest.
    pub fn last_listed(&self, index: usize) -> Option<IpAddr> {
        self.manifest_ips(index).last()?.as_str()?.parse().ok()
    }

    /// Lists an address of another pool: the last one reserved for the other pool, or else the
    /// first of its list.
    pub async fn adopt(&self, index: usize, other: usize) {
        if index == other {
            return;
        }
        let Ok(Some(now)) = self.pool_api().get_opt(&pool_name(other)).await else { return };
        let status = now.status.unwrap_or_default();
        let its = status.created_ips.last().or(now.spec.ips.first());
        let Some(its) = its else { return };
        let mut ips = self.manifest_ips(index);
        ips.push(json!(its));
        self.patch_pool(index, &json!({"spec": {"ips": ips}})).await;
    }

    /// Restores the list of the manifest.
    pub async fn relist(&self, index: usize) {
        let ips = Some(self.manifest_ips(index)).filter(|ips| !ips.is_empty());
        self.patch_pool(index, &json!({"spec": {"ips": ips}})).await;
    }

    /// Makes the pool's annotation unreadable. Returns the previous value.
    pub async fn spoil(&self, index: usize) -> Option<Spoiled> {
        // Retried after conflicts with other writers.
        for _ in 0..10 {
            let now = self.pool_api().get_opt(&pool_name(index)).await.ok().flatten()?;
            let before = now.annotations().get(ADDRESSES_ANNOTATION).cloned();
            let metadata = json!({
                "resourceVersion": now.resource_version(),
                "annotations": {ADDRESSES_ANNOTATION: SPOILED},
            });
            if self.try_patch(index, &json!({"metadata": metadata})).await {
                return Some(Spoiled { uid: now.uid(), before });
            }
        }
        None
    }

    /// Restores an annotation that is still unreadable, of the same pool: a ledger of a former pool
    /// with the same name would be false.
    pub async fn mend(&self, index: usize, Spoiled { uid, before }: Spoiled) {
        let Ok(Some(now)) = self.pool_api().get_opt(&pool_name(index)).await else { return };
        if now.uid() != uid {
            return;
        }
        if now.annotations().get(ADDRESSES_ANNOTATION).is_some_and(|text| text == SPOILED) {
            let patch = json!({"metadata": {"annotations": {ADDRESSES_ANNOTATION: before}}});
            self.patch_pool(index, &patch).await;
        }
    }
}
