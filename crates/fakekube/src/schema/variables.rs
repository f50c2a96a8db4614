//! Converts values for rules: typed by the schema, with field names escaped for CEL.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::{Number, Value};

use super::node::{Additional, Node};

/// Converts a value of a schema. A `root` is an object with `apiVersion`, `kind` and `metadata`.
pub(super) fn to_cel(value: &Value, schema: &Node, root: bool) -> Cel {
    match value {
        Value::String(string) => text(string, &schema.format),
        Value::Number(number) if schema.kind == "number" => {
            Cel::Float(number.as_f64().unwrap_or(f64::NAN))
        }
        Value::Array(items) => {
            let item = |item: &Value| match schema.items.as_deref() {
                Some(schema) => to_cel(item, schema, schema.embedded),
                None => untyped(item),
            };
            Cel::List(Arc::new(items.iter().map(item).collect()))
        }
        Value::Object(fields) => {
            let is_map = matches!(schema.additional, Additional::Any | Additional::Schema(_));
            let field = |(name, value): (&String, &Value)| {
                let value = match schema.field(name) {
                    Some(schema) if !(root && name == "metadata") => {
                        to_cel(value, schema, schema.embedded)
                    }
                    _ => untyped(value),
                };
                let name = if is_map { name.clone() } else { escaped(name) };
                (Key::from(name), value)
            };
            map(fields.iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => untyped(value),
    }
}

/// Converts a value without a schema.
fn untyped(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(bool) => Cel::Bool(*bool),
        Value::Number(number) => untyped_number(number),
        Value::String(text) => Cel::from(text.as_str()),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(untyped).collect())),
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| (Key::from(escaped(name)), untyped(value));
            map(fields.iter().map(field).collect())
        }
    }
}

fn untyped_number(number: &Number) -> Cel {
    match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => Cel::Int(whole),
        (None, Some(whole)) => Cel::UInt(whole),
        (None, None) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn map(fields: HashMap<Key, Cel>) -> Cel {
    Cel::Map(Map { map: Arc::new(fields) })
}

/// Converts a text to the CEL type of its format. A text that does not fit its format stays a text.
fn text(text: &str, format: &str) -> Cel {
    let converted = match format {
        "date-time" | "datetime" => converted(text, "timestamp(text)"),
        "date" => converted(&format!("{text}T00:00:00Z"), "timestamp(text)"),
        "duration" => converted(text, "duration(text)"),
        "byte" => STANDARD.decode(text).ok().map(|bytes| Cel::Bytes(Arc::new(bytes))),
        _ => None,
    };
    converted.unwrap_or_else(|| Cel::from(text))
}

/// Converts with CEL's own functions.
fn converted(text: &str, conversion: &str) -> Option<Cel> {
    let program = Program::compile(conversion).ok()?;
    let mut scope = Context::default();
    scope.add_variable_from_value("text", Cel::from(text));
    program.execute(&scope).ok()
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Escapes the name of a field as a CEL identifier.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_become_identifiers() {
        for (name, expected) in [
            ("plain", "plain"),
            ("namespace", "__namespace__"),
            ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
            ("a__b", "a__underscores__b"),
        ] {
            assert_eq!(escaped(name), expected);
        }
    }

    #[test]
    fn the_schema_gives_values_their_types() {
        let schema = Node::parse(&json!({"type": "object", "properties": {
            "float": {"type": "number"}, "time": {"type": "string", "format": "date-time"},
            "bytes": {"type": "string", "format": "byte"},
        }}))
        .unwrap();
        let value = json!({"float": 1, "time": "2024-01-01T00:00:00Z", "bytes": "YQ=="});

        let Cel::Map(fields) = to_cel(&value, &schema, false) else { panic!("not a map") };

        let get = |name: &str| fields.map[&Key::from(name.to_owned())].clone();
        assert!(matches!(get("float"), Cel::Float(_)));
        assert!(matches!(get("time"), Cel::Timestamp(_)));
        assert!(matches!(get("bytes"), Cel::Bytes(_)));
    }
}
