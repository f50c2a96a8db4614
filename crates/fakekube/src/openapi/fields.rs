//! The fields of built-in kinds.

use serde_json::Value;

use super::data::{self, Schema};
use super::path::Path;
use crate::registry::Kind;

/// Removes unknown fields from an object of a built-in kind, as decoding into Go types does.
/// Returns the sorted paths of the removed fields, such as `spec.containers[0].x`. An object of a
/// kind without data is unchanged.
pub fn prune(kind: &Kind, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Some(schema) = data::schema(kind) {
        value(object, schema, &Path::Root, &mut unknown);
    }
    unknown.sort();
    unknown
}

fn value(object: &mut Value, schema: Schema, path: &Path<'_>, unknown: &mut Vec<String>) {
    match object {
        Value::Object(fields) => {
            let node = schema.resolved().node;
            let open =
                node.get("properties").is_none() && node.get("additionalProperties").is_none();
            if open {
                return;
            }
            fields.retain(|name, below| {
                let path = path.field(name);
                match schema.field(name) {
                    Some(schema) => value(below, schema, &path, unknown),
                    None => {
                        unknown.push(path.to_string());
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter_mut().enumerate() {
                value(item, schema, &path.item(index), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
