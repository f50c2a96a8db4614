//! The verdict of a plan about each pool, and the only renderer of its text for conditions, events,
//! commands and pages. Reasons and notes are parts of a verdict.
//!
//! Times are absolute. An unchanged verdict therefore stays equal to itself as time passes, and no
//! status is rewritten.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

pub use super::note::Note;
pub(crate) use super::reason::REPLACE_CREDENTIALS;
use super::reason::name_nodes;
pub use super::reason::{Obstacle, Precedence, Reason};
use crate::Time;
use crate::model::{MachineId, NodeName, PoolNames, Remembered, Text};
use crate::nodes::Census;
use crate::verdict::Withheld;

/// The verdict about one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The most important reason.
    pub reason: Reason,
    /// Each address of the pool, in the pool's order.
    pub addresses: Vec<AddressVerdict>,
    /// Number of addresses the pool wants.
    pub wanted: usize,
    /// Eligible nodes that could take an address now: the first hundred, by name.
    pub available: Vec<NodeName>,
    /// Number of eligible nodes with room, without the limit of `available`.
    pub available_count: usize,
    /// Number of eligible nodes, with or without room.
    pub eligible: usize,
    /// Rules that exclude nodes, with counts. Set only if the pool lacks a node.
    pub census: Option<Arc<Census>>,
    /// Eligible nodes without room for an address, and the obstacle. If the pool lacks a node, also
    /// nodes excluded only because their machine is unknown or in another cloud.
    pub unusable: Vec<(NodeName, Obstacle)>,
    /// Time of the answer to the pool's last assignment call.
    pub last_assignment: Option<Time>,
    /// Addresses reserved for the pool.
    pub created: Vec<IpAddr>,
    /// Addresses the pool no longer lists, but keeps.
    pub kept: Vec<IpAddr>,
    /// Failure of the last reservation. Cleared by a success, or when the pool lacks no address.
    pub creation_error: Option<Text>,
    /// Nodes without an address of the pool, from which pods of its workload are evicted.
    pub evicting: Vec<Evicting>,
    /// The gap in the account's listings, and the missing permission.
    pub limited: Option<Text>,
    /// Planned actions that are not executed. Filled in by the executor.
    pub withheld: Option<Withheld>,
    /// Words for messages.
    pub names: &'static PoolNames,
}

impl Verdict {
    /// Whether the place of every address is known.
    pub fn is_heard(&self) -> bool {
        !self.addresses.iter().any(|one| one.state == State::Unknown)
    }

    /// Whether the provider cannot be asked, and no address is known to be out of place.
    pub(crate) fn is_unheard(&self) -> bool {
        self.is_silenced() || (!self.is_heard() && self.reason.is_of_account())
    }

    /// Whether every wanted address was in place at the last listing, and the provider cannot be
    /// asked now.
    pub(crate) fn is_silenced(&self) -> bool {
        self.active() >= self.wanted && self.reason.is_of_account()
    }

    /// Number of addresses on eligible nodes.
    pub fn active(&self) -> usize {
        self.addresses.iter().filter(|one| one.state == State::Active).count()
    }

    /// Number of nodes with an active address. A node may hold an address of each family.
    fn nodes_served(&self) -> usize {
        let active = self.addresses.iter().filter(|one| one.state == State::Active);
        active.map(|one| &one.machine).collect::<BTreeSet<_>>().len()
    }

    /// Number of addresses reserved for the pool beyond its wanted number.
    pub fn unused(&self) -> usize {
        let unused = |one: &&AddressVerdict| one.note == Some(Note::Surplus { reserved: true });
        self.addresses.iter().filter(unused).count()
    }
}

/// Evictions from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicting {
    /// The node.
    pub node: NodeName,
    /// Number of pods that are still there.
    pub pods: usize,
    /// The last failure, with the pod.
    pub failure: Option<Text>,
}

