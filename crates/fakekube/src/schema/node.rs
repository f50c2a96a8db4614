//! The compiled form of a CRD's schema.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::rules::Rule;
use super::text::go_regex;

/// Treatment of undeclared fields.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// Undeclared fields are pruned, unless the node preserves unknown fields.
    #[default]
    Unsaid,
    /// `additionalProperties: true`.
    Any,
    /// `additionalProperties: false`; only within `not` and the like.
    None,
    /// The schema of the undeclared fields' values.
    Schema(Box<Node>),
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListType {
    /// A single value, changed as a whole.
    #[default]
    Atomic,
    /// A list without duplicates.
    Set,
    /// Items with key fields.
    Map,
}

/// A pattern, and its regular expression if valid.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The pattern as written.
    pub(super) text: String,
    /// `None` if the pattern is not a valid regular expression.
    pub(super) regex: Option<Regex>,
}

/// A bound of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) value: f64,
    pub(super) exclusive: bool,
}

/// A node of a schema, with all parts that the API server uses.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// `object`, `array`, ...; empty for any type and for int-or-string.
    pub(super) kind: String,
    /// `x-kubernetes-int-or-string`.
    pub(super) int_or_string: bool,
    /// A format that the server knows for the type, else empty.
    pub(super) format: String,
    pub(super) nullable: bool,
    pub(super) default: Option<Value>,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) list_type: ListType,
    pub(super) list_keys: Vec<String>,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) required: Vec<String>,
    pub(super) choices: Vec<Value>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) unique_items: bool,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    pub(super) rules: Vec<Rule>,
    /// Whether this node or a descendant has rules.
    pub(super) ruled: bool,
}

impl Node {
    /// Parses a node and its descendants.
    pub(super) fn parse(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("a schema must be an object".to_owned());
        }
        let kind = text(schema, "type");
        let int_or_string = flag(schema, "x-kubernetes-int-or-string");
        let format = known_format(&kind, int_or_string, &text(schema, "format"));
        let mut node = Self {
            int_or_string,
            format,
            nullable: flag(schema, "nullable"),
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            preserve: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded: flag(schema, "x-kubernetes-embedded-resource"),
            list_type: list_type(&text(schema, "x-kubernetes-list-type")),
            list_keys: texts(schema, "x-kubernetes-list-map-keys"),
            properties: properties(schema)?,
            additional: additional(schema)?,
            items: below(schema, "items")?,
            required: texts(schema, "required"),
            choices: schema["enum"].as_array().cloned().unwrap_or_default(),
            minimum: bound(schema, "minimum", "exclusiveMinimum"),
            maximum: bound(schema, "maximum", "exclusiveMaximum"),
            multiple_of: schema["multipleOf"].as_f64(),
            min_length: schema["minLength"].as_u64(),
            max_length: schema["maxLength"].as_u64(),
            pattern: pattern(&text(schema, "pattern")),
            min_items: schema["minItems"].as_u64(),
            max_items: schema["maxItems"].as_u64(),
            unique_items: flag(schema, "uniqueItems"),
            min_properties: schema["minProperties"].as_u64(),
            max_properties: schema["maxProperties"].as_u64(),
            all_of: several(schema, "allOf")?,
            any_of: several(schema, "anyOf")?,
            one_of: several(schema, "oneOf")?,
            not: below(schema, "not")?,
            rules: rules(schema)?,
            ruled: false,
            kind,
        };
        node.ruled = node.has_rules();
        Ok(node)
    }

    fn has_rules(&self) -> bool {
        let mut below = self.properties.values().chain(self.items.as_deref());
        !self.rules.is_empty()
            || below.any(|node| node.ruled)
            || self.additional_schema().is_some_and(|node| node.ruled)
            || self.all_of.iter().any(|node| node.ruled)
    }

    /// The schema of a field's value, if any.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// The schema of the values of undeclared fields.
    pub(super) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Additional::Schema(node) => Some(node),
            Additional::Unsaid | Additional::Any | Additional::None => None,
        }
    }

    /// The type names in the server's messages.
    pub(super) fn type_names(&self) -> &str {
        if self.int_or_string { "integer,string" } else { &self.kind }
    }

    /// Whether the schema accepts values of a JSON type. Numbers are checked separately.
    pub(super) fn accepts_type(&self, name: &str) -> bool {
        match self.int_or_string {
            true => matches!(name, "integer" | "string"),
            false => self.kind == name,
        }
    }

    /// Whether the schema declares a type.
    pub(super) fn is_typed(&self) -> bool {
        self.int_or_string || !self.kind.is_empty()
    }
}

fn text(schema: &Value, key: &str) -> String {
    schema[key].as_str().unwrap_or_default().to_owned()
}

fn texts(schema: &Value, key: &str) -> Vec<String> {
    let list = schema[key].as_array().into_iter().flatten();
    list.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn flag(schema: &Value, key: &str) -> bool {
    schema[key].as_bool().unwrap_or_default()
}

fn list_type(name: &str) -> ListType {
    match name {
        "set" => ListType::Set,
        "map" => ListType::Map,
        _ => ListType::Atomic,
    }
}

fn bound(schema: &Value, key: &str, exclusive: &str) -> Option<Bound> {
    let value = schema[key].as_f64()?;
    Some(Bound { value, exclusive: flag(schema, exclusive) })
}

fn pattern(text: &str) -> Option<Pattern> {
    let compiled = || Regex::new(&go_regex(text)).ok();
    (!text.is_empty()).then(|| Pattern { text: text.to_owned(), regex: compiled() })
}

fn properties(schema: &Value) -> Result<BTreeMap<String, Node>, String> {
    let listed = schema["properties"].as_object().into_iter().flatten();
    listed
        .map(|(name, node)| match Node::parse(node) {
            Ok(node) => Ok((name.clone(), node)),
            Err(error) => Err(format!("{name}: {error}")),
        })
        .collect()
}

fn additional(schema: &Value) -> Result<Additional, String> {
    Ok(match schema.get("additionalProperties") {
        None | Some(Value::Null) => Additional::Unsaid,
        Some(Value::Bool(true)) => Additional::Any,
        Some(Value::Bool(false)) => Additional::None,
        Some(node) => Additional::Schema(Box::new(Node::parse(node)?)),
    })
}

fn below(schema: &Value, key: &str) -> Result<Option<Box<Node>>, String> {
    match schema.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(node) => Ok(Some(Box::new(Node::parse(node)?))),
    }
}

fn several(schema: &Value, key: &str) -> Result<Vec<Node>, String> {
    schema[key].as_array().into_iter().flatten().map(Node::parse).collect()
}

fn rules(schema: &Value) -> Result<Vec<Rule>, String> {
    let written = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    written.map(Rule::compile).collect()
}

/// The text formats that the server checks; other formats are ignored.
const FORMATS: &[&str] = &[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8s-short-name",
    "k8s-long-name",
];

fn known_format(kind: &str, int_or_string: bool, format: &str) -> String {
    let known = match kind {
        _ if int_or_string => false,
        "" | "string" => {
            FORMATS.iter().any(|known| known.replace('-', "") == format.replace('-', ""))
        }
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    };
    if known { format.to_owned() } else { String::new() }
}
