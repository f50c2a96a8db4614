//! FloatingIPPool: addresses that are kept on matching nodes.

// Clippy takes the `type_` of a column for a duplicate of the next column's.
#![allow(clippy::duplicated_attributes)]

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta};
use kube::{CustomResource, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::rules;
use crate::api::schemas;
use crate::api::wire::{self, Wire, is_default};
use crate::fronts::address_status::{IpStatus, rules as address_rules};
use crate::fronts::dns_record::{DnsRecordSet, DnsRecordStatus};
use crate::fronts::selection::Match;

/// The most addresses that a pool may ask for. A larger number is a mistake, and each address costs
/// provider calls.
pub const MOST_ADDRESSES: usize = 1000;

/// A pool of floating (reserved) addresses and the nodes that may hold them.
///
/// The fields mirror the stored object; a missing `spec` decodes as an empty spec.
#[derive(Resource, Clone, Debug, Default, PartialEq, Deserialize)]
#[resource(inherit = "PoolDefinition")]
pub struct FloatingIPPool {
    /// Name, namespace, annotations and so on.
    pub metadata: ObjectMeta,
    /// The user's input; the operator never writes here.
    #[serde(default)]
    pub spec: FloatingIPPoolSpec,
    /// The operator's last report.
    pub status: Option<FloatingIPPoolStatus>,
}

impl FloatingIPPool {
    /// A pool without a status.
    pub fn new(name: &str, spec: FloatingIPPoolSpec) -> Self {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Self { metadata, spec, status: None }
    }
}

impl Serialize for FloatingIPPool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::of(self, &self.spec, self.status.as_ref()).serialize(serializer)
    }
}

/// What a pool asks for: how many addresses, which ones, and the nodes that they belong on.
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "flipop.digitalocean.com",
    version = "v1alpha1",
    kind = "FloatingIPPool",
    root = "PoolDefinition",
    namespaced,
    status = "FloatingIPPoolStatus",
    shortname = "fippool",
    category = "pontoon",
    doc = "A pool of floating (reserved) IP addresses that are kept on matching nodes, and \
           optionally the DNS record that points at them. Deleting a pool leaves addresses, \
           nodes and DNS as they are, unless `deletionPolicy` says otherwise.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether every wanted address is on a matching node, and DNS is not \
                       lastingly broken.",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Assigned",
        type_ = "string",
        description = "Addresses on matching nodes, of those that are wanted.",
        json_path = ".status.assigned"
    ),
    printcolumn(
        name = "DNS",
        type_ = "string",
        description = "Whether the DNS record lists what it should; empty if none is asked for.",
        json_path = ".status.conditions[?(@.type==\"DNSReady\")].status"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "Why the pool is ready, or why it is not.",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "IPs",
        type_ = "string",
        description = "Addresses that the pool lists.",
        json_path = ".spec.ips",
        priority = 1
    ),
    printcolumn(
        name = "Created",
        type_ = "string",
        description = "Addresses that were reserved for the pool.",
        json_path = ".status.createdIPs",
        priority = 1
    ),
    printcolumn(
        name = "Provider",
        type_ = "string",
        description = "Cloud that the addresses belong to.",
        json_path = ".spec.provider",
        priority = 1
    ),
    printcolumn(
        name = "Region",
        type_ = "string",
        description = "Region in which new addresses are reserved.",
        json_path = ".spec.region",
        priority = 1
    )
)]
#[schemars(transform = rules::some_address, transform = rules::region_for_new_addresses)]
#[schemars(extend("required" = ["provider"]))]
#[serde(rename_all = "camelCase", default)]
pub struct FloatingIPPoolSpec {
    /// Cloud that the addresses belong to, e.g. `digitalocean`.
    #[schemars(transform = address_rules::address_provider)]
    pub provider: String,

    /// Region of new addresses while no node is free. With a free node, an address is reserved on
    /// the node's machine, and so in the machine's region. Required if `desiredIPs` is greater than
    /// the number of `ips`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,

    /// Existing addresses to use, IPv4 or IPv6. The operator never writes this list: addresses
    /// that it reserves are listed in `status.createdIPs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 64)))]
    #[schemars(transform = address_rules::addresses, transform = address_rules::no_duplicates)]
    pub ips: Vec<String>,

    /// Number of addresses to keep on nodes. Unset or 0: the number of `ips`. Greater: the rest is
    /// reserved (see `region`), as IPv6 addresses if `ips` lists nothing else. Smaller: the
    /// surplus, from the end of the list, is not used.
    #[serde(rename = "desiredIPs", skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = MOST_ADDRESSES))]
    pub desired_ips: i64,

    /// Seconds between two assignments of this pool, at least. Fractions are allowed. 0 if unset.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0))]
    pub assignment_cool_off_seconds: f64,

    /// Seconds for which a node that no longer matches keeps its address, so that the node can
    /// recover before the address is moved. Fractions are allowed. 0 if unset: the address is moved
    /// at once. Counted from the time in `status.ips`, also through a restart of the operator.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0))]
    pub grace_period_seconds: f64,

    /// Treatment of the addresses reserved for this pool when the pool is deleted: `Retain` (the
    /// default) keeps them, `Release` releases them before the pool is gone. Addresses that `ips`
    /// lists, or once listed, are never released.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(transform = rules::deletion_policy)]
    pub deletion_policy: String,

    /// Nodes that may hold an address of this pool: one address of each family per node.
    #[serde(rename = "match", skip_serializing_if = "is_default")]
    pub matching: Match,

    /// DNS record that lists the addresses on matching nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_record_set: Option<DnsRecordSet>,
}

