//! VIPs of Clusters: the kinds of Cluster API and of its in-cluster IPAM provider, in both
//! generations of their API.
//!
//! Another project defines these kinds. Nothing of them is watched in a cluster that does not define
//! Clusters.

mod decode;
mod metrics;
pub mod names;
mod sources;
mod status;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::DynamicObject;
use pontoon_core::action::{Done, Failure, VipAction};
use pontoon_core::model::{Kind, Mark, Scope, Subject};
use pontoon_core::vips::model::VipNames;
use prometheus::Registry;

use super::{Dependency, Front, Observed, VipFront};
use crate::leadership::Predecessor;
use crate::observe::schema::{Generation, Path, Schema, Schemas};
use crate::report::object_series::{ReplicaLabels, Series};
use crate::run::VipOptions;
pub use sources::{ADDRESS, CLAIM, CLASS, GLOBAL_POOL, IPAM, LOCAL_POOL};

/// Clusters, of Cluster API.
pub static CLUSTER: Kind = Kind {
    group: "cluster.x-k8s.io",
    version: "v1beta2",
    name: "Cluster",
    plural: "clusters",
    aliases: &["cl"],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Vips],
};

/// The variables of a Cluster's topology.
const VARIABLES: Path = &["spec", "topology", "variables"];

/// The generations of Clusters. Conditions of several writers exist since Cluster API 1.9, variables
/// with an owner each since 1.8.
static GENERATIONS: [Generation; 4] = [
    Generation { version: "v1beta2", conditions: Some(&["conditions"]), merged: &[VARIABLES] },
    Generation {
        version: "v1beta1",
        conditions: Some(&["v1beta2", "conditions"]),
        merged: &[VARIABLES],
    },
    Generation { version: "v1beta1", conditions: None, merged: &[VARIABLES] },
    Generation::plain("v1beta1"),
];

/// capi-vip-allocator, where its own manifests install it.
static CAPI_VIP_ALLOCATOR: Predecessor = Predecessor {
    lease: "capi-vip-allocator.gorizond.io",
    renamable: false,
    namespace: "capi-system",
};

/// The front of Clusters.
#[derive(Debug)]
pub struct ClusterVips;

impl Front for ClusterVips {
    fn kind(&self) -> &'static Kind {
        &CLUSTER
    }

    fn definition(&self) -> Option<CustomResourceDefinition> {
        None
    }

    fn generations(&self) -> &'static [Generation] {
        &GENERATIONS
    }

    fn dependencies(&self) -> &'static [&'static dyn Dependency] {
        sources::ALL
    }

    fn within<'a>(&self, options: &'a VipOptions) -> Option<&'a str> {
        options.namespace.as_deref()
    }

    fn vips(&self) -> Option<&'static dyn VipFront> {
        Some(&Self)
    }

    fn predecessor(&self) -> &'static Predecessor {
        &CAPI_VIP_ALLOCATOR
    }

    fn marks(&self) -> &'static [Mark] {
        &[]
    }

    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed> {
        decode::decode(&object, schema)
    }

    fn series(
        &self,
        registry: &Registry,
        _: &ReplicaLabels,
    ) -> Result<Arc<dyn Series>, prometheus::Error> {
        Ok(Arc::new(metrics::VipSeries::register(registry)?))
    }
}

impl VipFront for ClusterVips {
    fn names(&self) -> &'static VipNames {
        &names::NAMES
    }

    fn write(
        &self,
        client: Client,
        action: VipAction,
        schemas: Schemas,
    ) -> BoxFuture<'static, Result<Done, Failure>> {
        async move { write::write(client, &action, &schemas).await }.boxed()
    }
}
