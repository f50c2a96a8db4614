//! Cases that the comparison with the real server (`tests/schema`) does not reach.
use serde_json::json;

use super::*;
use crate::registry::Registry;

fn cells(plural: &str, object: Value) -> Vec<Value> {
    let registry = Registry::new();
    let kind = registry.get("", "v1", plural).unwrap();
    let now = "2024-01-01T01:00:00Z".parse().unwrap();
    let table = render(kind, &[object], json!({}), "None", now);
    table["rows"][0]["cells"].as_array().unwrap().clone()
}

#[test]
fn a_pod_that_crashes_shows_why_and_when() {
    let status = json!({
        "name": "c", "ready": false, "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"finishedAt": "2024-01-01T00:55:00Z", "exitCode": 1}},
    });
    let pod = json!({
        "metadata": {"name": "p", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c"}], "nodeName": "n"},
        "status": {"phase": "Running", "containerStatuses": [status], "podIPs": [{"ip": "10.0.0.1"}]},
    });
    assert_eq!(
        cells("pods", pod),
        ["p", "0/1", "CrashLoopBackOff", "3 (5m ago)", "60m", "10.0.0.1", "n", "<none>", "<none>"]
    );
}

#[test]
fn a_node_shows_its_roles_and_that_it_is_cordoned() {
    let node = json!({
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kernelVersion": "6.1", "architecture": "amd64"}},
    });
    assert_eq!(
        cells("nodes", node),
        [
            "n",
            "Ready,SchedulingDisabled",
            "a,b",
            "<unknown>",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "6.1 (amd64)",
            "<unknown>",
        ]
    );
}

#[test]
fn a_custom_kind_shows_its_columns() {
    let mut registry = Registry::new();
    let column =
        |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    registry
        .install(&json!({"spec": {
            "group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"},
            "versions": [{"name": "v1", "served": true, "additionalPrinterColumns": [
                column("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"),
                column("Count", "integer", ".spec.count"),
                column("Age", "date", ".metadata.creationTimestamp"),
            ]}],
        }}))
        .unwrap();
    let object = json!({
        "metadata": {"name": "k", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"count": 2}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    let empty = json!({"metadata": {"name": "e"}});
    let now = "2024-01-01T00:05:00Z".parse().unwrap();

    let table =
        render(registry.get("g", "v1", "ks").unwrap(), &[object, empty], json!({}), "None", now);

    assert_eq!(table["rows"][0]["cells"], json!(["k", "True", 2, "5m"]));
    assert_eq!(table["rows"][1]["cells"], json!(["e", null, null, null]));
}
