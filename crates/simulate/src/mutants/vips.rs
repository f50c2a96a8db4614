//! Mutants with a wrong view of Clusters and their claims.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pontoon::management::names;
use serde_json::Value;

use super::distorting::Distortion;
use super::memory::pools as each;
use crate::cluster::clusters::{BY_HAND, claims};
use crate::wire::{ApiAction, Kind};

fn is_of(action: ApiAction, kind: Kind) -> bool {
    [ApiAction::List(kind), ApiAction::Watch(kind)].contains(&action)
}

/// Each Cluster is shown otherwise than it is.
#[derive(Clone)]
pub(super) struct ShownClusters(pub fn(&mut Value));

impl Distortion for ShownClusters {
    fn concerns(&self, action: ApiAction) -> bool {
        is_of(action, Kind::Clusters)
    }

    fn distort(&self, _: ApiAction, value: &mut Value) {
        each(value, self.0);
    }
}

/// A Cluster that is being deleted has no machines any more.
pub(super) fn without_machines(cluster: &mut Value) {
    let metadata = &mut cluster["metadata"];
    if metadata["deletionTimestamp"].is_string()
        && let Some(all) = metadata["finalizers"].as_array_mut()
    {
        all.retain(|one| one != names::GUARD);
    }
}

/// No host is a user's.
pub(super) fn without_users_host(cluster: &mut Value) {
    let host = cluster["spec"]["controlPlaneEndpoint"]["host"].as_str();
    if host.is_some_and(|host| host.starts_with(BY_HAND))
        && let Some(spec) = cluster["spec"].as_object_mut()
    {
        spec.remove("controlPlaneEndpoint");
    }
}

/// A claim with the right name is taken for the Cluster's own, whoever owns it.
#[derive(Clone, Default)]
pub(super) struct ByClaimName {
    /// The UID of each Cluster that was seen, by the names of its claims.
    known: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl Distortion for ByClaimName {
    fn concerns(&self, action: ApiAction) -> bool {
        is_of(action, Kind::Clusters) || is_of(action, Kind::Claims)
    }

    fn distort(&self, action: ApiAction, value: &mut Value) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        each(value, |object| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if is_of(action, Kind::Clusters) {
                let uid = &object["metadata"]["uid"];
                known.extend(claims(&name).map(|claim| (claim, uid.clone())));
            } else if let Some(uid) = known.get(&name) {
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove("deletionTimestamp");
                }
                let owners = object["metadata"]["ownerReferences"].as_array_mut();
                for owner in owners.into_iter().flatten().filter(|one| one["kind"] == "Cluster") {
                    owner["uid"] = uid.clone();
                }
            }
        });
    }
}
