//! DNS zones and their records, with a record for each value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// A DNS zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Name without a final dot.
    pub name: String,
    /// The default TTL.
    pub ttl: u32,
    /// By record id.
    pub records: BTreeMap<u64, Record>,
}

impl Zone {
    /// The values of a name (relative, `@` for the apex) and type, sorted.
    #[must_use]
    pub fn values(&self, name: &str, kind: &str) -> Vec<String> {
        let mut values: Vec<String> = self
            .records
            .values()
            .filter(|r| r.name == name && r.kind == kind)
            .map(|r| r.data.clone())
            .collect();
        values.sort();
        values
    }

    /// The relative name (`@` for the apex) of a name that is full, relative, or ends with a dot.
    #[must_use]
    pub fn relative_name(&self, name: &str) -> String {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if name == self.name || name == "@" {
            return "@".to_owned();
        }
        let inside = name.strip_suffix(&self.name).and_then(|rest| rest.strip_suffix('.'));
        inside.map_or(name.clone(), str::to_owned)
    }

    /// The full name of a relative name.
    #[must_use]
    pub fn full_name(&self, relative: &str) -> String {
        if relative == "@" { self.name.clone() } else { format!("{relative}.{}", self.name) }
    }
}

/// A value of a name and type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Unique within a cloud.
    pub id: u64,
    /// `A`, `AAAA`, `TXT`, ...
    pub kind: String,
    /// Relative to the zone, `@` for the apex.
    pub name: String,
    /// The value, such as an address.
    pub data: String,
    /// In seconds.
    pub ttl: u32,
    /// For MX and SRV.
    pub priority: Option<u32>,
    /// For SRV.
    pub port: Option<u32>,
    /// For SRV.
    pub weight: Option<u32>,
    /// For CAA.
    pub flags: Option<u32>,
    /// For CAA.
    pub tag: Option<String>,
    /// Queries get the addresses of the host's proxy, at a host with one.
    pub proxied: bool,
    /// A note for people, also used for ownership marks, at a host with comments.
    pub comment: Option<String>,
    /// Tags in the form `name:value`, at a host with tags.
    pub tags: Vec<String>,
    /// Time of creation.
    pub created: Option<Instant>,
    /// Time of the last change.
    pub modified: Option<Instant>,
}

/// The plan of all zones of a cloud, at a host with plans: the limits of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZonePlan {
    /// 200 records, no tags, comments of 100 characters, TTL of at least a minute.
    #[default]
    Free,
    /// Higher limits, and a TTL of at least half a minute.
    Enterprise,
}
