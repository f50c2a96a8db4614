//! Stand-ins for the controllers of a management cluster, as much as VIPs need: Cluster API, and its
//! in-cluster IPAM provider. For the sandbox, tests and simulation.
//!
//! [`step`] is a function of the stored objects and the time; [`play`] follows an API server and
//! carries the steps out.

mod cluster_api;
mod drive;
mod ipam;
mod ranges;
mod stored;
#[cfg(test)]
mod tests;
mod write;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

pub use crate::fronts::cluster_vips::{
    ADDRESS, CLAIM, CLASS, CLUSTER, GLOBAL_POOL, IPAM, LOCAL_POOL, names,
};
pub use drive::play;
pub use ranges::Ranges;
pub use stored::{KINDS, Key, Object, Stored};
pub use write::{Change, Write};

/// Definitions of the kinds, written for the stand-ins: the newer generation, with the fields that
/// Pontoon and the stand-ins read. Other fields are kept as they are.
const DEFINITIONS: &str = include_str!("definitions.yaml");

/// Finalizers of the IPAM provider: on a claim, on an address, on a VIP pool.
pub const RELEASE: &str = "ipam.cluster.x-k8s.io/ReleaseAddress";
/// See [`RELEASE`].
pub const PROTECT_ADDRESS: &str = "ipam.cluster.x-k8s.io/ProtectAddress";
/// See [`RELEASE`].
pub const PROTECT_POOL: &str = "ipam.cluster.x-k8s.io/ProtectPool";

/// The definitions of all kinds.
///
/// # Errors
/// None in practice: the definitions are part of the program.
pub fn definitions() -> Result<Vec<CustomResourceDefinition>, String> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(DEFINITIONS).map_err(|error| error.to_string())?;
    let definitions = documents.into_iter().map(serde_json::from_value);
    definitions.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// What the controllers do next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Writes, which do not depend on one another.
    pub writes: Vec<Write>,
    /// When to look again, if nothing changes before.
    pub wake: Option<Timestamp>,
}

/// The next steps of all controllers. `machines_take` is the time that the machines of a deleted
/// Cluster take to go.
pub fn step(stored: &Stored, now: Timestamp, machines_take: Duration) -> Steps {
    let mut steps = cluster_api::step(stored, now, machines_take);
    steps.writes.extend(ipam::step(stored));
    steps
}
