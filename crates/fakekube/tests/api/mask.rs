//! Masks values that differ between servers: UIDs, times, resource versions, generated names.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

/// Replaces resource versions by numbers in the order of their first appearance, so that repeated
/// versions stay distinguishable from new versions.
pub(crate) struct Mask {
    versions: BTreeMap<String, usize>,
    uid: Regex,
    time: Regex,
    number: Regex,
    managers: bool,
}

impl Default for Mask {
    fn default() -> Self {
        let regex = |text: &str| Regex::new(text).unwrap();
        Self {
            versions: BTreeMap::new(),
            uid: regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
            time: regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
            number: regex(r"(\(|current: |resourceVersion=)\d+"),
            managers: false,
        }
    }
}

impl Mask {
    /// Shows field managers from now on.
    pub(crate) fn with_managers(&mut self) {
        self.managers = true;
    }

    pub(crate) fn text(&self, text: &str) -> String {
        let text = self.uid.replace_all(text, "UID");
        let text = self.time.replace_all(&text, "TIME");
        let text = self.number.replace_all(&text, |found: &Captures<'_>| format!("{}N", &found[1]));
        text.into_owned()
    }

    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => json!(self.text(text)),
            plain => plain.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        let generated = fields.get("generateName").and_then(Value::as_str).unwrap_or_default();
        let of_object = fields.contains_key("uid");
        let causes = fields.get("details").and_then(|details| details["causes"].as_array());
        let several = causes.is_some_and(|causes| causes.iter().any(|one| *one != causes[0]));
        let managers = self.managers;
        let shown = fields.iter().filter(|(name, _)| managers || *name != "managedFields");
        let masked = shown.map(|entry| {
            let (name, value) = entry;
            let masked = match (name.as_str(), value) {
                ("resourceVersion", Value::String(version)) if of_object => {
                    let next = self.versions.len();
                    json!(format!("V{}", self.versions.entry(version.clone()).or_insert(next)))
                }
                ("resourceVersion", Value::String(_)) => json!("V"),
                // On updates the server repeats some causes, and orders several violations
                // randomly.
                ("causes", Value::Array(causes)) => {
                    let mut once: Vec<Value> = causes.clone();
                    once.sort_by_key(ToString::to_string);
                    once.dedup();
                    self.value(&Value::Array(once))
                }
                // The causes, which are compared sorted, hold the same text.
                ("message", Value::String(text)) if several => {
                    let (what, _) = text.split_once(" is invalid: ").unwrap_or((text, ""));
                    json!(self.text(&format!("{what} is invalid: SEVERAL")))
                }
                // Sorted, because the server orders entries by time, and times differ.
                ("managedFields", Value::Array(entries)) => {
                    let mut entries: Vec<Value> =
                        entries.iter().map(|entry| self.value(entry)).collect();
                    entries.sort_by_key(ToString::to_string);
                    Value::Array(entries)
                }
                // Ages differ, because each server makes the Table in another second.
                ("cells", Value::Array(cells)) => cells
                    .iter()
                    .map(|cell| if is_age(cell) { json!("AGE") } else { self.value(cell) })
                    .collect(),
                ("continue", Value::String(token)) if !token.is_empty() => json!("TOKEN"),
                ("name", Value::String(name)) if !generated.is_empty() => {
                    json!(format!("{generated}+{}", name.len() - generated.len()))
                }
                (_, value) => self.value(value),
            };
            // Managers refer to owners by UID.
            (self.text(name), masked)
        });
        Value::Object(masked.collect())
    }
}

/// Whether a Table's cell is an age, such as `7s` or `2m3s`.
fn is_age(cell: &Value) -> bool {
    let digits = cell.as_str().and_then(|text| text.strip_suffix('s'));
    digits.is_some_and(|text| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || c == 'm')
    })
}
