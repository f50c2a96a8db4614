//! NetIPAllocation: reserved addresses that are kept on healthy nodes.

// Clippy takes the `type_` of a column for a duplicate of the next column's.
#![allow(clippy::duplicated_attributes)]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta};
use kube::{CustomResource, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::rules;
use crate::api::schemas;
use crate::api::wire::{self, Wire, is_default};
use crate::fronts::address_status::{IpStatus, rules as address_rules};

/// Reserved addresses, and the nodes and the workload that they belong to.
///
/// The fields mirror the stored object; a missing `spec` decodes as an empty spec.
#[derive(Resource, Clone, Debug, Default, PartialEq, Deserialize)]
#[resource(inherit = "AllocationDefinition")]
pub struct NetIPAllocation {
    /// Name, annotations and so on.
    pub metadata: ObjectMeta,
    /// The user's input; the operator never writes here.
    #[serde(default)]
    pub spec: NetIPAllocationSpec,
    /// The operator's last report.
    pub status: Option<NetIPAllocationStatus>,
}

impl Serialize for NetIPAllocation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::of(self, &self.spec, self.status.as_ref()).serialize(serializer)
    }
}

/// What an allocation asks for: addresses, the nodes that they belong on, and the workload that uses
/// them.
#[derive(CustomResource, JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "netinfra.darkbrains.com",
    version = "v1alpha1",
    kind = "NetIPAllocation",
    root = "AllocationDefinition",
    status = "NetIPAllocationStatus",
    shortname = "nia",
    category = "pontoon",
    doc = "Reserved IP addresses that are kept on healthy nodes. A node that serves an address has \
           the label `ip.ready=true`. A cordoned node keeps its address while pods of the workload \
           are on it. Deleting an allocation leaves addresses and nodes as they are.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        description = "Whether every address is on a healthy node.",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Attached",
        type_ = "string",
        description = "Addresses on healthy nodes, of those that are listed.",
        json_path = ".status.attached"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        description = "Why the allocation is ready, or why it is not.",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "IPs",
        type_ = "string",
        description = "Addresses that the allocation lists.",
        json_path = ".spec.reservedIPs",
        priority = 1
    ),
    printcolumn(
        name = "Provider",
        type_ = "string",
        description = "Cloud that the addresses belong to.",
        json_path = ".spec.cloud.provider",
        priority = 1
    )
)]
#[schemars(extend("required" = ["reservedIPs", "cloud"]))]
#[serde(rename_all = "camelCase", default)]
pub struct NetIPAllocationSpec {
    /// Existing addresses to keep on nodes, one for each node.
    #[serde(rename = "reservedIPs")]
    #[schemars(length(max = 256), inner(length(max = 64)))]
    #[schemars(transform = address_rules::addresses, transform = address_rules::no_duplicates)]
    pub reserved_ips: Vec<String>,

    /// Workload that uses the addresses. A cordoned node keeps its address while pods of the
    /// workload are on it. For a DaemonSet, whose pods never leave a cordoned node, every other pod
    /// counts that can be evicted. Without a workload, every pod with a label `app` counts, except
    /// those of DaemonSets and those in kube-system, gke-system and istio-system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<WorkloadRef>,

    /// Deprecated: the Deployment that uses the addresses. Use `workloadRef` instead, which takes
    /// precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_ref: Option<DeploymentRef>,

    /// Labels of the nodes that may have an address. Empty selects every node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub node_selector: BTreeMap<String, String>,

    /// Cloud that the addresses belong to.
    pub cloud: Cloud,

    /// Seconds between two reads of the cloud's own state, at least 5; 30 if unset. Changes in the
    /// cluster are acted on at once.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 5))]
    pub reconcile_interval: i64,

    /// Seconds for which a node that is not ready, or does not match any more, keeps its address, so
    /// that the node can recover. Fractions are allowed. 30 if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub grace_period_seconds: Option<f64>,

    /// `Enabled` (the default) evicts pods of the workload from a node that lost its last address,
    /// within their disruption budgets; `Disabled` leaves them there.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(transform = rules::eviction)]
    pub eviction: String,
}

/// A workload.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[schemars(extend("required" = ["kind", "name"]))]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadRef {
    /// Kind of the workload: `Deployment`, `StatefulSet` or `DaemonSet`.
    #[schemars(length(max = 64))]
    #[schemars(transform = rules::workload_kind)]
    pub kind: String,

    /// Name of the workload.
    pub name: String,

    /// Namespace of the workload; `default` if unset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// A Deployment.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentRef {
    /// Name of the Deployment.
    pub name: String,

    /// Namespace of the Deployment; `default` if unset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// The cloud of an allocation.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cloud {
    /// Provider of the addresses.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    #[schemars(transform = address_rules::address_provider)]
    pub provider: String,

    /// Region of the nodes that may have an address: their label `topology.kubernetes.io/region`, if
    /// they have one. Empty means any region.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,

    /// Zones of the nodes that may have an address: their label `topology.kubernetes.io/zone`. Empty
    /// means any zone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub zones: Vec<String>,
}

/// What the operator reports about an allocation.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetIPAllocationStatus {
    /// State of the allocation: `Ready`, `Reconciling` and `Stalled`, and `Evicting` while pods are
    /// evicted, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[schemars(with = "Vec<schemas::Condition>")]
    pub conditions: Vec<Condition>,

    /// The `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Addresses on healthy nodes, of those that are listed: `2/3`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub attached: String,

    /// Every address of the allocation and where it is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ips: BTreeMap<String, IpStatus>,

    /// Time of the last assignment of this allocation.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "wire::time")]
    #[schemars(with = "Option<schemas::Time>")]
    pub last_assignment_time: Option<MicroTime>,

    /// Nodes that cannot take an address although they match, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unusable_nodes: BTreeMap<String, String>,
}
