//! The verdict of a plan about each pool: reasons with parameters, and the only renderer of their
//! text for conditions, events, commands and pages.
//!
//! Times are absolute. An unchanged verdict therefore stays equal to itself as time passes, and no
//! status is rewritten.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

pub use super::note::{Note, Obstacle, Precedence};
use crate::Time;
use crate::model::{Finding, MachineId, NodeName, ObjectKey, Remembered, Text};
use crate::nodes::Census;
use crate::verdict::{Outlook, Withheld};

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

/// The most important fact about a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Every wanted address is on an eligible node.
    AllAssigned,
    /// The pool is being deleted, and these addresses are released first.
    Releasing(Vec<IpAddr>),
    /// Releasing an address failed. The time is that of the next attempt.
    ReleaseFailed(Text, Time),
    /// An operation is in progress, or an assignment is planned.
    Assigning,
    /// New addresses are being reserved.
    Creating,
    /// The account has not been read yet.
    Reading,
    /// The spec is invalid.
    Invalid(Finding),
    /// A part of the spec is invalid. The rest is served.
    PartlyInvalid(Finding),
    /// The account cannot be used.
    NoAccount(Finding),
    /// Another pool owns a listed address, by this precedence.
    Conflict(IpAddr, ObjectKey, Precedence),
    /// The account has no address with this IP.
    AddressNotFound(IpAddr),
    /// The pool needs new addresses, and its spec names no region.
    RegionMissing,
    /// The API server refuses the ledger annotation.
    LedgerRefused(Text),
    /// Every address is in place, and the API server refuses the mark of a node.
    AnnotationRefused(NodeName, Text),
    /// A reservation had no answer, and one of these addresses may be its result.
    CreateOutcomeUnknown(Vec<IpAddr>),
    /// A reservation failed. The time is that of the next attempt.
    CreateFailed(Text, Time),
    /// The provider rejects the reservation. The time is that of the next attempt.
    CreateRejected(Text, Time),
    /// The account's quota of addresses is used up. The time is that of the next attempt.
    QuotaExceeded(Text, Time),
    /// The provider refuses the credentials.
    CredentialsRefused(Text),
    /// The provider's rate limit is used up until this time. No time if every address is in place.
    Throttled(Option<Time>),
    /// Calls are delayed until this time to stay within the rate limit.
    Pacing(Time),
    /// The provider does not answer, or reports an outage.
    CloudUnavailable(Text),
    /// An assignment failed. The time is that of the next attempt.
    AssignFailed(IpAddr, Text, Time),
    /// The cool-off of the pool ends at this time.
    CoolingOff(Time),
    /// The node of an address is not eligible, and its grace period ends at this time.
    InGrace(IpAddr, Time),
    /// Drift: the address was taken from its node from outside. The hold-down ends at this time.
    Drift(IpAddr, Time),
    /// No node is eligible.
    NoMatchingNode,
    /// Every eligible node is full. Holds obstacles of the first few.
    NoFreeNode(Vec<(NodeName, Obstacle)>),
}

impl Reason {
    /// Whether the account cannot be asked now.
    pub fn is_of_account(&self) -> bool {
        matches!(self, Self::CredentialsRefused(_) | Self::Throttled(_) | Self::CloudUnavailable(_))
    }

