//! NetIPAllocation: reserved addresses that are kept on healthy nodes, and follow a workload when its
//! node is drained.

mod decode;
mod metrics;
mod process_metrics;
mod rules;
mod status;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DynamicObject;
use pontoon_core::model::{Kind, Mark, MarkPlace, Scope, Subject, Tells};
use prometheus::Registry;

use super::{Front, Observed, definitions};
use crate::api::own;
use crate::leadership::Predecessor;
use crate::observe::schema::Schema;
use crate::report::object_series::{ReplicaLabels, Series};
pub use types::{NetIPAllocation, NetIPAllocationSpec, NetIPAllocationStatus};

/// ip-address-controller's allocations.
pub static NET_IP_ALLOCATION: Kind = Kind {
    group: "netinfra.darkbrains.com",
    version: "v1alpha1",
    name: "NetIPAllocation",
    plural: "netipallocations",
    aliases: &["nia"],
    scope: Scope::Cluster,
    asks_for: &[Subject::Addresses],
};

/// ip-address-controller. Its own manifests install it in kube-system; its `LEASE_NAME` renames its
/// Lease.
static IP_ADDRESS_CONTROLLER: Predecessor = Predecessor {
    lease: "ip-address-controller-leader",
    renamable: true,
    namespace: "kube-system",
};

/// On a node, as a label: the node serves an address of an allocation. Workloads select nodes by it.
pub const READY_LABEL: &str = "ip.ready";

/// On a node: pods are to be evicted, because the node lost its last address.
pub const EVICT_ANNOTATION: &str = own!("evict");

/// The marks of nodes: the label of nodes that serve, and the note of evictions.
static MARKS: [Mark; 2] = [
    Mark { place: MarkPlace::Label, key: READY_LABEL, tells: Tells::Serving("true") },
    Mark { place: MarkPlace::Annotation, key: EVICT_ANNOTATION, tells: Tells::Evicting("true") },
];

/// The front of NetIPAllocations.
#[derive(Debug)]
pub struct NetIPAllocations;

impl Front for NetIPAllocations {
    fn kind(&self) -> &'static Kind {
        &NET_IP_ALLOCATION
    }

    fn definition(&self) -> Option<CustomResourceDefinition> {
        Some(definitions::generated::<types::AllocationDefinition>())
    }

    fn predecessor(&self) -> &'static Predecessor {
        &IP_ADDRESS_CONTROLLER
    }

    fn marks(&self) -> &'static [Mark] {
        &MARKS
    }

    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed> {
        decode::decode(object, schema)
    }

    fn series(
        &self,
        registry: &Registry,
        replica: &ReplicaLabels,
    ) -> Result<Arc<dyn Series>, prometheus::Error> {
        Ok(Arc::new(metrics::AllocationSeries::register(registry, replica)?))
    }
}
