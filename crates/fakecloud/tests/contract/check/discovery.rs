//! Translates a discovery document to OpenAPI 3: methods become paths, and schemas in the style of
//! JSON Schema draft 3 become components.
//!
//! The translation is stricter than the document where the vendor is: unknown fields are wrong,
//! patterns hold for the whole text, and a `kind` is always the one of its schema. Fields that a
//! method requires are annotations of the document.

use serde_json::{Map, Value, json};

/// Whether a document is a discovery document.
pub(super) fn is_one(document: &Value) -> bool {
    document.get("discoveryVersion").is_some()
}

/// The same operations in OpenAPI 3.
pub(super) fn openapi(document: &Value) -> Value {
    let mut paths = json!({});
    add_methods(document, document, &mut paths);
    let schemas: Map<String, Value> =
        entries(&document["schemas"]).map(|(name, one)| (name.clone(), schema(one))).collect();
    json!({
        "openapi": "3.0.0",
        "servers": [{"url": document["baseUrl"]}],
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

fn entries(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// Adds the methods of a resource, and of the resources below it.
fn add_methods(document: &Value, resource: &Value, paths: &mut Value) {
    for (_, method) in entries(&resource["methods"]) {
        let path = format!("/{}", method["path"].as_str().unwrap_or_default());
        let verb = method["httpMethod"].as_str().unwrap_or_default().to_lowercase();
        paths[path][verb] = operation(document, method);
    }
    for (_, below) in entries(&resource["resources"]) {
        add_methods(document, below, paths);
    }
}

fn operation(document: &Value, method: &Value) -> Value {
    let common = entries(&document["parameters"]);
    let parameters: Vec<Value> =
        entries(&method["parameters"]).chain(common).map(parameter).collect();
    let mut operation = json!({
        "operationId": method["id"],
        "parameters": parameters,
        "responses": {"200": {}, "4XX": error(), "5XX": error()},
    });
    if let Some(name) = method["request"]["$ref"].as_str() {
        let required = required(&document["schemas"][name], &method["id"]);
        let schema = json!({"allOf": [reference(name), {"required": required}]});
        operation["requestBody"] = json!({"required": true, "content": body(&schema)});
    }
    if let Some(name) = method["response"]["$ref"].as_str() {
        let kind = document["schemas"][name]["properties"]["kind"].get("default");
        let required: Vec<&str> = kind.map(|_| "kind").into_iter().collect();
        // Fields without a value are left out, so that none is required: the reader of OpenAPI
        // takes those of an `allOf` for required, and looks no further than an `anyOf`.
        let schema = json!({"anyOf": [{"allOf": [reference(name), {"required": required}]}]});
        operation["responses"]["200"] = json!({"content": body(&schema)});
    }
    operation
}

fn parameter((name, parameter): (&String, &Value)) -> Value {
    json!({
        "name": name,
        "in": parameter["location"],
        "required": parameter["required"] == json!(true),
        "schema": schema(parameter),
    })
}

/// The fields that a method requires in its body.
fn required<'a>(schema: &'a Value, method: &Value) -> Vec<&'a String> {
    let requires = |property: &Value| {
        let methods = property["annotations"]["required"].as_array();
        methods.is_some_and(|methods| methods.contains(method))
    };
    let properties = entries(&schema["properties"]);
    properties.filter(|(_, property)| requires(property)).map(|(name, _)| name).collect()
}

fn body(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The envelope of all errors, which documents leave out.
fn error() -> Value {
    let text = json!({"type": "string"});
    let detail = json!({
        "type": "object",
        "required": ["domain", "reason", "message"],
        "properties": {"domain": text, "reason": text, "message": text},
    });
    let error = json!({
        "type": "object",
        "required": ["code", "message", "errors"],
        "properties": {
            "code": {"type": "integer"},
            "message": text,
            "errors": {"type": "array", "minItems": 1, "items": detail},
            "status": text,
        },
    });
    let envelope = json!({"type": "object", "required": ["error"], "properties": {"error": error}});
    json!({"content": body(&envelope)})
}

fn schema(given: &Value) -> Value {
    if let Some(name) = given["$ref"].as_str() {
        return reference(name);
    }
    let mut out = Map::new();
    if let Some(kind) = given["type"].as_str().filter(|kind| *kind != "any") {
        out.insert("type".to_owned(), json!(kind));
    }
    if let Some(allowed) = given.get("enum") {
        out.insert("enum".to_owned(), allowed.clone());
    }
    if let Some(pattern) = pattern(given) {
        out.insert("pattern".to_owned(), json!(pattern));
    }
    for limit in ["minimum", "maximum"] {
        if let Some(limited) = given[limit].as_str().and_then(|text| text.parse::<i64>().ok()) {
            out.insert(limit.to_owned(), json!(limited));
        }
    }
    if let Some(items) = given.get("items") {
        out.insert("items".to_owned(), schema(items));
    }
    if given.get("properties").is_some() {
        let properties = entries(&given["properties"]);
        out.insert(
            "properties".to_owned(),
            properties.map(|(name, one)| (name.clone(), property(name, one))).collect(),
        );
        out.insert("additionalProperties".to_owned(), json!(false));
    }
    if let Some(others) = given.get("additionalProperties") {
        out.insert("additionalProperties".to_owned(), schema(others));
    }
    Value::Object(out)
}

/// A property. A `kind` has the only value that the document gives it.
fn property(name: &str, given: &Value) -> Value {
    match given.get("default").filter(|_| name == "kind") {
        Some(kind) => json!({"type": "string", "enum": [kind]}),
        None => schema(given),
    }
}

/// The pattern of a text: its own, or that of its format.
fn pattern(given: &Value) -> Option<String> {
    if given["type"] != "string" {
        return None;
    }
    if let Some(pattern) = given["pattern"].as_str() {
        return Some(format!("^(?:{pattern})$"));
    }
    match given["format"].as_str()? {
        "uint64" => Some("^[0-9]+$".to_owned()),
        "int64" => Some("^-?[0-9]+$".to_owned()),
        "byte" => Some("^[-_+/A-Za-z0-9]*={0,2}$".to_owned()),
        _ => None,
    }
}
