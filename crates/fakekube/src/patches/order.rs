//! The order of a list after a strategic merge: items of the patch in the patch's order, the rest
//! in the old order.

use serde_json::Value;

/// Whether two items match: by the merge key, or by value without a key.
pub(super) fn same(a: &Value, b: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => a[key] == b[key],
        None => a == b,
    }
}

fn index(list: &[Value], item: &Value, key: Option<&str>) -> Option<usize> {
    list.iter().position(|other| same(other, item, key))
}

/// Orders merged items. `named` is the patch's list, or its `$setElementOrder`; `before` is the old
/// list.
pub(super) fn arrange(
    merged: Vec<Value>,
    named: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    let (mut right, mut left): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| index(named, item, key).is_some());
    right.sort_by_key(|item| index(named, item, key));
    left.sort_by_key(|item| index(before, item, key).unwrap_or(usize::MAX));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let next = match (left.peek(), right.peek()) {
            (None, None) => return all,
            (Some(_), None) => left.next(),
            (None, Some(_)) => right.next(),
            (Some(l), Some(r)) => {
                let places = index(before, l, key).zip(index(before, r, key));
                if places.is_some_and(|(l, r)| l < r) { left.next() } else { right.next() }
            }
        };
        all.extend(next);
    }
}
