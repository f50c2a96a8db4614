//! Operations: changes that a vendor accepts now and carries out later (some call them actions).

use std::net::IpAddr;

use tokio::time::Instant;

use crate::store::{Address, MachineId};

/// Type and subject of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// An address was reserved.
    Reserve {
        /// The reserved address.
        ip: IpAddr,
    },
    /// Assigns an address to a machine, away from any current holder.
    Assign {
        /// The address to assign.
        ip: IpAddr,
        /// The new holder.
        machine: MachineId,
        /// Whether the operation fails if the machine then holds another address of the family.
        alone: bool,
    },
    /// Unassigns an address from its holder.
    Unassign {
        /// The address to unassign.
        ip: IpAddr,
        /// The holder when the operation began.
        machine: Option<MachineId>,
    },
    /// Attaches an external address to an interface of a machine. Fails if the interface has one,
    /// or if another interface has the address.
    Attach {
        /// The reserved address; `None`: a new address of the machine's own.
        ip: Option<IpAddr>,
        /// The machine.
        machine: MachineId,
        /// The number of the interface.
        interface: usize,
        /// The name of the attachment.
        name: String,
    },
    /// Detaches the external address of an interface, if it has one.
    Detach {
        /// The reserved address when the operation began; `None`: an address of the machine's own.
        ip: Option<IpAddr>,
        /// The machine.
        machine: MachineId,
        /// The number of the interface.
        interface: usize,
    },
    /// Reserves an address, which does not exist before the end.
    Create {
        /// The address as it will be.
        address: Box<Address>,
    },
    /// Releases an address. Fails if a machine holds it.
    Release {
        /// The address as it was.
        address: Box<Address>,
    },
    /// An event that keeps an address busy without an effect.
    AddressEvent {
        /// The busy address.
        ip: IpAddr,
    },
    /// A boot, resize or snapshot: keeps a machine busy without an effect.
    MachineEvent {
        /// The busy machine.
        machine: MachineId,
        /// The vendor's name of the event: `resize`, `snapshot`, ...
        what: String,
    },
}

impl OperationKind {
    /// The concerned address, if any.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match *self {
            Self::Reserve { ip }
            | Self::Assign { ip, .. }
            | Self::Unassign { ip, .. }
            | Self::AddressEvent { ip } => Some(ip),
            Self::Attach { ip, .. } | Self::Detach { ip, .. } => ip,
            Self::Create { ref address } | Self::Release { ref address } => Some(address.ip),
            Self::MachineEvent { .. } => None,
        }
    }

    /// The concerned machine, if any.
    #[must_use]
    pub fn machine(&self) -> Option<MachineId> {
        match *self {
            Self::Assign { machine, .. }
            | Self::Attach { machine, .. }
            | Self::Detach { machine, .. }
            | Self::MachineEvent { machine, .. } => Some(machine),
            Self::Unassign { machine, .. } => machine,
            Self::Reserve { .. }
            | Self::Create { .. }
            | Self::Release { .. }
            | Self::AddressEvent { .. } => None,
        }
    }
}

/// Progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationStatus {
    /// Accepted, still without effect.
    InProgress,
    /// Ended, reported as successful.
    Completed,
    /// Ended without effect.
    Errored,
}

/// The reason why an operation had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The address or the machine did not exist any more.
    Gone,
    /// The address was in use.
    InUse,
    /// The machine had an address already.
    Occupied,
    /// A fault of the vendor's.
    Unexplained,
}

/// Planned end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Takes effect, unless address or machine are gone.
    Succeeds,
    /// Ends as errored, without effect.
    Errors,
    /// Ends as completed, without effect.
    Ignored,
}

/// A change that the vendor carries out after its answer.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Unique within a cloud, increasing.
    pub id: u64,
    /// Type and subject of the operation.
    pub kind: OperationKind,
    /// Region slug of the address or machine.
    pub region: String,
    /// Progress as reads report it.
    pub status: OperationStatus,
    /// Time of acceptance.
    pub started: Instant,
    /// Planned time of the end.
    pub due: Instant,
    /// Actual time of the end.
    pub completed: Option<Instant>,
    /// The reason of an end without effect.
    pub failure: Option<Failure>,
    /// The idempotent request that started the operation: the caller's id, and the target.
    pub(crate) request: Option<(String, String)>,
    pub(crate) hidden_until: Instant,
    pub(crate) fate: Fate,
}
