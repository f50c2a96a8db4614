//! Operations on typed values: listing fields, comparing, merging and removing. Follows Kubernetes'
//! structured-merge-diff.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::fields::Fields;
use super::types::{Atom, Type};

/// The fields of a value.
pub(super) fn fields(value: &Value, of: Type<'_>) -> Fields {
    let atom = of.atom(value);
    let mut all = Fields::default();
    match (&atom, value) {
        (Atom::Leaf, _) => return Fields::leaf(),
        (Atom::Map, Value::Object(map)) => {
            for (name, value) in map {
                let (child, named) = of.child(name).unwrap_or((Type::Deduced, false));
                let mut below = fields(value, child);
                below.here |= !named || is_nothing(value);
                all.put(format!("f:{name}"), below);
            }
        }
        (_, Value::Array(items)) => {
            for item in items {
                let Some(step) = of.step(&atom, item) else { continue };
                let mut below = fields(item, of.items());
                below.here = true;
                all.put(step, below);
            }
        }
        _ => {}
    }
    all
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// The fields, plus every parent field that the type declares by name.
pub(super) fn with_named(fields: &Fields, of: Type<'_>) -> Fields {
    let mut all = Fields { here: fields.here, below: BTreeMap::new() };
    for (step, below) in &fields.below {
        let (child, named) = match step.strip_prefix("f:") {
            Some(name) => of.child(name).unwrap_or((Type::Deduced, false)),
            None => (of.items(), false),
        };
        let mut below = with_named(below, child);
        below.here |= named;
        all.put(step.clone(), below);
    }
    all
}

/// Differences between two values.
#[derive(Default)]
pub(super) struct Comparison {
    pub(super) added: Fields,
    pub(super) modified: Fields,
    pub(super) removed: Fields,
}

impl Comparison {
    fn put(&mut self, step: &str, below: Self) {
        self.added.put(step.to_owned(), below.added);
        self.modified.put(step.to_owned(), below.modified);
        self.removed.put(step.to_owned(), below.removed);
    }

    /// The comparison without the given paths and everything below them.
    pub(super) fn without(&self, fields: &Fields) -> Self {
        Self {
            added: self.added.without(fields),
            modified: self.modified.without(fields),
            removed: self.removed.without(fields),
        }
    }
}

/// Compares a value with its replacement.
pub(super) fn compare(old: Option<&Value>, new: Option<&Value>, of: Type<'_>) -> Comparison {
    let mut all = Comparison::default();
    let Some(sample) = new.or(old) else { return all };
    if old == new {
        return all;
    }
    if let (Some(before), Some(after)) = (old, new)
        && of.is_open()
        && shape(before) != shape(after)
    {
        return compare_shapes(before, after);
    }
    let atom = of.atom(sample);
    let leaf = matches!(atom, Atom::Leaf) || (is_vacant(old) && is_vacant(new));
    match (&atom, leaf) {
        (_, true) => {}
        (Atom::Map, _) => {
            let (before, after) = (map(old), map(new));
            let names: BTreeSet<_> =
                before.iter().chain(&after).flat_map(|one| one.keys()).collect();
            for name in names {
                let child = of.child(name).map_or(Type::Deduced, |(child, _)| child);
                let [before, after] =
                    [&before, &after].map(|one| one.and_then(|one| one.get(name)));
                all.put(&format!("f:{name}"), compare(before, after, child));
            }
        }
        _ => {
            let (before, after) = (index(old, of, &atom), index(new, of, &atom));
            let steps: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for step in steps {
                let [before, after] = [&before, &after].map(|one| one.get(step).copied());
                all.put(step, compare(before, after, of.items()));
            }
        }
    }
    all.added.here = old.is_none();
    all.removed.here = new.is_none();
    all.modified.here = leaf && old.is_some() && new.is_some();
    all
}

/// The shapes that a value of any type can have.
#[derive(PartialEq, Eq)]
enum Shape {
    Nothing,
    Map,
    List,
    Plain,
}

fn shape(value: &Value) -> Shape {
    match value {
        Value::Null => Shape::Nothing,
        Value::Object(_) => Shape::Map,
        Value::Array(_) => Shape::List,
        _ => Shape::Plain,
    }
}

/// Compares values of different shapes: the value is modified, and so are the fields of a map.
fn compare_shapes(old: &Value, new: &Value) -> Comparison {
    let mut all = Comparison::default();
    let (before, after) = (map(Some(old)), map(Some(new)));
    for (name, value) in before.into_iter().flatten() {
        all.put(&format!("f:{name}"), compare(Some(value), None, Type::Deduced));
    }
    for (name, value) in after.into_iter().flatten() {
        all.put(&format!("f:{name}"), compare(None, Some(value), Type::Deduced));
    }
    all.modified.here = true;
    all
}

fn is_vacant(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}

fn map(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The items of a list by their steps.
fn index<'a>(
    list: Option<&'a Value>,
    of: Type<'_>,
    atom: &Atom<'_>,
) -> BTreeMap<String, &'a Value> {
    items(list).iter().filter_map(|item| Some((of.step(atom, item)?, item))).collect()
}

