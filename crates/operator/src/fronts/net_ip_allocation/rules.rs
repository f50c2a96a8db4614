//! The API server's checks of an allocation before storing.

use schemars::Schema;

use crate::api::cel::{Empty, one_of};

/// The kinds of workload.
pub(super) const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// The kind of a workload.
pub(super) fn workload_kind(field: &mut Schema) {
    one_of(field, "kind of workload", &WORKLOADS, Empty::Refused);
}

/// Whether pods are evicted.
pub(super) fn eviction(field: &mut Schema) {
    one_of(field, "eviction policy", &["Enabled", "Disabled"], Empty::Allowed);
}
