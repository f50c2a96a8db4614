//! DNS: which addresses a name should list.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::Time;
use crate::model::{AccountId, Family, Finding, ObjectKey, Text};
use crate::nodes::Match;

/// What a custom resource asks for in DNS: a pool for its addresses, or an object of its own
/// for the nodes that match. The key is the object's: a pool and its record share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSet {
    /// The object.
    pub key: ObjectKey,
    /// Its identity.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// When it was created: the older of two claims wins.
    pub created_at: Time,
    /// What it asks for, or why that cannot be understood.
    pub request: Result<RecordRequest, Finding>,
    /// The records that its status says it has.
    pub held: Option<Held>,
    /// Somebody paused it, and says why.
    pub paused: Option<Text>,
}

/// A request that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRequest {
    /// The account that hosts the zone.
    pub account: AccountId,
    /// The zone, as the user writes it.
    pub zone: Text,
    /// The name, as the user writes it.
    pub name: Text,
    /// Time to live, in seconds; none: records that are there live as long as they do.
    pub ttl: Option<u32>,
    /// What to do when there is nothing to list.
    pub empty: EmptyPolicy,
    /// Where the addresses come from.
    pub source: RecordSource,
    /// The note that says whose the records are, where the host takes notes.
    pub mark: Option<Text>,
}

impl RecordRequest {
    /// Whether it may mean the name at `site`. A zone can have a name, with a dot in it, and an
    /// identifier, without: which of them are one, only the host knows.
    pub(crate) fn may_be_at(&self, site: &Site) -> bool {
        let (zone, name, full) = (plain(&self.zone), plain(&self.name), plain(&site.name));
        let is_within = |outer: &str| full == outer || full.ends_with(&format!(".{outer}"));
        let by_name = zone.contains('.') && !site.zone.contains('.');
        let same_zone = zone == plain(&site.zone) || by_name && is_within(&zone);
        let same_name = match name.as_str() {
            "" | "@" => !zone.contains('.') || zone == full,
            _ => full == name || full.starts_with(&format!("{name}.")),
        };
        self.account == site.account && same_zone && same_name
    }
}

/// As a name is compared: case and a dot at its end mean nothing.
fn plain(text: &str) -> String {
    text.trim().trim_end_matches('.').to_ascii_lowercase()
}

/// What to do when there is nothing to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyPolicy {
    /// Leave what the name lists: resolvers keep "no such name" for long.
    #[default]
    Keep,
    /// Remove the last record too.
    Remove,
}

/// Where the addresses come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// The addresses of the pool of the same key that are confirmed on eligible nodes.
    Pool,
    /// The nodes that match.
    Nodes {
        /// Which nodes.
        matching: Arc<Match>,
        /// Which of their addresses.
        addresses: NodeAddress,
    },
}

/// Which address of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeAddress {
    /// The public one that it reports.
    #[default]
    External,
    /// The one inside the cluster that it reports.
    Internal,
    /// The one that its IPv4 mark says a pool has put there.
    Reserved,
}

/// Where records are, as the host itself names it: two ways to write one name are one site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The account.
    pub account: AccountId,
    /// The zone's identifier.
    pub zone: Text,
    /// The full name.
    pub name: Text,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// The records that an object has. The owned unit is a name and a kind of record, which goes
/// with the family of the addresses in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where.
    pub site: Site,
    /// Which kinds.
    pub families: BTreeSet<Family>,
}

/// One record, as its host shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The host's name for it.
    pub id: Text,
    /// The address that it points at. Two records of a set may have the same.
    pub value: IpAddr,
    /// Time to live, in seconds.
    pub ttl: u32,
    /// The host answers with addresses of its own instead of the value.
    pub proxied: bool,
}

/// How a set differs from what it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// The time to live of every record that is written.
    pub ttl: u32,
    /// The note on every record that is written.
    pub mark: Option<Text>,
    /// Addresses to add.
    pub create: Vec<IpAddr>,
    /// Records that stay, and what they shall point at.
    pub update: Vec<(Text, IpAddr)>,
    /// Records to remove.
    pub delete: Vec<Text>,
}

impl RecordChange {
    /// It touches no record.
    pub fn is_empty(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }
}
