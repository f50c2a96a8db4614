//! JSON patch, RFC 6902. As in the server's library, `replace` also adds a missing field.

use serde_json::Value;

/// The patch cannot be applied: a `test` failed, or a path does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inapplicable;

/// Applies a list of operations, in order.
pub(crate) fn apply(target: &mut Value, operations: &[Value]) -> Result<(), Inapplicable> {
    operations.iter().try_for_each(|operation| one(target, operation))
}

fn one(target: &mut Value, operation: &Value) -> Result<(), Inapplicable> {
    let text = |name: &str| operation[name].as_str().ok_or(Inapplicable);
    let path = text("path")?;
    let value = || operation.get("value").cloned().ok_or(Inapplicable);
    match text("op")? {
        "add" => add(target, path, value()?),
        "replace" => replace(target, path, value()?),
        "remove" => remove(target, path).map(|_| ()),
        "move" => {
            let moved = remove(target, text("from")?)?;
            add(target, path, moved)
        }
        "copy" => {
            let copied = target.pointer(text("from")?).cloned().ok_or(Inapplicable)?;
            add(target, path, copied)
        }
        "test" => {
            let wanted = operation.get("value").unwrap_or(&Value::Null);
            let found = target.pointer(path).unwrap_or(&Value::Null);
            if found == wanted { Ok(()) } else { Err(Inapplicable) }
        }
        _ => Err(Inapplicable),
    }
}

/// The container of a path's target, and the last part of the path.
fn parent<'a>(target: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Inapplicable> {
    let (above, last) = path.rsplit_once('/').ok_or(Inapplicable)?;
    let container = target.pointer_mut(above).ok_or(Inapplicable)?;
    Ok((container, last.replace("~1", "/").replace("~0", "~")))
}

/// An index into a list; negative indices count from the end.
fn place(text: &str, length: usize) -> Result<usize, Inapplicable> {
    let number: i64 = text.parse().map_err(|_| Inapplicable)?;
    let length = i64::try_from(length).map_err(|_| Inapplicable)?;
    let place = if number < 0 { number + length } else { number };
    usize::try_from(place).map_err(|_| Inapplicable)
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), Inapplicable> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (container, last) = parent(target, path)?;
    match container {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let at = place(&last, items.len() + 1)?;
            if at > items.len() {
                return Err(Inapplicable);
            }
            items.insert(at, value);
        }
        _ => return Err(Inapplicable),
    }
    Ok(())
}

fn replace(target: &mut Value, path: &str, value: Value) -> Result<(), Inapplicable> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (container, last) = parent(target, path)?;
    match container {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) => {
            let at = place(&last, items.len())?;
            *items.get_mut(at).ok_or(Inapplicable)? = value;
        }
        _ => return Err(Inapplicable),
    }
    Ok(())
}

fn remove(target: &mut Value, path: &str) -> Result<Value, Inapplicable> {
    let (container, last) = parent(target, path)?;
    match container {
        Value::Object(fields) => fields.remove(&last).ok_or(Inapplicable),
        Value::Array(items) => {
            let at = place(&last, items.len())?;
            if at < items.len() { Ok(items.remove(at)) } else { Err(Inapplicable) }
        }
        _ => Err(Inapplicable),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(operations: Value) -> Result<Value, Inapplicable> {
        let mut target = json!({"a": {"b": 1}, "l": [1, 2, 3], "x/y": 0});
        apply(&mut target, operations.as_array().unwrap())?;
        Ok(target)
    }

    #[test]
    fn operations_do_what_they_say() {
        let done = patched(json!([
            {"op": "test", "path": "/a/b", "value": 1},
            {"op": "add", "path": "/a/c", "value": 2},
            {"op": "add", "path": "/l/1", "value": 9},
            {"op": "add", "path": "/l/-", "value": 4},
            {"op": "remove", "path": "/l/0"},
            {"op": "replace", "path": "/x~1y", "value": 5},
            {"op": "copy", "from": "/a/c", "path": "/d"},
            {"op": "move", "from": "/a/b", "path": "/e"},
        ]));
        let wanted = json!({"a": {"c": 2}, "l": [9, 2, 3, 4], "x/y": 5, "d": 2, "e": 1});
        assert_eq!(done, Ok(wanted));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for operation in [
            json!({"op": "test", "path": "/a/b", "value": 2}),
            json!({"op": "remove", "path": "/a/none"}),
            json!({"op": "add", "path": "/none/x", "value": 1}),
            json!({"op": "replace", "path": "/l/7", "value": 1}),
            json!({"op": "odd", "path": "/a"}),
        ] {
            assert_eq!(patched(json!([operation])), Err(Inapplicable), "{operation}");
        }
    }
}
