//! Writes on nodes, and evictions from nodes.

use std::fmt;

use crate::model::{Mark, NodeName, ObjectKey, PodId, Text};

/// A write of a node's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkWrite {
    /// The pool of an address that the mark gains, else loses; of an address on the node, if the value
    /// is a fixed text; else a pool that uses the mark.
    pub owner: Option<ObjectKey>,
    /// Node that carries the mark, or is to.
    pub node: NodeName,
    /// UID of the node. A new node of the same name is not marked.
    pub uid: Text,
    /// Resource version of the node, if the write is for this version alone. The removal of a note
    /// is: carried out late, it would erase a note that a later leader has written anew.
    pub version: Option<u64>,
    /// The annotation or label. Others of the node stay as they are.
    pub mark: &'static Mark,
    /// The value; `None` removes the mark.
    pub value: Option<Text>,
}

impl fmt::Display for MarkWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, mark, value, .. } = self;
        match value {
            Some(value) => write!(f, "set the {mark} of {node} to {value}"),
            None => write!(f, "remove the {mark} of {node}"),
        }
    }
}

/// The eviction of a pod from a node that lost its address. Disruption budgets hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The pool whose workload the pod belongs to.
    pub owner: ObjectKey,
    /// UID of the pod. A new pod of the same name is not evicted.
    pub pod: PodId,
    /// Namespace of the pod.
    pub namespace: Text,
    /// Name of the pod.
    pub name: Text,
    /// Node of the pod, which lost its address.
    pub node: NodeName,
}

impl fmt::Display for Eviction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, node, .. } = self;
        write!(f, "evict {namespace}/{name} from {node}")
    }
}
