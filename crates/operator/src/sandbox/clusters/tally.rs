//! Counts the effects of a command on VIPs: addresses that changed, writes, addresses that were freed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fakekube::FakeKube;
use http::Method;

use crate::management::{ADDRESS, CLUSTER};

/// Counts the operator's writes of Clusters, claims and holders. Statuses, events and Leases do not
/// count.
#[derive(Clone, Debug, Default)]
pub struct Writes(Arc<AtomicUsize>);

impl Writes {
    /// Counts a request, if it is such a write.
    pub fn hear<B>(&self, request: &http::Request<B>) {
        let path = request.uri().path();
        let is_theirs = path.contains(CLUSTER.group) || path.contains("/configmaps");
        if is_theirs && request.method() != Method::GET && !path.ends_with("/status") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The count.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The VIPs of a management cluster.
#[derive(Clone)]
pub struct Vips {
    /// The API server.
    pub kube: FakeKube,
    /// The operator's writes.
    pub writes: Writes,
}

impl Vips {
    /// The addresses in use, by the name of their claim.
    pub fn held(&self) -> BTreeMap<String, String> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.kube.objects(ADDRESS.group, ADDRESS.plural);
        let held = all.iter().map(|one| {
            let metadata = &one["metadata"];
            let name = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
            (name, text(&one["spec"]["address"]))
        });
        held.collect()
    }

    /// Calls back for each address that is freed.
    pub fn observe(&self, mut freed: impl FnMut(String) + Send + 'static) {
        self.kube.observe(move |write| {
            if (write.group, write.plural) == (ADDRESS.group, ADDRESS.plural)
                && write.after.is_none()
            {
                freed(write.key.to_owned());
            }
        });
    }
}
