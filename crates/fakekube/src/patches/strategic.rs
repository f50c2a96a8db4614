//! Strategic merge patch: a merge patch that merges some lists item by item.
//!
//! The kind's OpenAPI data says how each list is merged. Directives: `$patch:
//! replace|delete|merge`, `$retainKeys`, `$setElementOrder/x`, `$deleteFromPrimitiveList/x`.

use serde_json::{Map, Value};

use super::order::{arrange, same};
use crate::openapi::merge_strategy;
use crate::registry::Kind;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DROP: &str = "$deleteFromPrimitiveList/";

/// An invalid directive, with the server's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable(pub(crate) String);

/// Applies a patch to an object of a kind.
pub(crate) fn apply(kind: &Kind, target: &mut Value, patch: Value) -> Result<(), Unusable> {
    Merge { kind, path: Vec::new() }.map(target, patch)
}

struct Merge<'a> {
    kind: &'a Kind,
    path: Vec<String>,
}

impl Merge<'_> {
    /// Merges into a map.
    fn map(&mut self, target: &mut Value, patch: Value) -> Result<(), Unusable> {
        let Value::Object(mut changes) = patch else {
            *target = patch;
            return Ok(());
        };
        match changes.remove(PATCH).as_ref().map(|how| how.as_str().unwrap_or_default()) {
            None | Some("merge") => {}
            Some("replace") => {
                *target = Value::Object(changes);
                return Ok(());
            }
            Some("delete") => {
                *target = Value::Object(Map::new());
                return Ok(());
            }
            Some(other) => return Err(Unusable(format!("unknown patch type found: {other}"))),
        }
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        if let (Some(Value::Array(kept)), Some(fields)) =
            (changes.remove(RETAIN), target.as_object_mut())
        {
            fields.retain(|name, _| kept.iter().any(|one| one.as_str() == Some(name)));
        }
        let orders = take_prefixed(&mut changes, ORDER);
        let drops = take_prefixed(&mut changes, DROP);
        for (name, order) in orders {
            self.ordered(target, &mut changes, &name, order)?;
        }
        for (name, dropped) in drops {
            drop_primitives(target, &name, &dropped);
        }
        for (name, change) in changes {
            self.field(target, name, change)?;
        }
        Ok(())
    }

    fn field(&mut self, target: &mut Value, name: String, change: Value) -> Result<(), Unusable> {
        let Some(fields) = target.as_object_mut() else {
            return Ok(());
        };
        if change.is_null() {
            fields.remove(&name);
            return Ok(());
        }
        self.path.push(name.clone());
        let slot = fields.entry(name).or_insert(Value::Null);
        let done = match change {
            Value::Object(_) if slot.is_object() && self.replaces() => {
                *slot = change;
                Ok(())
            }
            Value::Object(_) => self.map(slot, change),
            Value::Array(changes) => self.list(slot, changes, None),
            plain => {
                *slot = plain;
                Ok(())
            }
        };
        self.path.pop();
        done
    }

    /// Whether the map at the path is replaced as a whole.
    fn replaces(&self) -> bool {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let strategy = merge_strategy(self.kind, &path);
        strategy.is_some_and(|strategy| strategy.patch_strategy == "replace")
    }

    /// Merges a list for which the patch gives an order, with or without changes.
    fn ordered(
        &mut self,
        target: &mut Value,
        changes: &mut Map<String, Value>,
        name: &str,
        order: Value,
    ) -> Result<(), Unusable> {
        let Value::Array(order) = order else {
            return Err(Unusable(format!("{ORDER}{name} must be a list")));
        };
        let change = match changes.remove(name) {
            Some(Value::Array(change)) => change,
            Some(other) => return self.field(target, name.to_owned(), other),
            None => Vec::new(),
        };
        let known = target.get(name).is_some();
        let Some(fields) = target.as_object_mut().filter(|_| known || !change.is_empty()) else {
            return Ok(());
        };
        self.path.push(name.to_owned());
        let slot = fields.entry(name.to_owned()).or_insert(Value::Null);
        let done = self.list(slot, change, Some(&order));
        self.path.pop();
        done
    }

    /// Merges or replaces a list, according to the kind's strategy.
    fn list(
        &mut self,
        target: &mut Value,
        changes: Vec<Value>,
        order: Option<&[Value]>,
    ) -> Result<(), Unusable> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let strategy = merge_strategy(self.kind, &path).filter(|strategy| strategy.merges());
        let Some(strategy) = strategy else {
            *target = Value::Array(changes);
            return Ok(());
        };
        let before = target.as_array().cloned().unwrap_or_default();
        let key = strategy.merge_key.as_deref();
        let named = order.map_or_else(|| changes.clone(), <[Value]>::to_vec);
        let named: Vec<Value> =
            named.into_iter().filter(|item| item.get(PATCH).is_none()).collect();
        let merged = match key {
            Some(key) => self.items(before.clone(), changes, key)?,
            None => union(before.clone(), changes),
        };
        *target = Value::Array(arrange(merged, &named, &before, key));
        Ok(())
    }

    /// Merges items by their key.
    fn items(
        &mut self,
        before: Vec<Value>,
        changes: Vec<Value>,
        key: &str,
    ) -> Result<Vec<Value>, Unusable> {
        let how = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
        if changes.iter().any(|item| how(item).as_deref() == Some("replace")) {
            return Ok(changes.into_iter().filter(|item| how(item).is_none()).collect());
        }
        let mut merged = before;
        for change in changes {
            if change.get(key).is_none() {
                let message = format!("map: {change} does not contain declared merge key: {key}");
                return Err(Unusable(message));
            }
            let found = merged.iter().position(|item| same(item, &change, Some(key)));
            match (how(&change).as_deref(), found) {
                (Some("delete"), _) => merged.retain(|item| !same(item, &change, Some(key))),
                (_, Some(at)) => self.map(&mut merged[at], change)?,
                (_, None) => {
                    let mut new = Value::Object(Map::new());
                    self.map(&mut new, change)?;
                    merged.push(new);
                }
            }
        }
        Ok(merged)
    }
}

