//! The DNS record that both kinds can ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules;
use super::wire::is_default;

/// The DNS provider where none is named.
pub const DEFAULT_DNS_PROVIDER: &str = "digitalocean";

/// Every name that may stand for a DNS provider: a vendor with DNS adds one word.
pub const DNS_PROVIDERS: &[&str] = &["digitalocean", "cloudflare"];

/// A set of address records under one name.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DnsRecordSet {
    /// DNS provider: `digitalocean` or `cloudflare`. A FloatingIPPool's default is its own
    /// provider where that one has DNS, else `digitalocean`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = rules::dns_provider)]
    pub provider: String,

    /// Zone that holds the record: its name, or at Cloudflare also its ID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub zone: String,

    /// Name of the record: relative to the zone, or a full name that ends in it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub record_name: String,

    /// How long resolvers may keep the answer, in seconds. 60 if unset.
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: i64,
}
