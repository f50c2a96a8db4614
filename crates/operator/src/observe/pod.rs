//! Pods, reduced to the needed fields while decoding. Only pods that run or start, without a
//! deletion timestamp, are passed on; those that are not ready only if an object asks for them.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod as KubePod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use pontoon_core::model::{Labels, Owner, Pod, PodId, PodState};
use pontoon_core::nodes::PodMatch;
use serde::Deserialize;

use super::metadata::lean_metadata;
use super::node::{ConditionView, labels};
use super::{Observation, Selection, Watch};

/// The kind, in readiness and metrics.
const KIND: &str = "Pod";

/// Between kind and namespace in the name of a watch.
const IN: &str = " in ";

/// The name of a watch in readiness: the kind, and the namespace if there is one.
pub(crate) fn name_of(kind: &str, namespace: Option<&str>) -> String {
    namespace.map_or_else(|| kind.to_owned(), |namespace| format!("{kind}{IN}{namespace}"))
}

/// The kind in the name of a watch.
pub(crate) fn kind_of(watch: &str) -> &str {
    watch.split_once(IN).map_or(watch, |(kind, _)| kind)
}

/// The parts of a Pod that planning reads; the rest is skipped while decoding.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "KubePod")]
pub struct PodView {
    /// Name, namespace, labels.
    #[serde(default, deserialize_with = "lean_metadata")]
    pub metadata: ObjectMeta,
    /// Name of the node.
    #[serde(default)]
    pub spec: Spec,
    /// Phase and conditions.
    #[serde(default)]
    pub status: Status,
}

/// The parts of a pod's spec that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    node_name: Option<String>,
}

/// The parts of a pod's status that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    phase: Option<String>,
    conditions: Option<Vec<ConditionView>>,
}

/// Watches the pods of a range.
#[derive(Debug, Default)]
pub struct Pods {
    name: String,
    range: PodMatch,
    /// Pods in the list under way.
    listing: Option<BTreeSet<PodId>>,
    /// Label sets seen so far. Pods with equal labels share a set.
    shared: BTreeSet<Labels>,
    /// At this number of label sets, unused sets are dropped.
    tidy_at: usize,
}

impl Watch for Pods {
    type Object = PodView;

    fn name(&self) -> &str {
        &self.name
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: PodView) -> Option<Observation> {
        let id: PodId = object.metadata.uid.as_deref()?.into();
        match self.counted(object) {
            Some(pod) => {
                if let Some(listing) = &mut self.listing {
                    listing.insert(id);
                }
                Some(Observation::Pod(Box::new(pod)))
            }
            None => Some(Observation::PodGone(id)),
        }
    }

    fn gone(&mut self, object: PodView) -> Option<Observation> {
        Some(Observation::PodGone(object.metadata.uid.as_deref()?.into()))
    }

    fn listed(&mut self) -> Option<Observation> {
        let listed = self.listing.take()?;
        Some(Observation::PodsListed(self.range.clone(), listed))
    }
}

impl Pods {
    /// A watch over the pods of a range.
    pub fn of(range: PodMatch) -> Self {
        Self { name: name_of(KIND, range.namespace.as_deref()), range, ..Self::default() }
    }

    /// The selection for the server. The namespace is part of the URL instead.
    pub fn selection(&self) -> Selection {
        let labels = &self.range.labels;
        Selection { labels: (!labels.is_empty()).then(|| labels.to_string()), fields: None }
    }

    /// The pod for planning; `None` if the pod affects no plan.
    fn counted(&mut self, object: PodView) -> Option<Pod> {
        let PodView { metadata, spec, status } = object;
        let state = status.state().filter(|_| metadata.deletion_timestamp.is_none())?;
        if state == PodState::Unready && !self.range.unready {
            return None;
        }
        Some(Pod {
            id: metadata.uid.as_deref()?.into(),
            namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
            name: metadata.name.as_deref().unwrap_or_default().into(),
            node: spec.node_name?.as_str().into(),
            state,
            owner: metadata.owner_references.unwrap_or_default().iter().find_map(controller),
            labels: self.share(labels(metadata.labels.unwrap_or_default())),
        })
    }

