//! DNS zones and their records, one record per value.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// A zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Without a dot at the end.
    pub name: String,
    /// The default time to live.
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

    /// The relative name (`@` for the apex) of one that is full, relative already, or has a dot at the end.
    #[must_use]
    pub fn relative_name(&self, name: &str) -> String {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if name == self.name || name == "@" {
            return "@".to_owned();
        }
        let inside = name.strip_suffix(&self.name).and_then(|rest| rest.strip_suffix('.'));
        inside.map_or(name.clone(), str::to_owned)
    }

    /// The full name of a relative one.
    #[must_use]
    pub fn full_name(&self, relative: &str) -> String {
        if relative == "@" { self.name.clone() } else { format!("{relative}.{}", self.name) }
    }
}

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Unique within a cloud.
    pub id: u64,
    /// `A`, `AAAA`, `TXT`, ...
    pub kind: String,
    /// Relative to the zone, `@` for the apex.
    pub name: String,
    /// The value.
    pub data: String,
    /// In seconds.
    pub ttl: u32,
    /// MX and SRV.
    pub priority: Option<u32>,
    /// SRV.
    pub port: Option<u32>,
    /// SRV.
    pub weight: Option<u32>,
    /// CAA.
    pub flags: Option<u32>,
    /// CAA.
    pub tag: Option<String>,
    /// Cloudflare: answered with the vendor's own addresses.
    pub proxied: bool,
    /// Cloudflare: a note for people and for owners' marks.
    pub comment: Option<String>,
    /// Cloudflare: `name:value`.
    pub tags: Vec<String>,
    /// When it was made.
    pub created: Option<Instant>,
    /// When it was last changed.
    pub modified: Option<Instant>,
}
