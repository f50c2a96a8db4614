//! What a plan has to say of each object: reasons with parameters, and the one renderer
//! that makes words of them for conditions, events, commands and pages.
//!
//! Times in here are absolute, so that a verdict that stands is equal to itself a second
//! later and nothing is written again.

use std::fmt;
use std::net::IpAddr;

use crate::Time;
use crate::matching::Unfit;
use crate::model::{Finding, MachineId, NodeName, PoolKey, Remembered, Text};
use crate::restraint::Withheld;

/// How a pool is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The one thing to know.
    pub reason: Reason,
    /// Each address of the pool, in its order.
    pub addresses: Vec<AddressVerdict>,
    /// How many addresses are wanted.
    pub wanted: usize,
    /// Eligible nodes that could take an address now: the first hundred, by name.
    pub available: Vec<NodeName>,
    /// How many such nodes there are in all.
    pub available_count: usize,
    /// How many nodes are eligible at all.
    pub eligible: usize,
    /// Eligible nodes that cannot take an address, and why; if the pool lacks a node, also those
    /// that are not eligible for want of a machine alone.
    pub unusable: Vec<(NodeName, Obstacle)>,
    /// When the pool's last assignment began.
    pub last_assignment: Option<Time>,
    /// Addresses that were reserved for it.
    pub created: Vec<IpAddr>,
    /// Addresses that it names no more and keeps.
    pub kept: Vec<IpAddr>,
    /// Why the last reservation failed; none once one has worked, or none is wanted.
    pub creation_error: Option<Text>,
    /// What is not carried out; whoever executes the plan knows.
    pub withheld: Option<Withheld>,
}

impl Verdict {
    /// Whether the cloud has been heard on every address.
    pub fn is_heard(&self) -> bool {
        !self.addresses.iter().any(|one| one.state == State::Unknown)
    }

    /// Whether nothing is known to be lacking, and the cloud cannot be asked whether all is
    /// well.
    pub(crate) fn is_unheard(&self) -> bool {
        self.is_silenced() || (!self.is_heard() && self.reason.is_of_account())
    }

    /// Whether all was well when the cloud was last heard, and it cannot be asked now.
    pub(crate) fn is_silenced(&self) -> bool {
        self.active() >= self.wanted && self.reason.is_of_account()
    }

    /// How many addresses are where they should be.
    pub fn active(&self) -> usize {
        self.addresses.iter().filter(|one| one.state == State::Active).count()
    }
}

/// How one address is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressVerdict {
    /// The address.
    pub ip: IpAddr,
    /// Its state.
    pub state: State,
    /// The node that it is on, or on its way to.
    pub node: Option<NodeName>,
    /// That node's machine, or the machine that it is on if that is no node.
    pub machine: Option<MachineId>,
    /// What keeps it from being active.
    pub note: Option<Note>,
    /// What to remember of it.
    pub memory: Remembered,
}

/// The state of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// On an eligible node, confirmed by the cloud.
    Active,
    /// On its way.
    InProgress,
    /// Something is wrong with it.
    Error,
    /// On a machine that is not, or no longer, eligible.
    NoMatch,
    /// On no machine.
    Unassigned,
    /// More than the pool wants.
    Disabled,
    /// Not named by the pool any more, and not yet let go of.
    Leaving,
    /// The cloud has not been heard yet: what was said before stands.
    Unknown,
}

/// What keeps an address from being active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Another pool has it.
    Conflict(PoolKey),
    /// The cloud has no such address.
    Gone,
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
    /// Its machine is no node of this cluster.
    NoNode,
    /// The last attempt failed; the next one starts then.
    Failed(Text, Time),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(owner) => write!(f, "{owner} has this address"),
            Self::Gone => f.write_str("the cloud account has no such address"),
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
            Self::NoNode => f.write_str("it is on a machine that is no node of this cluster"),
            Self::Failed(message, next) => write!(f, "{message}; next attempt at {next}"),
        }
    }
}

