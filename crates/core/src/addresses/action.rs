//! Actions on addresses and on the ledgers of pools.

use std::fmt;
use std::net::IpAddr;

use crate::action::Effect;
use crate::model::{
    AccountId, Family, Intent, Ledger, MachineId, NodeName, ObjectKey, OperationId, Text,
};

/// A call about addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressAction {
    /// List every address of an account.
    List {
        /// Account to list. The answer serves every pool of the account.
        account: AccountId,
        /// The families to list, in order.
        families: Vec<Family>,
        /// Whether an open operation waits for the listing's confirmation, which makes the listing
        /// a part of a failover.
        confirms: bool,
        /// The machines and addresses that the listing is about, for a provider that needs them.
        scope: ListScope,
    },
    /// Give a machine its own address again, by which it reaches the Internet, if it has none. Left
    /// to do after a crash in the middle of an assignment or unassignment.
    RestoreEgress {
        /// Account of the provider that has the machine.
        account: AccountId,
        /// A pool of the account, on whose behalf the call is made.
        pool: ObjectKey,
        /// Node with the note that its machine lacks an address; `None` for a machine that had no node
        /// to note.
        node: Option<NodeName>,
        /// Machine of the node, which the call names.
        machine: MachineId,
    },
    /// Read an address that is missing from a listing.
    Read {
        /// Account whose listing lacks the address.
        account: AccountId,
        /// Address that some pool has.
        ip: IpAddr,
    },
    /// Read the state of an accepted operation.
    ReadOperation {
        /// Account of the address.
        account: AccountId,
        /// The address of the operation.
        ip: IpAddr,
        /// Identifier from the provider's answer to the call.
        operation: OperationId,
    },
    /// Assign an address to a node's machine, from any other machine or from none.
    Assign {
        /// Account of the address and of the machine.
        account: AccountId,
        /// The owner of the address.
        pool: ObjectKey,
        /// Address to assign.
        ip: IpAddr,
        /// Node that is to serve the address.
        node: NodeName,
        /// Machine of the node, which the call names.
        machine: MachineId,
    },
    /// Unassign an address.
    Unassign {
        /// Account of the address.
        account: AccountId,
        /// The pool of the address.
        pool: ObjectKey,
        /// Address to take off its machine.
        ip: IpAddr,
        /// Why the address leaves its machine.
        why: Removal,
    },
    /// Release an address.
    Release {
        /// Account of the address.
        account: AccountId,
        /// The pool that the address was reserved for.
        pool: ObjectKey,
        /// Address to give up for good.
        ip: IpAddr,
    },
    /// Reserve an address for an intent of the ledger.
    Create {
        /// Account in which the address is reserved.
        account: AccountId,
        /// The pool of the intent.
        pool: ObjectKey,
        /// Intent, in the pool's ledger since before the call.
        intent: Intent,
        /// The mark of the new address, where the provider keeps marks.
        mark: Option<Text>,
    },
}

/// The subjects of a listing. Empty for providers that list a whole account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListScope {
    /// Machines of nodes that may have an address.
    pub machines: Vec<MachineId>,
    /// Addresses that pools have.
    pub addresses: Vec<IpAddr>,
}

impl AddressAction {
    /// Whether the call reads, or changes the provider.
    pub fn effect(&self) -> Effect {
        match self {
            Self::List { .. } | Self::Read { .. } | Self::ReadOperation { .. } => Effect::Reads,
            Self::Assign { .. }
            | Self::Unassign { .. }
            | Self::Release { .. }
            | Self::RestoreEgress { .. }
            | Self::Create { .. } => Effect::ChangesProvider,
        }
    }

    /// The account of the call.
    pub fn account(&self) -> &AccountId {
        match self {
            Self::List { account, .. }
            | Self::Read { account, .. }
            | Self::ReadOperation { account, .. }
            | Self::Assign { account, .. }
            | Self::Unassign { account, .. }
            | Self::Release { account, .. }
            | Self::RestoreEgress { account, .. }
            | Self::Create { account, .. } => account,
        }
    }

    /// The pool that the call is for; `None` for reads, which serve every pool of the account.
    pub fn pool(&self) -> Option<&ObjectKey> {
        match self {
            Self::List { .. } | Self::Read { .. } | Self::ReadOperation { .. } => None,
            Self::Assign { pool, .. }
            | Self::Unassign { pool, .. }
            | Self::Release { pool, .. }
            | Self::RestoreEgress { pool, .. }
            | Self::Create { pool, .. } => Some(pool),
        }
    }
}

impl fmt::Display for AddressAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List { account, .. } => write!(f, "list the addresses of {account}"),
            Self::Read { ip, .. } => write!(f, "read {ip}"),
            Self::ReadOperation { ip, .. } => write!(f, "read the operation on {ip}"),
            Self::Assign { ip, node, .. } => write!(f, "assign {ip} to {node}"),
            Self::Unassign { ip, .. } => write!(f, "unassign {ip}"),
            Self::Release { ip, .. } => write!(f, "release {ip}"),
            Self::RestoreEgress { node: Some(node), .. } => {
                write!(f, "restore the own address of {node}")
            }
            Self::RestoreEgress { machine, .. } => {
                write!(f, "restore the own address of {machine}")
            }
            Self::Create { intent, .. } => reserve(f, 1, &intent.region),
        }
    }
}

/// A write of a pool's ledger, by compare-and-swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerWrite {
    /// Pool whose annotation holds the ledger.
    pub pool: ObjectKey,
    /// UID of the pool. A new object of the same name is not written.
    pub uid: Text,
    /// The resource version before the write.
    pub version: u64,
    /// The new content of the ledger.
    pub ledger: Ledger,
    /// Number of new intents, which are the last of the ledger.
    pub new_intents: usize,
    /// Set when our finalizer is added or removed: the finalizers of other controllers, which the
    /// patch must keep.
    pub guard: Option<Vec<Text>>,
}

impl fmt::Display for LedgerWrite {
    /// A new intent is described as the reservation that follows the write.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ledger.intents.last().filter(|_| self.new_intents > 0) {
            Some(last) => reserve(f, self.new_intents, &last.region),
            None => f.write_str("write the pool's ledger"),
        }
    }
}

fn reserve(f: &mut fmt::Formatter<'_>, count: usize, region: &str) -> fmt::Result {
    match count {
        1 => f.write_str("reserve an address")?,
        more => write!(f, "reserve {more} addresses")?,
    }
    match region {
        "" => Ok(()),
        region => write!(f, " in {region}"),
    }
}

/// Why an address is unassigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The address does not serve on its node, and the given pool needs the node.
    MakesRoom(ObjectKey),
    /// The pool no longer lists the address, whose replacement does not exist, and the given pool
    /// needs the node.
    Yields(ObjectKey),
    /// The pool moves the address to another node, and the provider needs two calls for a move.
    Moves,
    /// The node of the address was drained, and no other node can take the address.
    Drained,
    /// The pool no longer lists the address.
    LeavesList,
    /// The pool is being deleted, and the address is released next.
    Returned,
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakesRoom(pool) => {
                write!(f, "the address serves nobody there, and {pool} needs the node")
            }
            Self::Yields(pool) => {
                write!(f, "its pool no longer lists the address, and {pool} needs the node")
            }
            Self::Moves => f.write_str("the address goes to another node, by two calls"),
            Self::Drained => f.write_str("its node is drained, and no other node is free"),
            Self::LeavesList => f.write_str("its pool no longer lists the address"),
            Self::Returned => {
                f.write_str("its pool is being deleted, and the address is released next")
            }
        }
    }
}
