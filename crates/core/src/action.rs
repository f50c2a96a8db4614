//! Actions of a plan, nested by subject, and their outcomes.
//!
//! An action describes itself: [`Action::effect`], [`Action::owner`], [`Action::account`], and its
//! words by [`Display`](fmt::Display). Restraint, log, metrics and events begin with these. The
//! operator adds the names of each action in metrics and events (`report/names.rs`), and tells some
//! actions apart: a reservation has a log line of its own, a move has events and metrics.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::Time;
pub use crate::addresses::action::{AddressAction, LedgerWrite, ListScope, Removal};
use crate::model::{AccountId, ObjectKey, OperationId, Record, Sighting, Site, Text};
pub use crate::nodes::action::{Eviction, MarkWrite};
pub use crate::records::action::RecordAction;
pub use crate::vips::action::{Deletion, EndpointWrite, IngressWrite, Version, VipAction};

/// One step of a plan, as a plain value: tests compare actions, executors carry them out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call about addresses to their provider.
    Address(AddressAction),
    /// A write of a pool's ledger.
    Ledger(LedgerWrite),
    /// A write of a node's mark.
    Mark(MarkWrite),
    /// The eviction of a pod.
    Evict(Eviction),
    /// A call about records to their DNS host.
    Record(RecordAction),
    /// A write for the VIPs of a Cluster.
    Vip(VipAction),
}

/// Kinds of action, by the place of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: a read.
    Reads,
    /// An address or a record at a provider.
    ChangesProvider,
    /// An object in Kubernetes.
    ChangesCluster,
}

impl Action {
    /// The place of the change, or a read.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Address(action) => action.effect(),
            Self::Record(action) => action.effect(),
            Self::Ledger(_) | Self::Mark(_) | Self::Evict(_) | Self::Vip(_) => {
                Effect::ChangesCluster
            }
        }
    }

    /// Whether the action changes an address or a record at a provider.
    pub fn changes_provider(&self) -> bool {
        self.effect() == Effect::ChangesProvider
    }

    /// Whether the action changes an object in Kubernetes.
    pub fn changes_cluster(&self) -> bool {
        self.effect() == Effect::ChangesCluster
    }

    /// The object that the action is for; `None` for reads that serve several objects.
    pub fn owner(&self) -> Option<&ObjectKey> {
        match self {
            Self::Address(action) => action.pool(),
            Self::Ledger(write) => Some(&write.pool),
            Self::Mark(write) => write.owner.as_ref(),
            Self::Evict(eviction) => Some(&eviction.owner),
            Self::Record(action) => Some(action.owner()),
            Self::Vip(action) => Some(action.cluster()),
        }
    }

    /// The account of a call to a provider.
    pub fn account(&self) -> Option<&AccountId> {
        match self {
            Self::Address(action) => Some(action.account()),
            Self::Record(action) => Some(action.account()),
            Self::Ledger(_) | Self::Mark(_) | Self::Evict(_) | Self::Vip(_) => None,
        }
    }
}

impl fmt::Display for Action {
    /// The action in words, to follow "would" or "failed to".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(action) => action.fmt(f),
            Self::Ledger(write) => write.fmt(f),
            Self::Mark(write) => write.fmt(f),
            Self::Evict(eviction) => eviction.fmt(f),
            Self::Record(action) => action.fmt(f),
            Self::Vip(action) => action.fmt(f),
        }
    }
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The action that ended.
    pub action: Action,
    /// When the call was sent. The result counts as of then.
    pub sent_at: Time,
    /// The answer, or the failure.
    pub result: Result<Done, Failure>,
    /// Random value in `0..=1000`, drawn by the executor to spread the next attempts.
    pub jitter: u16,
}

/// A finished action.
#[derive(Debug)]
pub struct Finished {
    /// The action and its result.
    pub outcome: Outcome,
    /// Duration of the action.
    pub took: Duration,
}

/// The result of a successful action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// [`AddressAction::List`]: every address shown.
    Listed(Vec<(IpAddr, Sighting)>),
    /// [`AddressAction::List`]: every address that the account lets us see, and what the account does
    /// not let us see.
    ListedInPart(Vec<(IpAddr, Sighting)>, Text),
    /// [`AddressAction::Read`]: the address, or `None` if the address does not exist.
    Read(Option<Sighting>),
    /// [`AddressAction::ReadOperation`]: the operation's state.
    Operation(OperationState),
    /// [`AddressAction::Assign`], [`AddressAction::Unassign`], [`AddressAction::RestoreEgress`]: the
    /// provider applied the change.
    Effective,
    /// [`AddressAction::Assign`], [`AddressAction::Unassign`], [`AddressAction::RestoreEgress`]: the
    /// provider accepted the call and carries out the operation.
    Accepted(OperationId),
    /// [`AddressAction::Release`]: the address no longer exists.
    Released,
    /// [`AddressAction::Create`]: the new address, on the intent's target or on the way there.
    Created {
        /// The new address, as the provider's answer names it.
        ip: IpAddr,
        /// The open operation that assigns the address; `None` once assigned, or without a target.
        pending: Option<OperationId>,
    },
    /// [`AddressAction::Create`]: the new address, on no machine and not on the way to a machine, even
    /// if the intent has a target.
    CreatedLoose {
        /// The new address, as the provider's answer names it.
        ip: IpAddr,
    },
    /// [`Action::Ledger`]: the object's version after the write.
    LedgerWritten {
        /// The pool's resource version, counted.
        version: u64,
    },
    /// [`Action::Mark`]: the node's version after the write.
    Marked {
        /// The node's resource version, counted.
        version: u64,
    },
    /// [`Action::Evict`]: the API server deletes the pod, or the pod is gone.
    Evicted,
    /// [`RecordAction::Read`]: the site of the name, and its records of the family.
    RecordsListed {
        /// The site, as the DNS host names it.
        site: Site,
        /// The records of the family; empty if the name has none.
        records: Vec<Record>,
    },
    /// [`RecordAction::Change`]: the created and updated records, as the DNS host stored them.
    RecordsChanged(Vec<Record>),
    /// [`RecordAction::Change`]: a part of the change was made; the rest was held back and not sent.
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
    /// [`VipAction::CreateClaim`], [`VipAction::KeepHolder`]: the object as written.
    VipCreated {
        /// UID of the object.
        uid: Text,
        /// The object's resource version, counted.
        version: u64,
    },
    /// [`VipAction::AdoptClaim`] and writes of a Cluster: the object's version after the write.
    VipWritten {
        /// The object's resource version, counted.
        version: u64,
    },
    /// [`VipAction::DeleteClaim`], [`VipAction::DropHolder`]: the object is being deleted, or gone.
    VipDeleted,
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
    /// The machine lost its own address to the attempt.
    pub displaced: bool,
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
    /// The object changed since the last read (compare-and-swap), or exists already.
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
        Self { kind, message: message.into(), seen: None, displaced: false }
    }
}
