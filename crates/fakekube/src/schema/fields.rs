//! Pruning of unknown fields, and defaults.

use serde_json::{Map, Value};

use super::node::{Additional, Node};

const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes undeclared fields from a whole object; returns their sorted paths.
pub(super) fn prune(object: &mut Value, schema: &Node) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut pruning = Pruning { path: String::new(), unknown: &mut unknown };
    if let Value::Object(fields) = object {
        pruning.fields(fields, schema, true);
    }
    unknown.sort();
    unknown
}

/// A walk over an object that removes undeclared fields and collects their paths.
struct Pruning<'a> {
    path: String,
    unknown: &'a mut Vec<String>,
}

impl Pruning<'_> {
    fn value(&mut self, value: &mut Value, schema: Option<&Node>) {
        match value {
            Value::Object(fields) => match schema {
                Some(schema) => self.fields(fields, schema, schema.embedded),
                None => self.everything(fields),
            },
            Value::Array(items) => {
                let preserved = schema.is_some_and(|schema| schema.preserve);
                let below = schema.and_then(|schema| schema.items.as_deref());
                if preserved && below.is_none() {
                    return;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(&format!("[{index}]"), |walk| walk.value(item, below));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, schema: &Node, embedded: bool) {
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            if embedded && OF_EVERY_OBJECT.contains(&name.as_str()) {
                continue;
            }
            let below = match (schema.properties.get(&name), &schema.additional) {
                (Some(property), _) => Some(property),
                (None, Additional::Schema(node)) => Some(&**node),
                (None, Additional::Any | Additional::None) => None,
                (None, Additional::Unsaid) => {
                    if !schema.preserve {
                        self.drop_field(fields, &name);
                    }
                    continue;
                }
            };
            if let Some(value) = fields.get_mut(&name) {
                let step = self.step(&name);
                self.at(&step, |walk| walk.value(value, below));
            }
        }
    }

    fn everything(&mut self, fields: &mut Map<String, Value>) {
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            self.drop_field(fields, &name);
        }
    }

    fn drop_field(&mut self, fields: &mut Map<String, Value>, name: &str) {
        fields.remove(name);
        let path = format!("{}{}", self.path, self.step(name));
        self.unknown.push(path);
    }

    fn step(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!(".{name}") }
    }

    fn at(&mut self, step: &str, walk: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        walk(self);
        self.path.truncate(length);
    }
}

/// Removes nulls where the schema neither allows null nor has a default.
pub(super) fn drop_nulls(value: &mut Value, schema: Option<&Node>) {
    match value {
        Value::Object(fields) => {
            let field = |name: &str| schema.and_then(|schema| schema.field(name));
            fields.retain(|name, value| {
                let removable = |node: &Node| !node.nullable && node.default.is_none();
                !value.is_null() || !field(name).is_some_and(removable)
            });
            for (name, value) in fields {
                drop_nulls(value, field(name));
            }
        }
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.items.as_deref());
            for item in items {
                drop_nulls(item, below);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fills in the schema's defaults for missing values and forbidden nulls.
pub(super) fn default(value: &mut Value, schema: &Node) {
    match value {
        Value::Object(fields) => {
            for (name, node) in &schema.properties {
                if let Some(wanted) = &node.default {
                    let slot = fields.entry(name.clone()).or_insert_with(|| wanted.clone());
                    fill(slot, node);
                }
            }
            for (name, value) in fields {
                let listed = schema.properties.get(name);
                if let Some(node) = listed.or_else(|| schema.additional_schema()) {
                    if listed.is_none() {
                        fill(value, node);
                    }
                    default(value, node);
                }
            }
        }
        Value::Array(items) => {
            let Some(node) = schema.items.as_deref() else { return };
            for item in items {
                fill(item, node);
                default(item, node);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces a forbidden null by the default.
fn fill(slot: &mut Value, node: &Node) {
    if slot.is_null()
        && !node.nullable
        && let Some(wanted) = &node.default
    {
        *slot = wanted.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Node {
        Node::parse(&json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {
                "known": {"type": "string"},
                "count": {"type": "integer", "default": 3},
                "maybe": {"type": "string", "nullable": true},
                "list": {"type": "array", "items": {"type": "object", "properties": {
                    "a": {"type": "string", "default": "x"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                    "b": {"type": "string"}}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            },
        }}}))
        .unwrap()
    }

    #[test]
    fn unknown_fields_are_removed_and_named() {
        let mut object = json!({
            "apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "extra": 1,
            "spec": {
                "known": "k", "other": 1, "list": [{"a": "1", "z": 2}],
                "map": {"any": {"b": "1", "c": "2"}}, "free": {"x": {"y": 1}},
            },
        });

        let unknown = prune(&mut object, &schema());

        assert_eq!(unknown, ["extra", "spec.list[0].z", "spec.map.any.c", "spec.other"]);
        assert_eq!(
            object["spec"],
            json!({"known": "k", "list": [{"a": "1"}], "map": {"any": {"b": "1"}}, "free": {"x": {"y": 1}}})
        );
    }

    #[test]
    fn defaults_are_filled_in_and_nulls_go() {
        let mut object =
            json!({"spec": {"count": null, "known": null, "maybe": null, "list": [{}]}});

        drop_nulls(&mut object, Some(&schema()));
        default(&mut object, &schema());

        assert_eq!(object["spec"], json!({"count": 3, "maybe": null, "list": [{"a": "x"}]}));
    }
}
