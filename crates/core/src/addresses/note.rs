//! Notes about one address, with their text.

use std::fmt;
use std::sync::Arc;

use super::reason::Reason;
use crate::Time;
use crate::model::{Family, NodeName, ObjectKey, PoolNames, Text};
use crate::nodes::{Census, Unfit};

/// The obstacle to an address being active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Another pool owns the address.
    Conflict(ObjectKey),
    /// The account has no address with this IP.
    Gone,
    /// Addresses of this family are not assigned at the provider.
    Unsupported(Family),
    /// The provider is working on the address for another client.
    Busy,
    /// Absent from the last listing. A direct read follows.
    Missing,
    /// A call had no answer, or an answer about another operation in progress. No call is made
    /// until this time, then the address is read.
    Uncertain(Time),
    /// The node of the address is not eligible.
    Unfit(Unfit),
    /// The node of the address is not eligible, and its grace period ends at this time.
    Grace(Unfit, Time),
    /// The address drifted. The hold-down ends at this time, then the address is moved back.
    Drift(Time),
    /// No longer listed by the pool, and being unassigned.
    Removed,
    /// No longer listed by the pool, but kept: the pool wants more addresses than it lists.
    Kept,
    /// No longer listed by the pool. Serves until every listed address is known to exist.
    AwaitsReplacement,
    /// No node of this cluster runs on the machine of the address.
    NoNode,
    /// The last attempt failed. The time is that of the next attempt.
    Failed(Text, Time),
    /// An assignment to this node is planned.
    Planned(NodeName),
    /// No eligible node has room. The census is left out of all but the first addresses of a large
    /// pool.
    NoRoom(Option<Arc<Census>>),
    /// The free nodes are taken by other addresses of this plan.
    SpokenFor,
    /// The cool-off of the pool ends at this time.
    CoolingOff(Time),
    /// Nodes are free, and this reason keeps the whole pool waiting.
    Waits(Box<Reason>, &'static PoolNames),
    /// The pool has more addresses than it wants.
    Surplus {
        /// Whether the address was reserved for the pool.
        reserved: bool,
    },
    /// The pool is being deleted, and the address is released first.
    Returning,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(owner) => write!(f, "{owner} has this address"),
            Self::Gone => f.write_str("the account has no such address"),
            Self::Unsupported(family) => {
                write!(
                    f,
                    "{family} addresses are not assigned at this provider; take this address out of the \
                     list"
                )
            }
            Self::Busy => f.write_str("the provider is working on the address"),
            Self::Missing => {
                f.write_str("the last listing did not show the address, which is being read")
            }
            Self::Uncertain(until) => {
                write!(f, "a call had no clear answer; left alone until {until}, then read again")
            }
            Self::Unfit(unfit) => write!(f, "its node does not match: {unfit}"),
            Self::Grace(unfit, until) => {
                write!(
                    f,
                    "its node does not match: {unfit}; the node keeps the address until {until}"
                )
            }
            Self::Drift(until) => {
                write!(
                    f,
                    "somebody else moved the address, which is left alone until {until}, then put back"
                )
            }
            Self::Removed => f.write_str("not listed any more; being taken off its node"),
            Self::Kept => f.write_str(
                "not listed any more, and kept: the pool wants more addresses than it lists",
            ),
            Self::AwaitsReplacement => f.write_str(
                "not listed any more; the address serves until every listed address exists",
            ),
            Self::NoNode => f.write_str("on a machine that is no node of this cluster"),
            Self::Failed(message, next) => write!(f, "{message}; next attempt at {next}"),
            Self::Planned(node) => write!(f, "about to be put on {node}"),
            Self::NoRoom(Some(census)) if census.eligible == 0 => write!(f, "{census}"),
            Self::NoRoom(Some(census)) => write!(f, "no eligible node is free; {census}"),
            Self::NoRoom(None) => {
                f.write_str("no eligible node is free; the conditions of the pool say why")
            }
            Self::SpokenFor => {
                f.write_str("the nodes that are free are about to be used by other addresses")
            }
            Self::CoolingOff(until) => write!(f, "cooling off, next assignment at {until}"),
            Self::Waits(reason, names) => reason.explain(f, names),
            Self::Surplus { reserved: true } => {
                f.write_str("reserved for this pool and not used: the pool wants fewer addresses")
            }
            Self::Surplus { reserved: false } => {
                f.write_str("not used: the pool wants fewer addresses")
            }
            Self::Returning => f.write_str("being released"),
        }
    }
}
