//! The kinds that the VIPs of Clusters depend on: claims, addresses, VIP pools, classes, holders.

mod address;
mod claim;
mod class;
mod holder;
mod pool;

pub use address::ADDRESS;
pub use claim::{CLAIM, is_cluster};
pub use class::CLASS;
pub use holder::{CLUSTER_KEY, HOLDER, UID_KEY, is_holder};
pub use pool::{GLOBAL_POOL, LOCAL_POOL};

#[cfg(test)]
pub use self::{
    address::Addresses,
    claim::Claims,
    class::Classes,
    holder::Holders,
    pool::{GlobalPools, LocalPools},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::vips::model::ObjectName;

use crate::fronts::Dependency;
use crate::fronts::dependency::Known;
use crate::observe::schema::Generation;

/// The group of claims, addresses and VIP pools.
pub const IPAM: &str = "ipam.cluster.x-k8s.io";

/// The generations of claims, addresses and classes.
const BETAS: &[Generation] = &[Generation::plain("v1beta2"), Generation::plain("v1beta1")];

/// Every kind.
pub static ALL: &[&dyn Dependency] = &[
    &Known(claim::Claims),
    &Known(address::Addresses),
    &Known(pool::GlobalPools),
    &Known(pool::LocalPools),
    &Known(class::Classes),
    &Known(holder::Holders),
];

/// The name of an object in a namespace.
fn object_name(metadata: &ObjectMeta) -> Option<ObjectName> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    Some(ObjectName::new(namespace, metadata.name.as_deref()?))
}
