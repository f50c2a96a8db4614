//! Conversion between stored and served objects.
//!
//! Stored objects have neither `apiVersion` nor `kind`, and events are stored in the core form.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::registry::Kind;
use crate::strategy::Special;
use crate::{events, workloads};

/// Converts a stored object to the form of a kind's version.
pub(crate) fn load(kind: &Kind, stored: &Value) -> Value {
    let mut object = unstamped(kind, stored).into_owned();
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    object
}

/// A stored object in the form of a kind's version, for writing: as [`load`], without a copy.
pub(crate) struct Loaded<'a> {
    kind: &'a Kind,
    object: Cow<'a, Value>,
}

impl<'a> Loaded<'a> {
    pub(crate) fn of(kind: &'a Kind, stored: &'a Value) -> Self {
        Self { kind, object: unstamped(kind, stored) }
    }
}

impl Serialize for Loaded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let version = self.kind.api_version();
        let own = [("apiVersion", json!(version)), ("kind", json!(self.kind.kind))];
        let own = own.iter().map(|(name, value)| (*name, value));
        let fields = self.object.as_object().into_iter().flatten();
        let fields = fields.map(|(name, value)| (name.as_str(), value));
        let fields = fields.filter(|(name, _)| !matches!(*name, "apiVersion" | "kind"));
        serializer.collect_map(own.chain(fields))
    }
}

/// A stored object in the form of a kind's version, without `apiVersion` and `kind`.
fn unstamped<'a>(kind: &Kind, stored: &'a Value) -> Cow<'a, Value> {
    if kind.group == "events.k8s.io" {
        Cow::Owned(events::from_core(stored))
    } else {
        Cow::Borrowed(stored)
    }
}

/// Converts a stored object to an item of a list. Items of built-in kinds have no `apiVersion` and
/// `kind`.
pub(crate) fn load_item(kind: &Kind, stored: &Value) -> Value {
    if kind.built_in() { unstamped(kind, stored).into_owned() } else { load(kind, stored) }
}

/// Converts an object to its stored form.
pub(crate) fn save(kind: &Kind, object: Value) -> Value {
    let mut object = if kind.group == "events.k8s.io" { events::to_core(&object) } else { object };
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

/// Only the metadata of an object.
pub(crate) fn partial(kind: &Kind, object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if Special::of(kind) == Special::DaemonSet {
        workloads::forget_template_generation(&mut metadata);
    }
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": metadata,
    })
}

/// The metadata of a Table with a single object.
pub(crate) fn table_meta(stored: &Value) -> Value {
    json!({"resourceVersion": stored["metadata"]["resourceVersion"]})
}

/// A text in an object's metadata; empty if missing.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Whether deletion has begun.
pub(crate) fn deleting(object: &Value) -> bool {
    !meta(object, "deletionTimestamp").is_empty()
}

/// Whether finalizers delay the object's deletion.
pub(crate) fn held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty())
}

/// Removes a field of the metadata.
pub(crate) fn forget(object: &mut Value, field: &str) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove(field);
    }
}

/// Copies a field from another object; removes the field if it is missing there.
pub(crate) fn copy(to: &mut Value, from: &Value, field: &str) {
    let Some(fields) = to.as_object_mut() else {
        return;
    };
    match from.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}
