//! The fields of a selection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules;

/// Which nodes are meant: those that pass every criterion given here. Without any, every
/// ready node is meant.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Match {
    /// Label selector for nodes, e.g. `pool=edge,zone in (a,b),!legacy`. Empty selects every
    /// node.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    #[schemars(transform = rules::selector)]
    pub node_label: String,

    /// Label selector for pods. A node is meant only while at least one selected pod runs on
    /// it and is ready.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 4096))]
    #[schemars(transform = rules::selector)]
    pub pod_label: String,

    /// Namespace of the pods that `podLabel` selects; empty means every namespace. Given
    /// without `podLabel` it selects every pod of the namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pod_namespace: String,

    /// Taints that do not rule a node out. Each taint of a node must be tolerated, whatever
    /// its effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub tolerations: Vec<Toleration>,
}

/// A taint that is tolerated, or a range of them.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Key of the taint. Empty, with the operator `Exists`, means every key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,

    /// `Equal` (the default) compares the taint's value with `value`, `Exists` accepts every
    /// value.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = rules::toleration_operator)]
    pub operator: String,

    /// Value of the taint, for the operator `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,

    /// Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Empty means every
    /// effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(transform = rules::toleration_effect)]
    pub effect: String,
}
