//! S10, S12 and S13 for the replicas' requests about VIPs: nothing is claimed or tied for a Cluster
//! that is paused, about to go, gone, or that has a value of its user's, and no bound claim is
//! deleted. A replica may not know of the latest changes.

use bytes::Bytes;
use pontoon::management::names;
use serde_json::Value;

use super::Oracle;
use super::pool::text;
use super::vips::{Seen, owners};
use crate::wire::ApiAction;

/// The metadata of our writes of existing objects.
const IDENTITY: [&str; 4] = ["name", "namespace", "uid", "resourceVersion"];

impl Oracle {
    /// Checks a request about VIPs. Returns whether the request writes our own fields alone.
    pub(super) fn check_vip_request(
        &mut self,
        process: &str,
        action: ApiAction,
        path: &str,
        body: &Bytes,
    ) -> bool {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if self.modes_observe(process) && action != ApiAction::WriteCluster {
            self.violated("S13", format!("{process} {path}: it only observes"));
        }
        let wrong = match action {
            ApiAction::CreateClaim | ApiAction::AdoptClaim => {
                let role = text(&body["metadata"]["labels"][names::ROLES]);
                let uid = owners(&body, "Cluster").next().unwrap_or_default();
                self.unwanted(uid, Some(role).filter(|_| action == ApiAction::CreateClaim))
            }
            ApiAction::KeepHolder => {
                let annotations = &body["metadata"]["annotations"];
                self.unwanted(text(&annotations[super::vips::HELD_FOR]), None)
            }
            ApiAction::DropHolder => self.untimely(path),
            ApiAction::DeleteClaim => self.bound(path, &body),
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.violated("S12", format!("{process} {path}: {wrong}"));
        }
        match action {
            ApiAction::WriteEndpoint | ApiAction::WriteIngress => is_ours(&body),
            ApiAction::DeleteClaim | ApiAction::DropHolder => has_preconditions(&body),
            _ => true,
        }
    }

    /// The reason for which nothing may be claimed or tied for a Cluster.
    fn unwanted(&self, uid: &str, role: Option<&str>) -> Option<String> {
        let floor = self.api_floor();
        let surely = |since: &Option<u64>| since.is_some_and(|since| since < floor);
        if surely(&self.vips.gone.get(uid).copied()) {
            return Some("its Cluster is gone".to_owned());
        }
        let cluster = self.cluster_of(uid)?;
        let role = match role {
            Some("control-plane") => Some(0),
            Some("ingress") => Some(1),
            _ => None,
        };
        let reasons = [
            (surely(&cluster.paused), "its Cluster is paused"),
            (surely(&cluster.deleting), "its Cluster is being deleted"),
            (role.is_some_and(|role| surely(&cluster.own[role])), "its user has another value"),
        ];
        let reason = reasons.iter().find(|(is, _)| *is);
        reason.map(|(_, word)| format!("{word}: {}", cluster.name()))
    }

    fn cluster_of(&self, uid: &str) -> Option<&Seen> {
        self.vips.clusters.values().find(|cluster| cluster.uid() == uid)
    }

    /// The reason for which a holder may not be dropped now, besides the machines of its Cluster.
    fn untimely(&self, path: &str) -> Option<String> {
        let holder = self.vips.holders.get(&key(path)?)?;
        let uid = text(&holder["metadata"]["annotations"][super::vips::HELD_FOR]);
        let paused = self.cluster_of(uid)?.paused.is_some_and(|since| since < self.api_floor());
        paused.then(|| "its Cluster is paused".to_owned())
    }

    /// The reason for which a claim may not be deleted: the claim is bound, and the preconditions
    /// do not prevent the deletion.
    fn bound(&self, path: &str, body: &Value) -> Option<String> {
        let claim = self.vips.claims.get(&key(path)?)?;
        let metadata = &claim["metadata"];
        let only = &body["preconditions"];
        let current = only["uid"] == metadata["uid"]
            && only["resourceVersion"] == metadata["resourceVersion"];
        let is_bound = claim["status"]["addressRef"]["name"].is_string();
        (is_bound && current).then(|| "the claim is bound".to_owned())
    }
}

/// `namespace/name` of the object of a path.
fn key(path: &str) -> Option<String> {
    let segments: Vec<_> = path.trim_matches('/').split('/').collect();
    let [.., namespace, _, name] = segments.as_slice() else { return None };
    Some(format!("{namespace}/{name}"))
}

fn has_preconditions(body: &Value) -> bool {
    let only = &body["preconditions"];
    only["uid"].is_string() && only["resourceVersion"].is_string()
}

/// Whether a write of a Cluster contains our own fields alone, and names the version it is for.
fn is_ours(body: &Value) -> bool {
    let keys = |value: &Value, known: &[&str]| {
        let mut all = value.as_object().into_iter().flat_map(|map| map.keys());
        all.all(|key| known.contains(&key.as_str()))
    };
    let (metadata, spec) = (&body["metadata"], &body["spec"]);
    let variables = spec["topology"]["variables"].as_array();
    let mut variables = variables.into_iter().flatten();
    keys(body, &["apiVersion", "kind", "metadata", "spec"])
        && keys(metadata, &[&IDENTITY[..], &["annotations", "labels"]].concat())
        && keys(&metadata["annotations"], &[names::INGRESS_VIP])
        && keys(&metadata["labels"], &[names::INGRESS_VIP])
        && keys(spec, &["controlPlaneEndpoint", "topology"])
        && keys(&spec["controlPlaneEndpoint"], &["host", "port"])
        && keys(&spec["topology"], &["variables"])
        && variables
            .all(|one| [names::VARIABLE, names::INGRESS_VARIABLE].contains(&text(&one["name"])))
        && metadata["uid"].is_string()
        && metadata["resourceVersion"].is_string()
}
