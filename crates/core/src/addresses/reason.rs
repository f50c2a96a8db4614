//! Reasons of verdicts, with their parameters and their text.

use std::fmt;
use std::net::IpAddr;

use super::words::{
    explain_unknown, explain_unrecorded, explain_unreleased, explain_unwritten, listed,
};
use crate::Time;
use crate::model::{Finding, Mark, NodeName, ObjectKey, PoolNames, Text};
use crate::nodes::Unfit;
use crate::verdict::Outlook;

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
    AnnotationRefused(NodeName, &'static Mark, Text),
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

impl Reason {
    /// Writes the reason as text.
    pub(crate) fn explain(&self, f: &mut fmt::Formatter<'_>, names: &PoolNames) -> fmt::Result {
        match self {
            Self::AllAssigned => f.write_str("nothing to do"),
            Self::Releasing(ips) => write!(f, "being deleted; releasing {}", listed(ips)),
            Self::ReleaseFailed(message, next) => explain_unreleased(f, names, message, *next),
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
            Self::LedgerRefused(message) => explain_unrecorded(f, names, message),
            Self::AnnotationRefused(node, mark, message) => {
                explain_unwritten(f, names, &format!("the {mark} of node {node}"), message)
            }
            Self::CreateOutcomeUnknown(candidates) => explain_unknown(f, names, candidates),
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
pub(super) fn name_nodes(
    f: &mut fmt::Formatter<'_>,
    lead: &str,
    nodes: &[(NodeName, Obstacle)],
) -> fmt::Result {
    for (index, (node, obstacle)) in nodes.iter().take(MOST_NODES_NAMED).enumerate() {
        write!(f, "{}{node}: {obstacle}", if index == 0 { lead } else { "; " })?;
    }
    Ok(())
}

/// The rule by which one of two objects owns an address or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// The owner already has it, by its status.
    Has,
    /// The owner is older.
    Older,
    /// Both objects were created in the same second, and the owner has the smaller UID.
    SmallerUid,
}

impl Precedence {
    /// The rule by which `first` precedes `other`. Each pair says whether the object already has
    /// the address or name, and when the object was created.
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
            Self::Has => "whose status names it already",
            Self::Older => "which is older",
            Self::SmallerUid => {
                "which was created in the same second and has the smaller metadata.uid"
            }
        })
    }
}

/// The obstacle to an eligible node taking an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The node holds a stranger.
    HoldsOther(IpAddr),
    /// The node holds an address of another pool.
    HoldsOf(IpAddr, ObjectKey),
    /// The last attempt on the node failed. The time is that of the next attempt.
    Failed(Text, Time),
    /// The node runs on no known machine of the pool's cloud.
    NoMachine(Unfit),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HoldsOther(ip) => write!(
                f,
                "HoldsOtherAddress: the node holds {ip}, which no object lists; list the \
                 address in a pool, or unassign it at the provider"
            ),
            Self::HoldsOf(ip, pool) => write!(f, "the node holds {ip} of {pool}"),
            Self::Failed(message, next) => write!(f, "{message}; next attempt at {next}"),
            Self::NoMachine(unfit) => unfit.fmt(f),
        }
    }
}
