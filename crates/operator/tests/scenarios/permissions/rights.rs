//! The rights of roles, and the requests of the audit log that use them.

use std::collections::BTreeSet;

use control_plane::AuditEntry;
use serde_json::Value;

use crate::arena::{Arena, eventually};

/// A single right of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    group: String,
    /// With the subresource, as in a role.
    pub resource: String,
    pub verb: String,
    /// Limited to this object.
    name: Option<String>,
    /// Limited to this namespace.
    pub namespace: Option<String>,
}

impl Right {
    /// Whether a request uses the right.
    fn covers(&self, entry: &AuditEntry) -> bool {
        let resource = match &*entry.subresource {
            "" => entry.resource.clone(),
            below => format!("{}/{below}", entry.resource),
        };
        (&entry.api_group, &resource, &entry.verb) == (&self.group, &self.resource, &self.verb)
            && self.name.as_ref().is_none_or(|name| *name == entry.name)
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == entry.namespace)
    }
}

/// All rights of the roles among these objects.
pub fn rights_in(objects: &[Value]) -> BTreeSet<Right> {
    let is_role = |object: &&Value| object["kind"] == "ClusterRole" || object["kind"] == "Role";
    let mut rights = BTreeSet::new();
    for role in objects.iter().filter(is_role) {
        let namespace = role["metadata"]["namespace"].as_str().map(ToOwned::to_owned);
        for rule in role["rules"].as_array().unwrap() {
            let names = match &*words(&rule["resourceNames"]) {
                [] => vec![None],
                names => names.iter().cloned().map(Some).collect(),
            };
            for (group, resource, verb, name) in product(rule, &names) {
                rights.insert(Right { group, resource, verb, name, namespace: namespace.clone() });
            }
        }
    }
    rights
}

fn product(
    rule: &Value,
    names: &[Option<String>],
) -> Vec<(String, String, String, Option<String>)> {
    let mut all = Vec::new();
    for group in words(&rule["apiGroups"]) {
        for resource in words(&rule["resources"]) {
            for verb in words(&rule["verbs"]) {
                let one = |name| (group.clone(), resource.clone(), verb.clone(), name);
                all.extend(names.iter().cloned().map(one));
            }
        }
    }
    all
}

fn words(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).unwrap_or_default()
}

/// The requests of a user so far. A watch is logged after its end.
fn requests(arena: &Arena, user: &str) -> Vec<AuditEntry> {
    let mut log = arena.plane().audit_log().unwrap();
    log.retain(|entry| entry.user == user);
    log
}

/// Waits until a user has used every right.
pub async fn are_used(arena: &Arena, user: &str, rights: &BTreeSet<Right>) {
    eventually("every right is used", || async {
        let log = requests(arena, user);
        let used = |right: &&Right| log.iter().any(|entry| right.covers(entry));
        let idle: Vec<_> = rights.iter().filter(|right| !used(right)).collect();
        if idle.is_empty() { Ok(()) } else { Err(format!("{idle:#?}")) }
    })
    .await;
}

/// Asserts that every request of a user has a right among these, and that no request of anybody was refused.
pub fn assert_granted(arena: &Arena, user: &str, rights: &BTreeSet<Right>) {
    let all = requests(arena, user);
    assert!(!all.is_empty(), "{user} has asked for nothing");
    let granted = |entry: &&AuditEntry| rights.iter().any(|right| right.covers(entry));
    let others: Vec<_> = all.iter().filter(|entry| !granted(entry)).collect();
    assert!(others.is_empty(), "without a right in the roles: {others:#?}");
    let log = arena.plane().audit_log().unwrap();
    let denied: Vec<_> = log.into_iter().filter(|entry| entry.code == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}
