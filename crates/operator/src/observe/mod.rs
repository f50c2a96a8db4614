//! Watches become plain values.
//!
//! One task per kind turns watch events into [`Observation`]s, projected to what planning
//! reads. A watch that breaks starts again with a back-off of our own; objects that went
//! away in between are found by comparing with the new list.

mod dns;
pub mod ledger;
pub mod node;
pub mod pod;
pub mod pool;
pub mod record_set;
pub mod schema;
mod watch;

pub use watch::{Watch, watch};

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::model::{Node, NodeName, Pod, PodId, PoolKey, Text};

use crate::api::PAUSED_ANNOTATION;

use pool::ObservedPool;
use record_set::ObservedRecordSet;
use schema::Schema;

/// Something that was seen in the cluster.
#[derive(Debug)]
pub enum Observation {
    /// A node appeared or changed.
    Node(Box<Node>),
    /// A node is gone.
    NodeGone(NodeName),
    /// All nodes have been listed, and these are they.
    NodesListed(BTreeSet<NodeName>),
    /// A pod is ready on a node.
    Pod(Box<Pod>),
    /// A pod is gone, or not ready.
    PodGone(PodId),
    /// All pods have been listed, and these are the ready ones.
    PodsListed(BTreeSet<PodId>),
    /// A pool appeared or changed.
    Pool(Box<ObservedPool>),
    /// A pool is gone.
    PoolGone(PoolKey),
    /// All pools of a kind have been listed, and these are they.
    PoolsListed(&'static str, BTreeSet<PoolKey>),
    /// A record set appeared or changed.
    RecordSet(Box<ObservedRecordSet>),
    /// A record set is gone.
    RecordSetGone(PoolKey),
    /// All record sets have been listed, and these are they.
    RecordSetsListed(BTreeSet<PoolKey>),
    /// All definitions have been listed, and of our kinds these are there.
    SchemasListed(BTreeSet<&'static str>),
    /// The definition of a kind appeared, changed or went away.
    Schema(&'static str, Schema),
}

/// A resource version, counted. Versions of one kind are ordered numbers; a server that
/// breaks this makes every event count as news.
pub fn version(resource_version: Option<&str>) -> u64 {
    resource_version.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

/// Why an object is paused, if it is. Any text pauses it, even none: whoever annotated it
/// wants it left alone.
fn paused(metadata: &ObjectMeta) -> Option<Text> {
    let why = metadata.annotations.as_ref()?.get(PAUSED_ANNOTATION)?;
    Some(why.trim().into())
}
