//! Translates OpenAPI 3.0 schemas to JSON Schema: `nullable` is translated, references are kept and
//! resolved in the document.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator,
}

/// Compiles schemas with references into a set of components, each schema once.
pub(super) struct Compiler {
    components: Value,
    compiled: RefCell<BTreeMap<String, Arc<Schema>>>,
}

impl Compiler {
    /// A compiler for the components of a document.
    pub(super) fn new(components: &Value) -> Self {
        Self {
            components: json!({"schemas": translate(&components["schemas"])}),
            compiled: RefCell::default(),
        }
    }

    /// Whether the components have a schema with the given name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.components["schemas"].get(name).is_some()
    }

    /// Compiles a schema, or returns it from the cache.
    pub(super) fn compile(&self, schema: &Value) -> Result<Arc<Schema>, String> {
        let key = schema.to_string();
        if let Some(known) = self.compiled.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let root = json!({"allOf": [translate(schema)], "components": self.components});
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .build(&root)
            .map_err(|error| format!("schema {schema}: {error}"))?;
        let schema = Arc::new(Schema { validator });
        self.compiled.borrow_mut().insert(key, Arc::clone(&schema));
        Ok(schema)
    }
}

impl Schema {
    /// Checks a value; the error says why.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        self.validator.validate(value).map_err(|error| {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { "/" } else { at.as_str() };
            let mut why = format!("{at}: {error}");
            if let Some((end, _)) = why.char_indices().nth(600) {
                why.truncate(end);
                why.push('…');
            }
            why
        })
    }
}

/// Translates a schema, and any value that contains schemas.
fn translate(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(translate).collect(),
        Value::Object(object) => translate_object(object),
        other => other.clone(),
    }
}

fn translate_object(object: &Map<String, Value>) -> Value {
    if let Some(reference @ Value::String(_)) = object.get("$ref") {
        // OpenAPI 3.0 ignores the siblings of a reference.
        return json!({"$ref": reference});
    }
    let mut out: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| {
            !matches!(key.as_str(), "nullable" | "example" | "examples" | "discriminator")
        })
        .map(|(key, value)| (key.clone(), translate(value)))
        .collect();
    if object.get("nullable") != Some(&Value::Bool(true)) {
        return Value::Object(out);
    }
    let Some(Value::String(kind)) = object.get("type") else {
        return json!({"anyOf": [out, {"type": "null"}]});
    };
    out.insert("type".to_owned(), json!([kind, "null"]));
    if let Some(Value::Array(allowed)) = out.get_mut("enum") {
        allowed.push(Value::Null);
    }
    Value::Object(out)
}
