//! Nodes, reduced to the needed fields while decoding.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node as KubeNode, NodeAddress};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use pontoon_core::model::{
    Addresses, Labels, Machine, Mark, MarkPlace, Node, NodeName, Taint, Text, Unnamed,
};
use pontoon_providers::{MachineNames, ZONE_LABEL};
use serde::Deserialize;

use super::{Observation, Watch, version};
use crate::fronts::marks;

/// The parts of a Node that planning reads; the rest is skipped while decoding.
#[derive(Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "KubeNode")]
pub struct NodeView {
    /// Name, labels, annotations.
    #[serde(default, deserialize_with = "super::metadata::lean_metadata")]
    pub metadata: ObjectMeta,
    /// Provider ID and taints.
    #[serde(default)]
    pub spec: Spec,
    /// Conditions and addresses.
    #[serde(default)]
    pub status: Status,
}

/// The parts of a node's spec that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    taints: Option<Vec<TaintView>>,
    unschedulable: Option<bool>,
}

/// The parts of a node's status that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    conditions: Option<Vec<ConditionView>>,
    addresses: Option<Vec<NodeAddress>>,
}

/// A taint without its time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TaintView {
    key: String,
    value: Option<String>,
    effect: String,
}

/// A condition of a node or a pod, without its times.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConditionView {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

impl ConditionView {
    /// Whether the condition says that the node or the pod is ready.
    pub fn is_ready(&self) -> bool {
        self.type_ == "Ready" && self.status == "True"
    }
}

/// The taint of a node whose provider ID a cloud controller is yet to set.
const UNINITIALISED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Watches nodes.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Tells the machines of nodes without a provider ID.
    names: Arc<MachineNames>,
    /// Nodes in the list under way.
    listing: Option<BTreeSet<NodeName>>,
}

impl Nodes {
    /// A watch over nodes, of which those without a provider ID are told by names.
    pub fn new(names: Arc<MachineNames>) -> Self {
        Self { names, listing: None }
    }
}

impl Watch for Nodes {
    type Object = NodeView;

    fn name(&self) -> &str {
        "Node"
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: NodeView) -> Option<Observation> {
        let node = object.into_node(&self.names)?;
        if let Some(listing) = &mut self.listing {
            listing.insert(node.name.clone());
        }
        Some(Observation::Node(Box::new(node)))
    }

    fn gone(&mut self, object: NodeView) -> Option<Observation> {
        Some(Observation::NodeGone(object.metadata.name?.as_str().into()))
    }

    fn listed(&mut self) -> Option<Observation> {
        self.listing.take().map(Observation::NodesListed)
    }
}

impl NodeView {
    /// The node for planning; `None` without a name.
    pub fn into_node(self, names: &MachineNames) -> Option<Node> {
        let Self { metadata, spec, status } = self;
        let value = |mark: &'static Mark| {
            let all = match mark.place {
                MarkPlace::Annotation => metadata.annotations.as_ref(),
                MarkPlace::Label => metadata.labels.as_ref(),
            };
            all.and_then(|all| all.get(mark.key)).map(|text| (mark, Text::from(text.as_str())))
        };
        let provider_id = spec.provider_id.filter(|id| !id.is_empty());
        let (machine, unnamed) = match provider_id.as_deref() {
            Some(provider_id) => (machine(provider_id), None),
            None => by_names(names, &metadata, spec.taints.as_deref().unwrap_or_default()),
        };
        Some(Node {
            marks: marks().filter_map(value).collect(),
            name: metadata.name.as_deref()?.into(),
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: version(metadata.resource_version.as_deref()),
            machine,
            unnamed,
            provider_id: provider_id.as_deref().map(Into::into),
            ready: status.conditions.iter().flatten().any(ConditionView::is_ready),
            deleting: metadata.deletion_timestamp.is_some(),
            cordoned: spec.unschedulable == Some(true),
            labels: labels(metadata.labels.unwrap_or_default()),
            taints: spec.taints.unwrap_or_default().iter().map(taint).collect(),
            addresses: addresses(&status.addresses.unwrap_or_default()),
        })
    }
}

/// The addresses that a node reports. Unparsable entries and other types are left out.
fn addresses(reported: &[NodeAddress]) -> Addresses {
    let of = |type_: &str| {
        let such = reported.iter().filter(|one| one.type_ == type_);
        such.filter_map(|one| one.address.parse().ok()).collect()
    };
    Addresses { external: of("ExternalIP"), internal: of("InternalIP") }
}

fn machine(provider_id: &str) -> Option<Machine> {
    let (vendor, id) = pontoon_providers::machine_of(provider_id)?;
    Some(Machine { cloud: vendor.name.into(), id: id.0.as_str().into() })
}

/// The machine of a node without a provider ID, or what is missing to tell it. A node whose provider
/// ID is still to come has none.
fn by_names(
    names: &MachineNames,
    metadata: &ObjectMeta,
    taints: &[TaintView],
) -> (Option<Machine>, Option<Unnamed>) {
    if taints.iter().any(|taint| taint.key == UNINITIALISED) {
        return (None, None);
    }
    let name = metadata.name.as_deref().unwrap_or_default();
    let zone = metadata.labels.as_ref().and_then(|labels| labels.get(ZONE_LABEL));
    match names.machine(name, zone.map(String::as_str)) {
        Ok((vendor, id)) => {
            (Some(Machine { cloud: vendor.name.into(), id: id.0.as_str().into() }), None)
        }
        Err(missing) => {
            let unnamed = |one: pontoon_providers::Unnamed| Unnamed {
                cloud: one.vendor.into(),
                lacks: one.lacks.as_str().into(),
            };
            (None, missing.map(unnamed))
        }
    }
}