    fn share(&mut self, labels: Labels) -> Labels {
        if let Some(known) = self.shared.get(&labels) {
            return known.clone();
        }
        if self.shared.len() >= self.tidy_at.max(1024) {
            self.shared.retain(|labels| std::sync::Arc::strong_count(labels) > 1);
            self.tidy_at = self.shared.len() * 2;
        }
        self.shared.insert(labels.clone());
        labels
    }
}

impl Status {
    /// The state of the pod; `None` for a pod that has ended.
    fn state(&self) -> Option<PodState> {
        let has_ready = self.conditions.iter().flatten().any(ConditionView::is_ready);
        match self.phase.as_deref() {
            Some("Running") if has_ready => Some(PodState::Ready),
            Some("Running" | "Pending") => Some(PodState::Unready),
            _ => None,
        }
    }
}

/// The workload in an owner reference of the controller.
pub(super) fn controller(reference: &OwnerReference) -> Option<Owner> {
    let owner =
        || Owner { kind: reference.kind.as_str().into(), name: reference.name.as_str().into() };
    (reference.controller == Some(true)).then(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(name: &str) -> PodView {
        let status = serde_json::json!(
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let mut view = pod(status, false);
        view.metadata.uid = Some(name.to_owned());
        view
    }

    #[test]
    fn each_list_names_the_ready_pods_that_it_showed_and_no_others() {
        let mut pods = Pods::default();
        pods.restart();
        pods.seen(ready("a"));
        pods.seen(pod(serde_json::json!({"phase": "Pending"}), false));
        let names = |told| match told {
            Some(Observation::PodsListed(_, names)) => Some(names.into_iter().collect::<Vec<_>>()),
            _ => None,
        };
        assert_eq!(names(pods.listed()), Some(vec!["a".into()]));
        pods.seen(ready("b"));
        assert!(pods.listing.is_none(), "only a list under way is remembered");
        assert!(pods.listed().is_none());
        pods.restart();
        assert_eq!(names(pods.listed()), Some(vec![]));
    }

    fn pod(status: serde_json::Value, deleting: bool) -> PodView {
        let mut metadata = serde_json::json!({"name": "p", "uid": "u", "namespace": "n"});
        if deleting {
            metadata["deletionTimestamp"] = "2026-11-15T03:35:57Z".into();
        }
        let spec = serde_json::json!({"nodeName": "a"});
        serde_json::from_value(
            serde_json::json!({"metadata": metadata, "spec": spec, "status": status}),
        )
        .unwrap()
    }

    #[test]
    fn only_a_pod_that_runs_and_is_ready_and_stays_counts() {
        let ready = serde_json::json!(
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let unready = serde_json::json!(
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]});
        let done = serde_json::json!(
            {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "True"}]});
        let mut pods = Pods::default();
        let mut counts = |pod| matches!(pods.seen(pod), Some(Observation::Pod(_)));
        assert!(counts(pod(ready.clone(), false)));
        assert!(!counts(pod(ready, true)));
        assert!(!counts(pod(unready, false)));
        assert!(!counts(pod(done, false)));
    }

    #[test]
    fn a_pod_that_is_not_ready_counts_where_an_object_asks_for_such_pods() {
        let mut pods = Pods::of(PodMatch::every_pod());
        let mut state = |status| match pods.seen(pod(status, false)) {
            Some(Observation::Pod(pod)) => Some(pod.state),
            _ => None,
        };
        assert_eq!(state(serde_json::json!({"phase": "Pending"})), Some(PodState::Unready));
        assert_eq!(state(serde_json::json!({"phase": "Running"})), Some(PodState::Unready));
        assert_eq!(state(serde_json::json!({"phase": "Failed"})), None);
    }

    #[test]
    fn a_pod_belongs_to_the_owner_that_controls_it() {
        let mut view = ready("a");
        view.metadata.owner_references = serde_json::from_value(serde_json::json!([
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"},
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "2", "controller": true},
        ]))
        .unwrap();
        let Some(Observation::Pod(pod)) = Pods::default().seen(view) else { panic!("a pod") };
        assert_eq!(pod.owner, Some(Owner { kind: "DaemonSet".into(), name: "d".into() }));
    }
}
