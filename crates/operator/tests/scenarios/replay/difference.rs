//! Differences between two answers.

use std::collections::BTreeSet;

use control_plane::AuditEntry;
use serde_json::{Value, json};

use super::names::Versions;

/// The most characters of a value that are shown.
const SHOWN: usize = 1000;

/// A place where two answers differ; `None` for a missing value.
pub(super) struct Difference {
    path: String,
    real: Option<Value>,
    fake: Option<Value>,
}

/// Describes the differences between the answers to a request.
pub(super) fn told(entry: &AuditEntry, differences: &[Difference]) -> String {
    let show = |value: &Value| value.to_string().chars().take(SHOWN).collect::<String>();
    let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), show);
    let lines = differences.iter().map(|Difference { path, real, fake }| {
        format!("\n  {path}\n    real: {}\n    fake: {}", side(real), side(fake))
    });
    let AuditEntry { verb, request_uri, request_object, .. } = entry;
    let request = format!("{verb} {request_uri}\n  body: {}", show(request_object));
    request + &lines.collect::<String>()
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
        _ if real == fake => Vec::new(),
        _ => {
            let (real, fake) = (Some(real.clone()), Some(fake.clone()));
            vec![Difference { path: path.to_owned(), real, fake }]
        }
    }
}

fn at(real: Option<&Value>, fake: Option<&Value>, path: String) -> Vec<Difference> {
    match (real, fake) {
        (Some(real), Some(fake)) => between(real, fake, &path),
        _ => vec![Difference { path, real: real.cloned(), fake: fake.cloned() }],
    }
}

/// Which writers change the versions of a kind. The real server's controllers write the status of
/// definitions a moment after each write; fakekube does so within the write.
pub(super) fn versions_of(entry: &AuditEntry) -> Versions {
    match entry.resource.as_str() {
        "customresourcedefinitions" => Versions::ServerToo,
        _ => Versions::Writers,
    }
}

/// An answer without the parts that two servers cannot have in common, with its items sorted by
/// name.
pub(super) fn comparable(mut answer: Value, versions: Versions) -> Value {
    if let Some(items) = answer["items"].as_array_mut() {
        items.retain(|item| !is_of_server(item));
        items.iter_mut().for_each(|item| mask(item, versions));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        items.sort_by_cached_key(|item| {
            (text(&item["metadata"]["namespace"]), text(&item["metadata"]["name"]))
        });
        // The version of the whole store, which includes writes of the server itself.
        answer["metadata"]["resourceVersion"] = json!("V");
    } else {
        mask(&mut answer, versions);
    }
    answer
}

/// Controllers inside the real server, which tell events about its own Service and addresses.
const OF_SERVER: [&str; 2] =
    ["kubernetes-service-cidr-controller", "ipallocator-repair-controller"];

/// Whether an object is an event of a controller inside the real server.
fn is_of_server(item: &Value) -> bool {
    let source = |field: &str| item[field]["component"].as_str();
    let reporting = |field: &str| item[field].as_str();
    let told_by = [
        source("deprecatedSource"),
        source("source"),
        reporting("reportingController"),
        reporting("reportingComponent"),
    ];
    told_by.into_iter().flatten().any(|name| OF_SERVER.contains(&name))
}

fn mask(object: &mut Value, versions: Versions) {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        // The log leaves them out.
        metadata.remove("managedFields");
    }
    if let Some(time) = object.pointer_mut("/metadata/deletionTimestamp") {
        *time = json!("TIME");
    }
    if versions == Versions::ServerToo && object["metadata"]["uid"].is_string() {
        object["metadata"]["resourceVersion"] = json!("V");
        object["status"] = json!("of the server");
    }
}
