//! Actions of a plan, and their outcomes.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::model::{
    AccountId, Family, Intent, Ledger, MachineId, Mark, NodeName, ObjectKey, OperationId, Record,
    RecordChange, RecordRequest, Sighting, Site, Text,
};

/// One step of a plan, as a plain value: tests compare actions, executors carry them out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// List every address of an account.
    List {
        /// The account.
        account: AccountId,
        /// The families to list, in order.
        families: Vec<Family>,
        /// Whether an open operation waits for the listing's confirmation, which makes the listing
        /// a part of a failover.
        confirms: bool,
    },
    /// Read an address that is missing from a listing.
    ReadAddress {
        /// The account.
        account: AccountId,
        /// The address.
        ip: IpAddr,
    },
    /// Read the state of an accepted operation.
    ReadOperation {
        /// The account.
        account: AccountId,
        /// The address of the operation.
        ip: IpAddr,
        /// The operation.
        operation: OperationId,
    },
    /// Assign an address to a node's machine, from any other machine or from none.
    Assign {
        /// The account.
        account: AccountId,
        /// The owner of the address.
        pool: ObjectKey,
        /// The address.
        ip: IpAddr,
        /// The node.
        node: NodeName,
        /// The node's machine.
        machine: MachineId,
    },
    /// Unassign an address.
    Unassign {
        /// The account.
        account: AccountId,
        /// The pool of the address.
        pool: ObjectKey,
        /// The address.
        ip: IpAddr,
        /// The reason.
        why: Removal,
    },
    /// Release an address.
    Release {
        /// The account.
        account: AccountId,
        /// The pool that the address was reserved for.
        pool: ObjectKey,
        /// The address.
        ip: IpAddr,
    },
    /// Write a pool's ledger, by compare-and-swap.
    WriteLedger {
        /// The pool.
        pool: ObjectKey,
        /// UID of the pool. A new object of the same name is not written.
        uid: Text,
        /// The resource version before the write.
        version: u64,
        /// The new content of the ledger.
        ledger: Ledger,
        /// Set when our finalizer is added or removed: the finalizers of other controllers, which
        /// the patch must keep.
        guard: Option<Vec<Text>>,
    },
    /// Reserve an address for an intent of the ledger.
    Create {
        /// The account.
        account: AccountId,
        /// The pool of the intent.
        pool: ObjectKey,
        /// The intent.
        intent: Intent,
        /// The mark of the new address, where the provider keeps marks.
        mark: Option<Text>,
    },
    /// Write a mark of a node.
    Mark {
        /// The node.
        node: NodeName,
        /// UID of the node. A new node of the same name is not marked.
        uid: Text,
        /// The mark.
        mark: &'static Mark,
        /// The value; `None` removes the mark.
        value: Option<Text>,
    },
    /// Find a name at the DNS host, and read its records of one family.
    ReadRecords {
        /// The object that asks for the name.
        owner: ObjectKey,
        /// The request, with zone and name as the user writes them.
        request: RecordRequest,
        /// The family of the addresses in the records.
        family: Family,
    },
    /// Change the records of a name.
    ChangeRecords {
        /// The owner of the name.
        owner: ObjectKey,
        /// The name at the DNS host.
        site: Site,
        /// The family of the addresses in the records.
        family: Family,
        /// The records to create, update and delete.
        change: RecordChange,
    },
}

/// Why an address is unassigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The address does not serve on its node, and the given pool needs the node.
    MakesRoom(ObjectKey),
    /// The pool moves the address to another node, and the provider needs two calls for a move.
    Moves,
    /// The pool no longer lists the address.
    LeavesList,
    /// The pool is being deleted, and the address is released next.
    Returned,
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakesRoom(pool) => write!(f, "it serves nobody there, and {pool} needs the node"),
            Self::Moves => f.write_str("it goes to another node, by two calls"),
            Self::LeavesList => f.write_str("its pool does not list it any more"),
            Self::Returned => f.write_str("its pool is being deleted, and it is given back"),
        }
    }
}

impl Action {
    /// The account of a call about addresses; `None` for other actions. Failures of DNS calls say
    /// nothing about the addresses of the account.
    pub fn account(&self) -> Option<&AccountId> {
        match self {
            Self::List { account, .. }
            | Self::ReadAddress { account, .. }
            | Self::ReadOperation { account, .. }
            | Self::Assign { account, .. }
            | Self::Unassign { account, .. }
            | Self::Release { account, .. }
            | Self::Create { account, .. } => Some(account),
            Self::WriteLedger { .. }
            | Self::Mark { .. }
            | Self::ReadRecords { .. }
            | Self::ChangeRecords { .. } => None,
        }
    }

    /// The account of a call about DNS; `None` for other actions.
    pub fn record_account(&self) -> Option<&AccountId> {
        match self {
            Self::ReadRecords { request, .. } => Some(&request.account),
            Self::ChangeRecords { site, .. } => Some(&site.account),
            Self::List { .. }
            | Self::ReadAddress { .. }
            | Self::ReadOperation { .. }
            | Self::Assign { .. }
            | Self::Unassign { .. }
            | Self::Release { .. }
            | Self::Create { .. }
            | Self::WriteLedger { .. }
            | Self::Mark { .. } => None,
        }
    }

