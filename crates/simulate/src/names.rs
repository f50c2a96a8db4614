//! DNS names in a schedule: the names requested by objects, and events around them.

use serde::{Deserialize, Serialize};

/// The DNS host of a zone. Each host has one zone, so no name is at both hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// DigitalOcean: one call per record.
    #[default]
    DigitalOcean,
    /// Cloudflare: one call per name.
    Cloudflare,
}

impl Host {
    /// Both hosts.
    pub const ALL: [Self; 2] = [Self::DigitalOcean, Self::Cloudflare];

    /// The name in `spec.dnsRecordSet.provider`.
    pub fn provider(self) -> &'static str {
        match self {
            Self::DigitalOcean => "digitalocean",
            Self::Cloudflare => "cloudflare",
        }
    }

    /// The host's zone.
    pub fn zone(self) -> &'static str {
        match self {
            Self::DigitalOcean => "ocean.example",
            Self::Cloudflare => "flare.example",
        }
    }

    /// The other host.
    pub fn other(self) -> Self {
        match self {
            Self::DigitalOcean => Self::Cloudflare,
            Self::Cloudflare => Self::DigitalOcean,
        }
    }
}

/// The number of possible names at each host.
pub const LABELS: u8 = 6;

/// The name with this number, relative to its zone.
pub fn label(number: u8) -> String {
    format!("name-{}", number % LABELS)
}

/// The name requested by an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameSetting {
    /// The number of the name. Several objects may request the same name.
    pub label: u8,
    /// The host of the name.
    pub host: Host,
    /// `emptyPolicy: Remove`.
    pub removes: bool,
    /// Writes the name in full, and the zone by ID if the host has IDs.
    pub in_full: bool,
}

/// A NodeDNSRecordSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingSetting {
    /// The requested name.
    pub name: NameSetting,
    /// The kind of node addresses.
    pub addresses: Addresses,
    /// The app required on a node. `None`: a node label decides.
    pub app: Option<u8>,
}

/// The kind of a node's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// `ExternalIP`.
    External,
    /// `InternalIP`.
    Internal,
    /// The annotation with the node's reserved address.
    Reserved,
}

/// A user's change to an object's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameEvent {
    /// Requests another name for a while, also for an object without a name.
    Renamed(u8),
    /// Requests a name at the other host for a while.
    Rehosted,
    /// Sets another TTL, in seconds.
    Ttl(u16),
    /// Requests no name for a while. A NodeDNSRecordSet is deleted.
    Unnamed,
}

/// A change to a zone by hand. Record numbers are taken modulo the number of records at possible
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneEvent {
    /// Adds an address to a name.
    Adds(Host, u8),
    /// Points a record elsewhere.
    Edits(u8),
    /// Gives a record another TTL.
    Slows(u8),
    /// Deletes a record.
    Deletes(u8),
    /// Removes the zone for a while.
    Vanishes(Host),
    /// Deletes the zone, and later recreates the zone without the addresses of names.
    Remade(Host),
}
