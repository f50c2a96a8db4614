//! What a plan asks to be done, and what came of it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
use crate::model::{
    AccountId, Family, Intent, Ledger, MachineId, NodeName, ObjectKey, OperationId, Record,
    RecordChange, RecordRequest, Sighting, Site, Text,
};

/// One thing to do. A comparable value: tests assert on it, executors carry it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read every address of an account.
    List {
        /// The account.
        account: AccountId,
        /// The families to list, in order.
        families: Vec<Family>,
        /// A move waits to be confirmed by it: it is a part of the failover.
        confirms: bool,
    },
    /// Read one address that a listing did not show.
    ReadAddress {
        /// The account.
        account: AccountId,
        /// The address.
        ip: IpAddr,
    },
    /// Ask how an accepted operation is getting on.
    ReadOperation {
        /// The account.
        account: AccountId,
        /// The address that it is about.
        ip: IpAddr,
        /// The operation.
        operation: OperationId,
    },
    /// Put an address on a node's machine, from wherever it is.
    Assign {
        /// The account.
        account: AccountId,
        /// The pool that it serves.
        pool: ObjectKey,
        /// The address.
        ip: IpAddr,
        /// The node.
        node: NodeName,
        /// The node's machine.
        machine: MachineId,
    },
    /// Take an address off its machine.
    Unassign {
        /// The account.
        account: AccountId,
        /// The pool that it belongs to.
        pool: ObjectKey,
        /// The address.
        ip: IpAddr,
        /// Why.
        why: Removal,
    },
    /// Give an address back to the cloud.
    Release {
        /// The account.
        account: AccountId,
        /// The pool that it was reserved for.
        pool: ObjectKey,
        /// The address.
        ip: IpAddr,
    },
    /// Write a pool's ledger, by compare-and-swap.
    WriteLedger {
        /// The pool.
        pool: ObjectKey,
        /// The object's identity: an equal name with another UID is not written.
        uid: Text,
        /// The version that this replaces.
        version: u64,
        /// What it shall say.
        ledger: Ledger,
        /// Where that changes whether the object is guarded: what others keep it from going
        /// for, which stays.
        guard: Option<Vec<Text>>,
    },
    /// Reserve an address, as an intent in the ledger says.
    Create {
        /// The account.
        account: AccountId,
        /// The pool that it is for.
        pool: ObjectKey,
        /// The intent.
        intent: Intent,
        /// The mark of the new address, where the provider keeps marks.
        mark: Option<Text>,
    },
    /// Write a node's marks of one family.
    Mark {
        /// The node.
        node: NodeName,
        /// The node's identity: an equal name with another UID is not marked.
        uid: Text,
        /// The family.
        family: Family,
        /// The mark; `None` removes it.
        mark: Option<Text>,
    },
    /// Find a name in DNS, and read what it lists.
    ReadRecords {
        /// The object that asks for it.
        owner: ObjectKey,
        /// The name, as the user writes it.
        request: RecordRequest,
        /// The kind of record: that which holds addresses of this family.
        family: Family,
    },
    /// Change what a name lists.
    ChangeRecords {
        /// The object that has the name.
        owner: ObjectKey,
        /// The name.
        site: Site,
        /// The kind of record: that which holds addresses of this family.
        family: Family,
        /// How.
        change: RecordChange,
    },
}

/// Why an address is taken off its machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It serves nobody there, and this pool needs the node.
    MakesRoom(ObjectKey),
    /// Its pool moves it to another node, and the provider needs two calls for that.
    Moves,
    /// Its pool names it no more.
    LeavesList,
    /// Its pool is being deleted, and it is given back next.
    Returned,
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakesRoom(pool) => write!(f, "it serves nobody there, and {pool} needs the node"),
            Self::Moves => f.write_str("it goes to another node, by two calls"),
            Self::LeavesList => f.write_str("it is not in spec.ips any more"),
            Self::Returned => f.write_str("its pool is being deleted, and it is given back"),
        }
    }
}

