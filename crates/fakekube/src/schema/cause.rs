//! Violations of a single field, with the API server's messages.

use std::fmt::Write as _;

use serde_json::Value;

/// The field of a violation without a field, as the API server prints it.
pub(super) const NO_FIELD: &str = "<nil>";

/// A violation of a field: an entry of a Status' `details.causes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Path of the field, such as `spec.ips[0]`; `<nil>` for the whole object.
    pub field: String,
    /// Kubernetes' type of the violation: `FieldValueInvalid`, `FieldValueRequired`, ...
    pub reason: &'static str,
    /// The whole message without the field: `Invalid value: "x": is not an address`.
    pub message: String,
    /// The last part of the message: `is not an address`. May be empty.
    pub detail: String,
}

impl Cause {
    /// A malformed value, quoted in the message.
    #[must_use]
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl Into<String>) -> Self {
        Self::with_value(field, "FieldValueInvalid", "Invalid value", Some(value), detail)
    }

    /// A missing value.
    #[must_use]
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::with_value(field, "FieldValueRequired", "Required value", None, detail)
    }

    /// A value in a field that must be empty.
    #[must_use]
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::with_value(field, "FieldValueForbidden", "Forbidden", None, detail)
    }

    /// A duplicate value.
    #[must_use]
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::with_value(field, "FieldValueDuplicate", "Duplicate value", Some(value), "")
    }

    /// A value outside the allowed set.
    #[must_use]
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[String]) -> Self {
        let quoted: Vec<_> = supported.iter().map(|word| quote(word)).collect();
        let detail = match quoted.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", quoted.join(", ")),
        };
        let reason = "FieldValueNotSupported";
        Self::with_value(field, reason, "Unsupported value", Some(value), detail)
    }

    /// A value whose type differs from the schema.
    pub(super) fn type_invalid(field: String, value: &Value, detail: String) -> Self {
        Self::with_value(field, "FieldValueTypeInvalid", "Invalid value", Some(value), detail)
    }

    /// A text that is too long. The message calls the unit bytes, as the server does.
    #[must_use]
    pub fn too_long(field: impl Into<String>, max: u64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        Self::with_value(field, "FieldValueTooLong", "Too long", None, detail)
    }

    /// A list or map that is too long.
    pub(super) fn too_many(field: String, actual: usize, max: u64) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        let actual = Value::from(actual);
        Self::with_value(field, "FieldValueTooMany", "Too many", Some(&actual), detail)
    }

    /// An `Invalid value` without the value, for objects and lists.
    pub(super) fn invalid_omitted(field: String, detail: String) -> Self {
        Self::with_value(field, "FieldValueInvalid", "Invalid value", None, detail)
    }

    /// A `Duplicate value` without the value.
    pub(super) fn duplicate_omitted(field: String) -> Self {
        Self::with_value(field, "FieldValueDuplicate", "Duplicate value", None, "")
    }

    fn with_value(
        field: impl Into<String>,
        reason: &'static str,
        title: &str,
        value: Option<&Value>,
        detail: impl Into<String>,
    ) -> Self {
        let detail = detail.into();
        let mut message = title.to_owned();
        if let Some(value) = value {
            message.push_str(": ");
            message.push_str(&rendered(value));
        }
        if !detail.is_empty() {
            message.push_str(": ");
            message.push_str(&detail);
        }
        Self { field: field.into(), reason, message, detail }
    }
}

/// The message of a Status with the reason `Invalid`: `Node "x" is invalid: ...`. Repeated
/// violations appear only once, and several are in brackets. `kind` is qualified by its group if
/// there is any: `FloatingIPPool.flipop.digitalocean.com`.
#[must_use]
pub fn invalid_message(kind: &str, name: &str, causes: &[Cause]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in causes {
        let text = format!("{}: {}", cause.field, cause.message);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let name = quote(name);
    match texts.as_slice() {
        [] => format!("{kind} {name} is invalid"),
        [one] => format!("{kind} {name} is invalid: {one}"),
        several => format!("{kind} {name} is invalid: [{}]", several.join(", ")),
    }
}

/// A value as messages quote it.
fn rendered(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(float)) => go_float(float),
            (None, None) => number.to_string(),
        },
        other => go_json(other),
    }
}

/// Compact JSON as Go writes it, with `<`, `>` and `&` escaped.
fn go_json(value: &Value) -> String {
    let json = value.to_string();
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A text as Go's `%q` prints it.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            control if control.is_ascii_control() => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(control));
            }
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

/// A number as Go's `%v` prints a float64.
pub(super) fn go_float(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e21).contains(&magnitude) {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{number}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_finding_stands_alone_and_several_stand_in_brackets_each_once() {
        let bad = Cause::invalid("spec.a", &json!("x"), "is bad");
        let missing = Cause::required("spec.b", "");

        assert_eq!(
            invalid_message("Node", "n", std::slice::from_ref(&bad)),
            r#"Node "n" is invalid: spec.a: Invalid value: "x": is bad"#
        );
        assert_eq!(
            invalid_message("Node", "n", &[bad.clone(), missing, bad]),
            r#"Node "n" is invalid: [spec.a: Invalid value: "x": is bad, spec.b: Required value]"#
        );
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        let shown = [
            (json!("a\"\n"), r#""a\"\n""#),
            (json!(3), "3"),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(1e-7), "1e-07"),
            (json!(true), "true"),
            (json!(null), "null"),
            (json!({"a": "<"}), r#"{"a":"\u003c"}"#),
        ];
        for (value, expected) in shown {
            assert_eq!(rendered(&value), expected);
        }
    }
}
