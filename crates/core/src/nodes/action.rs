//! Writes on nodes.

use std::fmt;

use crate::model::{Mark, NodeName, ObjectKey, Text};

/// A write of a node's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkWrite {
    /// A pool of an address that the mark gains, else loses; else a pool that uses the mark.
    pub owner: Option<ObjectKey>,
    /// The node.
    pub node: NodeName,
    /// UID of the node. A new node of the same name is not marked.
    pub uid: Text,
    /// The mark.
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