/// Why a node that matches cannot take an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It holds an address that no object lists.
    HoldsOther(IpAddr),
    /// It holds an address of another pool.
    HoldsOf(IpAddr, PoolKey),
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

/// The one thing to know about a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Every wanted address is on an eligible node.
    AllAssigned,
    /// The object goes once these addresses are given back.
    Releasing(Vec<IpAddr>),
    /// Giving an address back failed; the next attempt starts then.
    ReleaseFailed(Text, Time),
    /// Some are on their way.
    Assigning,
    /// New addresses are being reserved.
    Creating,
    /// The account has not been read yet.
    Reading,
    /// The object cannot be understood.
    Invalid(Finding),
    /// A part of the object cannot be understood; the rest is served.
    PartlyInvalid(Finding),
    /// The account cannot be used.
    NoAccount(Finding),
    /// Another pool has one of the addresses.
    Conflict(IpAddr, PoolKey),
    /// An address does not exist.
    AddressNotFound(IpAddr),
    /// New addresses are wanted, and it is not said where.
    RegionMissing,
    /// A reservation may have made one of these addresses.
    CreateOutcomeUnknown(Vec<IpAddr>),
    /// A reservation failed; the next attempt starts then.
    CreateFailed(Text, Time),
    /// The cloud refuses to reserve such an address; tried again then.
    CreateRejected(Text, Time),
    /// The account has no room for another address.
    QuotaExceeded(Text, Time),
    /// The credentials are refused.
    CredentialsRefused(Text),
    /// The cloud asks us to wait until then; no time where nothing waits for it.
    Throttled(Option<Time>),
    /// We pace ourselves to stay within the rate limit, and go on then.
    Pacing(Time),
    /// The cloud does not answer, or says that it cannot.
    CloudUnavailable(Text),
    /// An assignment failed; the next attempt starts then.
    AssignFailed(IpAddr, Text, Time),
    /// The next assignment of this pool starts then.
    CoolingOff(Time),
    /// The node of an address is not eligible, and keeps it until then for recovering.
    InGrace(IpAddr, Time),
    /// Somebody else took an address from its node; it is left alone until then.
    Drift(IpAddr, Time),
    /// No node is eligible.
    NoMatchingNode,
    /// Nodes are eligible, and none of them is free; what the first few of them hold.
    NoFreeNode(Vec<(NodeName, Obstacle)>),
}

/// What a reason means for the one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// All is well.
    Well,
    /// Being worked on: it will change without anybody's help.
    Working,
    /// Nothing to do until the cluster changes.
    Waiting,
    /// Somebody has to act.
    Stuck,
}

impl Reason {
    /// Whether the account cannot be asked just now.
    fn is_of_account(&self) -> bool {
        matches!(self, Self::CredentialsRefused(_) | Self::Throttled(_) | Self::CloudUnavailable(_))
    }

    /// Stable word for conditions, events and documents.
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

    /// What it means for the one who waits.
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
            | Self::CreateOutcomeUnknown(_)
            | Self::CreateRejected(..)
            | Self::QuotaExceeded(..)
            | Self::CredentialsRefused(_) => Outlook::Stuck,
        }
    }
}

impl fmt::Display for Verdict {
    /// The message of the pool: how many addresses are in place, and what the reason says.
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
                return write!(
                    f,
                    "{wanted} {addresses} on {active} of {} eligible {nodes}",
                    self.eligible
                );
            }
            _ if !self.is_heard() => {}
            Reason::Releasing(_) | Reason::ReleaseFailed(..) => {}
            _ if self.is_silenced() => {
                write!(f, "{active} of {wanted} in place when the cloud was last heard; ")?;
            }
            _ => write!(f, "{active} of {wanted} in place; ")?,
        }
        self.reason.explain(f)?;
        match self.reason {
            Reason::NoMatchingNode => explain(f, &self.unusable),
            _ => Ok(()),
        }
    }
}

