//! Numbers against a schema's bounds.

use serde_json::{Number, Value};

use super::cause::go_float;
use super::node::{Bound, Node};
use super::outcome::{Failure, Outcome, What};

/// All checks of a number.
pub(super) fn check(schema: &Node, number: &Number, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut add = |message: String, what: What| {
        outcome.add(Failure { path: path.to_owned(), message, what });
    };
    if !in_range(schema, number) {
        let format = match schema.format.as_str() {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        let kind = &schema.kind;
        add(format!("Checked value must be of type {kind} {format} in {path}"), What::Nowhere);
    }
    let value = || What::Value(Value::Number(number.clone()));
    if let Some(factor) = schema.multiple_of.filter(|factor| !is_multiple(number, *factor)) {
        let factor = go_float(factor);
        add(format!("{path} in body should be a multiple of {factor}"), value());
    }
    if let Some(min) = schema.minimum.filter(|min| below(number, *min)) {
        let than = if min.exclusive { "greater than" } else { "greater than or equal to" };
        add(format!("{path} in body should be {than} {}", shown(number, min)), value());
    }
    if let Some(max) = schema.maximum.filter(|max| above(number, *max)) {
        let than = if max.exclusive { "less than" } else { "less than or equal to" };
        add(format!("{path} in body should be {than} {}", shown(number, max)), value());
    }
    outcome.matches += 1;
    outcome
}

fn in_range(schema: &Node, number: &Number) -> bool {
    match (schema.kind.as_str(), schema.format.as_str()) {
        _ if schema.int_or_string => true,
        ("integer", "int32") => whole(number).is_some_and(|whole| i32::try_from(whole).is_ok()),
        ("integer", _) => whole(number).is_some(),
        ("number", "float") => {
            number.as_f64().is_none_or(|float| float.abs() <= f64::from(f32::MAX))
        }
        _ => true,
    }
}

/// The value as an integer if it is whole, written as an integer or as a float.
fn whole(number: &Number) -> Option<i64> {
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9.2e18);
    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    number.as_i64().or_else(|| float().map(|float| float as i64))
}

/// A bound as the server prints it: truncated if the number is an integer.
fn shown(number: &Number, bound: Bound) -> String {
    if number.is_f64() { go_float(bound.value) } else { go_float(bound.value.trunc()) }
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    let Some(float) = number.as_f64() else { return true };
    let times = float / factor;
    (times - times.round()).abs() < 1e-9
}

fn below(number: &Number, min: Bound) -> bool {
    let Some(float) = number.as_f64() else { return false };
    float < min.value || (min.exclusive && float <= min.value)
}

fn above(number: &Number, max: Bound) -> bool {
    let Some(float) = number.as_f64() else { return false };
    float > max.value || (max.exclusive && float >= max.value)
}
