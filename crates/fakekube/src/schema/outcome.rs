//! Results of checking a value against a schema, and their conversion to [`Cause`]s.

use serde_json::Value;

use super::cause::{Cause, NO_FIELD};

/// A violation before its conversion to a [`Cause`].
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// Path of the value; begins with a dot for a missing field of the root.
    pub(super) path: String,
    /// The message of the schema's validator. Failures with equal messages are duplicates.
    pub(super) message: String,
    pub(super) what: What,
}

/// Type of a failure, with the data for its message.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Wrong type; holds the name of the given type, or the text.
    Type(String),
    Required,
    Choice {
        value: Value,
        choices: Vec<Value>,
    },
    TooLong(u64),
    TooMany {
        actual: usize,
        max: u64,
    },
    /// Any other violation of a value.
    Value(Value),
    /// A violation of alternatives as a whole; the server gives no field.
    Nowhere,
}

impl Failure {
    /// The failure as a cause, with its path below a field (empty for the whole object).
    pub(super) fn cause(self, below: &str) -> Cause {
        let field = field(below, &self.path);
        match self.what {
            What::Type(value) => Cause::type_invalid(field, &Value::String(value), self.message),
            What::Required => Cause::required(field, ""),
            What::Choice { value, choices } => {
                let choices: Vec<_> = choices.iter().map(choice).collect();
                Cause::not_supported(field, &value, &choices)
            }
            What::TooLong(max) => Cause::too_long(field, max),
            What::TooMany { actual, max } => Cause::too_many(field, actual, max),
            What::Value(value) => {
                let value = if value.is_null() { Value::String(String::new()) } else { value };
                Cause::invalid(field, &value, self.message)
            }
            What::Nowhere => {
                let field = if below.is_empty() { NO_FIELD } else { below };
                Cause::invalid(field, &Value::String(String::new()), self.message)
            }
        }
    }
}

fn choice(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn field(below: &str, path: &str) -> String {
    match (below, path.trim_start_matches('.')) {
        ("", "") => NO_FIELD.to_owned(),
        ("", path) => path.to_owned(),
        (below, "") => below.to_owned(),
        (below, path) => format!("{below}.{path}"),
    }
}

/// The failures of a value. The number of passed checks tells which of several alternatives the
/// value was meant for.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) failures: Vec<Failure>,
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn failed(failure: Failure) -> Self {
        Self { failures: vec![failure], matches: 0 }
    }

    pub(super) fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    /// Adds a failure, unless an equal message is present.
    pub(super) fn add(&mut self, failure: Failure) {
        if !self.failures.iter().any(|known| known.message == failure.message) {
            self.failures.push(failure);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for failure in other.failures {
            self.add(failure);
        }
    }
}
