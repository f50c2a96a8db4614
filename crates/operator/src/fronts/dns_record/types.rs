//! The DNS record of pools and record sets.

use pontoon_core::model::RecordNames;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules;
use crate::api::wire::is_default;

/// The DNS provider of a spec without a `provider`.
pub const DEFAULT_DNS_PROVIDER: &str = "digitalocean";

/// Words for messages.
pub static NAMES: RecordNames =
    RecordNames { ttl: "spec.dnsRecordSet.ttl", remove: "emptyPolicy: Remove" };

/// A set of address records under one name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[schemars(transform = rules::zone_given, transform = rules::record_name_given)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsRecordSet {
    /// A FloatingIPPool's default is its own provider where that one has DNS, else
    /// `digitalocean`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = rules::dns_provider)]
    pub provider: String,

    /// Zone that holds the record: its name, or at Cloudflare also its ID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub zone: String,

    /// Name of the record: relative to the zone, or a full name that ends in it; `@` for the
    /// zone itself. A name that ends in another zone is relative all the same.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub record_name: String,

    /// Seconds for which resolvers may keep the answer. 60 if unset; existing records of nodes then
    /// keep their own.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0))]
    pub ttl: i64,

    /// Treatment of the record while there is no address to list: `Keep` (the default) leaves the
    /// record as it is, because resolvers remember for long that a name does not exist; `Remove`
    /// removes the record.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = rules::empty_policy)]
    pub empty_policy: String,
}

/// The record that an object has. This part of the status tells a new leader which object owns the name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsRecordStatus {
    /// DNS provider.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,

    /// Zone that holds the record: at Cloudflare its ID, else its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub zone: String,

    /// Full name of the record.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,

    /// Types of the records: `A`, `AAAA`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
}
