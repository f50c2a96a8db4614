//! Turns watches into plain values.
//!
//! A task per watch turns events into [`Observation`]s with only the fields that planning reads. A
//! broken watch restarts with a back-off; objects that disappeared in between are found by
//! comparing with the new list.

pub(crate) mod follow;
pub mod hearing;
pub(crate) mod metadata;
pub mod node;
pub mod objects;
pub mod pod;
pub mod replica_set;
pub mod schema;
mod shallow;
#[cfg(test)]
pub(crate) mod tests;
mod watch;

pub(crate) use follow::causes;
pub use follow::{Followed, Selection};
pub(crate) use watch::UNGRANTED;
pub use watch::{Station, Watch, watch};

use std::collections::BTreeSet;
use std::fmt::Debug;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::model::{Kind, Node, NodeName, ObjectKey, Owner, Pod, PodId, Text};
use pontoon_core::nodes::PodMatch;
use pontoon_core::world::World;

use crate::api::PAUSED_ANNOTATION;
use crate::fronts::Observed;
use schema::Schema;

/// A change in the cluster.
#[derive(Debug)]
pub enum Observation {
    /// A node appeared or changed.
    Node(Box<Node>),
    /// A node is gone.
    NodeGone(NodeName),
    /// All nodes have been listed, with these names.
    NodesListed(BTreeSet<NodeName>),
    /// A pod is ready on a node.
    Pod(Box<Pod>),
    /// A pod is gone, or not ready.
    PodGone(PodId),
    /// All pods of a range have been listed, with these ready pods.
    PodsListed(PodMatch, BTreeSet<PodId>),
    /// A controller of pods appeared or changed, or is gone: its namespace, and its own owner.
    Parent((Text, Owner), Option<Owner>),
    /// All controllers of pods in a namespace, or in all, have been listed.
    ParentsListed(Option<Text>, BTreeSet<(Text, Owner)>),
    /// An object of ours appeared or changed.
    Object(Box<Observed>),
    /// An object of ours is gone.
    ObjectGone(ObjectKey),
    /// All objects of a kind have been listed, with these keys.
    ObjectsListed(&'static Kind, BTreeSet<ObjectKey>),
    /// A change of an object, not ours, that objects of ours depend on.
    Fact(Box<dyn Fact>),
    /// The definition of a kind appeared, changed or disappeared.
    Schema(&'static Kind, Schema),
}

/// A change of an object that objects of ours depend on.
pub trait Fact: Debug + Send {
    /// Tells the world. Returns a kind that has to be watched because of the change.
    fn tell(self: Box<Self>, world: &mut World) -> Option<&'static Kind>;
}

/// A resource version as a number. Versions of a kind are ordered numbers; with a server that
/// breaks this rule, every event counts as new.
pub fn version(resource_version: Option<&str>) -> u64 {
    resource_version.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

/// Why an object is paused, if the object is. Any text pauses, even an empty text; only `false`
/// does not. `true` pauses without a reason.
pub(crate) fn paused(metadata: &ObjectMeta) -> Option<Text> {
    let why = metadata.annotations.as_ref()?.get(PAUSED_ANNOTATION)?.trim();
    match why.to_ascii_lowercase().as_str() {
        NOT_PAUSED => None,
        "true" => Some("".into()),
        _ => Some(why.into()),
    }
}

/// The annotation's value that does not pause.
pub(crate) const NOT_PAUSED: &str = "false";
