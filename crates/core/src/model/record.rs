//! DNS: which addresses a name should list.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::Time;
use crate::model::{AccountId, Family, Finding, Mark, ObjectKey, Text};
use crate::nodes::Match;

/// An object that asks for records: a pool for its own addresses, or a record set for matching
/// nodes. A pool and its records share one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSet {
    /// The object.
    pub key: ObjectKey,
    /// UID of the object.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// Creation time: between equal claims, the older object wins.
    pub created_at: Time,
    /// The request, or the defect of the spec.
    pub request: Result<RecordRequest, Finding>,
    /// Records that the object has, from its status.
    pub held: Option<Held>,
    /// Why the object is paused, in the user's words.
    pub paused: Option<Text>,
    /// Words for messages.
    pub names: &'static RecordNames,
}

/// Names that users of a kind know, for messages.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordNames {
    /// The field with the time to live.
    pub ttl: &'static str,
    /// The setting that empties a name without addresses.
    pub remove: &'static str,
}

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRequest {
    /// The account that hosts the zone.
    pub account: AccountId,
    /// The zone, as the user writes it.
    pub zone: Text,
    /// The name, as the user writes it.
    pub name: Text,
    /// Time to live in seconds; `None` keeps the value of existing records.
    pub ttl: Option<u32>,
    /// Policy for a name without addresses.
    pub empty: EmptyPolicy,
    /// Source of the addresses.
    pub source: RecordSource,
    /// The note that names the owner of a record, where the DNS host stores notes.
    pub mark: Option<Text>,
}

impl RecordRequest {
    /// Whether the request may mean the name at `site`. A zone is written by name, with a dot, or
    /// by identifier, without a dot; only the DNS host knows which identifier belongs to which
    /// name.
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

/// Normal form for comparison: lower case, without a dot at the end.
fn plain(text: &str) -> String {
    text.trim().trim_end_matches('.').to_ascii_lowercase()
}

/// Policy for a name without addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyPolicy {
    /// Keep the last records, since resolvers cache "no such name" for long.
    #[default]
    Keep,
    /// Remove the last record too.
    Remove,
}

/// Source of the addresses of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// Addresses of the pool with the same key that are confirmed on eligible nodes.
    Pool,
    /// Addresses of eligible nodes.
    Nodes {
        /// Rules for eligible nodes.
        matching: Arc<Match>,
        /// The kind of address to list.
        addresses: NodeAddress,
    },
}

/// The kind of node address to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeAddress {
    /// Addresses of type `ExternalIP` in the node's status.
    #[default]
    External,
    /// Addresses of type `InternalIP` in the node's status.
    Internal,
    /// Addresses named by a mark of the node.
    Marked(&'static Mark),
}

/// A name in the DNS host's own terms: different spellings of a name have one site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Account that has the zone.
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

/// Records that an object has. A name is owned for each family of addresses separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Name of the records.
    pub site: Site,
    /// Families of the addresses in the records.
    pub families: BTreeSet<Family>,
}

/// A record, as the DNS host shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The DNS host's identifier.
    pub id: Text,
    /// The address in the record. Two records of a set may have the same value.
    pub value: IpAddr,
    /// Time to live, in seconds.
    pub ttl: u32,
    /// Whether the DNS host answers with addresses of its own instead of the value.
    pub proxied: bool,
}

/// The difference between the current and the wanted records of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// Time to live of every written record.
    pub ttl: u32,
    /// Note on every written record.
    pub mark: Option<Text>,
    /// Addresses to add.
    pub create: Vec<IpAddr>,
    /// Records to keep, with their new address.
    pub update: Vec<(Text, IpAddr)>,
    /// Records to remove.
    pub delete: Vec<Text>,
}

impl RecordChange {
    /// Whether no record changes.
    pub fn is_empty(&self) -> bool {
        self.delete.is_empty() && !self.writes()
    }

    /// Whether a record is written, and not only deleted.
    pub(crate) fn writes(&self) -> bool {
        !self.create.is_empty() || !self.update.is_empty()
    }
}
