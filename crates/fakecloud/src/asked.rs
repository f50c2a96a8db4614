//! The purpose of a call, in terms that all vendors share.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::store::MachineId;

/// A call, reduced to its purpose and subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The purpose.
    pub purpose: Purpose,
    /// The address that the call is about.
    pub ip: Option<IpAddr>,
    /// The machine that is to have an address.
    pub machine: Option<MachineId>,
    /// The records that the call changes.
    pub records: Option<AskedRecords>,
}

/// The records that a call changes, as far as the call tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedRecords {
    /// The zone, by name or identifier.
    pub zone: String,
    /// The name of new or changed records, as the call has it.
    pub name: Option<String>,
    /// The type of new or changed records.
    pub kind: Option<String>,
    /// The records that are there already.
    pub ids: Vec<u64>,
}

impl From<Purpose> for Asked {
    fn from(purpose: Purpose) -> Self {
        Self { purpose, ..Self::default() }
    }
}

/// The purpose of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Lists addresses.
    List,
    /// Lists IPv6 addresses.
    ListSix,
    /// Checks whether the token may see machines.
    SeeMachines,
    /// Reads a single address.
    ReadAddress,
    /// Reads the state of an operation.
    ReadOperation,
    /// Assigns an address.
    Assign,
    /// Unassigns an address.
    Unassign,
    /// Reserves an address on a machine.
    CreateOn,
    /// Reserves an address in a region.
    CreateIn,
    /// Reserves an IPv6 address.
    CreateSix,
    /// Releases an address.
    Release,
    /// Removes a machine's own external address.
    DropOwn,
    /// Restores a machine's own external address.
    RestoreOwn,
    /// Lists the records of a name, at a host of single records.
    ReadRecords,
    /// Adds a record.
    AddRecord,
    /// Changes a record.
    EditRecord,
    /// Deletes a record.
    DropRecord,
    /// Looks up a zone.
    FindZone,
    /// Lists the records of a name, at a host that changes names as a whole.
    ReadName,
    /// Changes the records of a name as a whole.
    ChangeName,
    /// Obtains a token.
    Authenticate,
    /// A call without a reason.
    #[default]
    Other,
}

impl Purpose {
    /// The purposes that every fault can meet. Not [`SeeMachines`](Self::SeeMachines), a check that
    /// is made only if the token may not see machines, and not
    /// [`Authenticate`](Self::Authenticate), [`DropOwn`](Self::DropOwn) and
    /// [`RestoreOwn`](Self::RestoreOwn), which few vendors have.
    pub const ALL: [Self; 17] = [
        Self::List,
        Self::ListSix,
        Self::ReadAddress,
        Self::ReadOperation,
        Self::Assign,
        Self::Unassign,
        Self::CreateOn,
        Self::CreateIn,
        Self::CreateSix,
        Self::Release,
        Self::ReadRecords,
        Self::AddRecord,
        Self::EditRecord,
        Self::DropRecord,
        Self::FindZone,
        Self::ReadName,
        Self::ChangeName,
    ];

    /// Whether the call concerns DNS.
    #[must_use]
    pub fn is_of_names(self) -> bool {
        matches!(
            self,
            Self::ReadRecords
                | Self::AddRecord
                | Self::EditRecord
                | Self::DropRecord
                | Self::FindZone
                | Self::ReadName
                | Self::ChangeName
        )
    }

    /// Whether the call is a change.
    #[must_use]
    pub fn changes(self) -> bool {
        let reads = matches!(
            self,
            Self::ReadAddress
                | Self::ReadOperation
                | Self::SeeMachines
                | Self::Authenticate
                | Self::ReadRecords
                | Self::FindZone
                | Self::ReadName
        );
        !self.lists() && !reads
    }

    /// Whether the call lists addresses.
    #[must_use]
    pub fn lists(self) -> bool {
        matches!(self, Self::List | Self::ListSix)
    }

    /// Whether the call reserves an address.
    #[must_use]
    pub fn creates(self) -> bool {
        matches!(self, Self::CreateOn | Self::CreateIn | Self::CreateSix)
    }

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list addresses",
            Self::ListSix => "list IPv6 addresses",
            Self::SeeMachines => "see machines",
            Self::ReadAddress => "read address",
            Self::ReadOperation => "read operation",
            Self::Assign => "assign",
            Self::Unassign => "unassign",
            Self::CreateOn => "reserve on a machine",
            Self::CreateIn => "reserve in a region",
            Self::CreateSix => "reserve an IPv6 address",
            Self::Release => "give back",
            Self::DropOwn => "remove a machine's own address",
            Self::RestoreOwn => "restore a machine's own address",
            Self::ReadRecords => "list records",
            Self::AddRecord => "add a record",
            Self::EditRecord => "edit a record",
            Self::DropRecord => "delete a record",
            Self::FindZone => "find a zone",
            Self::ReadName => "list a name",
            Self::ChangeName => "change a name",
            Self::Authenticate => "obtain a token",
            Self::Other => "something else",
        }
    }
}
