//! The provider of machines and addresses in a run.

use clap::ValueEnum;
use pontoon_providers::acme::profiles::{AWS, AZURE, DIGITALOCEAN, GCP, HETZNER, Profile};
use serde::{Deserialize, Serialize};

use crate::wire::CloudAction;

/// The provider of machines and addresses. Names in DNS are at both DNS hosts with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Vendor {
    /// DigitalOcean: an address moves by one call.
    #[default]
    DigitalOcean,
    /// Google Cloud: an address moves in two steps of several calls each, takes the place of the
    /// machine's own address, and every change is an operation.
    Google,
    /// AWS, played by the test vendor: every answer is final, a new address carries a mark and is
    /// placed by another call, and there are no regions and no IPv6 addresses.
    Aws,
    /// Azure, played by the test vendor: an address moves in two steps, each an operation, and a new
    /// address carries a mark and is placed by another call.
    Azure,
    /// Hetzner, played by the test vendor: a machine carries many addresses, and the call that
    /// reserves an address marks and places it, in both families.
    Hetzner,
}

/// The name of a call to a vendor that the test vendor plays.
macro_rules! played {
    ($vendor:literal, $action:expr) => {
        match $action {
            CloudAction::List => concat!($vendor, ": list addresses"),
            CloudAction::ReadAddress => concat!($vendor, ": read address"),
            CloudAction::ReadOperation => concat!($vendor, ": read operation"),
            CloudAction::Assign => concat!($vendor, ": assign"),
            CloudAction::Unassign => concat!($vendor, ": unassign"),
            CloudAction::CreateOn => concat!($vendor, ": reserve on a machine"),
            CloudAction::CreateIn => concat!($vendor, ": reserve"),
            CloudAction::CreateSix => concat!($vendor, ": reserve an IPv6 address"),
            CloudAction::Release => concat!($vendor, ": give back"),
            CloudAction::Authenticate => concat!($vendor, ": obtain a token"),
            other => other.name(),
        }
    };
}

impl Vendor {
    /// The vendors that the test vendor plays.
    pub const PLAYED: [Self; 3] = [Self::Aws, Self::Azure, Self::Hetzner];

    /// The name in `spec.provider`.
    pub fn provider(self) -> &'static str {
        match self {
            Self::DigitalOcean => "digitalocean",
            Self::Google => "gcp",
            Self::Aws => "acme-aws",
            Self::Azure => "acme-azure",
            Self::Hetzner => "acme-hetzner",
        }
    }

    /// The abilities.
    pub fn profile(self) -> &'static Profile {
        match self {
            Self::DigitalOcean => &DIGITALOCEAN,
            Self::Google => &GCP,
            Self::Aws => &AWS,
            Self::Azure => &AZURE,
            Self::Hetzner => &HETZNER,
        }
    }

    /// The region of all machines and addresses.
    pub fn region(self) -> &'static str {
        match self {
            Self::DigitalOcean => "nyc3",
            Self::Google => "us-central1",
            Self::Aws | Self::Azure | Self::Hetzner => "region-1",
        }
    }

    /// Whether an address takes the place of a machine's own.
    pub fn displaces_own(self) -> bool {
        self.profile().displaces_own
    }

    /// Whether listings do not show that an operation on an address is under way.
    pub fn hides_operations(self, six: bool) -> bool {
        match self {
            Self::DigitalOcean => six,
            Self::Google => true,
            Self::Aws | Self::Azure | Self::Hetzner => false,
        }
    }

    /// Whether requests are signed with the time of day, so that a wrong clock is refused.
    pub fn signs_time(self) -> bool {
        Self::PLAYED.contains(&self)
    }

    /// The status of a call that is refused as impossible.
    pub fn refusal(self) -> u16 {
        match self {
            Self::DigitalOcean => 422,
            Self::Google | Self::Aws | Self::Azure | Self::Hetzner => 400,
        }
    }

    /// The calls about addresses.
    pub fn calls(self) -> &'static [CloudAction] {
        match self {
            Self::DigitalOcean => &CloudAction::ALL,
            Self::Google => &AT_GOOGLE,
            Self::Aws => &LIKE_AWS,
            Self::Azure => &LIKE_AZURE,
            Self::Hetzner => &LIKE_HETZNER,
        }
    }

    /// The name of a call in the coverage table.
    pub fn called(self, action: CloudAction) -> &'static str {
        if action.is_of_names() {
            return action.name();
        }
        match self {
            Self::DigitalOcean => action.name(),
            Self::Google => at_google(action),
            Self::Aws => played!("like AWS", action),
            Self::Azure => played!("like Azure", action),
            Self::Hetzner => played!("like Hetzner", action),
        }
    }
}

/// The name of a call to Google Cloud.
fn at_google(action: CloudAction) -> &'static str {
    match action {
        CloudAction::List => "gcp: list addresses",
        CloudAction::SeeMachines => "gcp: read an instance",
        CloudAction::ReadAddress => "gcp: read address",
        CloudAction::ReadOperation => "gcp: read operation",
        CloudAction::Assign => "gcp: add an access config with an address",
        CloudAction::Unassign => "gcp: delete an access config with an address",
        CloudAction::DropOwn => "gcp: delete an ephemeral access config",
        CloudAction::RestoreOwn => "gcp: add an ephemeral access config",
        CloudAction::CreateIn => "gcp: insert address",
        CloudAction::Release => "gcp: delete address",
        other => other.name(),
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

const LIKE_AWS: [CloudAction; 7] = [
    CloudAction::Authenticate,
    CloudAction::List,
    CloudAction::ReadAddress,
    CloudAction::Assign,
    CloudAction::Unassign,
    CloudAction::CreateIn,
    CloudAction::Release,
];

const LIKE_AZURE: [CloudAction; 9] = [
    CloudAction::Authenticate,
    CloudAction::List,
    CloudAction::ReadAddress,
    CloudAction::ReadOperation,
    CloudAction::Assign,
    CloudAction::Unassign,
    CloudAction::CreateIn,
    CloudAction::CreateSix,
    CloudAction::Release,
];

const LIKE_HETZNER: [CloudAction; 10] = [
    CloudAction::Authenticate,
    CloudAction::List,
    CloudAction::ReadAddress,
    CloudAction::ReadOperation,
    CloudAction::Assign,
    CloudAction::Unassign,
    CloudAction::CreateOn,
    CloudAction::CreateIn,
    CloudAction::CreateSix,
    CloudAction::Release,
];
