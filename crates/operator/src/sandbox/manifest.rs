//! The user's own objects.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::observe::pool;

/// Reads the objects of manifest files, `List`s taken apart.
///
/// # Errors
/// In words that name the file.
pub fn read(files: &[PathBuf]) -> Result<Vec<Value>, String> {
    let mut objects = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        for object in parse(file, &text)? {
            match object["items"].as_array() {
                Some(items) if object["kind"] == "List" => objects.extend(items.clone()),
                _ => objects.push(object),
            }
        }
    }
    Ok(objects)
}

fn parse(file: &Path, text: &str) -> Result<Vec<Value>, String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| format!("{} is not YAML: {error}", file.display()))?;
    let documents: Vec<_> = documents.into_iter().filter(|one| !one.is_null()).collect();
    for object in &documents {
        for field in ["apiVersion", "kind"] {
            if !object[field].is_string() {
                return Err(format!("{}: an object has no {field}", file.display()));
            }
        }
    }
    Ok(documents)
}

/// Whether an object is a pool, so that the sandbox needs none of its own.
pub fn is_pool(object: &Value) -> bool {
    object["kind"] == pool::KIND
}

/// What an object is called in a message.
pub fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}
