//! Types of an object's parts, as far as merging and ownership depend on them.

use serde_json::{Map, Value};

use crate::openapi;
use crate::registry::Kind;

/// The type of a value.
#[derive(Clone, Copy)]
pub(super) enum Type<'a> {
    /// Declared by a schema. `all` holds the schemas for references.
    Known {
        node: &'a Value,
        all: &'a Value,
        /// The reference to a map's schema makes the map atomic.
        atomic: bool,
        /// Undeclared fields are allowed.
        open: bool,
        /// The schema of a whole custom object, without `apiVersion`, `kind` and `metadata`.
        custom: bool,
    },
    /// Deduced from the value.
    Deduced,
}

/// Merge behaviour of a value.
pub(super) enum Atom<'a> {
    /// Merged as a whole.
    Leaf,
    /// Merged field by field.
    Map,
    /// Merged item by item; each item is its own key.
    Set,
    /// Merged item by item; the named fields are the key.
    Keyed(&'a [Value]),
}

impl<'a> Type<'a> {
    /// The type of a kind's objects.
    pub(super) fn of(kind: &'a Kind) -> Option<Self> {
        let (node, all, custom) = match &kind.schema {
            Some(schema) => (schema.as_ref(), openapi::core_schemas()?, true),
            None => openapi::schemas(kind).map(|(node, all)| (node, all, false))?,
        };
        Some(Self::Known { node, all, atomic: false, open: false, custom })
    }

    fn at(self, node: &'a Value) -> Self {
        let Self::Known { all, open, .. } = self else { return Self::Deduced };
        let open = open || node["x-kubernetes-preserve-unknown-fields"] == true;
        let atomic = node["x-kubernetes-map-type"] == "atomic";
        let own = &node["$ref"];
        let reference = if own.is_string() { own } else { &node["allOf"][0]["$ref"] };
        let name = reference.as_str().and_then(|text| text.strip_prefix("#/components/schemas/"));
        let node = name.and_then(|name| all.get(name)).unwrap_or(node);
        Self::Known { node, all, atomic, open, custom: false }
    }

    /// The merge behaviour of a value of this type.
    pub(super) fn atom(self, value: &Value) -> Atom<'a> {
        let Self::Known { node, atomic, .. } = self else {
            return if value.is_object() { Atom::Map } else { Atom::Leaf };
        };
        let is_atomic = atomic || node["x-kubernetes-map-type"] == "atomic";
        match node["type"].as_str() {
            Some("object") if is_atomic => Atom::Leaf,
            Some("object") if value.is_object() || value.is_null() => Atom::Map,
            None if value.is_object() && !is_atomic => Atom::Map,
            Some("array") if value.is_array() || value.is_null() => list(node),
            _ => Atom::Leaf,
        }
    }

    /// Whether the type is the type of a custom kind's objects.
    pub(super) fn is_custom(self) -> bool {
        matches!(self, Self::Known { custom: true, .. })
    }

    /// Whether a value of any type is allowed.
    pub(super) fn is_open(self) -> bool {
        self.declared().is_none()
    }

    /// The declared type and format; `None` for any type.
    pub(super) fn declared(self) -> Option<(&'a str, &'a str)> {
        let Self::Known { node, .. } = self else { return None };
        let name = node["type"].as_str()?;
        Some((name, node["format"].as_str().unwrap_or_default()))
    }

    /// The type of a field or of a map's value, and whether the type declares the field by name.
    /// `None` if the field is not allowed.
    pub(super) fn child(self, name: &str) -> Option<(Self, bool)> {
        let Self::Known { node, all, open, custom, .. } = self else {
            return Some((Self::Deduced, false));
        };
        if custom && matches!(name, "apiVersion" | "kind") {
            return Some((Self::Deduced, true));
        }
        if custom && name == "metadata" {
            return Some((self.at(all.get(OBJECT_META)?), true));
        }
        let properties = node.get("properties").and_then(Value::as_object);
        if let Some(found) = properties.and_then(|named| named.get(name)) {
            return Some((self.at(found), true));
        }
        match node.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => Some((self.at(schema), false)),
            Some(Value::Bool(true)) => Some((Self::Deduced, false)),
            Some(_) => None,
            None => {
                let any = open || properties.is_none_or(Map::is_empty);
                any.then_some((Self::Deduced, false))
            }
        }
    }

    /// The type of a list's items.
    pub(super) fn items(self) -> Self {
        match self {
            Self::Known { node, .. } => {
                node.get("items").map_or(Self::Deduced, |items| self.at(items))
            }
            Self::Deduced => Self::Deduced,
        }
    }

    /// The step to an item of a set or keyed list; `None` for an item without a key.
    pub(super) fn step(self, atom: &Atom<'_>, item: &Value) -> Option<String> {
        match atom {
            Atom::Set if !item.is_object() && !item.is_array() && !item.is_null() => {
                Some(format!("v:{item}"))
            }
            Atom::Keyed(keys) => {
                let mut found = Map::new();
                for key in keys.iter().filter_map(Value::as_str) {
                    let default = || match self.items() {
                        Self::Known { node, .. } => node["properties"][key].get("default").cloned(),
                        Self::Deduced => None,
                    };
                    if let Some(value) = item.get(key).cloned().or_else(default) {
                        found.insert(key.to_owned(), value);
                    }
                }
                (!found.is_empty()).then(|| format!("k:{}", Value::Object(found)))
            }
            _ => None,
        }
    }
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

fn list(node: &Value) -> Atom<'_> {
    match node["x-kubernetes-list-type"].as_str() {
        Some("set") => Atom::Set,
        Some("map") => keyed(&node["x-kubernetes-list-map-keys"]),
        Some(_) => Atom::Leaf,
        None => {
            let strategy = node["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
            let key = &node["x-kubernetes-patch-merge-key"];
            match (strategy, key) {
                ("merge" | "merge,retainKeys", Value::Null) => Atom::Set,
                ("merge" | "merge,retainKeys", key) => Atom::Keyed(std::slice::from_ref(key)),
                _ => Atom::Leaf,
            }
        }
    }
}

fn keyed(keys: &Value) -> Atom<'_> {
    keys.as_array().map_or(Atom::Leaf, |keys| Atom::Keyed(keys))
}
