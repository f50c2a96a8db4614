//! ReplicaSets, reduced to their owners: a pod belongs to the Deployment that owns its ReplicaSet.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use pontoon_core::model::{Owner, Text};
use serde::Deserialize;

use super::metadata::lean_metadata;
use super::pod::{controller, name_of};
use super::{Observation, Watch};

/// The kind, as owner references name it.
pub const KIND: &str = "ReplicaSet";

/// The parts of a ReplicaSet that planning reads; the rest is skipped while decoding.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "ReplicaSet")]
pub struct ReplicaSetView {
    /// Name, namespace, owners.
    #[serde(default, deserialize_with = "lean_metadata")]
    pub metadata: ObjectMeta,
}

/// Watches the ReplicaSets of a namespace, or of all.
#[derive(Debug)]
pub struct ReplicaSets {
    name: String,
    namespace: Option<Text>,
    /// ReplicaSets in the list under way.
    listing: Option<BTreeSet<(Text, Owner)>>,
}

impl ReplicaSets {
    /// A watch over the ReplicaSets of a namespace, or of all.
    pub fn of(namespace: Option<Text>) -> Self {
        Self { name: name_of(KIND, namespace.as_deref()), namespace, listing: None }
    }
}

impl Watch for ReplicaSets {
    type Object = ReplicaSetView;

    fn name(&self) -> &str {
        &self.name
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: ReplicaSetView) -> Option<Observation> {
        let child = child(&object.metadata)?;
        if let Some(listing) = &mut self.listing {
            listing.insert(child.clone());
        }
        let owners = object.metadata.owner_references.unwrap_or_default();
        Some(Observation::Parent(child, owners.iter().find_map(controller)))
    }

    fn gone(&mut self, object: ReplicaSetView) -> Option<Observation> {
        Some(Observation::Parent(child(&object.metadata)?, None))
    }

    fn listed(&mut self) -> Option<Observation> {
        let listed = self.listing.take()?;
        Some(Observation::ParentsListed(self.namespace.clone(), listed))
    }
}

/// A ReplicaSet as the owner of pods.
fn child(metadata: &ObjectMeta) -> Option<(Text, Owner)> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default().into();
    let name = metadata.name.as_deref()?.into();
    Some((namespace, Owner { kind: KIND.into(), name }))
}
