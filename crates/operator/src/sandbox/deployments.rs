//! Deployments in the words of `wait` and `status`.

use std::collections::BTreeSet;
use std::fmt::Write;

use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::cluster::{Cluster, told};
use super::objects::{Deployment, Pod, ReplicaSet};

impl Cluster {
    async fn all_deployments(&self) -> Result<Vec<Deployment>, String> {
        let all: Api<Deployment> = Api::all(self.client().clone());
        Ok(all.list(&ListParams::default()).await.map_err(told)?.items)
    }

    /// Deployments without all their pods.
    pub(super) async fn unready_deployments(&self) -> Result<Vec<String>, String> {
        let unready = |one: &Deployment| {
            let status = &one.status;
            let counts = [status.replicas, status.updated_replicas, status.available_replicas];
            let whole = counts.iter().all(|count| *count == wanted(one));
            !whole || status.observed_generation != one.metadata.generation
        };
        let all = self.all_deployments().await?;
        Ok(all.iter().filter(|one| unready(one)).map(ResourceExt::name_any).collect())
    }

    /// A line for each Deployment, with the nodes of its pods.
    pub(super) async fn tell_deployments(&self, text: &mut String) -> Result<(), String> {
        for one in self.all_deployments().await? {
            let name = format!("{}/{}", one.namespace().unwrap_or_default(), one.name_any());
            let count = format!("{}/{}", one.status.ready_replicas, wanted(&one));
            let nodes = self.nodes_of(&one).await?;
            let pods = match nodes.is_empty() {
                true => "no pod is on a node".to_owned(),
                false => format!("pods on {}", nodes.into_iter().collect::<Vec<_>>().join(", ")),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<22} {count:<5} {pods}");
        }
        Ok(())
    }

    /// The nodes with pods of a Deployment, by the owners of the pods' ReplicaSets.
    async fn nodes_of(&self, one: &Deployment) -> Result<BTreeSet<String>, String> {
        let namespace = one.namespace().unwrap_or_default();
        let sets: Api<ReplicaSet> = Api::namespaced(self.client().clone(), &namespace);
        let pods: Api<Pod> = Api::namespaced(self.client().clone(), &namespace);
        let all = ListParams::default();
        let sets = sets.list(&all).await.map_err(told)?.items;
        let is_own = |owner: &str, uid: Option<String>| uid.as_deref() == Some(owner);
        let sets: BTreeSet<_> = sets
            .iter()
            .filter(|set| set.owner_references().iter().any(|owner| is_own(&owner.uid, one.uid())))
            .filter_map(ResourceExt::uid)
            .collect();
        let pods = pods.list(&all).await.map_err(told)?.items;
        let own = pods.iter().filter(|pod| {
            !pod.spec.node_name.is_empty()
                && pod.metadata.deletion_timestamp.is_none()
                && pod.owner_references().iter().any(|owner| sets.contains(&owner.uid))
        });
        Ok(own.map(|pod| pod.spec.node_name.clone()).collect())
    }
}

fn wanted(one: &Deployment) -> i32 {
    one.spec.replicas.unwrap_or(1)
}