impl FloatingIPPoolSpec {
    /// The cool-off: negative numbers count as 0, too large ones as [`Duration::MAX`].
    pub fn cool_off(&self) -> Duration {
        span(self.assignment_cool_off_seconds)
    }

    /// The grace period: negative numbers count as 0, too large ones as [`Duration::MAX`].
    pub fn grace(&self) -> Duration {
        span(self.grace_period_seconds)
    }
}

fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

/// What the operator reports about a pool.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FloatingIPPoolStatus {
    /// State of the pool: `Ready`, `Reconciling`, `Stalled`, and `DNSReady` if a record is
    /// asked for, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(with = "Vec<schemas::Condition>")]
    pub conditions: Vec<Condition>,

    /// The `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Addresses on matching nodes, of those that are wanted: `2/3`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub assigned: String,

    /// Every address of the pool and where it is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ips: BTreeMap<String, IpStatus>,

    /// Addresses that were reserved for this pool, in addition to those in `spec.ips`. The annotation
    /// `pontoon.dev/addresses` records them too.
    #[serde(rename = "createdIPs", skip_serializing_if = "Vec::is_empty")]
    pub created_ips: Vec<String>,

    /// Addresses that `spec.ips` listed once and that the pool keeps, because `desiredIPs` asks
    /// for more than are listed. Recorded beside the reserved ones.
    #[serde(rename = "keptIPs", skip_serializing_if = "Vec::is_empty")]
    pub kept_ips: Vec<String>,

    /// The DNS record that this pool has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_record: Option<DnsRecordStatus>,

    /// Time of the last assignment of this pool. The cool-off counts from here.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "wire::time")]
    #[schemars(with = "Option<schemas::Time>")]
    pub last_assignment_time: Option<MicroTime>,

    /// Matching nodes that hold no address and could receive one: the first hundred, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignable_nodes: Vec<String>,

    /// Matching nodes that cannot take an address, by name; `unusableNodes` says why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_errors: Vec<String>,

    /// Reason why each of `nodeErrors` cannot take an address: the node holds an address that no
    /// object lists, or the last attempt failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unusable_nodes: BTreeMap<String, String>,

    /// Error of the pool as a whole, e.g. a failed reservation. Empty without an error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decoded(object: Value) -> FloatingIPPool {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn an_object_without_a_spec_decodes() {
        let pool = decoded(json!({"apiVersion": "flipop.digitalocean.com/v1alpha1",
            "kind": "FloatingIPPool", "metadata": {"name": "empty"}}));
        assert_eq!(pool, FloatingIPPool::new("empty", FloatingIPPoolSpec::default()));
    }

    #[test]
    fn whatever_the_predecessors_definition_stored_decodes() {
        let pool = decoded(json!({
            "metadata": {"name": "odd"},
            "spec": {
                "provider": "", "ips": ["010.0.0.1", "ss::1"], "desiredIPs": i64::MAX,
                "assignmentCoolOffSeconds": 1e300, "dnsRecordSet": {"ttl": i64::MIN},
                "unknown": {"a": 1},
                "match": {"nodeLabel": "a==,,b", "tolerations": [{}, {"operator": "maybe"}]},
            },
            "status": {
                "ips": {"x": {"state": "odd"}}, "nodeErrors": ["e"], "assignableNodes": ["n"],
                "error": "bad", "lastAssignmentTime": "some day",
            },
        }));
        assert_eq!(pool.spec.desired_ips, i64::MAX);
        assert_eq!(pool.spec.cool_off(), Duration::MAX);
        assert_eq!(pool.spec.dns_record_set.map(|record| record.ttl), Some(i64::MIN));
        assert_eq!(pool.spec.matching.tolerations[1].operator, "maybe");
        let status = pool.status.unwrap();
        assert_eq!(status.ips["x"].state, "odd");
        assert_eq!((status.node_errors.len(), status.assignable_nodes.len()), (1, 1));
    }

    #[test]
    fn an_object_is_written_as_it_was_read() {
        let stored = json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "FloatingIPPool",
            "metadata": {"name": "ingress", "namespace": "flipop"},
            "spec": {
                "provider": "digitalocean", "region": "nyc3", "desiredIPs": 3,
                "assignmentCoolOffSeconds": 0.5, "gracePeriodSeconds": 30.0,
                "deletionPolicy": "Release",
                "ips": ["192.0.2.1"],
                "match": {"podNamespace": "web", "tolerations": [{"key": "a", "effect": "NoSchedule"}]},
                "dnsRecordSet": {"zone": "example.com", "recordName": "hello", "ttl": 30},
            },
            "status": {
                "assigned": "1/3", "createdIPs": ["192.0.2.2"], "observedGeneration": 4,
                "lastAssignmentTime": "2026-11-15T03:35:57.123456Z",
                "ips": {"192.0.2.1": {
                    "state": "active", "nodeName": "a", "providerID": "digitalocean://1",
                    "ineligibleSince": "2026-11-15T03:35:57.000000Z",
                }},
            },
        });
        assert_eq!(serde_json::to_value(decoded(stored.clone())).unwrap(), stored);
    }

    #[test]
    fn the_cool_off_is_a_duration_whatever_number_is_stored() {
        let cool_off = |seconds| {
            FloatingIPPoolSpec {
                assignment_cool_off_seconds: seconds,
                ..FloatingIPPoolSpec::default()
            }
            .cool_off()
        };
        assert_eq!(cool_off(0.0), Duration::ZERO);
        assert_eq!(cool_off(1.5), Duration::from_millis(1500));
        assert_eq!(cool_off(-1.0), Duration::ZERO);
    }
}
