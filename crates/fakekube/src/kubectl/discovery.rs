//! Discovery: the answers at `/api`, `/apis` and below.
//!
//! In: the registry. Out: JSON as from the real server, but without hashes of storage versions.

use serde_json::{Value, json};

use crate::registry::{Kind, Registry};

/// The real server's order of its own groups; all other groups follow by name.
const OWN_GROUPS: [&str; 5] =
    ["apps", "events.k8s.io", "policy", "apiextensions.k8s.io", "coordination.k8s.io"];

/// The answer at `/api`.
#[must_use]
pub fn api_versions(registry: &Registry) -> Value {
    let address = json!({"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"});
    json!({
        "kind": "APIVersions",
        "versions": registry.versions(""),
        "serverAddressByClientCIDRs": [address],
    })
}

/// The answer at `/apis`.
#[must_use]
pub fn api_group_list(registry: &Registry) -> Value {
    let groups: Vec<_> = groups(registry).into_iter().map(|name| group(registry, name)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// The answer at `/apis/{group}`; `None` if the group is not served.
#[must_use]
pub fn api_group(registry: &Registry, name: &str) -> Option<Value> {
    if name.is_empty() || !registry.groups().contains(&name) {
        return None;
    }
    let mut group = group(registry, name);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Some(group)
}

/// The answer at `/apis/{group}/{version}`, or `/api/v1` for the core group; `None` if the version
/// is not served.
#[must_use]
pub fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let resources: Vec<_> = registry.of(group, version).flat_map(|kind| resources(kind)).collect();
    if resources.is_empty() {
        return None;
    }
    let group_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    let mut list = json!({
        "kind": "APIResourceList", "groupVersion": group_version, "resources": resources,
    });
    if !group.is_empty() {
        // The answer of the core group has no `apiVersion`.
        list["apiVersion"] = json!("v1");
    }
    Some(list)
}

/// The answer at `/api` (`core`) or `/apis` for a client that asks with `as=APIGroupDiscoveryList`:
/// all groups and resources at once.
#[must_use]
pub fn aggregated(registry: &Registry, core: bool) -> Value {
    let names = if core { vec![""] } else { groups(registry) };
    let items: Vec<_> = names
        .into_iter()
        .map(|name| {
            let versions = registry.versions(name);
            let versions: Vec<_> =
                versions.into_iter().map(|version| discovered(registry, name, version)).collect();
            let metadata = if core { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items,
    })
}

/// The groups other than the core group, in the server's order.
fn groups(registry: &Registry) -> Vec<&str> {
    let mut groups = registry.groups();
    groups.retain(|group| !group.is_empty());
    let rank =
        |group: &str| OWN_GROUPS.iter().position(|own| *own == group).unwrap_or(OWN_GROUPS.len());
    groups.sort_by_key(|group| (rank(group), *group));
    groups
}

fn group(registry: &Registry, name: &str) -> Value {
    let version =
        |version: &str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<_> = registry.versions(name).into_iter().map(version).collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

/// A kind's resource and its subresources.
fn resources(kind: &Kind) -> Vec<Value> {
    let mut resource = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
        "kind": kind.kind, "verbs": kind.verbs,
    });
    add_names(&mut resource, kind);
    let verbs = ["get", "patch", "update"];
    let status = json!({
        "name": format!("{}/status", kind.plural), "singularName": "",
        "namespaced": kind.namespaced, "kind": kind.kind, "verbs": verbs,
    });
    let mut resources = vec![resource];
    if is_scaled(kind) {
        resources.push(json!({
            "name": format!("{}/scale", kind.plural), "singularName": "",
            "namespaced": kind.namespaced, "group": "autoscaling", "version": "v1",
            "kind": "Scale", "verbs": verbs,
        }));
    }
    if is_evicted(kind) {
        resources.push(json!({
            "name": "pods/eviction", "singularName": "", "namespaced": true,
            "group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"],
        }));
    }
    resources.extend(kind.status_subresource.then_some(status));
    resources
}

fn discovered(registry: &Registry, group: &str, version: &str) -> Value {
    let resource = |kind: &Kind| {
        // Built-in kinds omit group and version here.
        let (group, version) =
            if kind.built_in() { ("", "") } else { (kind.group.as_str(), kind.version.as_str()) };
        let response = json!({"group": group, "version": version, "kind": kind.kind});
        let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
        let mut resource = json!({
            "resource": kind.plural, "responseKind": response, "scope": scope,
            "singularResource": kind.singular, "verbs": kind.verbs,
        });
        add_names(&mut resource, kind);
        let mut subresources = Vec::new();
        if is_evicted(kind) {
            let response = json!({"group": "policy", "version": "v1", "kind": "Eviction"});
            subresources.push(
                json!({"subresource": "eviction", "responseKind": response, "verbs": ["create"]}),
            );
        }
        let verbs = ["get", "patch", "update"];
        if is_scaled(kind) {
            let response = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
            subresources
                .push(json!({"subresource": "scale", "responseKind": response, "verbs": verbs}));
        }
        if kind.status_subresource {
            subresources
                .push(json!({"subresource": "status", "responseKind": response, "verbs": verbs}));
        }
        if !subresources.is_empty() {
            resource["subresources"] = json!(subresources);
        }
        resource
    };
    let resources: Vec<_> = registry.of(group, version).map(|kind| resource(kind)).collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

/// Whether the objects of a kind have the subresource `eviction`.
fn is_evicted(kind: &Kind) -> bool {
    kind.built_in() && kind.plural == "pods"
}

/// Whether the objects of a kind have the subresource `scale`.
fn is_scaled(kind: &Kind) -> bool {
    kind.built_in() && kind.scale
}

fn add_names(resource: &mut Value, kind: &Kind) {
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_served_is_not_there() {
        let registry = Registry::new();
        assert!(resource_list(&registry, "batch", "v1").is_none());
        assert!(api_group(&registry, "batch").is_none());
        assert!(api_group(&registry, "").is_none());
    }

    #[test]
    fn every_kind_is_found_in_both_forms_of_discovery() {
        let registry = Registry::new();
        for kind in registry.kinds() {
            let list = resource_list(&registry, &kind.group, &kind.version).unwrap();
            let names = list["resources"].as_array().unwrap();
            assert!(names.iter().any(|resource| resource["name"] == json!(kind.plural)));
            let whole = aggregated(&registry, kind.group.is_empty()).to_string();
            assert!(whole.contains(&format!("\"resource\":\"{}\"", kind.plural)));
        }
    }
}
