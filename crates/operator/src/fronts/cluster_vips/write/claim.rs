//! Creates, adopts and deletes claims.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PatchParams, PostParams};
use pontoon_core::action::{Done, Failure, Version};
use pontoon_core::model::ObjectKey;
use pontoon_core::vips::model::{Job, PoolId, PoolScope};
use serde_json::{Value, json};

use super::super::sources::{CLAIM, GLOBAL_POOL, HOLDER, IPAM, LOCAL_POOL, is_cluster, is_holder};
use super::super::{CLUSTER, names};
use super::{Desk, api_version, changed, created, delete, object, precondition, written};
use crate::api::api_failure;
use crate::observe::version;

impl Desk<'_> {
    pub(super) async fn create_claim(
        &self,
        cluster: &ObjectKey,
        uid: &str,
        job: Job,
        pool: &PoolId,
    ) -> Result<Done, Failure> {
        let served = self.served(&CLAIM)?.version;
        let kind = match pool.scope {
            PoolScope::Global => &GLOBAL_POOL,
            PoolScope::Namespace(_) => &LOCAL_POOL,
        };
        let claim = object(json!({
            "apiVersion": api_version(&CLAIM, served),
            "kind": CLAIM.name,
            "metadata": {
                "name": job.claim(&cluster.name), "namespace": *cluster.namespace,
                "labels": labels(cluster, job),
                "ownerReferences": [self.owner(cluster, uid, true)?],
            },
            "spec": {
                "clusterName": *cluster.name,
                "poolRef": {"apiGroup": IPAM, "kind": kind.name, "name": *pool.name},
            },
        }))?;
        let api = self.api(&CLAIM, served, &cluster.namespace);
        let stored = api.create(&PostParams::default(), &claim).await.map_err(api_failure)?;
        Ok(created(&stored))
    }

    /// Writes the owners and labels of a claim. Other owners stay.
    pub(super) async fn adopt_claim(
        &self,
        (cluster, owner): (&ObjectKey, &str),
        job: Job,
        claim: &Version,
        holder: Option<&str>,
    ) -> Result<Done, Failure> {
        let api = self.api(&CLAIM, self.served(&CLAIM)?.version, &claim.name.namespace);
        let stored = api.get(&claim.name.name).await.map_err(api_failure)?;
        let metadata = &stored.metadata;
        if metadata.uid.as_deref() != Some(&*claim.uid)
            || version(metadata.resource_version.as_deref()) != claim.version
        {
            return Err(changed());
        }
        let owners = metadata.owner_references.iter().flatten();
        let others: Vec<_> =
            owners.filter(|one| !is_cluster(one) && !is_holder(one, &claim.name)).collect();
        // An object has one controlling owner.
        let controls = !others.iter().any(|one| one.controller == Some(true));
        let mut all: Vec<Value> = vec![json!(self.owner(cluster, owner, controls)?)];
        all.extend(holder.map(|uid| {
            json!({
                "apiVersion": HOLDER.version, "kind": HOLDER.name,
                "name": *claim.name.name, "uid": uid,
            })
        }));
        all.extend(others.into_iter().map(|one| json!(one)));
        let mut patch = json!({"metadata": precondition(claim)});
        patch["metadata"]["ownerReferences"] = json!(all);
        patch["metadata"]["labels"] = labels(cluster, job);
        let params = PatchParams::default();
        let patch = Patch::Merge(&patch);
        let stored = api.patch(&claim.name.name, &params, &patch).await.map_err(api_failure)?;
        Ok(written(&stored))
    }

    pub(super) async fn delete_claim(&self, claim: &Version) -> Result<Done, Failure> {
        let served = self.served(&CLAIM)?.version;
        delete(&self.api(&CLAIM, served, &claim.name.namespace), claim).await
    }

    /// A Cluster as the owner of a claim, in the version that is served.
    fn owner(
        &self,
        cluster: &ObjectKey,
        uid: &str,
        controller: bool,
    ) -> Result<OwnerReference, Failure> {
        Ok(OwnerReference {
            api_version: api_version(&CLUSTER, self.served(&CLUSTER)?.version),
            kind: CLUSTER.name.to_owned(),
            name: cluster.name.to_string(),
            uid: uid.to_owned(),
            controller: controller.then_some(true),
            block_owner_deletion: Some(true),
        })
    }
}

/// The labels of a claim, and of its holder.
pub(super) fn labels(cluster: &ObjectKey, job: Job) -> Value {
    json!({names::ROLES: job.role.word(), names::CLUSTER_NAME: *cluster.name})
}