    /// Stable reason code for conditions, events and documentation.
    pub fn word(&self) -> &'static str {
        match self {
            Self::AllAssigned => "AllAssigned",
            Self::Releasing(_) => "Releasing",
            Self::ReleaseFailed(..) => "ReleaseFailed",
            Self::Assigning => "Assigning",
            Self::Creating => "Creating",
            Self::Reading => "ReadingCloud",
            Self::Invalid(finding) | Self::PartlyInvalid(finding) | Self::NoAccount(finding) => {
                finding.reason
            }
            Self::Conflict(..) => "Conflict",
            Self::AddressNotFound(_) => "AddressNotFound",
            Self::RegionMissing => "RegionMissing",
            Self::LedgerRefused(_) => "LedgerRefused",
            Self::AnnotationRefused(..) => "AnnotationRefused",
            Self::CreateOutcomeUnknown(_) => "CreateOutcomeUnknown",
            Self::CreateFailed(..) => "CreateFailed",
            Self::CreateRejected(..) => "CreateRejected",
            Self::QuotaExceeded(..) => "QuotaExceeded",
            Self::CredentialsRefused(_) => "CredentialsRefused",
            Self::Throttled(_) => "CloudThrottled",
            Self::Pacing(_) => "CloudPaced",
            Self::CloudUnavailable(_) => "CloudUnavailable",
            Self::AssignFailed(..) => "AssignFailed",
            Self::CoolingOff(_) => "CoolingOff",
            Self::InGrace(..) => "GracePeriod",
            Self::Drift(..) => "Drift",
            Self::NoMatchingNode => "NoMatchingNode",
            Self::NoFreeNode(_) => "NoFreeNode",
        }
    }

    /// Whether the reason needs patience, a node, or a person.
    pub fn outlook(&self) -> Outlook {
        match self {
            Self::AllAssigned => Outlook::Well,
            Self::Releasing(_)
            | Self::ReleaseFailed(..)
            | Self::Assigning
            | Self::Creating
            | Self::Reading
            | Self::CreateFailed(..)
            | Self::Throttled(_)
            | Self::Pacing(_)
            | Self::CloudUnavailable(_)
            | Self::AssignFailed(..)
            | Self::CoolingOff(_)
            | Self::InGrace(..)
            | Self::Drift(..) => Outlook::Working,
            Self::NoMatchingNode | Self::NoFreeNode(_) => Outlook::Waiting,
            Self::Invalid(_)
            | Self::PartlyInvalid(_)
            | Self::NoAccount(_)
            | Self::Conflict(..)
            | Self::AddressNotFound(_)
            | Self::RegionMissing
            | Self::LedgerRefused(_)
            | Self::AnnotationRefused(..)
            | Self::CreateOutcomeUnknown(_)
            | Self::CreateRejected(..)
            | Self::QuotaExceeded(..)
            | Self::CredentialsRefused(_) => Outlook::Stuck,
        }
    }
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
                self.reason.explain(f)
            }
            (Reason::CloudUnavailable(_), _) if !self.is_silenced() && self.withheld.is_none() => {
                self.reason.explain(f)?;
                f.write_str("; the next attempt is made within ten seconds")
            }
            _ => self.reason.explain(f),
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
             released when the pool is deleted with deletionPolicy: Release, or forgotten when \
             released at the provider by hand",
            self.unused()
        )
    }
}

