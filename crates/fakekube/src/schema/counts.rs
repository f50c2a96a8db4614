//! Numbers that must not be negative, and shares: a number or a percentage.

use serde_json::Value;

use super::{Cause, names};

/// Refuses negative numbers in some fields of an object.
pub(super) fn not_negative(object: &Value, path: &str, fields: &[&str], causes: &mut Vec<Cause>) {
    for field in fields {
        if object[field].as_i64().is_some_and(|count| count < 0) {
            let why = "must be greater than or equal to 0";
            causes.push(Cause::invalid(format!("{path}.{field}"), &object[field], why));
        }
    }
}

/// Refuses what is neither a number nor a percentage, and with `whole` more than 100%.
pub(super) fn share(value: &Value, path: &str, whole: bool, causes: &mut Vec<Cause>) {
    let wrong = match value {
        Value::Number(number) => number
            .as_i64()
            .filter(|number| *number < 0)
            .map(|_| "must be greater than or equal to 0".to_owned()),
        Value::String(text) => match percent(text) {
            None => Some(names::explained(
                "a valid percent string must be a numeric string followed by an ending '%'",
                "[0-9]+%",
                &["1%", "93%"],
            )),
            Some(share) if share > 100 && whole => Some("must not be greater than 100%".to_owned()),
            Some(_) => None,
        },
        _ => None,
    };
    causes.extend(wrong.map(|why| Cause::invalid(path, value, why)));
}

/// The number of a share: 5 of 5 and of `5%`.
pub(super) fn amount(value: &Value) -> u64 {
    value.as_u64().or_else(|| percent(value.as_str()?)).unwrap_or_default()
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    digits.chars().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?
}
