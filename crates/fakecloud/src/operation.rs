//! Operations: changes that a vendor accepts now and carries out later (DigitalOcean and Hetzner call them actions).

use std::net::IpAddr;

use tokio::time::Instant;

use crate::store::MachineId;

/// What an operation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// An address was reserved.
    Reserve {
        /// The address.
        ip: IpAddr,
    },
    /// An address goes to a machine, away from whoever holds it.
    Assign {
        /// The address.
        ip: IpAddr,
        /// The machine that will hold it.
        machine: MachineId,
        /// Whether it fails should the machine hold another address of the family by then.
        alone: bool,
    },
    /// An address is taken from its holder.
    Unassign {
        /// The address.
        ip: IpAddr,
        /// The holder when the operation began.
        machine: Option<MachineId>,
    },
    /// Something that keeps an address busy and changes nothing.
    AddressEvent {
        /// The address.
        ip: IpAddr,
    },
    /// A boot, resize or snapshot: keeps a machine busy and changes nothing.
    MachineEvent {
        /// The machine.
        machine: MachineId,
        /// As the vendor names it: `resize`, `snapshot`, ...
        what: String,
    },
}

impl OperationKind {
    /// The address it concerns.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match *self {
            Self::Reserve { ip }
            | Self::Assign { ip, .. }
            | Self::Unassign { ip, .. }
            | Self::AddressEvent { ip } => Some(ip),
            Self::MachineEvent { .. } => None,
        }
    }

    /// The machine it concerns.
    #[must_use]
    pub fn machine(&self) -> Option<MachineId> {
        match *self {
            Self::Assign { machine, .. } | Self::MachineEvent { machine, .. } => Some(machine),
            Self::Unassign { machine, .. } => machine,
            Self::Reserve { .. } | Self::AddressEvent { .. } => None,
        }
    }
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationStatus {
    /// Accepted, without effect so far.
    InProgress,
    /// Over, and said to have worked.
    Completed,
    /// Over, without effect.
    Errored,
}

/// How an operation is going to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// With its effect, unless address or machine are gone by then.
    Succeeds,
    /// As errored, without effect.
    Errors,
    /// As completed, without effect.
    Ignored,
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Unique within a cloud, growing.
    pub id: u64,
    /// What it is about.
    pub kind: OperationKind,
    /// The region slug of what it is about.
    pub region: String,
    /// How far it is.
    pub status: OperationStatus,
    /// When it was accepted.
    pub started: Instant,
    /// When it ends.
    pub due: Instant,
    /// When it ended.
    pub completed: Option<Instant>,
    pub(crate) hidden_until: Instant,
    pub(crate) fate: Fate,
}
