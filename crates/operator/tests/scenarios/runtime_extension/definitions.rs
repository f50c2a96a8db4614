//! Definitions of Cluster API's kinds, as far as the operator looks at them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::{ADDRESS, CLAIM, CLASS, CLUSTER, Kind, POOL};

pub fn plural(kind: &str) -> String {
    match kind {
        "ClusterClass" | "IPAddress" => format!("{}es", kind.to_lowercase()),
        _ => format!("{}s", kind.to_lowercase()),
    }
}

pub fn all() -> Vec<CustomResourceDefinition> {
    [CLUSTER, CLASS, CLAIM, ADDRESS, POOL].map(definition).into()
}

/// An object with these fields, and any others.
fn open(fields: &Value) -> Value {
    json!({"type": "object", "properties": fields, "x-kubernetes-preserve-unknown-fields": true})
}

/// A list whose entries have a writer each.
fn shared(key: &str) -> Value {
    let mut entry = open(&json!({key: {"type": "string"}}));
    entry["required"] = json!([key]);
    json!({"type": "array", "items": entry, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [key]})
}

fn definition((group, version, kind): Kind) -> CustomResourceDefinition {
    let plural = plural(kind);
    let scope = if kind == POOL.2 { "Cluster" } else { "Namespaced" };
    let topology = open(&json!({"variables": shared("name")}));
    let spec = match kind {
        "Cluster" => open(&json!({"topology": topology})),
        _ => open(&json!({})),
    };
    let status = open(&json!({"conditions": shared("type")}));
    let root = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let served = json!({"name": version, "served": true, "storage": true,
        "subresources": {"status": {}}, "schema": {"openAPIV3Schema": root}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            // Kubernetes reserves groups below x-k8s.io to those who say that they may.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group, "scope": scope, "versions": [served],
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                "singular": kind.to_lowercase()},
        },
    });
    serde_json::from_value(definition).unwrap()
}
