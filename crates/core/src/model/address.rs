//! Addresses as providers show them.

use std::fmt;
use std::net::IpAddr;

use crate::model::{MachineId, Text};

/// IP version. A machine's room is counted by family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both families, in order.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// The type of the DNS records that hold addresses of the family.
    pub fn record_type(self) -> &'static str {
        match self {
            Self::V4 => "A",
            Self::V6 => "AAAA",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// A set of families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Families {
    /// IPv4.
    pub v4: bool,
    /// IPv6.
    pub v6: bool,
}

impl Families {
    /// Both families.
    pub const BOTH: Self = Self { v4: true, v6: true };
    /// IPv4 alone.
    pub const V4: Self = Self { v4: true, v6: false };
    /// Neither family.
    pub const NONE: Self = Self { v4: false, v6: false };

    /// Whether a family is in the set.
    pub fn has(self, family: Family) -> bool {
        match family {
            Family::V4 => self.v4,
            Family::V6 => self.v6,
        }
    }
}

/// An existing address, as the provider shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// The machine of the address.
    pub holder: Option<MachineId>,
    /// The provider's region.
    pub region: Option<Text>,
    /// The provider's project.
    pub project: Option<Text>,
    /// The mark of the intent that reserved the address, where the provider keeps marks.
    pub mark: Option<Text>,
    /// An operation is under way on the address, ours or not.
    pub busy: bool,
}
