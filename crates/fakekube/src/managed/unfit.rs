//! Reasons why an applied configuration does not fit its type, in the server's words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::Fields;
use super::types::{Atom, Type};
use crate::decode::{go_syntax, go_text, go_type};

/// The reasons, each with its path.
pub(super) fn reasons(value: &Value, of: Type<'_>) -> Vec<String> {
    let mut found = Vec::new();
    visit(value, of, "", &mut found);
    found
}

fn visit(value: &Value, of: Type<'_>, path: &str, found: &mut Vec<String>) {
    if let Some(why) = wrong_type(value, of) {
        found.push(format!("{path}: {why}"));
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let path = format!("{path}.{name}");
                let Some((child, _)) = of.child(name) else {
                    found.push(format!("{path}: field not declared in schema"));
                    // The server looks no further in this map.
                    return;
                };
                visit(value, child, &path, found);
            }
        }
        Value::Array(items) => visit_items(items, value, of, path, found),
        _ => {}
    }
}

fn visit_items(items: &[Value], list: &Value, of: Type<'_>, path: &str, found: &mut Vec<String>) {
    let atom = of.atom(list);
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let step = of.step(&atom, item);
        let below = match (&atom, &step) {
            (Atom::Set | Atom::Keyed(_), None) => {
                let why = without_step(&atom, item);
                found.push(format!("{path}: element {index}: {why}"));
                return;
            }
            (_, Some(step)) => Fields::step_in_words(path, step),
            (_, None) => format!("{path}[{index}]"),
        };
        if let Some(step) = step
            && !seen.insert(step)
        {
            let key = &below[path.len()..];
            found.push(format!("{path}: duplicate entries for key {key}"));
        }
        visit(item, of.items(), &below, found);
    }
}

/// The reason why an item of a set or of a list with keys cannot be told from others.
fn without_step(atom: &Atom<'_>, item: &Value) -> String {
    match (atom, item) {
        (Atom::Keyed(_), Value::Null) => {
            "associative list with keys may not have a null element".to_owned()
        }
        (Atom::Keyed(keys), Value::Object(_)) => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            )
        }
        (Atom::Keyed(_), _) => {
            "associative list with keys may not have non-map elements".to_owned()
        }
        (_, Value::Object(_)) => {
            "associative list without keys has an element that's a map type".to_owned()
        }
        (_, Value::Array(_)) => "not supported: associative list with lists as elements".to_owned(),
        _ => "associative list without keys has an element that's an explicit null".to_owned(),
    }
}

/// The reason why a value is not of its declared type.
fn wrong_type(value: &Value, of: Type<'_>) -> Option<String> {
    let (name, format) = of.declared()?;
    if value.is_null() {
        return None;
    }
    let plain = !value.is_object() && !value.is_array();
    match name {
        "object" if !value.is_object() => {
            Some(format!("expected map, got &{{{}}}", go_text(value)))
        }
        "array" if !value.is_array() => Some(format!("expected list, got &{{{}}}", go_text(value))),
        "integer" | "number" if !value.is_number() => {
            Some(format!("expected numeric (int or float), got {}", go_type(value)))
        }
        "string" if matches!(format, "" | "byte") && !value.is_string() => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_syntax(value)
        )),
        "string" if !plain => Some(format!("expected any scalar, got &{{{}}}", go_text(value))),
        "boolean" if !value.is_boolean() => {
            Some(format!("expected boolean, got &{{{}}}", go_text(value)))
        }
        _ => None,
    }
}
