//! The provider of machines and addresses in a run.

use serde::{Deserialize, Serialize};

use crate::wire::CloudAction;

/// The provider of machines and addresses. Names in DNS are at both DNS hosts with either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// DigitalOcean: an address moves by one call.
    #[default]
    DigitalOcean,
    /// Google Cloud: an address moves in two steps of several calls each, takes the place of the
    /// machine's own address, and every change is an operation.
    Google,
}

impl Vendor {
    /// The name in `spec.provider`.
    pub fn provider(self) -> &'static str {
        match self {
            Self::DigitalOcean => "digitalocean",
            Self::Google => "gcp",
        }
    }

    /// The region of all machines and addresses.
    pub fn region(self) -> &'static str {
        match self {
            Self::DigitalOcean => "nyc3",
            Self::Google => "us-central1",
        }
    }

    /// Whether an address takes the place of a machine's own.
    pub fn displaces_own(self) -> bool {
        self == Self::Google
    }

    /// The status of a call that is refused as impossible.
    pub fn refusal(self) -> u16 {
        match self {
            Self::DigitalOcean => 422,
            Self::Google => 400,
        }
    }

    /// The name of a call in the coverage table.
    pub fn called(self, action: CloudAction) -> &'static str {
        match (self, action) {
            (Self::Google, CloudAction::List) => "gcp: list addresses",
            (Self::Google, CloudAction::SeeMachines) => "gcp: read an instance",
            (Self::Google, CloudAction::ReadAddress) => "gcp: read address",
            (Self::Google, CloudAction::ReadOperation) => "gcp: read operation",
            (Self::Google, CloudAction::Assign) => "gcp: add an access config with an address",
            (Self::Google, CloudAction::Unassign) => "gcp: delete an access config with an address",
            (Self::Google, CloudAction::DropOwn) => "gcp: delete an ephemeral access config",
            (Self::Google, CloudAction::RestoreOwn) => "gcp: add an ephemeral access config",
            (Self::Google, CloudAction::CreateIn) => "gcp: insert address",
            (Self::Google, CloudAction::Release) => "gcp: delete address",
            (_, action) => action.name(),
        }
    }
}

/// The calls about addresses at Google Cloud.
pub const AT_GOOGLE: [CloudAction; 10] = [
    CloudAction::List,
    CloudAction::SeeMachines,
    CloudAction::ReadAddress,
    CloudAction::ReadOperation,
    CloudAction::Assign,
    CloudAction::Unassign,
    CloudAction::DropOwn,
    CloudAction::RestoreOwn,
    CloudAction::CreateIn,
    CloudAction::Release,
];
