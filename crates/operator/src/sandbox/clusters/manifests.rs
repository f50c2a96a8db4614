//! The scene's own objects.

use pontoon_core::model::Kind;
use serde_json::{Value, json};

use super::NAMESPACE;
use crate::management::{CLASS, CLUSTER, GLOBAL_POOL, LOCAL_POOL, names};

/// The class of the scene's own Clusters.
const USUAL_CLASS: &str = "kube-vip";

/// Whether a manifest is of a kind, in whatever version.
pub fn is_of(object: &Value, kind: &Kind) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    object["kind"] == kind.name && version.starts_with(&format!("{}/", kind.group))
}

fn of(kind: &Kind, rest: Value) -> Value {
    let mut object = rest;
    object["apiVersion"] = json!(format!("{}/{}", kind.group, kind.version));
    object["kind"] = json!(kind.name);
    object
}

/// The classes that the user's objects are, or name, by namespace and name; else the usual class.
pub fn classes(given: &[Value]) -> Vec<(String, String)> {
    let mut classes: Vec<_> = given.iter().flat_map(classes_of).collect();
    classes.sort();
    classes.dedup();
    if classes.is_empty() {
        classes.push((NAMESPACE.to_owned(), USUAL_CLASS.to_owned()));
    }
    classes
}

/// The classes that an object is, or names.
fn classes_of(object: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let metadata = &object["metadata"];
    let own = || text(&metadata["namespace"]).unwrap_or_else(|| NAMESPACE.to_owned());
    if is_of(object, &CLASS) {
        return text(&metadata["name"]).map(|name| (own(), name)).into_iter().collect();
    }
    if is_of(object, &CLUSTER) {
        let class = &object["spec"]["topology"]["classRef"];
        let namespace = text(&class["namespace"]).unwrap_or_else(own);
        return text(&class["name"]).map(|name| (namespace, name)).into_iter().collect();
    }
    if !is_of(object, &LOCAL_POOL) && !is_of(object, &GLOBAL_POOL) {
        return Vec::new();
    }
    let list = match metadata["labels"][names::CLASSES].as_str() {
        Some("true") => metadata["annotations"][names::CLASSES].as_str(),
        other => other,
    };
    let entries = list.unwrap_or_default().split(',').map(str::trim);
    let class = |entry: &str| match entry.split_once('/') {
        Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
        None => (own(), entry.to_owned()),
    };
    entries.filter(|entry| !entry.is_empty()).map(class).collect()
}

/// A small VIP pool that comes first, a large one that follows, and one for ingress.
pub fn pools(classes: &[(String, String)]) -> [Value; 3] {
    let mut served: Vec<_> = classes.iter().map(|(_, name)| name.as_str()).collect();
    served.dedup();
    let served = served.join(",");
    let pool = |kind: &Kind, name: &str, role: &str, addresses: &str| {
        let mut metadata = json!({
            "name": name, "labels": {names::CLASSES: "true", names::ROLES: role},
            "annotations": {names::CLASSES: served},
        });
        if kind == &LOCAL_POOL {
            metadata["namespace"] = json!(NAMESPACE);
        }
        let spec = json!({"addresses": [addresses], "prefix": 24});
        of(kind, json!({"metadata": metadata, "spec": spec}))
    };
    [
        pool(&LOCAL_POOL, "few", "control-plane", "192.0.2.1-192.0.2.3"),
        pool(&GLOBAL_POOL, "many", "control-plane", "198.51.100.10-198.51.100.29"),
        pool(&GLOBAL_POOL, "ingress", "ingress", "203.0.113.10-203.0.113.39"),
    ]
}

/// A class with the variable for the VIP.
pub fn class(namespace: &str, name: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "string", "default": ""}});
    let variables = json!([{"name": names::VARIABLE, "required": false, "schema": schema}]);
    of(
        &CLASS,
        json!({
            "metadata": {"namespace": namespace, "name": name}, "spec": {"variables": variables},
        }),
    )
}

/// A Cluster of a class in the same namespace.
pub fn cluster(name: &str, namespace: &str, class: &str) -> Value {
    let topology = json!({"classRef": {"name": class}, "version": "v1.34.0"});
    of(
        &CLUSTER,
        json!({
            "metadata": {"namespace": namespace, "name": name}, "spec": {"topology": topology},
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_that_objects_are_or_name_are_known() {
        let mut pool = pools(&[("x".to_owned(), "a".to_owned())])[0].clone();
        pool["metadata"]["annotations"][names::CLASSES] = json!("a, b/c");
        let mut elsewhere = cluster("k", "n", "d");
        elsewhere["spec"]["topology"]["classRef"]["namespace"] = json!("m");
        let given = [pool, cluster("k", "n", "d"), elsewhere, class("n", "d"), class("n", "e")];
        let found = classes(&given);
        let found: Vec<_> = found.iter().map(|(space, name)| format!("{space}/{name}")).collect();
        assert_eq!(found, ["b/c", "default/a", "m/d", "n/d", "n/e"]);
        assert_eq!(classes(&[]).len(), 1);
    }
}
