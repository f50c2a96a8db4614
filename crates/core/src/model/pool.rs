//! Pools: which addresses, how many, on which nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::Time;
use crate::model::{AccountId, Family, MachineId, Mark, ObjectKey, Text};
use crate::nodes::Match;

/// An object that asks for addresses, in terms that are independent of fronts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Kind, namespace and name of the object.
    pub key: ObjectKey,
    /// UID of the object.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// Creation time: between equal claims, the older pool wins.
    pub created_at: Time,
    /// The request, or the defect of the spec.
    pub request: Result<Request, Finding>,
    /// Addresses listed in a spec that has a defect elsewhere, kept from other pools until the spec
    /// is fixed. `None` if the list cannot be read, or if `request` is valid.
    pub named: Option<Vec<IpAddr>>,
    /// Reserved addresses, and intents whose outcome is open.
    pub ledger: Ledger,
    /// The ledger annotation was removed from the object; `ledger` is the copy in the status.
    pub ledger_stripped: bool,
    /// The user's answer for an intent whose outcome is unknown.
    pub resolution: Option<Resolution>,
    /// The object is being deleted.
    pub deleting: bool,
    /// Whether reserved addresses are released when the object is deleted.
    pub releases: bool,
    /// Finalizers of other controllers.
    pub finalizers: Vec<Text>,
    /// Why the object is paused, in the user's words.
    pub paused: Option<Text>,
    /// State of each address, from the status.
    pub remembered: BTreeMap<IpAddr, Remembered>,
    /// When the pool's last assignment began, from the status.
    pub last_assignment: Option<Time>,
    /// Words for messages.
    pub names: &'static PoolNames,
}

/// Names that users of a kind know, for messages.
#[derive(Debug, PartialEq, Eq)]
pub struct PoolNames {
    /// The setting that releases reserved addresses with their pool.
    pub release: &'static str,
    /// The change of the object that keeps reserved addresses when their pool is deleted: a clause
    /// like `set this to that`.
    pub retain: &'static str,
    /// The annotation with the ledger.
    pub ledger: &'static str,
    /// The annotation with the user's answer for an intent whose outcome is unknown.
    pub resolution: &'static str,
    /// The roles with every right of the operator.
    pub roles: &'static str,
}

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The account of the addresses.
    pub account: AccountId,
    /// The region for new addresses.
    pub region: Option<Text>,
    /// Addresses that the user lists, in order, without duplicates.
    pub listed: Vec<IpAddr>,
    /// Finding for a list entry that is not an address.
    pub unreadable: Option<Finding>,
    /// Number of addresses to use; `None` uses every listed address.
    pub wanted: Option<usize>,
    /// Rules for eligible nodes.
    pub matching: Arc<Match>,
    /// Marks of the nodes that serve the pool's addresses.
    pub marks: &'static [Mark],
    /// Rule for pods on a node that lost its address. With `None` the pool never evicts a pod.
    pub evicts: Option<Evicts>,
    /// Longest time between two listings of the account; `None` for the usual interval.
    pub reread: Option<Duration>,
    /// Shortest time between two assignments of the pool.
    pub cool_off: Duration,
    /// Grace period: how long an ineligible node keeps its address, in case the node recovers.
    pub grace: Duration,
}

/// Rule for the pods of a workload on a node that lost its address. The same pods let a cordoned node
/// keep its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicts {
    /// The mark of nodes from which pods are to be evicted.
    pub note: &'static Mark,
    /// Whether pods are evicted.
    pub enabled: bool,
}

/// A defect of a spec or of the configuration, which only the user can fix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Stable word for conditions and events.
    pub reason: &'static str,
    /// The defect in words, and what to change in the spec or the configuration.
    pub message: Text,
}

/// Addresses reserved for a pool. The ledger is kept on the object and written by compare-and-swap
/// *before* a reservation is sent, so that a crash loses no address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Addresses reserved for the pool, in order.
    pub created: Vec<IpAddr>,
    /// Addresses that the user listed once, kept because the pool wants more than the list names.
    /// Never released.
    pub kept: Vec<IpAddr>,
    /// Our finalizer is set: the object stays until the addresses of the ledger are released.
    pub guarded: bool,
    /// Reservations that were about to be sent, or were sent.
    pub intents: Vec<Intent>,
    /// Account of the reserved addresses. Ledgers of earlier versions do not name theirs.
    pub account: Option<AccountId>,
}

impl Ledger {
    /// The account of reservations and reserved addresses, if other than `account`.
    pub fn elsewhere(&self, account: &AccountId) -> Option<&AccountId> {
        let holds = !self.created.is_empty() || !self.intents.is_empty();
        self.account.as_ref().filter(|own| holds && *own != account)
    }
}

/// The note of a reservation that may have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Identifier within the ledger.
    pub id: Text,
    /// Family of the address.
    pub family: Family,
    /// Region for the address; empty if none is named.
    pub region: Text,
    /// The machine to reserve the address on. Providers without marks show the result there.
    pub target: Option<MachineId>,
    /// Addresses of the account when the intent was written: the result cannot be among them.
    pub strangers: Vec<IpAddr>,
    /// Further addresses of the account at that time, which may be results of other open intents.
    /// Two like intents may each turn out to have the other's result.
    pub unsettled: Vec<IpAddr>,
}

/// The user's answer for an intent whose outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The intent reserved this address.
    Adopt(IpAddr),
    /// The intent reserved nothing.
    Nothing,
}

/// State of an address, as the status remembers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The pool has, or had, the address. A delisted address of the pool is still ours to unassign.
    pub had: bool,
    /// The address is, or was last seen, on a node of the pool.
    pub held: bool,
    /// The machine of the address when last seen with no call of ours under way.
    pub machine: Option<MachineId>,
    /// The address was last seen on no machine, with no call of ours under way.
    pub free: bool,
    /// When the node of the address stopped being eligible.
    pub ineligible_since: Option<Time>,
    /// When the address was last assigned.
    pub assigned_at: Option<Time>,
    /// Drift of the address.
    pub drift: Option<Drift>,
}

impl Remembered {
    /// Whether somebody else moved the address to this machine. An address whose place before is not
    /// known was not moved.
    pub(crate) fn is_moved_to(&self, machine: &MachineId) -> bool {
        let elsewhere = self.machine.as_ref().is_some_and(|before| before != machine);
        elsewhere || self.free || self.is_adrift()
    }

    /// Whether somebody else moved the address, which has not served the pool since.
    pub(crate) fn is_adrift(&self) -> bool {
        self.drift.as_ref().is_some_and(|drift| drift.from.is_some())
    }
}

/// Drift of an address: somebody else moved the address away from its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Number of such moves, with no long quiet time in between.
    pub times: u32,
    /// When the last move was found.
    pub at: Time,
    /// The machine before the move, until the address serves again.
    pub from: Option<MachineId>,
}
