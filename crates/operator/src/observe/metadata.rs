//! Metadata of any object, decoded without what nothing here reads.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Metadata without managed fields, which are most of an object's size and never read here. Nothing else
/// is left out: an object that is sent back loses nothing, because an API server keeps the managed fields
/// of an object that is sent without any.
///
/// A time that cannot be decoded does not fail the object, and so its whole watch: an API server takes
/// times that are too late for us.
pub(crate) fn lean_metadata<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    let lean = Lean::deserialize(from)?;
    // Of an object that is being deleted, this alone matters.
    let deleted = |time| serde_json::from_value(time).unwrap_or(Time(Timestamp::MAX));
    Ok(ObjectMeta {
        name: lean.name,
        generate_name: lean.generate_name,
        namespace: lean.namespace,
        uid: lean.uid,
        resource_version: lean.resource_version,
        generation: lean.generation,
        creation_timestamp: lean.creation_timestamp,
        deletion_timestamp: lean.deletion_timestamp.map(deleted),
        deletion_grace_period_seconds: lean.deletion_grace_period_seconds,
        labels: lean.labels,
        annotations: lean.annotations,
        owner_references: lean.owner_references,
        finalizers: lean.finalizers,
        ..ObjectMeta::default()
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lean {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    #[serde(default, deserialize_with = "if_readable")]
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Value>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
}

/// A value; `None` also for a value that cannot be decoded.
pub(crate) fn if_readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}
