//! The kinds of objects that ask for addresses: both are pools, and differ in data alone.

use serde_json::Value;

use super::matching::Matching;
use crate::schedule::Millis;

/// A kind of object that asks for addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Front {
    /// FloatingIPPool.
    #[default]
    Pool,
    /// NetIPAllocation.
    Allocation,
}

impl Front {
    /// The kind with this plural.
    pub fn of(plural: &str) -> Option<Self> {
        match plural {
            "floatingippools" => Some(Self::Pool),
            "netipallocations" => Some(Self::Allocation),
            _ => None,
        }
    }

    /// The field with the listed addresses.
    pub fn list(self) -> &'static str {
        match self {
            Self::Pool => "ips",
            Self::Allocation => "reservedIPs",
        }
    }

    /// The grace period of a spec without one.
    pub fn usual_grace(self) -> Millis {
        match self {
            Self::Pool => 0,
            Self::Allocation => 30_000,
        }
    }

    /// The requested nodes. `None` if unreadable.
    pub fn matching(self, spec: &Value) -> Option<Matching> {
        match self {
            Self::Pool => Matching::read(&spec["match"]),
            Self::Allocation => Some(Matching::of_allocation(spec)),
        }
    }
}
