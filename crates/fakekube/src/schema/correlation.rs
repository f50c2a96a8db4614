//! Correlates parts of the new object with parts of the old object, for ratcheting.

use serde_json::Value;

use super::node::{ListType, Node};

/// A part of the new object, its counterpart in the old object, and their schema.
#[derive(Clone, Copy)]
pub(super) struct Correlation<'a> {
    pub(super) new: &'a Value,
    old: &'a Value,
    schema: &'a Node,
}

impl<'a> Correlation<'a> {
    pub(super) fn new(new: &'a Value, old: &'a Value, schema: &'a Node) -> Self {
        Self { new, old, schema }
    }

    /// A field of both objects that the schema declares.
    pub(super) fn key(&self, name: &str) -> Option<Self> {
        let new = self.new.as_object()?.get(name)?;
        let old = self.old.as_object()?.get(name)?;
        Some(Self { new, old, schema: self.schema.field(name)? })
    }

    /// An item of a keyed list with a counterpart in the old list.
    pub(super) fn index(&self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        let old = same_item(self.schema, self.old.as_array()?, new)?;
        Some(Self { new, old, schema: self.schema.items.as_deref()? })
    }

    /// Whether nothing changed, in the server's sense: undeclared fields count as changed, and the
    /// order of a list of type map does not matter.
    pub(super) fn unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                let told_apart = self.schema.list_type == ListType::Map;
                let same = |index| self.index(index).is_some_and(|item| item.unchanged());
                new.len() == old.len()
                    && if told_apart { (0..new.len()).all(same) } else { new == old }
            }
            (Value::Object(new), Value::Object(old)) => {
                let same = |name: &String| self.key(name).is_some_and(|field| field.unchanged());
                new.len() == old.len() && new.keys().all(same)
            }
            (new, old) => new == old,
        }
    }
}

/// The item of the old list with the same keys as `new`, for lists of type map.
pub(super) fn same_item<'a>(schema: &Node, old: &'a [Value], new: &Value) -> Option<&'a Value> {
    if schema.list_type != ListType::Map || schema.list_keys.is_empty() {
        return None;
    }
    let wanted = keys_of(schema, new)?;
    old.iter().find(|item| keys_of(schema, item).as_ref() == Some(&wanted))
}

/// The keys of an item; `None` if any is missing, an object or a list.
fn keys_of<'a>(schema: &Node, item: &'a Value) -> Option<Vec<&'a Value>> {
    let scalar = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
    schema.list_keys.iter().map(|key| item.get(key).filter(scalar)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_of_a_list_of_type_map_are_found_by_their_keys() {
        let schema = Node::parse(&json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string"}}},
        }))
        .unwrap();
        let old = json!([{"k": "a", "v": "1"}, {"k": "b", "v": "2"}]);
        let moved = json!([{"k": "b", "v": "2"}, {"k": "a", "v": "1"}]);
        let changed = json!([{"k": "b", "v": "3"}, {"k": "a", "v": "1"}]);

        assert!(Correlation::new(&moved, &old, &schema).unchanged());
        let correlation = Correlation::new(&changed, &old, &schema);
        assert!(!correlation.unchanged());
        assert!(!correlation.index(0).unwrap().unchanged());
        assert!(correlation.index(1).unwrap().unchanged());
    }

    #[test]
    fn a_field_that_the_schema_does_not_know_counts_as_changed() {
        let schema = Node::parse(&json!({
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}))
        .unwrap();
        let value = json!({"free": 1});
        assert!(!Correlation::new(&value, &value, &schema).unchanged());
    }
}