    /// Whether the action changes an address or a record at a provider.
    pub fn changes_cloud(&self) -> bool {
        match self {
            Self::Assign { .. }
            | Self::Unassign { .. }
            | Self::Release { .. }
            | Self::Create { .. }
            | Self::ChangeRecords { .. } => true,
            Self::List { .. }
            | Self::ReadAddress { .. }
            | Self::ReadOperation { .. }
            | Self::ReadRecords { .. }
            | Self::WriteLedger { .. }
            | Self::Mark { .. } => false,
        }
    }

    /// Whether the action changes an object in Kubernetes.
    pub fn changes_cluster(&self) -> bool {
        matches!(self, Self::WriteLedger { .. } | Self::Mark { .. })
    }
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The action.
    pub action: Action,
    /// When the call was sent. The result counts as of then.
    pub sent_at: Time,
    /// The answer, or the failure.
    pub result: Result<Done, Failure>,
    /// Random value in `0..=1000`, drawn by the executor to spread the next attempts.
    pub jitter: u16,
}

/// The result of a successful action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// `List`: every address shown.
    Listed(Vec<(IpAddr, Sighting)>),
    /// `ReadAddress`: the address, or `None` if the address does not exist.
    Read(Option<Sighting>),
    /// `ReadOperation`: the operation's state.
    Operation(OperationState),
    /// `Assign`, `Unassign`: the provider applied the change.
    Effective,
    /// `Assign`, `Unassign`: the provider accepted the call and carries out the operation.
    Accepted(OperationId),
    /// `Release`: the address no longer exists.
    Released,
    /// `Create`: the new address, on the intent's target or on the way there.
    Created {
        /// The address.
        ip: IpAddr,
        /// The open operation that assigns the address; `None` once assigned, or without a target.
        pending: Option<OperationId>,
    },
    /// `Create`: the new address, on no machine and not on the way to a machine, even if the intent
    /// has a target.
    CreatedLoose {
        /// The address.
        ip: IpAddr,
    },
    /// `WriteLedger`: the object's version after the write.
    LedgerWritten {
        /// The version.
        version: u64,
    },
    /// `Mark`: the node's version after the write.
    Marked {
        /// The version.
        version: u64,
    },
    /// `ReadRecords`: the site of the name, and its records of the family.
    RecordsListed {
        /// The site, as the DNS host names it.
        site: Site,
        /// The records.
        records: Vec<Record>,
    },
    /// `ChangeRecords`: the created and updated records, as the DNS host stored them.
    RecordsChanged(Vec<Record>),
    /// `ChangeRecords`: a part of the change was made; the rest was held back and not sent.
    RecordsChangedInPart {
        /// The created and updated records, as the DNS host stored them.
        written: Vec<Record>,
        /// Identifiers of the deleted records.
        deleted: Vec<Text>,
        /// The wait before the rest may be sent.
        wait: Duration,
        /// As in [`FailureKind::HeldBack`].
        pacing: bool,
    },
}

/// State of an accepted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// The provider still works on the operation.
    Running,
    /// The change is applied.
    Done,
    /// The provider gave up.
    Failed,
    /// The provider does not know the operation.
    Unheard,
}

/// The failure of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind, for decisions.
    pub kind: FailureKind,
    /// The text, for messages.
    pub message: Text,
    /// The address as read back after a refusal.
    pub seen: Option<Sighting>,
}

/// Kinds of failure, by consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The call was never sent: nothing changed.
    NotSent,
    /// The provider asks the account to wait; the call had no effect.
    Throttled {
        /// Length of the wait.
        wait: Duration,
    },
    /// The call was not sent, to keep within the account's rate limit.
    HeldBack {
        /// Length of the wait.
        wait: Duration,
        /// True for our own pacing; false if the provider said that little or nothing of the limit
        /// is left.
        pacing: bool,
    },
    /// No answer: the call may have taken effect, or may still.
    NoAnswer,
    /// The provider is unavailable; nothing changed.
    Unavailable,
    /// The account's credentials are refused, or lack a right.
    Refused,
    /// The subject of the call does not exist.
    NotFound,
    /// Another operation is under way on the address or the machine.
    Busy,
    /// The account has no room for another address, or the zone for another record.
    Quota,
    /// The same call would be refused again.
    Rejected,
    /// The object changed since the last read (compare-and-swap).
    Conflict,
}

impl FailureKind {
    /// Whether the same call would be refused again: a missing right, a policy, or an invalid
    /// value.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Rejected)
    }

    /// Whether the failure concerns the account rather than the subject of the call.
    pub(crate) fn is_of_account(self) -> bool {
        match self {
            Self::NotSent | Self::NoAnswer | Self::Unavailable | Self::Refused => true,
            // Rate limits come with a wait of their own.
            Self::Throttled { .. } | Self::HeldBack { .. } => false,
            Self::NotFound | Self::Busy | Self::Quota | Self::Rejected | Self::Conflict => false,
        }
    }
}

impl Failure {
    /// A failure without a read-back.
    pub fn plain(kind: FailureKind, message: impl Into<Text>) -> Self {
        Self { kind, message: message.into(), seen: None }
    }
}