/// The verdict about one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressVerdict {
    /// The address itself.
    pub ip: IpAddr,
    /// State for the status of the pool.
    pub state: State,
    /// The node of the address, or of its assignment in progress.
    pub node: Option<NodeName>,
    /// The machine of `node`, or the holder of the address if no node runs there.
    pub machine: Option<MachineId>,
    /// The provider ID of `node`, as the node gives it.
    pub provider_id: Option<Text>,
    /// Whether `node` is cordoned.
    pub cordoned: bool,
    /// The obstacle to being active.
    pub note: Option<Note>,
    /// Facts for the status, read back after a restart.
    pub memory: Remembered,
}

/// The state of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// On an eligible node, confirmed by a listing.
    Active,
    /// An operation is in progress.
    InProgress,
    /// An assignment failed, another pool owns the address, or the account has no such address.
    Error,
    /// On a machine without an eligible node.
    NoMatch,
    /// On no machine.
    Unassigned,
    /// Beyond the wanted number of the pool.
    Disabled,
    /// No longer listed by the pool, and not yet unassigned.
    Leaving,
    /// Not read yet. The previous status stands.
    Unknown,
}

impl fmt::Display for Verdict {
    /// The message of the pool: the number of addresses in place, then the reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (active, wanted) = (self.active(), self.wanted);
        if let Some(withheld) = &self.withheld {
            write!(f, "{}; ", withheld.by)?;
            if !withheld.would.is_empty() {
                return write!(f, "{active} of {wanted} in place; {withheld}");
            }
        }
        match &self.reason {
            Reason::Invalid(finding) | Reason::NoAccount(finding) => {
                return f.write_str(&finding.message);
            }
            Reason::AllAssigned => {
                let addresses = if wanted == 1 { "address" } else { "addresses" };
                let nodes = if self.eligible == 1 { "node" } else { "nodes" };
                let (served, eligible) = (self.nodes_served(), self.eligible);
                write!(f, "{wanted} {addresses} on {served} of {eligible} eligible {nodes}")?;
                self.tell_limited(f)?;
                return self.tell_unused(f);
            }
            _ if !self.is_heard() => {}
            Reason::Releasing(_) | Reason::ReleaseFailed(..) => {}
            _ if self.is_silenced() => {
                write!(f, "{active} of {wanted} in place when the provider was last heard; ")?;
            }
            _ => write!(f, "{active} of {wanted} in place; ")?,
        }
        self.explain(f)?;
        self.tell_limited(f)?;
        self.tell_unused(f)
    }
}

impl Verdict {
    /// Writes the reason, with details from the verdict.
    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, &self.census) {
            (Reason::NoMatchingNode, Some(census)) => {
                write!(f, "{census}")?;
                name_nodes(f, "; ", &self.unusable)
            }
            (Reason::NoFreeNode(_), Some(census)) => {
                write!(f, "{census}; ")?;
                self.reason.explain(f, self.names)
            }
            (Reason::CloudUnavailable(_), _) if !self.is_silenced() && self.withheld.is_none() => {
                self.reason.explain(f, self.names)?;
                f.write_str("; the next attempt is made within ten seconds")
            }
            _ => self.reason.explain(f, self.names),
        }
    }

    /// Writes what the account does not let us see.
    fn tell_limited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limited.as_ref().map_or(Ok(()), |limited| write!(f, "; {limited}"))
    }

    /// Writes the number of reserved but unused addresses, which cost money, and how to get rid of
    /// them.
    fn tell_unused(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (addresses, they) = match self.unused() {
            0 => return Ok(()),
            1 => ("address is", "it is"),
            _ => ("addresses are", "they are"),
        };
        write!(
            f,
            "; {} reserved {addresses} not used, because the pool wants fewer than before: {they} \
             released when the pool is deleted with {}, or forgotten when released at the provider \
             by hand",
            self.unused(),
            self.names.release
        )
    }
}
