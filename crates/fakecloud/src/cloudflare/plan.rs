//! Limits of a zone's plan.

use crate::zone::ZonePlan;

impl ZonePlan {
    pub(super) fn shortest_ttl(self) -> u32 {
        match self {
            Self::Free => 60,
            Self::Enterprise => 30,
        }
    }

    pub(super) fn records(self) -> usize {
        match self {
            Self::Free => 200,
            Self::Enterprise => 3_500,
        }
    }

    pub(super) fn batch(self) -> usize {
        match self {
            Self::Free => 200,
            Self::Enterprise => 3_500,
        }
    }

    pub(super) fn tags(self) -> usize {
        match self {
            Self::Free => 0,
            Self::Enterprise => 20,
        }
    }

    pub(super) fn comment(self) -> usize {
        match self {
            Self::Free => 100,
            Self::Enterprise => 500,
        }
    }

    /// The plan's name in a zone.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Free => "Free Website",
            Self::Enterprise => "Enterprise Website",
        }
    }
}