fn listed(ips: &[IpAddr]) -> String {
    ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Reason {
    /// Writes the reason as text.
    pub(crate) fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllAssigned => f.write_str("nothing to do"),
            Self::Releasing(ips) => write!(f, "being deleted; releasing {}", listed(ips)),
            Self::ReleaseFailed(message, next) => explain_unreleased(f, message, *next),
            Self::Assigning => f.write_str("assigning"),
            Self::Creating => f.write_str("reserving new addresses"),
            Self::Reading => f.write_str("the provider's account has not been read yet"),
            Self::Invalid(finding) | Self::PartlyInvalid(finding) | Self::NoAccount(finding) => {
                f.write_str(&finding.message)
            }
            Self::Conflict(ip, owner, why) => write!(f, "{ip} belongs to {owner}, {why}"),
            Self::AddressNotFound(ip) => write!(f, "the account has no address {ip}"),
            Self::RegionMissing => f.write_str(
                "the pool wants more addresses than it lists, and names no region to reserve them \
                 in; name its region, or list more addresses",
            ),
            Self::LedgerRefused(message) => explain_unwritten(f, LEDGER, message),
            Self::AnnotationRefused(node, message) => {
                explain_unwritten(f, &format!("the annotation of node {node}"), message)
            }
            Self::CreateOutcomeUnknown(candidates) => explain_unknown(f, candidates),
            Self::CreateFailed(message, next) => {
                write!(f, "reserving an address failed: {message}; next attempt at {next}")
            }
            Self::CreateRejected(message, next) => write!(
                f,
                "the provider refuses to reserve such an address: {message}; next attempt at {next}"
            ),
            Self::QuotaExceeded(message, next) => write!(
                f,
                "the account has no room for another address: {message}; next attempt at {next}"
            ),
            Self::CredentialsRefused(message) => {
                write!(f, "the provider refuses the credentials: {message}; {REPLACE_CREDENTIALS}")
            }
            Self::Throttled(until) => explain_limit(f, *until),
            Self::Pacing(until) => {
                write!(f, "calls are paced to stay within the provider's rate limit until {until}")
            }
            Self::CloudUnavailable(message) => write!(f, "the provider does not answer: {message}"),
            Self::AssignFailed(ip, message, next) => {
                write!(f, "assigning {ip} failed: {message}; next attempt at {next}")
            }
            Self::CoolingOff(until) => write!(f, "cooling off, next assignment at {until}"),
            Self::InGrace(ip, until) => write!(
                f,
                "the node of {ip} does not match; the node may recover until {until} before the address \
                 is moved"
            ),
            Self::Drift(ip, until) => {
                write!(
                    f,
                    "somebody else took {ip} from its node; the address is put back at {until}"
                )
            }
            Self::NoMatchingNode => f.write_str("no node matches"),
            Self::NoFreeNode(holding) => explain_full(f, holding),
        }
    }
}

const LEDGER: &str = "the annotation pontoon.dev/addresses of this object, without which no address \
                      is reserved or released";

fn explain_unreleased(f: &mut fmt::Formatter<'_>, message: &str, next: Time) -> fmt::Result {
    write!(
        f,
        "being deleted; releasing an address failed: {message}; next attempt at {next}; set \
         deletionPolicy to Retain to keep the address and let the pool go"
    )
}

fn explain_unwritten(f: &mut fmt::Formatter<'_>, what: &str, message: &str) -> fmt::Result {
    write!(
        f,
        "the API server refuses to write {what}: {message}. Grant what the chart's roles grant, or \
         let the admission policy pass it; tried again within a minute"
    )
}

fn explain_unknown(f: &mut fmt::Formatter<'_>, candidates: &[IpAddr]) -> fmt::Result {
    write!(
        f,
        "a reservation had no answer, and the account has new addresses that nobody lists: {}. \
         Annotate the object with pontoon.dev/resolve-create=<address> if the reservation made one \
         of these, otherwise with pontoon.dev/resolve-create=none",
        listed(candidates)
    )
}

fn explain_limit(f: &mut fmt::Formatter<'_>, until: Option<Time>) -> fmt::Result {
    f.write_str("the provider's rate limit is used up")?;
    until.map_or(Ok(()), |until| write!(f, " until {until}"))
}

fn explain_full(f: &mut fmt::Formatter<'_>, holding: &[(NodeName, Obstacle)]) -> fmt::Result {
    f.write_str("no eligible node is free")?;
    name_nodes(f, ": ", holding)
}

/// Advice for refused credentials.
pub(crate) const REPLACE_CREDENTIALS: &str =
    "replace the token: in a file it counts within seconds, in a variable after a restart";

/// Number of nodes named in a message.
const MOST_NODES_NAMED: usize = 3;

/// Writes the obstacles of the first few nodes.
fn name_nodes(
    f: &mut fmt::Formatter<'_>,
    lead: &str,
    nodes: &[(NodeName, Obstacle)],
) -> fmt::Result {
    for (index, (node, obstacle)) in nodes.iter().take(MOST_NODES_NAMED).enumerate() {
        write!(f, "{}{node}: {obstacle}", if index == 0 { lead } else { "; " })?;
    }
    Ok(())
}
