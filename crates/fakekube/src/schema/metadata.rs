//! Validation of `metadata`, of the object itself and of embedded objects.

use serde_json::{Map, Value};

use super::cause::Cause;
use super::lists::child;
use super::names;
use super::node::Node;

/// Naming rules of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// The rule of almost all kinds.
    Subdomain,
    /// The rule of namespaces.
    Label,
    /// Any valid segment of a path.
    Segment,
}

impl Naming {
    fn wrong(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => names::dns1123_subdomain(name),
            Self::Label => names::dns1123_label(name),
            Self::Segment => names::path_segment(name),
        }
    }
}

/// Highest total length of an object's annotations, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Checks the metadata of an object. With an old object, checks an update.
pub(super) fn check(new: &Value, old: Option<&Value>, naming: Naming) -> Vec<Cause> {
    let meta = &new["metadata"];
    let mut causes = Vec::new();
    match old {
        None => names_of(meta, naming, "metadata", &mut causes),
        Some(old) => unchanged(meta, &old["metadata"], &mut causes),
    }
    common(meta, "metadata", old.is_none(), &mut causes);
    causes
}

fn names_of(meta: &Value, naming: Naming, path: &str, causes: &mut Vec<Cause>) {
    if let Some(prefix) = meta["generateName"].as_str().filter(|prefix| !prefix.is_empty()) {
        // Checked with a letter in place of a final dash, because a suffix follows.
        let checked = prefix.strip_suffix('-').map_or(prefix.to_owned(), |head| format!("{head}a"));
        for wrong in naming.wrong(&checked) {
            let value = &meta["generateName"];
            causes.push(Cause::invalid(format!("{path}.generateName"), value, wrong));
        }
    }
    match meta["name"].as_str().unwrap_or_default() {
        "" => {
            let detail = "name or generateName is required";
            causes.push(Cause::required(format!("{path}.name"), detail));
        }
        name => {
            for wrong in naming.wrong(name) {
                causes.push(Cause::invalid(format!("{path}.name"), &meta["name"], wrong));
            }
        }
    }
}

fn unchanged(meta: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if !old["deletionTimestamp"].is_null() {
        let had = texts(&old["finalizers"]);
        let mut added: Vec<_> =
            texts(&meta["finalizers"]).into_iter().filter(|name| !had.contains(name)).collect();
        added.sort_unstable();
        if !added.is_empty() {
            let quoted: Vec<_> = added.iter().map(|name| format!("\"{name}\"")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                quoted.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", detail));
        }
    }
    let empty = Value::String(String::new());
    for name in ["name", "namespace", "uid"] {
        let [new, old] = [meta, old].map(|meta| meta.get(name).unwrap_or(&empty));
        if new != old {
            causes.push(Cause::invalid(format!("metadata.{name}"), new, "field is immutable"));
        }
    }
}

fn common(meta: &Value, path: &str, created: bool, causes: &mut Vec<Cause>) {
    labels(&meta["labels"], &format!("{path}.labels"), causes);
    annotations(&meta["annotations"], &format!("{path}.annotations"), causes);
    owners(&meta["ownerReferences"], &format!("{path}.ownerReferences"), causes);
    if created {
        finalizers(&meta["finalizers"], &format!("{path}.finalizers"), causes);
    }
}

pub(super) fn labels(labels: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        for wrong in names::label_key(key) {
            causes.push(Cause::invalid(path, &Value::from(key.as_str()), wrong));
        }
        for wrong in names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(path, value, wrong));
        }
    }
}

pub(super) fn annotations(annotations: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut length = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        for wrong in names::label_key(&key.to_lowercase()) {
            causes.push(Cause::invalid(path, &Value::from(key.as_str()), wrong));
        }
        length += key.len() + value.as_str().unwrap_or_default().len();
    }
    if length > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long(path, ANNOTATIONS_LIMIT as u64));
    }
}

fn owners(owners: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut controller: Option<String> = None;
    for owner in owners.as_array().into_iter().flatten() {
        let of = |key: &str| owner[key].as_str().unwrap_or_default();
        let empty = Value::String(String::new());
        if of("apiVersion").is_empty() {
            let detail = "version must not be empty";
            causes.push(Cause::invalid(format!("{path}.apiVersion"), &empty, detail));
        }
        for key in ["kind", "name", "uid"] {
            if of(key).is_empty() {
                causes.push(Cause::invalid(format!("{path}.{key}"), &empty, "must not be empty"));
            }
        }
        if owner["controller"] == Value::Bool(true) {
            let name = format!("{}/{}", of("kind"), of("name"));
            if let Some(first) = &controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                );
                causes.push(Cause::invalid(path, owners, detail));
            } else {
                controller = Some(name);
            }
        }
    }
}

fn finalizers(finalizers: &Value, path: &str, causes: &mut Vec<Cause>) {
    let names = texts(finalizers);
    for name in &names {
        for wrong in names::label_key(name) {
            causes.push(Cause::invalid(path, &Value::from(*name), wrong));
        }
    }
    if ["orphan", "foregroundDeletion"].iter().all(|both| names.contains(both)) {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(path, finalizers, detail));
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Checks embedded objects: each needs a kind and valid metadata.
pub(super) fn check_embedded(schema: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                embedded(fields, path, causes);
            }
            for (name, value) in fields {
                if let Some(node) = schema.properties.get(name) {
                    check_embedded(node, value, &child(path, name), causes);
                } else if let Some(node) = schema.additional_schema() {
                    check_embedded(node, value, &format!("{path}[{name}]"), causes);
                }
            }
        }
        Value::Array(items) => {
            let Some(node) = schema.items.as_deref() else { return };
            for (index, item) in items.iter().enumerate() {
                check_embedded(node, item, &format!("{path}[{index}]"), causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn embedded(fields: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        let field = child(path, name);
        match fields.get(name) {
            None => causes.push(Cause::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                causes.push(Cause::invalid(field, &fields[name], "must not be empty"));
            }
            Some(Value::String(text)) if name == "kind" => {
                let wrong = names::dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let wrong = wrong.join(",");
                    let detail =
                        format!("may have mixed case, but should otherwise match: {wrong}");
                    causes.push(Cause::invalid(field, &fields[name], detail));
                }
            }
            Some(Value::String(text)) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                causes.push(Cause::invalid(field, &fields[name], detail));
            }
            Some(Value::String(_)) => {}
            Some(other) => causes.push(Cause::invalid(field, other, "must be a string")),
        }
    }
    if let Some(meta) = fields.get("metadata") {
        let path = child(path, "metadata");
        if meta["name"].as_str().is_some_and(|name| !name.is_empty()) {
            names_of(meta, Naming::Segment, &path, causes);
        }
        common(meta, &path, true, causes);
    }
}
