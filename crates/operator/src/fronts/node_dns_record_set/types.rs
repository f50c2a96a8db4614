//! NodeDNSRecordSet: a DNS record that lists the matching nodes.

// Clippy takes the `type_` of a column for a duplicate of the next column's.
#![allow(clippy::duplicated_attributes)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{CustomResource, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::rules;
use crate::api::schemas;
use crate::api::wire::Wire;
use crate::fronts::dns_record::{
    DEFAULT_DNS_PROVIDER, DnsRecordSet, DnsRecordStatus, dns_provider_or_default,
};
use crate::fronts::selection::Match;

/// A DNS record that lists the addresses of the matching nodes.
///
/// The fields mirror the stored object; a missing `spec` decodes as an empty spec.
#[derive(Resource, Clone, Debug, Default, PartialEq, Deserialize)]
#[resource(inherit = "NodeDNSDefinition")]
pub struct NodeDNSRecordSet {
    /// Name, namespace, annotations and so on.
    pub metadata: ObjectMeta,
    /// The user's input; the operator never writes here.
    #[serde(default)]
    pub spec: NodeDNSRecordSetSpec,
    /// The operator's last report.
    pub status: Option<NodeDNSRecordSetStatus>,
}

impl NodeDNSRecordSet {
    /// A record set without a status.
    pub fn new(name: &str, spec: NodeDNSRecordSetSpec) -> Self {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Self { metadata, spec, status: None }
    }
}

impl Serialize for NodeDNSRecordSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::of(self, &self.spec, self.status.as_ref()).serialize(serializer)
    }
}

/// What a record set asks for: the record, the nodes, and which of their addresses to list.
#[derive(
    CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize,
)]
#[kube(
    group = "flipop.digitalocean.com",
    version = "v1alpha1",
    kind = "NodeDNSRecordSet",
    root = "NodeDNSDefinition",
    namespaced,
    status = "NodeDNSRecordSetStatus",
    shortname = "nodedns",
    category = "pontoon",
    doc = "A DNS record that lists the addresses of the matching nodes. Deleting the object \
           leaves the record as it is.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether the record lists exactly the matching nodes.",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Record",
        type_ = "string",
        description = "Name of the record.",
        json_path = ".spec.dnsRecordSet.recordName"
    ),
    printcolumn(
        name = "Zone",
        type_ = "string",
        description = "Zone that holds the record.",
        json_path = ".spec.dnsRecordSet.zone"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "Why the record is ready, or why it is not.",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Addresses",
        type_ = "string",
        description = "Which address of each node is listed.",
        json_path = ".spec.addressType",
        priority = 1
    )
)]
#[schemars(transform = rules::record_given)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeDNSRecordSetSpec {
    /// `dnsRecordSet.provider` means the same and wins where both are given.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = dns_provider_or_default)]
    pub provider: String,

    /// The record.
    pub dns_record_set: DnsRecordSet,

    /// Address of each node to list: `ExternalIP` (the default) or `InternalIP` as the node reports
    /// it, or `flipop.digitalocean.com/ipv4-reserved-ip` for the address of a FloatingIPPool on the
    /// node.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = rules::address_type)]
    pub address_type: String,

    /// Nodes to list.
    #[serde(rename = "match")]
    pub matching: Match,
}

impl NodeDNSRecordSetSpec {
    /// The DNS provider, from either place or by default.
    pub fn provider(&self) -> &str {
        [self.dns_record_set.provider.as_str(), self.provider.as_str()]
            .into_iter()
            .find(|provider| !provider.is_empty())
            .unwrap_or(DEFAULT_DNS_PROVIDER)
    }
}

/// What the operator reports about a record set.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeDNSRecordSetStatus {
    /// State of the record: `Ready`, `Reconciling` and `Stalled`, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(with = "Vec<schemas::Condition>")]
    pub conditions: Vec<Condition>,

    /// The `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `active`, `in-progress` or `error`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,

    /// Error of the record set. Empty without an error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,

    /// The record that this object has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_record: Option<DnsRecordStatus>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_comes_from_either_place_and_the_record_wins() {
        let spec = |outer: &str, inner: &str| NodeDNSRecordSetSpec {
            provider: outer.into(),
            dns_record_set: DnsRecordSet { provider: inner.into(), ..DnsRecordSet::default() },
            ..NodeDNSRecordSetSpec::default()
        };
        assert_eq!(spec("", "").provider(), "digitalocean");
        assert_eq!(spec("cloudflare", "").provider(), "cloudflare");
        assert_eq!(spec("", "cloudflare").provider(), "cloudflare");
        assert_eq!(spec("digitalocean", "cloudflare").provider(), "cloudflare");
    }

    #[test]
    fn an_object_without_a_spec_decodes() {
        let stored = serde_json::json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "NodeDNSRecordSet",
            "metadata": {"name": "empty"}, "status": {"state": "error", "error": "no zone"},
        });
        let decoded: NodeDNSRecordSet = serde_json::from_value(stored).unwrap();
        assert_eq!(decoded.spec, NodeDNSRecordSetSpec::default());
        assert_eq!(decoded.status.unwrap().error, "no zone");
    }
}
