//! What a schedule says of names in DNS: who asks for which, and what happens to them.

use serde::{Deserialize, Serialize};

/// Who hosts a zone. Each has one of its own: no name is at both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// DigitalOcean: a call for each record.
    #[default]
    DigitalOcean,
    /// Cloudflare: a call for each name.
    Cloudflare,
}

impl Host {
    /// Both.
    pub const ALL: [Self; 2] = [Self::DigitalOcean, Self::Cloudflare];

    /// What an object calls it.
    pub fn provider(self) -> &'static str {
        match self {
            Self::DigitalOcean => "digitalocean",
            Self::Cloudflare => "cloudflare",
        }
    }

    /// The zone that it has.
    pub fn zone(self) -> &'static str {
        match self {
            Self::DigitalOcean => "ocean.example",
            Self::Cloudflare => "flare.example",
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::DigitalOcean => Self::Cloudflare,
            Self::Cloudflare => Self::DigitalOcean,
        }
    }
}

/// How many names can be asked for at each host.
pub const LABELS: u8 = 6;

/// The so many-th name, relative to its zone.
pub fn label(number: u8) -> String {
    format!("name-{}", number % LABELS)
}

/// The name that an object asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameSetting {
    /// Which name; two objects may ask for the same.
    pub label: u8,
    /// Where.
    pub host: Host,
    /// `emptyPolicy: Remove`.
    pub removes: bool,
    /// Whether name and zone are written in the other way: in full, and the zone by its ID
    /// where it has one.
    pub in_full: bool,
}

/// A NodeDNSRecordSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingSetting {
    /// The name that it asks for.
    pub name: NameSetting,
    /// Which addresses of the nodes.
    pub addresses: Addresses,
    /// The app that must be ready on a node; none: a label of the node decides.
    pub app: Option<u8>,
}

/// Which addresses of a node are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// `ExternalIP`.
    External,
    /// `InternalIP`.
    Internal,
    /// The annotation that names its reserved address.
    Reserved,
}

/// What a user can do to the name that an object asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameEvent {
    /// While it lasts, it asks for another name. One that asked for none has one then.
    Renamed(u8),
    /// While it lasts, it asks for a name at the other host.
    Rehosted,
    /// Wants another TTL, in seconds.
    Ttl(u16),
    /// While it lasts, it asks for no name; an object that only asks for a name is deleted.
    Unnamed,
}

/// What somebody can do to a zone by hand. Records are numbers, taken modulo how many there are
/// at names that can be asked for.
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
    /// While it lasts, the zone is not there.
    Vanishes(Host),
    /// The zone is deleted, and made anew when that is over, without the names' addresses.
    Remade(Host),
}
