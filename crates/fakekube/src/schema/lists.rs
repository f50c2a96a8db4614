//! Lists of type set and map: duplicate items.

use serde_json::{Map, Value};

use super::cause::Cause;
use super::node::{ListType, Node};

/// Checks all lists in a value for duplicates.
pub(super) fn check(schema: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let listed = schema.properties.get(name).map(|node| (node, child(path, name)));
                let other = || Some((schema.additional_schema()?, format!("{path}[{name}]")));
                if let Some((node, path)) = listed.or_else(other) {
                    check(node, value, &path, causes);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type {
                ListType::Atomic => {}
                ListType::Set => report(items.to_vec(), path, causes),
                ListType::Map => keys(schema, items, path, causes),
            }
            if let Some(node) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    check(node, item, &format!("{path}[{index}]"), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The path of a field.
pub(super) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn keys(schema: &Node, items: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let wrong = items.iter().position(|item| !item.is_object() && !item.is_null());
    if let Some(index) = wrong {
        let detail = "must be an object for an array of list-type map";
        causes.push(Cause::invalid(format!("{path}[{index}]"), &items[index], detail));
        return;
    }
    let of = |item: &Value| {
        let present = |key: &String| Some((key.clone(), item.get(key)?.clone()));
        Value::Object(schema.list_keys.iter().filter_map(present).collect::<Map<_, _>>())
    };
    report(items.iter().map(of).collect(), path, causes);
}

/// Reports the second occurrence of each value.
fn report(values: Vec<Value>, path: &str, causes: &mut Vec<Cause>) {
    for (index, value) in values.iter().enumerate() {
        let before = values[..index].iter().filter(|earlier| *earlier == value).count();
        if before == 1 {
            causes.push(Cause::duplicate(format!("{path}[{index}]"), value));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repeated_item_or_key_is_reported_once() {
        let schema = Node::parse(&json!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {"type": "object", "properties": {"type": {"type": "string"}}}},
        }}))
        .unwrap();
        let value = json!({"set": ["a", "b", "a", "a"], "map": [{"type": "x"}, {"type": "x"}]});
        let mut causes = Vec::new();

        check(&schema, &value, "", &mut causes);

        let texts: Vec<_> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        assert_eq!(
            texts,
            [r#"map[1]: Duplicate value: {"type":"x"}"#, r#"set[2]: Duplicate value: "a""#]
        );
    }
}