fn taint(taint: &TaintView) -> Taint {
    Taint {
        key: taint.key.as_str().into(),
        value: taint.value.as_deref().unwrap_or_default().into(),
        effect: taint.effect.as_str().into(),
    }
}

/// Converts labels to planning's type.
pub(super) fn labels(labels: BTreeMap<String, String>) -> Labels {
    let text = |text: String| Text::from(text.as_str());
    Arc::new(labels.into_iter().map(|(key, value)| (text(key), text(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fronts::flipop::IPV4_ANNOTATION;

    #[test]
    fn a_node_is_projected_to_what_planning_reads() {
        let view: NodeView = serde_json::from_value(serde_json::json!({
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": "7", "labels": {"pool": "edge"},
                "annotations": {IPV4_ANNOTATION: "198.51.100.7"},
                "managedFields": [{"manager": "m", "fieldsV1": {"f:x": {}}}],
            },
            "spec": {
                "providerID": "digitalocean://12",
                "taints": [{"key": "k", "effect": "NoSchedule"}],
            },
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}], "images": [],
                "addresses": [
                    {"type": "ExternalIP", "address": "192.0.2.1"},
                    {"type": "ExternalIP", "address": "2001:db8::1"},
                    {"type": "InternalIP", "address": "10.0.0.1"},
                    {"type": "Hostname", "address": "a"},
                ],
            },
        }))
        .unwrap();
        assert!(view.metadata.managed_fields.is_none());
        let node = view.into_node(&MachineNames::default()).unwrap();
        assert!(node.ready && !node.deleting);
        assert_eq!(node.version, 7);
        assert_eq!(node.machine.unwrap().id, "12".into());
        let marks: Vec<_> = node.marks.iter().map(|(mark, value)| (mark.key, &**value)).collect();
        assert_eq!(marks, [(IPV4_ANNOTATION, "198.51.100.7")]);
        assert_eq!(node.taints.len(), 1);
        assert_eq!((node.addresses.external.len(), node.addresses.internal.len()), (2, 1));
    }

    #[test]
    fn a_provider_id_of_another_cloud_names_no_machine() {
        let view: NodeView = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "a"}, "spec": {"providerID": "kind://x"}, "status": {},
        }))
        .unwrap();
        let node = view.into_node(&MachineNames::default()).unwrap();
        assert!(node.provider_id.is_some() && node.machine.is_none() && !node.ready);
    }

    #[test]
    fn a_node_without_a_provider_id_is_told_by_its_name_and_zone_unless_one_is_to_come() {
        let settings = pontoon_providers::Settings {
            variable: &|name| (name == "GOOGLE_CLOUD_PROJECT").then(|| "p".to_owned()),
            timeout: std::time::Duration::from_secs(1),
            clock: pontoon_providers::Clock::new(|| std::time::UNIX_EPOCH),
        };
        let names = MachineNames::read(&settings);
        let told = |spec: serde_json::Value, labels: serde_json::Value| {
            let node = serde_json::json!({
                "metadata": {"name": "a", "labels": labels}, "spec": spec, "status": {},
            });
            let view: NodeView = serde_json::from_value(node).unwrap();
            let node = view.into_node(&names).unwrap();
            let id = node.machine.map(|machine| machine.id.to_string());
            (id, node.unnamed.map(|unnamed| unnamed.lacks.to_string()))
        };
        let zone = || serde_json::json!({"topology.kubernetes.io/zone": "us-central1-b"});
        let nothing = || serde_json::json!({});
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(told(nothing(), zone()), (id("p/us-central1-b/a"), None));
        let own = serde_json::json!({"providerID": "gce://q/us-central1-c/b"});
        assert_eq!(told(own, zone()), (id("q/us-central1-c/b"), None), "its own word counts");
        let lacks = Some("no label topology.kubernetes.io/zone".to_owned());
        assert_eq!(told(nothing(), nothing()), (None, lacks));
        let taint = serde_json::json!({"key": UNINITIALISED, "effect": "NoSchedule"});
        let coming = serde_json::json!({"taints": [taint]});
        assert_eq!(told(coming, zone()), (None, None));
    }

    fn named(name: &str) -> NodeView {
        serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap()
    }

    #[test]
    fn each_list_names_the_nodes_that_it_showed_and_no_others() {
        let mut nodes = Nodes::default();
        nodes.restart();
        nodes.seen(named("a"));
        let names = |told| match told {
            Some(Observation::NodesListed(names)) => Some(names.into_iter().collect::<Vec<_>>()),
            _ => None,
        };
        assert_eq!(names(nodes.listed()), Some(vec!["a".into()]));
        nodes.seen(named("b"));
        assert!(nodes.listing.is_none(), "only a list under way is remembered");
        assert!(nodes.listed().is_none());
        nodes.restart();
        assert_eq!(names(nodes.listed()), Some(vec![]));
    }
}
