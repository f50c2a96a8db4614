//! Watches become plain values.
//!
//! One task per watch turns events into [`Observation`]s, projected to what planning reads. A
//! watch that breaks starts again with a back-off; objects that went away in between are found by
//! comparing with the new list.

mod dns;
pub mod hearing;
pub mod ledger;
pub mod node;
pub mod pod;
pub mod pool;
pub mod record_set;
pub mod schema;
mod watch;

pub(crate) use watch::causes;
pub use watch::{Selection, Station, Watch, watch};

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::matching::PodMatch;
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
    /// All pods of a range have been listed, and these are the ready ones.
    PodsListed(PodMatch, BTreeSet<PodId>),
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
    /// The definition of a kind appeared or changed, or there is none.
    Schema(&'static str, Schema),
}

/// A resource version, counted. Versions of one kind are ordered numbers; a server that
/// breaks this makes every event count as news.
pub fn version(resource_version: Option<&str>) -> u64 {
    resource_version.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

/// Why an object is paused, if it is. Any text pauses it, even none: whoever annotated it
/// wants it left alone. Only `false` says the opposite; `true` is no reason.
fn paused(metadata: &ObjectMeta) -> Option<Text> {
    let why = metadata.annotations.as_ref()?.get(PAUSED_ANNOTATION)?.trim();
    match why.to_ascii_lowercase().as_str() {
        NOT_PAUSED => None,
        "true" => Some("".into()),
        _ => Some(why.into()),
    }
}

/// The text of the annotation that does not pause an object.
pub(crate) const NOT_PAUSED: &str = "false";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_does_not_pause_and_every_other_text_does() {
        let paused = |text: &str| {
            let annotations = [(PAUSED_ANNOTATION.to_owned(), text.to_owned())].into();
            paused(&ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() })
        };
        assert_eq!(paused("false"), None);
        assert_eq!(paused(" False "), None);
        assert_eq!(paused("true").as_deref(), Some(""));
        assert_eq!(paused("").as_deref(), Some(""));
        assert_eq!(paused(" moving racks ").as_deref(), Some("moving racks"));
    }
}
