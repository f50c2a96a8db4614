//! The judgement on a node, and the causes that rule a node out.

use std::fmt;

use crate::model::{Taint, Text};

/// The judgement on a node by the rules of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// The node may receive an address, and keep it.
    Eligible,
    /// The node may keep its address, and receives none.
    Holding(Unfit),
    /// The node may have no address.
    Unfit(Unfit),
}

impl Fitness {
    /// Whether the node may receive an address.
    pub fn is_eligible(&self) -> bool {
        *self == Self::Eligible
    }

    /// The cause for which the node may not even keep its address.
    pub fn unfit(self) -> Option<Unfit> {
        match self {
            Self::Eligible | Self::Holding(_) => None,
            Self::Unfit(unfit) => Some(unfit),
        }
    }

    /// The cause for which the node receives no address.
    pub fn objection(self) -> Option<Unfit> {
        match self {
            Self::Eligible => None,
            Self::Holding(unfit) | Self::Unfit(unfit) => Some(unfit),
        }
    }
}

/// Cause that rules a node out. The first applicable cause is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfit {
    /// The labels do not match.
    Labels,
    /// The node is being deleted.
    Deleting,
    /// The node is not ready.
    NotReady,
    /// A taint is not tolerated.
    Taint(Taint),
    /// The node has no provider ID.
    NoProviderId,
    /// The node has no provider ID, and its machine is not told by names either: this is missing.
    Unnamed(Text),
    /// The machine is not at the pool's provider.
    OtherCloud,
    /// No matching ready pod runs on the node.
    NoPod,
    /// The node is cordoned, and the rules say more about that than a taint.
    Cordoned,
}

impl Unfit {
    /// Whether the node's machine is the cause.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            Self::NoProviderId | Self::Unnamed(_) | Self::OtherCloud => true,
            Self::Labels
            | Self::Deleting
            | Self::NotReady
            | Self::Taint(_)
            | Self::NoPod
            | Self::Cordoned => false,
        }
    }

    /// The cause as a clause about the named node.
    pub fn said_of(&self, node: &str) -> String {
        match self {
            Self::Labels => format!("the labels of {node} do not match"),
            Self::Deleting => format!("{node} is being deleted"),
            Self::NotReady => format!("{node} is not ready"),
            Self::Taint(taint) => {
                format!("{node} has the taint {}:{}, not tolerated", taint.key, taint.effect)
            }
            Self::NoProviderId => format!("{node} has no spec.providerID"),
            Self::Unnamed(lacks) => {
                format!(
                    "{node} has no spec.providerID, and its name does not tell its machine: {lacks}"
                )
            }
            Self::OtherCloud => format!("the spec.providerID of {node} is of another cloud"),
            Self::NoPod => format!("no ready pod on {node} matches"),
            Self::Cordoned => format!("{node} is cordoned"),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels => f.write_str("its labels do not match"),
            Self::Deleting => f.write_str("it is being deleted"),
            Self::NotReady => f.write_str("it is not ready"),
            Self::Taint(taint) => {
                write!(f, "taint {}:{} is not tolerated", taint.key, taint.effect)
            }
            Self::NoProviderId => f.write_str("it has no spec.providerID"),
            Self::Unnamed(lacks) => write!(
                f,
                "it has no spec.providerID, and its name does not tell its machine: {lacks}"
            ),
            Self::OtherCloud => f.write_str("its spec.providerID is of another cloud"),
            Self::NoPod => f.write_str("no ready pod on it matches"),
            Self::Cordoned => f.write_str("it is cordoned"),
        }
    }
}
