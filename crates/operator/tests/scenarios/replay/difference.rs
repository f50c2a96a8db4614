//! Where two answers differ.

use std::collections::BTreeSet;
use std::fmt;

use control_plane::AuditEntry;
use serde_json::{Value, json};

use super::names::Versions;

/// So much of a request's body is shown.
const SHOWN: usize = 1000;

#[derive(Debug)]
pub(super) struct Difference {
    request: String,
    path: String,
    /// `None` where there is nothing.
    real: Option<Value>,
    fake: Option<Value>,
}

impl Difference {
    pub(super) fn in_answer_to(self, entry: &AuditEntry) -> Self {
        let AuditEntry { verb, request_uri, request_object, .. } = entry;
        let body =
            if request_object.is_null() { String::new() } else { request_object.to_string() };
        let request = format!("{verb} {request_uri} {body}");
        Self { request, ..self }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show =
            |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_string);
        let Self { request, path, real, fake } = self;
        let (real, fake) = (show(real), show(fake));
        write!(f, "{request}\n  at {path}\n    real: {real}\n    fake: {fake}")
    }
}

/// All places where two values differ.
pub(super) fn between(real: &Value, fake: &Value, path: &str) -> Vec<Difference> {
    match (real, fake) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let places = names.into_iter().map(|name| (a.get(name), b.get(name), name.clone()));
            places.flat_map(|(a, b, name)| at(a, b, format!("{path}.{name}"))).collect()
        }
        (Value::Array(a), Value::Array(b)) => {
            let places = (0..a.len().max(b.len())).map(|index| (a.get(index), b.get(index), index));
            places.flat_map(|(a, b, index)| at(a, b, format!("{path}[{index}]"))).collect()
        }
        _ => at(Some(real), Some(fake), path.to_owned()),
    }
}

fn at(real: Option<&Value>, fake: Option<&Value>, path: String) -> Vec<Difference> {
    match (real, fake) {
        (Some(a @ (Value::Object(_) | Value::Array(_))), Some(b))
            if a.is_object() == b.is_object() && a.is_array() == b.is_array() =>
        {
            between(a, b, &path)
        }
        (a, b) if a == b => Vec::new(),
        (a, b) => {
            let (real, fake) = (a.cloned(), b.cloned());
            vec![Difference { request: String::new(), path, real, fake }]
        }
    }
}

/// The server's own controllers write the status of definitions, a moment after each write
/// of somebody else; fakekube does it with the write.
pub(super) fn versions_of(entry: &AuditEntry) -> Versions {
    match entry.resource.as_str() {
        "customresourcedefinitions" => Versions::ServerToo,
        _ => Versions::Writers,
    }
}

/// An answer without what two servers cannot have in common and nobody can translate, its
/// items in the order of the names that fakekube has given.
pub(super) fn comparable(mut answer: Value, versions: Versions) -> Value {
    if let Some(items) = answer["items"].as_array_mut() {
        items.iter_mut().for_each(|item| mask(item, versions));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        items.sort_by_cached_key(|item| {
            (text(&item["metadata"]["namespace"]), text(&item["metadata"]["name"]))
        });
        // The version of the whole store: the server itself writes too.
        answer["metadata"]["resourceVersion"] = json!("V");
    } else {
        mask(&mut answer, versions);
    }
    answer
}

fn mask(object: &mut Value, versions: Versions) {
    if let Some(time) = object.pointer_mut("/metadata/deletionTimestamp") {
        *time = json!("TIME");
    }
    if versions == Versions::ServerToo && object["metadata"]["uid"].is_string() {
        object["metadata"]["resourceVersion"] = json!("V");
        object["status"] = json!("of the server");
    }
}
