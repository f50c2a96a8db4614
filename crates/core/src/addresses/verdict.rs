//! What a plan has to say of each object: reasons with parameters, and the one renderer
//! that makes words of them for conditions, events, commands and pages.
//!
//! Times in here are absolute, so that a verdict that stands is equal to itself a second
//! later and nothing is written again.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

pub use super::note::{Note, Obstacle, Precedence};
use crate::Time;
use crate::model::{Finding, MachineId, NodeName, ObjectKey, Remembered, Text};
use crate::nodes::Census;
use crate::verdict::{Outlook, Withheld};

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
    /// What rules out the other nodes; only if the pool lacks a node.
    pub census: Option<Arc<Census>>,
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

    /// On how many nodes they are: one node may hold an address of each family.
    fn nodes_served(&self) -> usize {
        let active = self.addresses.iter().filter(|one| one.state == State::Active);
        active.map(|one| &one.machine).collect::<BTreeSet<_>>().len()
    }

    /// How many addresses were reserved for the pool and are more than it wants.
    pub fn unused(&self) -> usize {
        let unused = |one: &&AddressVerdict| one.note == Some(Note::Surplus { reserved: true });
        self.addresses.iter().filter(unused).count()
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
    /// Another pool has one of the addresses, for this reason.
    Conflict(IpAddr, ObjectKey, Precedence),
    /// An address does not exist.
    AddressNotFound(IpAddr),
    /// New addresses are wanted, and it is not said where.
    RegionMissing,
    /// The API server refuses the annotation that remembers reserved addresses.
    LedgerRefused(Text),
    /// All is in place, and the API server refuses a node's annotation that says so.
    AnnotationRefused(NodeName, Text),
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
                let (served, eligible) = (self.nodes_served(), self.eligible);
                write!(f, "{wanted} {addresses} on {served} of {eligible} eligible {nodes}")?;
                return self.tell_unused(f);
            }
            _ if !self.is_heard() => {}
            Reason::Releasing(_) | Reason::ReleaseFailed(..) => {}
            _ if self.is_silenced() => {
                write!(f, "{active} of {wanted} in place when the cloud was last heard; ")?;
            }
            _ => write!(f, "{active} of {wanted} in place; ")?,
        }
        self.explain(f)?;
        self.tell_unused(f)
    }
}

impl Verdict {
    /// The reason in words, with what the verdict has to add to it.
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

    /// Addresses that were reserved and serve nobody cost money: how many, and the way out.
    fn tell_unused(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (addresses, they) = match self.unused() {
            0 => return Ok(()),
            1 => ("address is", "it is"),
            _ => ("addresses are", "they are"),
        };
        write!(
            f,
            "; {} reserved {addresses} not used, because desiredIPs is lower than it was: {they} \
             given back when the pool is deleted with deletionPolicy: Release, or forgotten when \
             released at the cloud by hand",
            self.unused()
        )
    }
}

fn listed(ips: &[IpAddr]) -> String {
    ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Reason {
    /// The reason in words.
    pub(crate) fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllAssigned => f.write_str("nothing to do"),
            Self::Releasing(ips) => write!(f, "being deleted; giving back {}", listed(ips)),
            Self::ReleaseFailed(message, next) => explain_unreleased(f, message, *next),
            Self::Assigning => f.write_str("assigning"),
            Self::Creating => f.write_str("reserving new addresses"),
            Self::Reading => f.write_str("the cloud account has not been read yet"),
            Self::Invalid(finding) | Self::PartlyInvalid(finding) | Self::NoAccount(finding) => {
                f.write_str(&finding.message)
            }
            Self::Conflict(ip, owner, why) => write!(f, "{ip} belongs to {owner}, {why}"),
            Self::AddressNotFound(ip) => write!(f, "the cloud account has no address {ip}"),
            Self::RegionMissing => f.write_str(
                "desiredIPs asks for more addresses than ips lists, and spec.region does not say \
                 where to reserve them",
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
                "the cloud refuses to reserve such an address: {message}; next attempt at {next}"
            ),
            Self::QuotaExceeded(message, next) => write!(
                f,
                "the account has no room for another address: {message}; next attempt at {next}"
            ),
            Self::CredentialsRefused(message) => {
                write!(f, "the cloud refuses the credentials: {message}; {RESTART_FOR_CREDENTIALS}")
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

const LEDGER: &str = "the annotation pontoon.dev/addresses of this object, without which no address \
                      is reserved or given back";

fn explain_unreleased(f: &mut fmt::Formatter<'_>, message: &str, next: Time) -> fmt::Result {
    write!(
        f,
        "being deleted; giving an address back failed: {message}; next attempt at {next}; set \
         deletionPolicy to Retain to keep it and let the pool go"
    )
}

fn explain_unwritten(f: &mut fmt::Formatter<'_>, what: &str, message: &str) -> fmt::Result {
    write!(
        f,
        "the API server refuses to write {what}: {message}. Grant what deploy/rbac.yaml grants, or \
         let the admission policy pass it; tried again within a minute"
    )
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
    f.write_str("no eligible node is free")?;
    name_nodes(f, ": ", holding)
}

/// What to do about credentials that are refused.
pub(crate) const RESTART_FOR_CREDENTIALS: &str =
    "replace the token and restart the operator, which reads its variables once";

/// How many nodes a message names.
const NAMED: usize = 3;

/// What is wrong with the first few nodes.
fn name_nodes(
    f: &mut fmt::Formatter<'_>,
    lead: &str,
    nodes: &[(NodeName, Obstacle)],
) -> fmt::Result {
    for (index, (node, obstacle)) in nodes.iter().take(NAMED).enumerate() {
        write!(f, "{}{node}: {obstacle}", if index == 0 { lead } else { "; " })?;
    }
    Ok(())
}
