//! JSON merge patch, RFC 7386.

use serde_json::{Map, Value};

/// Applies a patch.
pub(crate) fn apply(target: &mut Value, patch: Value) {
    let Value::Object(changes) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(&name);
        } else {
            apply(fields.entry(name).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_remove_and_objects_merge() {
        let mut target = json!({"a": {"b": 1, "c": 2}, "d": [1], "e": 1});
        apply(
            &mut target,
            json!({"a": {"b": null, "x": {"y": null, "z": 1}}, "d": [2], "e": null}),
        );
        assert_eq!(target, json!({"a": {"c": 2, "x": {"z": 1}}, "d": [2]}));
    }
}
