//! Restores a used plane to its fresh state, or reports that the plane cannot be restored.
//!
//! Keys of the test are deleted in etcd, where a single listing shows everything. Then all views of
//! the API server (lists, discovery, OpenAPI) are polled until no trace is left. A plane with keys
//! of unexpected kinds, or with changes to its fresh content, is given up: a new plane takes
//! seconds.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use http::Request;
use kube::Client;
use serde_json::Value;

use crate::Error;
use crate::store::{self, Content, PREFIX};

/// The kinds that tests create: prefix of the etcd key, and path of the list. A plane with keys of
/// other kinds is given up.
const KINDS: &[(&str, &str)] = &[
    ("clusterrolebindings/", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
    ("clusterroles/", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ("configmaps/", "/api/v1/configmaps"),
    ("deployments/", "/apis/apps/v1/deployments"),
    ("events/", "/api/v1/events"),
    ("ipaddresses/", "/apis/networking.k8s.io/v1/ipaddresses"),
    ("leases/", "/apis/coordination.k8s.io/v1/leases"),
    ("minions/", "/api/v1/nodes"),
    ("namespaces/", "/api/v1/namespaces"),
    ("poddisruptionbudgets/", "/apis/policy/v1/poddisruptionbudgets"),
    ("pods/", "/api/v1/pods"),
    ("replicasets/", "/apis/apps/v1/replicasets"),
    ("rolebindings/", "/apis/rbac.authorization.k8s.io/v1/rolebindings"),
    ("roles/", "/apis/rbac.authorization.k8s.io/v1/roles"),
    ("secrets/", "/api/v1/secrets"),
    ("serviceaccounts/", "/api/v1/serviceaccounts"),
    ("services/specs/", "/api/v1/services"),
    (DEFINITIONS, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
];

const DEFINITIONS: &str = "apiextensions.k8s.io/customresourcedefinitions/";

/// The server adds an APIService for each version of a definition, and deletes it again.
const OF_DEFINITIONS: &str = "apiregistration.k8s.io/apiservices/";

/// Keys that the server itself writes from time to time.
const OF_THE_SERVER: &[&str] =
    &["leases/kube-system/apiserver-", "peerserverleases/", "ranges/", "events/default/"];

/// Keys that the server may add shortly after it reports ready.
const LATE: &[&str] = &[
    "clusterrolebindings/system:",
    "clusterroles/system:",
    "configmaps/kube-system/",
    "flowschemas/",
    "ipaddresses/10.0.0.1",
    "leases/kube-system/apiserver-",
    "namespaces/kube-",
    "peerserverleases/",
    "priorityclasses/system-",
    "prioritylevelconfigurations/",
    "rolebindings/kube-",
    "roles/kube-",
    "servicecidrs/kubernetes",
    "services/specs/default/kubernetes",
];

/// Time limit for the server to drop deleted objects from its caches; a second is usual.
const LIMIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// Restores the plane in `folder` to the content `fresh`. False if that is not possible.
pub(crate) async fn wipe(folder: &Path, client: &Client, fresh: &Content) -> Result<bool, Error> {
    let now = store::content(folder).await?;
    let Some(made) = Made::of(fresh, &now) else { return Ok(false) };
    store::remove(folder, &made.keys).await?;
    let started = Instant::now();
    while !made.is_gone(folder, client, fresh).await? {
        if started.elapsed() > LIMIT {
            return Ok(false);
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(true)
}

/// The keys that a test created.
struct Made {
    keys: Vec<String>,
    /// The API groups of the created definitions.
    groups: BTreeSet<String>,
}

impl Made {
    /// `None` if deleting objects of known kinds would not restore the plane.
    fn of(fresh: &Content, now: &Content) -> Option<Self> {
        let is_as_before = |(key, revision): (&String, &String)| {
            now.get(key) == Some(revision) || is_of(OF_THE_SERVER, key)
        };
        let definitions = now.keys().filter(|key| !fresh.contains_key(*key));
        let groups: BTreeSet<String> =
            definitions.filter_map(|key| group(key)).map(str::to_owned).collect();
        let objects: Vec<String> = groups.iter().map(|group| format!("{group}/")).collect();
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        let new = |key: &&String| {
            !fresh.contains_key(*key) && !is_of(&[OF_DEFINITIONS], key) && !is_of(LATE, key)
        };
        let keys: Vec<String> = now.keys().filter(new).cloned().collect();
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
        let is_known = |key: &String| is_of(&kinds, key) || is_of(&objects, key);
        (fresh.iter().all(is_as_before) && keys.iter().all(is_known))
            .then_some(Self { keys, groups })
    }

    /// Whether etcd and the server's caches show no trace of the keys.
    async fn is_gone(
        &self,
        folder: &Path,
        client: &Client,
        fresh: &Content,
    ) -> Result<bool, Error> {
        let left = store::content(folder).await?;
        let is_left = |key: &String| {
            !fresh.contains_key(key) && !is_of(OF_THE_SERVER, key) && !is_of(LATE, key)
        };
        if left.keys().any(is_left) {
            return Ok(false);
        }
        for (kind, path) in KINDS {
            if is_listed(client, path, &self.of_kind(kind)).await? {
                return Ok(false);
            }
        }
        for path in ["/apis", "/openapi/v3"] {
            let page = page(client, path).await?;
            if self.groups.iter().any(|group| page.contains(group.as_str())) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Objects of a kind: name, or namespace and name.
    fn of_kind(&self, kind: &str) -> BTreeSet<&str> {
        let name = |key: &'_ String| -> Option<usize> {
            key.strip_prefix(PREFIX)?.strip_prefix(kind)?;
            Some(PREFIX.len() + kind.len())
        };
        self.keys.iter().filter_map(|key| key.get(name(key)?..)).collect()
    }
}

fn is_of(kinds: &[&str], key: &str) -> bool {
    let key = key.strip_prefix(PREFIX).unwrap_or(key);
    kinds.iter().any(|kind| key.starts_with(kind))
}

/// The API group in the key of a definition.
fn group(key: &str) -> Option<&str> {
    let name = key.strip_prefix(PREFIX)?.strip_prefix(DEFINITIONS)?;
    Some(name.split_once('.')?.1)
}

/// Whether the server's cache still shows any of the named objects.
async fn is_listed(client: &Client, path: &str, names: &BTreeSet<&str>) -> Result<bool, Error> {
    if names.is_empty() {
        return Ok(false);
    }
    let cached = format!("{path}?resourceVersion=0");
    let list: Value = serde_json::from_str(&page(client, &cached).await?).unwrap_or_default();
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(items.iter().any(|item| {
        let text = |field: &str| item["metadata"][field].as_str();
        let name = text("name").unwrap_or_default();
        match text("namespace") {
            Some(namespace) => names.contains(format!("{namespace}/{name}").as_str()),
            None => names.contains(name),
        }
    }))
}

async fn page(client: &Client, path: &str) -> Result<String, Error> {
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    Ok(client.request_text(request).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(keys: &[(&str, &str)]) -> Content {
        let entry =
            |(key, revision): &(&str, &str)| (format!("{PREFIX}{key}"), (*revision).to_owned());
        keys.iter().map(entry).collect()
    }

    fn definition() -> String {
        format!("{DEFINITIONS}pools.example.com")
    }

    #[test]
    fn what_a_test_has_made_is_found_with_the_objects_of_its_definitions() {
        let fresh = content(&[("namespaces/default", "3"), ("ranges/ports", "4")]);
        let definition = definition();
        let now = content(&[
            ("namespaces/default", "3"),
            ("ranges/ports", "9"),
            ("minions/a", "10"),
            ("pods/flipop/b", "11"),
            (&definition, "12"),
            ("example.com/pools/flipop/c", "13"),
            ("apiregistration.k8s.io/apiservices/v1.example.com", "14"),
        ]);

        let made = Made::of(&fresh, &now).unwrap();

        assert_eq!(made.keys.len(), 4, "{:?}", made.keys);
        assert_eq!(made.of_kind("pods/"), BTreeSet::from(["flipop/b"]));
        assert_eq!(made.groups, BTreeSet::from(["example.com".to_owned()]));
    }

    #[test]
    fn a_plane_with_another_kind_or_without_what_it_came_with_is_given_up() {
        let fresh = content(&[("namespaces/default", "3")]);
        let of_another_kind = content(&[("namespaces/default", "3"), ("leasecandidates/a", "4")]);
        let of_no_definition =
            content(&[("namespaces/default", "3"), ("example.com/pools/c", "4")]);
        let changed = content(&[("namespaces/default", "5")]);
        for now in [of_another_kind, of_no_definition, changed, Content::new()] {
            assert!(Made::of(&fresh, &now).is_none(), "{now:?}");
        }
    }
}
