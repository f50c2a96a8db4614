//! Limits of a zone's plan.

use serde::{Deserialize, Serialize};

/// The plan of all zones of a cloud, as far as records are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZonePlan {
    /// 200 records, no tags, comments of 100 characters, TTL of at least a minute.
    #[default]
    Free,
    /// Higher limits, and a TTL of at least half a minute.
    Enterprise,
}

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
