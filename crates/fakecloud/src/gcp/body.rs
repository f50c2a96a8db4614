//! Request bodies. The vendor refuses fields that it does not know, and values of other types.

use http::StatusCode;
use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::call::Call;

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Flag,
    Number,
    Texts,
    Map,
}

/// A resource as sent.
#[derive(Debug)]
pub(super) struct Body(Map<String, Value>);

impl Body {
    /// Reads a resource with the given fields.
    pub(super) fn read(call: &Call, fields: &[(&str, Kind)]) -> Result<Self, Refusal> {
        let parsed = if call.body.is_empty() {
            Ok(Value::Object(Map::new()))
        } else {
            serde_json::from_slice(&call.body)
        };
        let Ok(Value::Object(object)) = parsed else {
            let why = "Invalid JSON payload received. Expected an object.";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "parseError", why.to_owned()));
        };
        for (name, value) in &object {
            let Some((_, kind)) = fields.iter().find(|(known, _)| known == name) else {
                return Err(Refusal::bad(&format!(
                    "Invalid JSON payload received. Unknown name \"{name}\": Cannot find field."
                )));
            };
            if !is_of(*kind, value) {
                let why = format!("Invalid value at 'resource.{name}', {value}");
                return Err(Refusal::bad(&why));
            }
        }
        Ok(Self(object))
    }

    /// A text, if there and not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Refuses a text other than the given ones.
    pub(super) fn one_of(&self, name: &str, known: &[&str]) -> Result<(), Refusal> {
        match self.text(name) {
            Some(text) if !known.contains(&text) => {
                let why = "The value is unknown, or does not fit here.";
                Err(Refusal::invalid(&format!("resource.{name}"), text, why))
            }
            _ => Ok(()),
        }
    }
}

fn is_of(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Text => value.is_string(),
        Kind::Flag => value.is_boolean(),
        Kind::Number => value.is_i64(),
        Kind::Texts => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        Kind::Map => value.as_object().is_some_and(|all| all.values().all(Value::is_string)),
    }
}

/// Whether a name has the form that the vendor wants: RFC 1035.
pub(super) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.ends_with('-')
        && name.len() <= 63
}
