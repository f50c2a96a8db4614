//! Cluster API: a Cluster keeps its finalizer until its machines are gone, and shows its phase.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::{CLUSTER, Object, Steps, Stored, Write, names};

/// The next steps of Cluster API. Paused Clusters are left alone.
pub(super) fn step(stored: &Stored, now: Timestamp, machines_take: Duration) -> Steps {
    let mut steps = Steps::default();
    for cluster in stored.of(&CLUSTER).filter(|cluster| !cluster.is_paused()) {
        let phase = phase(cluster);
        let done = if cluster.is_deleting() { gone_at(cluster, machines_take) } else { None };
        if cluster.0["status"]["phase"] != phase {
            steps.writes.push(Write::tell(&CLUSTER, cluster, &json!({"phase": phase})));
        } else if !cluster.is_deleting() && !cluster.has(names::GUARD) {
            steps.writes.push(Write::add(&CLUSTER, cluster, names::GUARD));
        } else if let Some(done) = done.filter(|_| cluster.has(names::GUARD)) {
            if done <= now {
                steps.writes.push(Write::drop(&CLUSTER, cluster, names::GUARD));
            } else {
                steps.wake = [steps.wake, Some(done)].into_iter().flatten().min();
            }
        }
    }
    steps
}

fn phase(cluster: Object<'_>) -> &'static str {
    let has_endpoint = cluster.0["spec"]["controlPlaneEndpoint"]["host"].is_string();
    match (cluster.is_deleting(), has_endpoint) {
        (true, _) => "Deleting",
        (false, true) => "Provisioned",
        (false, false) => "Provisioning",
    }
}

/// When the machines of a deleted Cluster are gone.
fn gone_at(cluster: Object<'_>, machines_take: Duration) -> Option<Timestamp> {
    let since: Timestamp = cluster.text("deletionTimestamp").parse().ok()?;
    since.checked_add(machines_take).ok()
}
