//! The status of an address.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{schemas, wire};

/// One address and where it is.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IpStatus {
    /// `active` (on a matching node), `in-progress`, `error`, `no-match` (attached, but its
    /// node does not match now), `unassigned`, or `disabled` (beyond `desiredIPs`, or not
    /// listed any more and on its way off its node).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,

    /// Time since which the address has this state. Not set for pools.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "wire::time")]
    #[schemars(with = "Option<schemas::Time>")]
    pub since: Option<MicroTime>,

    /// Node that holds the address, or that it is being assigned to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,

    /// Machine that holds the address, as in a node's `spec.providerID`.
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,

    /// Error of the address: why its last assignment failed, or that the address does not exist or
    /// belongs to another pool. Empty without an error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,

    /// Reason why the address is not `active`, without an error: what its node lacks, or what the
    /// address waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,

    /// Time of the last assignment of the address.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "wire::time")]
    #[schemars(with = "Option<schemas::Time>")]
    pub last_assignment_time: Option<MicroTime>,

    /// Time since which the node that holds the address does not match.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "wire::time")]
    #[schemars(with = "Option<schemas::Time>")]
    pub ineligible_since: Option<MicroTime>,

    /// Drift: another client moved the address at the cloud. Kept across restarts, so that the
    /// operator does not fight over the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftStatus>,
}

/// Somebody else took an address from the node that it served.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DriftStatus {
    /// Number of times, with less than ten minutes in between.
    // Kubernetes warns of formats that it does not know, such as uint32.
    #[schemars(with = "i64", range(min = 0))]
    pub times: u32,

    /// Time at which the last one was found.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "wire::time")]
    #[schemars(with = "Option<schemas::Time>")]
    pub last_found_time: Option<MicroTime>,

    /// Machine that the address was on, as in a node's `spec.providerID`; empty once it serves
    /// again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
}

/// The values of [`IpStatus::state`]. The field itself stays text, because a predecessor may have
/// written anything into a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IpState {
    /// On a matching node.
    Active,
    /// Being assigned.
    InProgress,
    /// The last attempt to assign the address failed.
    Error,
    /// Assigned, but the node does not match now.
    NoMatch,
    /// Not assigned.
    Unassigned,
    /// Beyond `desiredIPs`, and not used.
    Disabled,
}

impl IpState {
    /// The text in a status and in the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::InProgress => "in-progress",
            Self::Error => "error",
            Self::NoMatch => "no-match",
            Self::Unassigned => "unassigned",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for IpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
