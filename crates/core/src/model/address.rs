//! Addresses as clouds show them.

use std::net::IpAddr;

use crate::model::{MachineId, Text};

/// IP version. A machine's capacity is counted per family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both, in order.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// What the cloud said of one address that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sighting {
    /// The machine that it is on.
    pub holder: Option<MachineId>,
    /// The vendor's region.
    pub region: Option<Text>,
    /// The vendor's project.
    pub project: Option<Text>,
    /// An operation is under way on it, whoever started it.
    pub busy: bool,
}