/// Merges `new` into `old`; `new` wins. `None` if nothing is left.
pub(super) fn merge(old: Option<&Value>, new: Option<&Value>, of: Type<'_>) -> Option<Value> {
    let sample = new.or(old)?;
    let atom = of.atom(sample);
    if matches!(atom, Atom::Leaf) || (is_vacant(old) && is_vacant(new)) {
        return Some(sample.clone());
    }
    if matches!(atom, Atom::Map) {
        let (before, after) = (map(old), map(new));
        let names: BTreeSet<_> = before.iter().chain(&after).flat_map(|one| one.keys()).collect();
        let merged = names.into_iter().filter_map(|name| {
            let child = of.child(name).map_or(Type::Deduced, |(child, _)| child);
            let [before, after] = [&before, &after].map(|one| one.and_then(|one| one.get(name)));
            Some((name.clone(), merge(before, after, child)?))
        });
        let merged: Map<String, Value> = merged.collect();
        return (!merged.is_empty()).then_some(Value::Object(merged));
    }
    let merged = merge_items(items(old), items(new), of, &atom);
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// The items of both lists without duplicates. Items in both lists have the order of the new list.
fn merge_items(old: &[Value], new: &[Value], of: Type<'_>, atom: &Atom<'_>) -> Vec<Value> {
    let steps = |list: &[Value]| -> Vec<String> {
        list.iter().map(|item| of.step(atom, item).unwrap_or_default()).collect()
    };
    let (old_steps, new_steps) = (steps(old), steps(new));
    let find = |step: &String, steps: &[String], list: &[Value]| {
        steps.iter().position(|one| one == step).map(|at| list[at].clone())
    };
    let mut shared: Vec<&String> =
        new_steps.iter().filter(|step| old_steps.contains(step)).rev().collect();
    let mut next = shared.pop();
    let mut taken: BTreeSet<&String> = BTreeSet::new();
    let (mut out, mut o, mut n) = (Vec::new(), 0, 0);
    while o < old.len() || n < new.len() {
        if let (Some(before), Some(after)) = (old_steps.get(o), new_steps.get(n)) {
            if before == after {
                taken.insert(before);
                out.extend(merge(Some(&old[o]), Some(&new[n]), of.items()));
                (o, n) = (o + 1, n + 1);
                next = shared.pop();
                continue;
            }
            if new_steps.contains(before) && next.is_some_and(|next| next != before) {
                o += 1;
                continue;
            }
        }
        if let Some(before) = old_steps.get(o) {
            if !new_steps.contains(before) {
                out.extend(merge(Some(&old[o]), None, of.items()));
                o += 1;
                continue;
            } else if taken.contains(before) {
                o += 1;
            }
        }
        if let Some(after) = new_steps.get(n) {
            taken.insert(after);
            let before = find(after, &old_steps, old);
            out.extend(merge(before.as_ref(), Some(&new[n]), of.items()));
            n += 1;
            if next == Some(after) {
                next = shared.pop();
            }
        }
    }
    out
}

/// A value without the given fields; `None` if nothing is left. A field whose parts are all removed
/// stays as null, as on the server.
pub(super) fn remove(value: &Value, fields: &Fields, of: Type<'_>) -> Option<Value> {
    let atom = of.atom(value);
    match (&atom, value) {
        (Atom::Map, Value::Object(map)) => {
            let kept = map.iter().filter_map(|(name, value)| {
                let child = of.child(name).map_or(Type::Deduced, |(child, _)| child);
                let left = take_out(value, fields.below.get(&format!("f:{name}")), child)?;
                Some((name.clone(), left))
            });
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        (Atom::Set | Atom::Keyed(_), Value::Array(items)) => {
            let kept = items.iter().filter_map(|item| {
                let step = of.step(&atom, item).unwrap_or_default();
                take_out(item, fields.below.get(&step), of.items())
            });
            let kept: Vec<Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (Atom::Leaf, Value::Object(_) | Value::Array(_)) => None,
        _ => Some(value.clone()),
    }
}

fn take_out(value: &Value, fields: Option<&Fields>, of: Type<'_>) -> Option<Value> {
    match fields {
        None => Some(value.clone()),
        Some(fields) if fields.here => None,
        Some(fields) => Some(remove(value, fields, of).unwrap_or(Value::Null)),
    }
}