/// Removes the directives with a prefix from a patch; returns their field names and values.
fn take_prefixed(changes: &mut Map<String, Value>, prefix: &str) -> Vec<(String, Value)> {
    let names: Vec<String> =
        changes.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
    let taken = names.into_iter().filter_map(|name| {
        let value = changes.remove(&name)?;
        Some((name[prefix.len()..].to_owned(), value))
    });
    taken.collect()
}

fn drop_primitives(target: &mut Value, name: &str, dropped: &Value) {
    let items = target.get_mut(name).and_then(Value::as_array_mut);
    if let (Some(items), Some(dropped)) = (items, dropped.as_array()) {
        items.retain(|item| !dropped.contains(item));
    }
}

fn union(mut before: Vec<Value>, changes: Vec<Value>) -> Vec<Value> {
    for change in changes {
        if !before.contains(&change) {
            before.push(change);
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn patched(plural: &str, mut target: Value, patch: Value) -> Value {
        let registry = Registry::new();
        apply(registry.get("", "v1", plural).unwrap(), &mut target, patch).unwrap();
        target
    }

    #[test]
    fn named_items_merge_and_new_ones_come_first_unless_ordered() {
        let node = json!({"status": {"addresses": [{"type": "InternalIP", "address": "1"}]}});
        let change = json!({"status": {"addresses": [{"type": "ExternalIP", "address": "2"}]}});
        let types = |node: &Value| {
            let all = node["status"]["addresses"].as_array().unwrap().iter();
            all.map(|one| one["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let merged = patched("nodes", node.clone(), change);
        assert_eq!(types(&merged), ["ExternalIP", "InternalIP"]);
        let ordered = json!({"status": {
            "$setElementOrder/addresses": [{"type": "InternalIP"}, {"type": "ExternalIP"}],
            "addresses": [{"type": "ExternalIP", "address": "2"}],
        }});
        assert_eq!(types(&patched("nodes", node, ordered)), ["InternalIP", "ExternalIP"]);
    }

    #[test]
    fn directives_replace_delete_and_retain() {
        let node = json!({"metadata": {"labels": {"a": "1"}, "finalizers": ["x/y", "x/z"]},
            "status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}});
        let delete = json!({"status": {"conditions": [{"type": "A", "$patch": "delete"}]}});
        let left = patched("nodes", node.clone(), delete);
        assert_eq!(left["status"]["conditions"], json!([{"type": "B", "status": "True"}]));
        let replace = json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}});
        let left = patched("nodes", node.clone(), replace);
        assert_eq!(left["metadata"]["labels"], json!({"b": "2"}));
        let drop = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/y"]}});
        let left = patched("nodes", node.clone(), drop);
        assert_eq!(left["metadata"]["finalizers"], json!(["x/z"]));
        let retain = json!({"metadata": {"$retainKeys": ["labels"], "labels": {"c": "3"}}});
        let left = patched("nodes", node, retain);
        assert_eq!(left["metadata"], json!({"labels": {"a": "1", "c": "3"}}));
    }
}
