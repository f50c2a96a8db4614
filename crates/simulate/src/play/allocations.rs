//! Users' changes of allocations, drained nodes, and disruption budgets.

use serde_json::json;

use super::Player;
use crate::allocations::{AllocationEvent, Workload};
use crate::cluster::APPS;

impl Player<'_> {
    pub(super) async fn allocation(&self, which: usize, what: AllocationEvent, begins: bool) {
        if let Some(which) = which.checked_rem(self.cluster.allocations()) {
            self.cluster.change_allocation(which, what, begins).await;
        }
    }

    /// A budget refuses evictions for a while.
    pub(super) async fn budget(&self, workload: Workload, begins: bool) {
        self.cluster.allow_disruptions(workload, !begins).await;
    }

    /// Cordons a node and removes its pods one after the other; uncordons it at the end.
    pub(super) async fn drain(&self, node: usize, begins: bool) {
        let node = node % self.cluster.nodes();
        let spec = if begins { cordoned() } else { uncordoned() };
        self.cluster.patch_node(node, &json!({"spec": spec})).await;
        if let Some(controllers) = &self.controllers {
            controllers.drain(crate::cluster::node_name(node), begins);
        }
        for app in 0..if begins { 0 } else { APPS } {
            self.cluster.run_pod(node, app).await;
        }
    }
}

/// The spec of a cordoned node.
pub(super) fn cordoned() -> serde_json::Value {
    let taint = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
    json!({"unschedulable": true, "taints": taint})
}

/// The same after `kubectl uncordon`.
pub(super) fn uncordoned() -> serde_json::Value {
    json!({"unschedulable": null, "taints": null})
}
