//! What there is to say of one address, of one node, and of who goes first, in words.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::verdict::Reason;
use crate::Time;
use crate::model::{Family, NodeName, ObjectKey, Text};
use crate::nodes::{Census, Unfit};

/// What keeps an address from being active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Another pool has it.
    Conflict(ObjectKey),
    /// The cloud has no such address.
    Gone,
    /// The provider has no addresses of this family.
    Unsupported(Family),
    /// The cloud is working on it for somebody else.
    Busy,
    /// A listing did not show it; it is being read.
    Missing,
    /// A call had no answer, or one that says that something else is under way; it is left
    /// alone until then, and read.
    Uncertain(Time),
    /// Its node is not eligible.
    Unfit(Unfit),
    /// Its node is not eligible, and keeps it until then for recovering.
    Grace(Unfit, Time),
    /// Somebody else moved it; it is left alone until then, and put back.
    Drift(Time),
    /// The pool names it no more: it is being taken off its node.
    Removed,
    /// The pool names it no more and keeps it: it wants more than it names.
    Kept,
    /// The pool names it no more, and names another that is not known to exist.
    AwaitsReplacement,
    /// Its machine is no node of this cluster.
    NoNode,
    /// The last attempt failed; the next one starts then.
    Failed(Text, Time),
    /// It is about to be put on this node.
    Planned(NodeName),
    /// No node is free for it; what rules nodes out, where that is not told too often already.
    NoRoom(Option<Arc<Census>>),
    /// Nodes are free, and others are about to use them.
    SpokenFor,
    /// The next assignment of its pool starts then.
    CoolingOff(Time),
    /// Nodes are free, and this keeps the whole pool waiting.
    Waits(Box<Reason>),
    /// The pool has more addresses than it wants; whether this one was reserved for it.
    Surplus {
        /// It was.
        reserved: bool,
    },
    /// The pool is being deleted, and the address given back first.
    Returning,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(owner) => write!(f, "{owner} has this address"),
            Self::Gone => f.write_str("the cloud account has no such address"),
            Self::Unsupported(family) => {
                write!(f, "the provider has no {family} addresses that can be assigned")
            }
            Self::Busy => f.write_str("the cloud is working on it"),
            Self::Missing => f.write_str("the last listing did not show it; reading it"),
            Self::Uncertain(until) => {
                write!(f, "a call had no clear answer; left alone until {until}, then read again")
            }
            Self::Unfit(unfit) => write!(f, "its node does not match: {unfit}"),
            Self::Grace(unfit, until) => {
                write!(f, "its node does not match: {unfit}; it keeps the address until {until}")
            }
            Self::Drift(until) => {
                write!(f, "somebody else moved it; it is left alone until {until}, then put back")
            }
            Self::Removed => f.write_str("not in spec.ips any more; being taken off its node"),
            Self::Kept => f.write_str(
                "not in spec.ips any more, and kept: desiredIPs asks for more than are listed",
            ),
            Self::AwaitsReplacement => f.write_str(
                "not in spec.ips any more; it serves until every address listed there exists",
            ),
            Self::NoNode => f.write_str("it is on a machine that is no node of this cluster"),
            Self::Failed(message, next) => write!(f, "{message}; next attempt at {next}"),
            Self::Planned(node) => write!(f, "about to be put on {node}"),
            Self::NoRoom(Some(census)) if census.eligible == 0 => write!(f, "{census}"),
            Self::NoRoom(Some(census)) => write!(f, "no eligible node is free; {census}"),
            Self::NoRoom(None) => f.write_str("no eligible node is free; the pool says why"),
            Self::SpokenFor => {
                f.write_str("the nodes that are free are about to be used by other addresses")
            }
            Self::CoolingOff(until) => write!(f, "cooling off, next assignment at {until}"),
            Self::Waits(reason) => reason.explain(f),
            Self::Surplus { reserved: true } => f.write_str(
                "reserved for this pool and not used: desiredIPs asks for fewer addresses",
            ),
            Self::Surplus { reserved: false } => {
                f.write_str("not used: desiredIPs asks for fewer addresses")
            }
            Self::Returning => f.write_str("being given back to the cloud"),
        }
    }
}

/// Why one of two objects that ask for the same thing has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// It has it already, by its status.
    Has,
    /// It is older.
    Older,
    /// Both were created in the same second, and its UID is the smaller one.
    SmallerUid,
}

impl Precedence {
    /// Why the first of two objects goes before the other; each is told by whether it has what
    /// both ask for, and when it was created.
    pub(crate) fn of(first: (bool, Time), other: (bool, Time)) -> Self {
        if first.0 && !other.0 {
            Self::Has
        } else if first.1 < other.1 {
            Self::Older
        } else {
            Self::SmallerUid
        }
    }
}

impl fmt::Display for Precedence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Has => "which has it already",
            Self::Older => "which is older",
            Self::SmallerUid => {
                "which was created in the same second and has the smaller metadata.uid"
            }
        })
    }
}

/// Why a node that matches cannot take an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It holds an address that no object lists.
    HoldsOther(IpAddr),
    /// It holds an address of another pool.
    HoldsOf(IpAddr, ObjectKey),
    /// The last attempt on it failed.
    Failed(Text, Time),
    /// It is on no machine of the pool's cloud, or does not say so.
    NoMachine(Unfit),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldsOther(ip) => write!(
                f,
                "HoldsOtherAddress: it holds {ip}, which no object lists; add it to spec.ips or \
                 unassign it at the cloud"
            ),
            Self::HoldsOf(ip, pool) => write!(f, "it holds {ip} of {pool}"),
            Self::Failed(message, next) => write!(f, "{message}; next attempt at {next}"),
            Self::NoMachine(unfit) => unfit.fmt(f),
        }
    }
}