impl Action {
    /// The account that this is a call about addresses to, if it is one. What goes wrong with
    /// DNS says nothing of the addresses there.
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

    /// The account that this is a call about DNS to, if it is one.
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

    /// Whether this changes something at the cloud.
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

    /// Whether this changes something in Kubernetes.
    pub fn changes_cluster(&self) -> bool {
        matches!(self, Self::WriteLedger { .. } | Self::Mark { .. })
    }
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The action.
    pub action: Action,
    /// When it was sent: what it says is not younger than that.
    pub sent_at: Time,
    /// What came of it.
    pub result: Result<Done, Failure>,
    /// In `0.0..=1.0`, drawn by the executor, in thousandths: spreads the next attempt.
    pub jitter: u16,
}

/// An action that worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// `List`: every address that was shown.
    Listed(Vec<(IpAddr, Sighting)>),
    /// `ReadAddress`: the address, or that there is none.
    Read(Option<Sighting>),
    /// `ReadOperation`: its state.
    Operation(OperationState),
    /// `Assign`, `Unassign`: the effect is there.
    Effective,
    /// `Assign`, `Unassign`: the cloud works on it.
    Accepted(OperationId),
    /// `Release`: it does not exist any more.
    Released,
    /// `Create`: the new address, and whether it is on the intent's target already.
    Created {
        /// The address.
        ip: IpAddr,
        /// Open placement on the target; `None` if it is there, or none was asked.
        pending: Option<OperationId>,
    },
    /// `Create`: the new address, which is on no machine and not on its way to one, though
    /// the intent may have named one.
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
    /// `ReadRecords`: where the name is, and every record of the kind there.
    RecordsListed {
        /// Where.
        site: Site,
        /// The records.
        records: Vec<Record>,
    },
    /// `ChangeRecords`: the records that were created and updated, as they are now.
    RecordsChanged(Vec<Record>),
    /// `ChangeRecords`: a part of it; the rest was held back, and nothing else is open.
    RecordsChangedInPart {
        /// The records that were created and updated, as they are now.
        written: Vec<Record>,
        /// The records that are gone.
        deleted: Vec<Text>,
        /// How long the rest has to wait.
        wait: Duration,
        /// As in [`FailureKind::HeldBack`].
        pacing: bool,
    },
}

/// State of an accepted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// Still being worked on.
    Running,
    /// The effect is there.
    Done,
    /// The cloud gave up.
    Failed,
    /// The cloud does not know it.
    Unheard,
}

/// An action that did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What to decide by.
    pub kind: FailureKind,
    /// What to show.
    pub message: Text,
    /// The address as it was read back after a refusal.
    pub seen: Option<Sighting>,
}

/// What a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It was never sent: nothing happened.
    NotSent,
    /// The cloud says that the account must wait; nothing came of this request.
    Throttled {
        /// How long.
        wait: Duration,
    },
    /// We keep it back ourselves, so that the account's limit is not used up: nothing of it was
    /// sent.
    HeldBack {
        /// How long.
        wait: Duration,
        /// We pace ourselves; else the cloud has said that nothing, or little, is left.
        pacing: bool,
    },
    /// No answer: it may have happened, or may yet.
    NoAnswer,
    /// The cloud cannot now; nothing happened.
    Unavailable,
    /// The account's credentials are refused, or not enough.
    Refused,
    /// What it was about does not exist.
    NotFound,
    /// Something else is under way on the address or the machine.
    Busy,
    /// The account has no room for another address.
    Quota,
    /// It would be refused again.
    Rejected,
    /// The object changed in between (compare-and-swap).
    Conflict,
}

impl FailureKind {
    /// Whether the same would be refused again: a right is missing, a policy is in the way, or
    /// it is not valid.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Rejected)
    }

    /// Whether it says something of the account rather than of what was asked of it.
    pub(crate) fn is_of_account(self) -> bool {
        match self {
            Self::NotSent | Self::NoAnswer | Self::Unavailable | Self::Refused => true,
            // That is waited for by itself.
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
