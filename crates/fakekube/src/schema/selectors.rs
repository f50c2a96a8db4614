//! Validation of label selectors in objects.

use serde_json::Value;

use super::{Cause, metadata, names};

/// Checks `matchLabels` and `matchExpressions` of a selector, which may be missing.
pub(super) fn check(selector: &Value, path: &str, causes: &mut Vec<Cause>) {
    metadata::labels(&selector["matchLabels"], &format!("{path}.matchLabels"), causes);
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    for (index, expression) in expressions.enumerate() {
        check_expression(expression, &format!("{path}.matchExpressions[{index}]"), causes);
    }
}

fn check_expression(expression: &Value, path: &str, causes: &mut Vec<Cause>) {
    let values: Vec<_> = expression["values"].as_array().into_iter().flatten().collect();
    match expression["operator"].as_str().unwrap_or_default() {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            causes.push(Cause::required(format!("{path}.values"), why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(Cause::forbidden(format!("{path}.values"), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let why = "not a valid selector operator";
            causes.push(Cause::invalid(format!("{path}.operator"), &Value::from(other), why));
        }
    }
    let key = expression["key"].as_str().unwrap_or_default();
    for wrong in names::label_key(key) {
        causes.push(Cause::invalid(format!("{path}.key"), &Value::from(key), wrong));
    }
    for (index, value) in values.into_iter().enumerate() {
        for wrong in names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(format!("{path}.values[{index}]"), value, wrong));
        }
    }
}

/// Whether a selector has no condition.
pub(super) fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object().is_none_or(serde_json::Map::is_empty);
    labels && selector["matchExpressions"].as_array().is_none_or(Vec::is_empty)
}
