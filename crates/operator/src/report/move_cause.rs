//! The cause of a move, as metrics name it.

use pontoon_core::nodes::Unfit;

/// Cause of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveCause {
    /// The address was on no machine.
    Unassigned,
    /// An address that somebody else took from its node.
    Drift,
    /// The node is gone.
    NodeGone,
    /// The machine was no node of this cluster.
    NoNode,
    /// The node's labels do not match.
    Labels,
    /// The node is being deleted.
    Deleting,
    /// The node is not ready.
    NotReady,
    /// A taint of the node is not tolerated.
    Taint,
    /// The node is cordoned, without pods that keep the address.
    Cordoned,
    /// No matching ready pod runs on the node.
    NoPod,
    /// The node's machine cannot be told, or is at another provider.
    Machine,
    /// The node was eligible.
    Other,
}

impl MoveCause {
    /// All causes.
    pub const ALL: [Self; 12] = [
        Self::Unassigned,
        Self::Drift,
        Self::NodeGone,
        Self::NoNode,
        Self::Labels,
        Self::Deleting,
        Self::NotReady,
        Self::Taint,
        Self::Cordoned,
        Self::NoPod,
        Self::Machine,
        Self::Other,
    ];

    /// The cause that rules a node out.
    pub fn of(unfit: &Unfit) -> Self {
        match unfit {
            Unfit::Labels => Self::Labels,
            Unfit::Deleting => Self::Deleting,
            Unfit::NotReady => Self::NotReady,
            Unfit::Taint(_) => Self::Taint,
            Unfit::NoProviderId | Unfit::Unnamed(_) | Unfit::OtherCloud => Self::Machine,
            Unfit::NoPod => Self::NoPod,
            Unfit::Cordoned => Self::Cordoned,
        }
    }

    /// The label of the cause.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unassigned => "unassigned",
            Self::Drift => "drift",
            Self::NodeGone => "node_gone",
            Self::NoNode => "no_node",
            Self::Labels => "labels",
            Self::Deleting => "deleting",
            Self::NotReady => "not_ready",
            Self::Taint => "taint",
            Self::Cordoned => "cordoned",
            Self::NoPod => "no_pod",
            Self::Machine => "machine",
            Self::Other => "other",
        }
    }
}
