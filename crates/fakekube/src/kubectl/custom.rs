//! OpenAPI documents of custom kinds: the real server's document of a kind with the same scope,
//! with names and schema replaced.

use serde_json::{Map, Value, json};

use crate::openapi::data;
use crate::registry::Kind;

const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const META_TEXT: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The document of all kinds of a group and version.
pub(super) fn document<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Option<Value> {
    let mut whole: Option<Value> = None;
    for kind in kinds {
        let document = of_kind(kind)?;
        match &mut whole {
            None => whole = Some(document),
            Some(whole) => {
                merge(&mut whole["paths"], &document["paths"]);
                let more = &document["components"]["schemas"];
                merge(&mut whole["components"]["schemas"], more);
            }
        }
    }
    whole
}

fn merge(whole: &mut Value, more: &Value) {
    if let (Some(whole), Some(more)) = (whole.as_object_mut(), more.as_object()) {
        whole.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

fn of_kind(kind: &Kind) -> Option<Value> {
    let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
    let text = renamed(data::document(scope)?.to_string(), kind, scope);
    let mut document: Value = serde_json::from_str(&text).ok()?;
    if !kind.status_subresource
        && let Some(paths) = document["paths"].as_object_mut()
    {
        paths.retain(|path, _| !path.ends_with("/status"));
    }
    let mut names = document["components"]["schemas"].as_object()?.keys();
    let name = names.find(|name| name.ends_with(&format!(".{}", kind.kind)))?.clone();
    document["components"]["schemas"][&name] = schema(kind);
    Some(document)
}

/// The template with the names of a kind.
fn renamed(template: String, kind: &Kind, scope: &str) -> String {
    let lower = scope.to_lowercase();
    let reversed: Vec<_> = kind.group.rsplit('.').collect();
    let group = camel(&kind.group);
    let mut first_lower = group.clone();
    if let Some(first) = first_lower.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    template
        .replace(&format!("{lower}Templategroup_v7"), &format!("{first_lower}_{}", kind.version))
        .replace(&format!("{scope}TemplategroupV7"), &format!("{group}{}", camel(&kind.version)))
        .replace(
            &format!("templategroup.{lower}.v7"),
            &format!("{}.{}", reversed.join("."), kind.version),
        )
        .replace(&format!("{lower}.templategroup/v7"), &format!("{}/{}", kind.group, kind.version))
        .replace(&format!("{lower}.templategroup"), &kind.group)
        .replace("\"version\":\"v7\"", &format!("\"version\":\"{}\"", kind.version))
        .replace("TemplateKindList", &kind.list_kind)
        .replace("TemplateKind", &kind.kind)
        .replace("templateplurals", &kind.plural)
}

/// `flipop.digitalocean.com` as `FlipopDigitaloceanCom`.
fn camel(text: &str) -> String {
    let mut camel = String::new();
    let mut start = true;
    for character in text.chars() {
        match character {
            '.' | '-' => start = true,
            character if start => {
                camel.extend(character.to_uppercase());
                start = false;
            }
            character => camel.push(character),
        }
    }
    camel
}

/// The schema of a kind as the server publishes it.
fn schema(kind: &Kind) -> Value {
    let mut schema = kind.schema.as_deref().cloned().unwrap_or_else(|| json!({"type": "object"}));
    published(&mut schema);
    if let Some(fields) = schema.as_object_mut() {
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            insert_meta(
                properties,
                "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
                "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
            );
        }
        let kind = json!([{"group": kind.group, "kind": kind.kind, "version": kind.version}]);
        fields.insert("x-kubernetes-group-version-kind".to_owned(), kind);
    }
    schema
}

fn insert_meta(properties: &mut Map<String, Value>, version: &str, kind: &str) {
    for (name, value) in [
        ("apiVersion", json!({"description": version, "type": "string"})),
        ("kind", json!({"description": kind, "type": "string"})),
        ("metadata", json!({"description": META_TEXT, "allOf": [{"$ref": OBJECT_META}]})),
    ] {
        properties.insert(name.to_owned(), value);
    }
}

/// Adds the constraints that the server publishes for some extensions.
fn published(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        fields.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
    }
    for key in ["minimum", "maximum", "multipleOf"] {
        // Go writes whole numbers without a fraction.
        let whole = fields.get(key).and_then(Value::as_f64).filter(|number| number.fract() == 0.0);
        #[expect(clippy::cast_possible_truncation, reason = "the range of bounds in practice")]
        if let Some(number) = whole.filter(|number| number.abs() < 1e15) {
            fields.insert(key.to_owned(), Value::from(number as i64));
        }
    }
    for key in ["properties", "patternProperties"] {
        let below = fields.get_mut(key).and_then(Value::as_object_mut);
        for node in below.into_iter().flatten().map(|(_, node)| node) {
            published(node);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(node) = fields.get_mut(key) {
            published(node);
        }
    }
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        fields.insert("required".to_owned(), json!(["kind", "apiVersion"]));
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            insert_meta(
                properties,
                "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
                "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
            );
        }
    }
}
