//! The real server's OpenAPI data, dumped by `examples/dump_openapi.rs`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{LazyLock, OnceLock};

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::registry::Kind;

/// The data as stored.
pub(crate) const COMPRESSED: &[u8] = include_bytes!("data/openapi.json.gz");

/// A line of the data: the document's name, a space, the document.
struct Line {
    name: String,
    text: String,
    /// Parsed at first use: most programs ask for few documents.
    value: OnceLock<Value>,
    /// The schemas of the kinds in the document, collected at first use.
    kinds: OnceLock<BTreeMap<GroupVersionKind, Schema>>,
}

/// Group, version and kind.
type GroupVersionKind = (&'static str, &'static str, &'static str);

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let mut text = String::new();
    // Errors cannot happen: the file is part of the binary, and a test reads it.
    let _ = GzDecoder::new(COMPRESSED).read_to_string(&mut text);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let line = |(name, text): (&str, &str)| Line {
        name: name.to_owned(),
        text: text.to_owned(),
        value: OnceLock::new(),
        kinds: OnceLock::new(),
    };
    lines.map(line).collect()
});

impl Line {
    fn of(name: &str) -> Option<&'static Self> {
        LINES.iter().find(|line| line.name == name)
    }

    fn document(&'static self) -> &'static Value {
        self.value.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }
}

/// The document of a built-in group and version (`api/v1`), or a template (`Namespaced`).
#[cfg(feature = "kubectl")]
pub(crate) fn document(name: &str) -> Option<&'static Value> {
    Line::of(name).map(Line::document)
}

/// The server's name of the document of a group and version.
pub(crate) fn name(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        group => format!("apis/{group}/{version}"),
    }
}

/// The schema of a built-in kind and the schemas around it.
pub(crate) fn schema(kind: &Kind) -> Option<Schema> {
    find(&kind.group, &kind.version, &kind.kind)
}

/// As [`schema`], for a kind of the core group.
pub(crate) fn core_schema(kind: &str) -> Option<Schema> {
    find("", "v1", kind)
}

fn find(group: &str, version: &str, kind: &str) -> Option<Schema> {
    let line = Line::of(&name(group, version))?;
    let kinds = line.kinds.get_or_init(|| schemas_of_kinds(line.document()));
    kinds.get(&(group, version, kind)).copied()
}

/// The schemas of a document that are about one kind each.
fn schemas_of_kinds(document: &'static Value) -> BTreeMap<GroupVersionKind, Schema> {
    let all = &document["components"]["schemas"];
    let kind_of = |schema: &'static Value| {
        let [only] = schema["x-kubernetes-group-version-kind"].as_array()?.as_slice() else {
            return None;
        };
        Some((only["group"].as_str()?, only["version"].as_str()?, only["kind"].as_str()?))
    };
    let schemas = all.as_object().into_iter().flat_map(|all| all.values());
    schemas.filter_map(|node| Some((kind_of(node)?, Schema { node, all }))).collect()
}

/// A schema of a built-in kind, or a part of one.
#[derive(Clone, Copy)]
pub(crate) struct Schema {
    /// The schema as written; may be a reference.
    pub(crate) node: &'static Value,
    pub(crate) all: &'static Value,
}

impl Schema {
    /// Follows a reference; returns other schemas unchanged.
    pub(crate) fn resolved(self) -> Self {
        let own = &self.node["$ref"];
        let reference = if own.is_string() { own } else { &self.node["allOf"][0]["$ref"] };
        let name = reference.as_str().and_then(|text| text.strip_prefix("#/components/schemas/"));
        let found = name.and_then(|name| self.all.get(name));
        found.map_or(self, |node| Self { node, ..self })
    }

    /// The schema of a field, or of the values of a map.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        let schema = self.resolved();
        let listed = schema.node["properties"].get(name);
        let node = listed.or_else(|| {
            schema.node.get("additionalProperties").filter(|values| values.is_object())
        })?;
        Some(Self { node, ..self })
    }

    /// The schema of the items of a list.
    pub(crate) fn items(self) -> Option<Self> {
        let schema = self.resolved();
        Some(Self { node: schema.node.get("items")?, ..self })
    }
}
