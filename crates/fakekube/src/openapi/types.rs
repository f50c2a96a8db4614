//! Type checks of objects, with the messages of Go's JSON decoder.

use jiff::Timestamp;
use serde_json::Value;

use super::data::{self, Schema};
use super::path::Path;
use crate::registry::Kind;

/// The message of Go's decoder for the first value of the wrong type in an object of a built-in
/// kind.
pub(crate) fn mismatch(kind: &Kind, object: &Value) -> Option<String> {
    let schema = data::schema(kind)?;
    check(object, schema, &Place { owner: &kind.kind, path: Path::Root }).err()
}

/// As [`mismatch`], for the metadata of a custom object, which the server decodes separately.
pub(crate) fn metadata_mismatch(metadata: &Value) -> Option<String> {
    let schema = data::core_schema("ConfigMap")?.field("metadata")?;
    check(metadata, schema, &Place { owner: "ObjectMeta", path: Path::Root }).err()
}

/// Place of a value: the struct with the field, and the field names from the root.
#[derive(Clone, Copy)]
struct Place<'a> {
    owner: &'a str,
    path: Path<'a>,
}

fn check(value: &Value, schema: Schema, at: &Place<'_>) -> Result<(), String> {
    let node = schema.resolved().node;
    if value.is_null() || opaque(node, name(schema)) {
        return Ok(());
    }
    match (node["type"].as_str().unwrap_or_default(), value) {
        ("object", Value::Object(fields)) => {
            let named = node.get("properties").is_some();
            let inner = name(schema);
            for (field, value) in fields {
                let Some(schema) = schema.field(field) else { continue };
                // Messages do not name the entries of a map.
                if named {
                    let owner = if inner.is_empty() { at.owner } else { inner };
                    check(value, schema, &Place { owner, path: at.path.field(field) })?;
                } else {
                    check(value, schema, at)?;
                }
            }
            Ok(())
        }
        ("array", Value::Array(items)) => match schema.items() {
            Some(schema) => items.iter().try_for_each(|item| check(item, schema, at)),
            None => Ok(()),
        },
        ("string", Value::String(text)) => string(text, node, name(schema)),
        ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) | ("", _) => Ok(()),
        ("integer", Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(()),
        _ => Err(unmarshal(value, &go_type(schema), at)),
    }
}

/// Types with several JSON representations, which are not checked.
fn opaque(node: &Value, name: &str) -> bool {
    matches!(name, "Quantity" | "IntOrString" | "JSON" | "FieldsV1" | "RawExtension")
        || node["x-kubernetes-int-or-string"] == true
}

fn unmarshal(value: &Value, wanted: &str, at: &Place<'_>) -> String {
    let given = match value {
        Value::Number(number) if wanted.starts_with("int") => format!("number {number}"),
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    let field = match at.path {
        Path::Root => at.owner.to_owned(),
        path => format!("{}.{path}", at.owner),
    };
    format!("json: cannot unmarshal {given} into Go struct field {field} of type {wanted}")
}

/// The Go type of a schema.
fn go_type(schema: Schema) -> String {
    let node = schema.resolved().node;
    let of = |schema: Option<Schema>| schema.map(go_type).unwrap_or_default();
    match (node["type"].as_str().unwrap_or_default(), node["format"].as_str()) {
        ("object", _) if node.get("properties").is_some() => format!("v1.{}", name(schema)),
        ("object", _) => format!("map[string]{}", of(schema.field(""))),
        ("array", _) => format!("[]{}", of(schema.items())),
        ("string", Some("byte")) => "[]uint8".to_owned(),
        ("integer", format) => format.unwrap_or("int64").to_owned(),
        ("boolean", _) => "bool".to_owned(),
        (other, _) => other.to_owned(),
    }
}

/// The name of the type that a schema refers to; empty without a reference.
fn name(schema: Schema) -> &'static str {
    let own = &schema.node["$ref"];
    let reference = if own.is_string() { own } else { &schema.node["allOf"][0]["$ref"] };
    let last = reference.as_str().and_then(|text| text.rsplit('.').next());
    last.unwrap_or_default()
}

fn string(text: &str, node: &Value, name: &str) -> Result<(), String> {
    match (node["format"].as_str(), name) {
        (Some("byte"), _) => match bad_base64(text) {
            Some(at) => Err(format!("illegal base64 data at input byte {at}")),
            None => Ok(()),
        },
        (Some("date-time"), "MicroTime") => {
            let layout = "2006-01-02T15:04:05.000000Z07:00";
            time(text, layout)?;
            if text.contains('.') {
                return Ok(());
            }
            let rest = text.get(19..).unwrap_or_default();
            Err(format!(
                "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as \".000000\""
            ))
        }
        (Some("date-time"), _) => time(text, "2006-01-02T15:04:05Z07:00"),
        _ => Ok(()),
    }
}

fn time(text: &str, layout: &str) -> Result<(), String> {
    if text.parse::<Timestamp>().is_ok() {
        return Ok(());
    }
    Err(format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\""))
}

/// The offset at which Go's decoder rejects a text as base64.
fn bad_base64(text: &str) -> Option<usize> {
    let body = text.trim_end_matches('=');
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    if let Some(at) = body.bytes().position(|byte| !known(byte)) {
        return Some(at);
    }
    let padded = text.len() - body.len();
    let fits = matches!((body.len() % 4, padded), (0, 0) | (2, 2) | (3, 1));
    (!fits).then_some(body.len() - body.len() % 4)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn the_first_wrong_type_is_named() {
        let registry = Registry::new();
        let node = registry.get("", "v1", "nodes").unwrap();
        let of = |spec: Value| mismatch(node, &json!({"metadata": {"name": "a"}, "spec": spec}));
        assert_eq!(of(json!({"taints": [{"key": "a"}], "unschedulable": true})), None);
        for (spec, end) in [
            (json!("x"), "string into Go struct field Node.spec of type v1.NodeSpec"),
            (
                json!({"taints": {}}),
                "object into Go struct field NodeSpec.spec.taints of type []v1.Taint",
            ),
            (
                json!({"taints": ["x"]}),
                "string into Go struct field NodeSpec.spec.taints of type v1.Taint",
            ),
            (
                json!({"taints": [{"key": 1}]}),
                "number into Go struct field Taint.spec.taints.key of type string",
            ),
        ] {
            assert_eq!(of(spec), Some(format!("json: cannot unmarshal {end}")));
        }
    }

    #[test]
    fn base64_is_checked_as_go_does() {
        for (text, at) in
            [("", None), ("Zg==", None), ("Z", Some(0)), ("ab!d", Some(2)), ("abcdZg", Some(4))]
        {
            assert_eq!(bad_base64(text), at, "{text}");
        }
    }
}
