//! Valid objects with each part spoiled in turn.

use serde_json::{Value, json};

/// Replacements of a value; `None` removes the value.
fn replacements() -> Vec<Option<Value>> {
    vec![
        None,
        Some(Value::Null),
        Some(json!(-7)),
        Some(json!(70000)),
        Some(json!(1.5)),
        Some(json!("No such thing!")),
        Some(json!("")),
        Some(json!("x".repeat(600))),
        Some(json!(true)),
        Some(json!([])),
        Some(json!({})),
        Some(json!({"unknown": {"deep": 1}})),
        Some(json!(["a", "a"])),
    ]
}

/// The object with each part of some fields replaced in turn, and each list with its first item
/// doubled.
pub fn of(object: &Value, fields: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    for field in fields {
        for pointer in pointers(&object[field], &format!("/{field}")) {
            for replacement in replacements() {
                found.push(replaced(object, &pointer, replacement));
            }
            if let Some(Value::Array(items)) = object.pointer(&pointer)
                && let Some(first) = items.first()
            {
                let mut items = items.clone();
                items.push(first.clone());
                found.push(replaced(object, &pointer, Some(Value::Array(items))));
            }
        }
    }
    found
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    let below: Vec<String> = match value {
        Value::Object(fields) => {
            let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
            let each = fields.iter();
            each.flat_map(|(name, value)| pointers(value, &format!("{at}/{}", escaped(name))))
                .collect()
        }
        Value::Array(items) => {
            let each = items.iter().enumerate();
            each.flat_map(|(index, value)| pointers(value, &format!("{at}/{index}"))).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once(at.to_owned()).chain(below).collect()
}

fn replaced(object: &Value, pointer: &str, replacement: Option<Value>) -> Value {
    let mut object = object.clone();
    match replacement {
        Some(value) => *object.pointer_mut(pointer).unwrap() = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let name = name.replace("~1", "/").replace("~0", "~");
            match if parent.is_empty() { Some(&mut object) } else { object.pointer_mut(parent) } {
                Some(Value::Object(fields)) => {
                    fields.remove(&name);
                }
                Some(Value::Array(items)) => {
                    items.remove(name.parse().unwrap());
                }
                _ => {}
            }
        }
    }
    object
}
