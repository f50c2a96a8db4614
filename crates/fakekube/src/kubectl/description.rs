//! The server's descriptions of fields.

use crate::openapi::data;
use crate::registry::Kind;

/// The server's description of a field of a built-in kind. For a custom kind, the description of a
/// field of the common `metadata`.
pub(super) fn description(kind: &Kind, path: &[&str]) -> Option<String> {
    if !kind.built_in() {
        return core_description("Node", path);
    }
    described(data::schema(kind)?, path)
}

/// The server's description of a field of a kind in the core group.
pub(super) fn core_description(kind: &str, path: &[&str]) -> Option<String> {
    described(data::core_schema(kind)?, path)
}

fn described(mut schema: data::Schema, path: &[&str]) -> Option<String> {
    for name in path {
        schema = schema.field(name)?;
    }
    schema.node["description"].as_str().map(str::to_owned)
}
