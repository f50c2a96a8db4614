//! Creates, rewrites and deletes holders.

use kube::api::{Patch, PatchParams, PostParams};
use pontoon_core::action::{Done, Failure, Version};
use pontoon_core::model::ObjectKey;
use pontoon_core::vips::model::Job;
use serde_json::json;

use super::super::names;
use super::super::sources::{CLUSTER_KEY, HOLDER, UID_KEY};
use super::{Desk, claim, created, delete, object, precondition};
use crate::api::api_failure;

impl Desk<'_> {
    /// Creates a holder, or has an existing holder name its Cluster.
    pub(super) async fn keep_holder(
        &self,
        cluster: &ObjectKey,
        uid: &str,
        job: Job,
        existing: Option<&Version>,
    ) -> Result<Done, Failure> {
        let api = self.api(&HOLDER, HOLDER.version, &cluster.namespace);
        let name = job.claim(&cluster.name);
        let mut metadata = existing.map(precondition).unwrap_or_else(|| json!({"name": &name}));
        metadata["labels"] = claim::labels(cluster, job);
        metadata["labels"][names::MOVES] = json!("");
        metadata["annotations"] = json!({CLUSTER_KEY: *cluster.name, UID_KEY: uid});
        let stored = match existing {
            Some(_) => {
                let patch = json!({"metadata": metadata});
                api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await
            }
            None => {
                let holder = object(json!({
                    "apiVersion": HOLDER.version, "kind": HOLDER.name, "metadata": metadata,
                }))?;
                api.create(&PostParams::default(), &holder).await
            }
        };
        Ok(created(&stored.map_err(api_failure)?))
    }

    pub(super) async fn drop_holder(&self, holder: &Version) -> Result<Done, Failure> {
        delete(&self.api(&HOLDER, HOLDER.version, &holder.name.namespace), holder).await
    }
}
