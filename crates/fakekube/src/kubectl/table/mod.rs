//! Objects as kubectl prints them: `meta.k8s.io/v1` Tables.
//!
//! In: a kind, its objects and the time. Out: the real server's columns and cell texts, including
//! the columns for `-o wide`.

mod age;
mod budget;
mod columns;
mod event;
mod json_path;
mod node;
mod pod;
mod workload;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::description::description;
use crate::object::partial;
use crate::registry::{Column, Kind};

pub use json_path::JsonPath;

use age::age_of;

/// The row of an object.
struct Row {
    cells: Vec<Value>,
    conditions: Option<Value>,
}

impl From<Vec<Value>> for Row {
    fn from(cells: Vec<Value>) -> Self {
        Self { cells, conditions: None }
    }
}

/// The Table of a kind's objects. `list_meta` becomes its `metadata`. `include_object` selects the
/// object in each row: `None`, `Object`, or only the metadata for any other value. Ages are
/// relative to `now`.
#[must_use]
pub fn render(
    kind: &Kind,
    objects: &[Value],
    list_meta: Value,
    include_object: &str,
    now: Timestamp,
) -> Value {
    let printer = Printer::of(kind);
    let rows: Vec<_> = objects
        .iter()
        .map(|object| {
            let Row { cells, conditions } = printer.row(object, now);
            let mut row = json!({"cells": cells, "object": included(kind, object, include_object)});
            if let Some(conditions) = conditions {
                row["conditions"] = conditions;
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": list_meta,
        "columnDefinitions": printer.definitions(kind), "rows": rows,
    })
}

fn included(kind: &Kind, object: &Value, how: &str) -> Value {
    match how {
        "None" => Value::Null,
        "Object" => object.clone(),
        _ => partial(kind, object),
    }
}

/// Source of a kind's columns and cells.
enum Printer<'a> {
    BuiltIn(&'static columns::BuiltIn),
    Custom(Vec<(&'a Column, Option<JsonPath>)>),
}

impl<'a> Printer<'a> {
    fn of(kind: &'a Kind) -> Self {
        match columns::of(kind) {
            Some(printer) => Self::BuiltIn(printer),
            None => {
                let parsed = |column: &'a Column| (column, JsonPath::parse(&column.json_path));
                Self::Custom(kind.columns.iter().map(parsed).collect())
            }
        }
    }

    fn definitions(&self, kind: &Kind) -> Vec<Value> {
        match self {
            Self::BuiltIn(printer) => {
                printer.columns.iter().map(|column| column.definition(kind)).collect()
            }
            Self::Custom(columns) if columns.is_empty() => {
                vec![name_column(kind), age_column(kind)]
            }
            Self::Custom(columns) => {
                let rest = columns.iter().map(|(column, _)| definition(column));
                std::iter::once(name_column(kind)).chain(rest).collect()
            }
        }
    }

    fn row(&self, object: &Value, now: Timestamp) -> Row {
        match self {
            Self::BuiltIn(printer) => (printer.row)(object, now),
            Self::Custom(columns) => {
                let mut cells = vec![object["metadata"]["name"].clone()];
                if columns.is_empty() {
                    cells.push(age_of(object, now));
                }
                cells.extend(columns.iter().map(|(column, path)| {
                    let found = path.as_ref().and_then(|path| path.find(object).first().copied());
                    found.map_or(Value::Null, |value| cell(column, value, now))
                }));
                cells.into()
            }
        }
    }
}

fn name_column(kind: &Kind) -> Value {
    let description = described(kind, &["metadata", "name"]);
    json!({"name": "Name", "type": "string", "format": "name", "description": description, "priority": 0})
}

/// The default column of a custom kind without columns.
fn age_column(kind: &Kind) -> Value {
    let description = described(kind, &["metadata", "creationTimestamp"]);
    json!({"name": "Age", "type": "date", "format": "", "description": description, "priority": 0})
}

fn described(kind: &Kind, path: &[&str]) -> String {
    description(kind, path).unwrap_or_default()
}

fn definition(column: &Column) -> Value {
    let description = match column.description.as_str() {
        "" => {
            format!("Custom resource definition column (in JSONPath format): {}", column.json_path)
        }
        description => description.to_owned(),
    };
    json!({
        "name": column.name, "type": column.r#type, "format": column.format,
        "description": description, "priority": column.priority,
    })
}

fn cell(column: &Column, value: &Value, now: Timestamp) -> Value {
    let shown = match (column.r#type.as_str(), value) {
        ("string", value) => Some(Value::from(json_path::printed(value))),
        ("integer", Value::Number(number)) => {
            #[expect(clippy::cast_possible_truncation, reason = "as the server does")]
            let whole = number.as_i64().or_else(|| number.as_f64().map(|float| float as i64));
            whole.map(Value::from)
        }
        ("number", Value::Number(number)) => number.as_f64().map(Value::from),
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("date", Value::String(text)) => Some(Value::from(age::since(text, now))),
        _ => None,
    };
    shown.unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests;