fn listed(ips: &[IpAddr]) -> String {
    ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Reason {
    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllAssigned => f.write_str("nothing to do"),
            Self::Releasing(ips) => write!(f, "being deleted; giving back {}", listed(ips)),
            Self::ReleaseFailed(message, next) => write!(
                f,
                "being deleted; giving an address back failed: {message}; next attempt at {next}; \
                 set deletionPolicy to Retain to keep it and let the pool go"
            ),
            Self::Assigning => f.write_str("assigning"),
            Self::Creating => f.write_str("reserving new addresses"),
            Self::Reading => f.write_str("the cloud account has not been read yet"),
            Self::Invalid(finding) | Self::PartlyInvalid(finding) | Self::NoAccount(finding) => {
                f.write_str(&finding.message)
            }
            Self::Conflict(ip, owner) => {
                write!(f, "{ip} belongs to {owner}, which had it first or is older")
            }
            Self::AddressNotFound(ip) => write!(f, "the cloud account has no address {ip}"),
            Self::RegionMissing => f.write_str(
                "desiredIPs asks for more addresses than ips lists, and spec.region does not say \
                 where to reserve them",
            ),
            Self::CreateOutcomeUnknown(candidates) => explain_unknown(f, candidates),
            Self::CreateFailed(message, next) => {
                write!(f, "reserving an address failed: {message}; next attempt at {next}")
            }
            Self::CreateRejected(message, next) => write!(
                f,
                "the cloud refuses to reserve such an address: {message}; tried again at {next}"
            ),
            Self::QuotaExceeded(message, next) => write!(
                f,
                "the account has no room for another address: {message}; next attempt at {next}"
            ),
            Self::CredentialsRefused(message) => {
                write!(f, "the cloud refuses the credentials: {message}")
            }
            Self::Throttled(until) => explain_limit(f, *until),
            Self::Pacing(until) => write!(f, "paced to keep the cloud's rate limit until {until}"),
            Self::CloudUnavailable(message) => write!(f, "the cloud does not answer: {message}"),
            Self::AssignFailed(ip, message, next) => {
                write!(f, "assigning {ip} failed: {message}; next attempt at {next}")
            }
            Self::CoolingOff(until) => write!(f, "cooling off, next assignment at {until}"),
            Self::InGrace(ip, until) => write!(
                f,
                "the node of {ip} does not match; it may recover until {until} before the address \
                 is moved"
            ),
            Self::Drift(ip, until) => {
                write!(f, "somebody else took {ip} from its node; it is put back at {until}")
            }
            Self::NoMatchingNode => f.write_str("no node matches"),
            Self::NoFreeNode(holding) => explain_full(f, holding),
        }
    }
}

fn explain_unknown(f: &mut fmt::Formatter<'_>, candidates: &[IpAddr]) -> fmt::Result {
    write!(
        f,
        "a reservation had no answer, and the account has new addresses that nobody lists: {}. \
         Annotate the object with pontoon.dev/resolve-create=<address> if one of them came of it, \
         or =none",
        listed(candidates)
    )
}

fn explain_limit(f: &mut fmt::Formatter<'_>, until: Option<Time>) -> fmt::Result {
    f.write_str("the cloud's rate limit is used up")?;
    until.map_or(Ok(()), |until| write!(f, " until {until}"))
}

fn explain_full(f: &mut fmt::Formatter<'_>, holding: &[(NodeName, Obstacle)]) -> fmt::Result {
    f.write_str("every node that matches holds an address already")?;
    explain(f, holding)
}

/// How many nodes a message names.
const NAMED: usize = 3;

/// What is wrong with the first few nodes.
fn explain(f: &mut fmt::Formatter<'_>, nodes: &[(NodeName, Obstacle)]) -> fmt::Result {
    for (index, (node, obstacle)) in nodes.iter().take(NAMED).enumerate() {
        write!(f, "{} {node}: {obstacle}", if index == 0 { ":" } else { ";" })?;
    }
    Ok(())
}
