//! The stored objects of a management cluster, as JSON.

use std::collections::{BTreeMap, BTreeSet};

use pontoon_core::model::Kind;
use serde_json::Value;

use super::{ADDRESS, CLAIM, CLUSTER, GLOBAL_POOL, LOCAL_POOL, names};

/// The kinds that the stand-ins read.
pub static KINDS: [&Kind; 5] = [&CLUSTER, &CLAIM, &ADDRESS, &GLOBAL_POOL, &LOCAL_POOL];

/// Namespace and name of an object. The namespace is empty for a kind without namespaces.
pub type Key = (String, String);

/// All objects of [`KINDS`].
#[derive(Clone, Debug, Default)]
pub struct Stored(BTreeMap<&'static Kind, BTreeMap<Key, Value>>);

impl Stored {
    /// Takes in an object, unless a newer version of the object is known.
    pub fn set(&mut self, kind: &'static Kind, object: Value) {
        let (key, version) = (Object(&object).key(), Object(&object).version());
        let all = self.0.entry(kind).or_default();
        if all.get(&key).is_none_or(|known| Object(known).version() <= version) {
            all.insert(key, object);
        }
    }

    /// Takes in that an object is gone.
    pub fn remove(&mut self, kind: &Kind, key: &Key) {
        if let Some(all) = self.0.get_mut(kind) {
            all.remove(key);
        }
    }

    /// Takes in that there are no other objects of a kind.
    pub fn retain(&mut self, kind: &Kind, keys: &BTreeSet<Key>) {
        if let Some(all) = self.0.get_mut(kind) {
            all.retain(|key, _| keys.contains(key));
        }
    }

    /// The objects of a kind, by namespace and name.
    pub fn of(&self, kind: &Kind) -> impl Iterator<Item = Object<'_>> {
        self.0.get(kind).into_iter().flat_map(BTreeMap::values).map(Object)
    }

    /// An object.
    pub fn get(&self, kind: &Kind, key: &Key) -> Option<Object<'_>> {
        self.0.get(kind)?.get(key).map(Object)
    }
}

/// A stored object.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(pub &'a Value);

impl<'a> Object<'a> {
    /// The object's metadata.
    pub fn metadata(self) -> &'a Value {
        &self.0["metadata"]
    }

    /// A text of the metadata; empty if absent.
    pub fn text(self, field: &str) -> &'a str {
        self.metadata()[field].as_str().unwrap_or_default()
    }

    /// Namespace and name.
    pub fn key(self) -> Key {
        (self.text("namespace").to_owned(), self.text("name").to_owned())
    }

    /// The object's version, counted.
    pub fn version(self) -> Option<u64> {
        self.text("resourceVersion").parse().ok()
    }

    /// Whether the object is being deleted.
    pub fn is_deleting(self) -> bool {
        !self.text("deletionTimestamp").is_empty()
    }

    /// Whether the object is paused, as Cluster API understands it.
    pub fn is_paused(self) -> bool {
        self.0["spec"]["paused"] == true || !self.metadata()["annotations"][names::PAUSED].is_null()
    }

    /// The finalizers.
    pub fn finalizers(self) -> Vec<&'a str> {
        let all = self.metadata()["finalizers"].as_array();
        all.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether the object has a finalizer.
    pub fn has(self, finalizer: &str) -> bool {
        self.finalizers().contains(&finalizer)
    }

    /// The UID of the owner that controls the object.
    pub fn controller(self) -> Option<&'a str> {
        let owners = self.metadata()["ownerReferences"].as_array();
        owners.into_iter().flatten().find(|one| one["controller"] == true)?["uid"].as_str()
    }
}
