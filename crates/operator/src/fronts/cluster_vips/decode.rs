//! Turns Clusters of both generations into what planning reads. Odd values count as absent, or as
//! the user's own where something of ours would replace them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use pontoon_core::model::{Family, Text};
use pontoon_core::vips::model::{ClassRef, Cluster, Ingress, Role};
use serde_json::Value;

use super::status::ClusterFace;
use super::{CLUSTER, names};
use crate::fronts::observed::{Identity, given};
use crate::fronts::{Labels, Observed};
use crate::observe::schema::Schema;

/// Decodes a Cluster.
pub(super) fn decode(object: &DynamicObject, schema: Schema) -> Option<Observed> {
    let identity = Identity::of(&CLUSTER, &object.metadata)?;
    let face = ClusterFace::new(&object.metadata, &object.data["status"], schema);
    let cluster = cluster(&identity, &object.metadata, &object.data["spec"]);
    Some(Observed {
        key: identity.key,
        uid: identity.uid,
        version: identity.version,
        decoded: true,
        labels: Labels::default(),
        homes: BTreeMap::new(),
        addresses: None,
        records: None,
        vips: Some(cluster),
        face: Box::new(face),
    })
}

fn cluster(identity: &Identity, metadata: &ObjectMeta, spec: &Value) -> Cluster {
    let topology = &spec["topology"];
    let of_topology = class(topology, &identity.key.namespace);
    let families = families(annotation(metadata, names::FAMILIES));
    let endpoint = &spec["controlPlaneEndpoint"];
    let by_role = |name: fn(Role) -> &'static str| {
        let value = |role: Role| Some((role, text(annotation(metadata, name(role)))?));
        Role::ALL.into_iter().filter_map(value).collect()
    };
    let finalizers = metadata.finalizers.iter().flatten();
    Cluster {
        key: identity.key.clone(),
        names: &names::NAMES,
        uid: identity.uid.clone(),
        version: identity.version,
        topology: of_topology.is_some(),
        class: of_topology.or_else(|| opted(metadata, &identity.key.namespace)),
        pools: by_role(names::wished_pool),
        family: families.first().copied(),
        second: families.get(1).copied(),
        paused: spec["paused"] == true || annotation(metadata, names::PAUSED).is_some(),
        deleting: metadata.deletion_timestamp.is_some(),
        guarded: finalizers.into_iter().any(|one| one == names::GUARD),
        moved_away: annotation(metadata, names::MOVED_AWAY).is_some(),
        host: shown(&endpoint["host"]),
        port: endpoint["port"].as_u64().and_then(|port| port.try_into().ok()).filter(|n| *n > 0),
        variable: variable(topology, names::VARIABLE),
        ingress: Ingress {
            enabled: annotation(metadata, names::INGRESS_ENABLED) != Some("false"),
            annotation: text(annotation(metadata, names::INGRESS_VIP)),
            label: text(label(metadata, names::INGRESS_VIP)),
            variable: variable(topology, names::INGRESS_VARIABLE),
        },
        listed: by_role(names::list),
    }
}

/// The class of a topology, as either generation names it.
fn class(topology: &Value, own: &Text) -> Option<ClassRef> {
    let named = |name: &Value, namespace: &Value| {
        let name = given(name.as_str()?)?;
        let namespace = namespace.as_str().and_then(given).unwrap_or_else(|| own.clone());
        Some(ClassRef { namespace, name })
    };
    let new = &topology["classRef"];
    named(&new["name"], &new["namespace"])
        .or_else(|| named(&topology["class"], &topology["classNamespace"]))
}

/// The class that a Cluster without a topology names to opt in: a name, or `namespace/name`.
fn opted(metadata: &ObjectMeta, own: &Text) -> Option<ClassRef> {
    let entry = text(annotation(metadata, names::CLASSES))?;
    let (namespace, name) = entry.split_once('/').unwrap_or((own, &entry));
    Some(ClassRef { namespace: namespace.into(), name: given(name)? })
}

/// The families that a Cluster asks for, at most two different ones. Other words are left out.
fn families(list: Option<&str>) -> Vec<Family> {
    let word = |word: &str| match word.trim().to_ascii_lowercase().as_str() {
        "ipv4" => Some(Family::V4),
        "ipv6" => Some(Family::V6),
        _ => None,
    };
    let mut families: Vec<_> = list.unwrap_or_default().split(',').filter_map(word).collect();
    families.dedup();
    families.truncate(2);
    families
}

/// The value of a topology's variable.
fn variable(topology: &Value, name: &str) -> Option<Text> {
    let variables = topology["variables"].as_array()?;
    shown(&variables.iter().find(|one| one["name"] == name)?["value"])
}

/// A value that users see: a text, or any other value as JSON. Absent and empty count as `None`.
fn shown(value: &Value) -> Option<Text> {
    match value {
        Value::Null => None,
        Value::String(value) => text(Some(value)),
        other => Some(other.to_string().into()),
    }
}

/// A text without spaces around; `None` if empty.
fn text(value: Option<&str>) -> Option<Text> {
    value.map(str::trim).and_then(given)
}

/// An annotation of an object.
pub(super) fn annotation<'m>(metadata: &'m ObjectMeta, name: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// A label of an object.
pub(super) fn label<'m>(metadata: &'m ObjectMeta, name: &str) -> Option<&'m str> {
    metadata.labels.as_ref()?.get(name).map(String::as_str)
}
