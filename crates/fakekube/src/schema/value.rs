//! Checks of values against a schema: types, bounds, required fields, alternatives. The order of
//! the checks and the messages are those of kube-openapi, which the API server uses.

use serde_json::{Map, Value};

use super::correlation::Correlation;
use super::node::{Additional, Node};
use super::number;
use super::outcome::{Failure, Outcome, What};
use super::text::has_format;

/// Context for the checks of a value.
#[derive(Clone, Copy)]
pub(super) struct Check<'a> {
    /// The old state of the value: an unchanged part passes even if invalid. `None` without an old
    /// object.
    pub(super) before: Option<Correlation<'a>>,
    /// Whether the value is the object itself, with `apiVersion` and `kind` to check.
    pub(super) root: bool,
}

impl<'a> Check<'a> {
    /// Runs all checks of a value.
    pub(super) fn run(self, schema: &Node, value: &Value, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(type_of(schema, value, path));
            outcome.merge(choices(schema, value, path));
            return outcome;
        }
        if schema.is_typed() || !schema.format.is_empty() {
            outcome.merge(type_of(schema, value, path));
            outcome.matches += 1;
        }
        outcome.merge(self.alternatives(schema, value, path));
        outcome.matches += 1;
        match value {
            Value::String(text) => {
                outcome.merge(string(schema, text, path));
                outcome.matches += 1;
                if !schema.format.is_empty() {
                    outcome.merge(format(schema, text, path));
                    outcome.matches += 1;
                }
            }
            Value::Number(value) => {
                outcome.merge(number::check(schema, value, path));
                outcome.matches += 1;
            }
            Value::Array(items) => {
                outcome.merge(self.list(schema, items, path));
                outcome.matches += 1;
            }
            Value::Object(_) | Value::Bool(_) | Value::Null => {}
        }
        outcome.merge(choices(schema, value, path));
        outcome.matches += 1;
        if let Value::Object(fields) = value {
            outcome.merge(self.object(schema, fields, path));
            outcome.matches += 1;
        }
        outcome.matches += 1;
        outcome
    }

    /// Checks a part of the value. An unchanged part passes.
    fn part(
        self,
        schema: &Node,
        value: &Value,
        path: &str,
        before: Option<Correlation<'a>>,
    ) -> Outcome {
        let Some(before) = before else {
            return Self { root: false, ..self }.run(schema, value, path);
        };
        let mut outcome = Self { before: Some(before), root: false }.run(schema, before.new, path);
        if !outcome.is_good() && before.unchanged() {
            outcome.failures.clear();
        }
        outcome
    }

    fn field(self, schema: &Node, name: &str, value: &Value, path: &str) -> Outcome {
        let of_every_object = self.root && matches!(name, "apiVersion" | "kind");
        let before = self.before.filter(|_| !of_every_object).and_then(|before| before.key(name));
        self.part(schema, value, path, before)
    }

    fn list(self, schema: &Node, items: &[Value], path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(node) = schema.items.as_deref() {
            for (index, item) in items.iter().enumerate() {
                let before = self.before.and_then(|before| before.index(index));
                outcome.merge(self.part(node, item, &format!("{path}[{index}]"), before));
            }
        }
        let size = items.len();
        if let Some(min) = schema.min_items.filter(|min| (size as u64) < *min) {
            let message = format!("{path} in body should have at least {min} items");
            outcome.add(failure(path, message, What::Value(Value::from(size))));
        }
        if let Some(max) = schema.max_items.filter(|max| (size as u64) > *max) {
            let message = format!("{path} in body should have at most {max} items");
            outcome.add(failure(path, message, What::TooMany { actual: size, max }));
        }
        let repeated = |index: usize| items[..index].contains(&items[index]);
        if schema.unique_items && (0..size).any(repeated) {
            let message = format!("{path} in body shouldn't contain duplicates");
            outcome.add(failure(path, message, What::Value(Value::Null)));
        }
        outcome.matches += 1;
        outcome
    }

    fn object(self, schema: &Node, fields: &Map<String, Value>, path: &str) -> Outcome {
        let mut outcome = count_of_fields(schema, fields, path);
        for (name, value) in fields {
            if schema.properties.contains_key(name) {
                continue;
            }
            match &schema.additional {
                Additional::None => {
                    let message = format!("{path}.{name} in body is a forbidden property");
                    outcome.add(failure(path, message, What::Value(Value::from(name.as_str()))));
                }
                Additional::Schema(node) => {
                    let path = format!("{path}.{name}");
                    outcome.merge(self.field(node, name, value, &path));
                }
                Additional::Unsaid | Additional::Any => {}
            }
        }
        for (name, node) in &schema.properties {
            if let Some(value) = fields.get(name) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                outcome.merge(self.field(node, name, value, &path));
            }
        }
        for name in &schema.required {
            if !fields.contains_key(name) {
                let path = format!("{path}.{name}");
                let message = format!("{path} in body is required");
                outcome.add(failure(&path, message, What::Required));
            }
        }
        outcome
    }

    fn alternatives(self, schema: &Node, value: &Value, path: &str) -> Outcome {
        let mut outcome = self.any_of(schema, value, path);
        outcome.merge(self.one_of(schema, value, path));
        outcome.merge(self.all_of(schema, value, path));
        if let Some(not) = schema.not.as_deref()
            && self.run(not, value, path).is_good()
        {
            outcome.add(nowhere(format!("\"{path}\" must not validate the schema (not)")));
        }
        outcome.matches += 1;
        outcome
    }

    fn any_of(self, schema: &Node, value: &Value, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let mut best: Option<Outcome> = None;
        for node in &schema.any_of {
            let found = self.run(node, value, path);
            if found.is_good() {
                return found;
            }
            best = Some(better(best, found));
        }
        if let Some(best) = best {
            outcome.add(nowhere(format!("\"{path}\" must validate at least one schema (anyOf)")));
            outcome.merge(best);
        }
        outcome
    }

    fn one_of(self, schema: &Node, value: &Value, path: &str) -> Outcome {
        if schema.one_of.is_empty() {
            return Outcome::default();
        }
        let (good, bad): (Vec<_>, Vec<_>) = schema
            .one_of
            .iter()
            .map(|node| self.run(node, value, path))
            .partition(Outcome::is_good);
        let mut good = good.into_iter();
        let (first, more) = (good.next(), good.count());
        let found = match (first, more) {
            (Some(only), 0) => return only,
            (Some(_), more) => format!("Found {} valid alternatives", more + 1),
            (None, _) => "Found none valid".to_owned(),
        };
        let message = format!("\"{path}\" must validate one and only one schema (oneOf). {found}");
        let mut outcome = Outcome::failed(nowhere(message));
        if more == 0
            && let Some(best) = bad.into_iter().fold(None, |best, next| Some(better(best, next)))
        {
            outcome.merge(best);
        }
        outcome
    }

    fn all_of(self, schema: &Node, value: &Value, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let mut good = 0;
        for node in &schema.all_of {
            let found = self.run(node, value, path);
            good += usize::from(found.is_good());
            outcome.merge(found);
        }
        if good != schema.all_of.len() {
            let none = if good == 0 { ". None validated" } else { "" };
            let message = format!("\"{path}\" must validate all the schemas (allOf){none}");
            outcome.add(nowhere(message));
        }
        outcome
    }
}

/// The alternative with more passed checks; the first of equals.
fn better(best: Option<Outcome>, next: Outcome) -> Outcome {
    match best {
        Some(best) if best.matches >= next.matches => best,
        _ => next,
    }
}

fn failure(path: &str, message: String, what: What) -> Failure {
    Failure { path: path.to_owned(), message, what }
}

fn nowhere(message: String) -> Failure {
    Failure { path: String::new(), message, what: What::Nowhere }
}

fn type_of(schema: &Node, value: &Value, path: &str) -> Outcome {
    let passed = Outcome { failures: Vec::new(), matches: 1 };
    let wrong = |asked: &str, found: &str| {
        let message = format!("{path} in body must be of type {asked}: \"{found}\"");
        Outcome::failed(failure(path, message, What::Type(found.to_owned())))
    };
    let (found, found_format) = match value {
        Value::Null if schema.is_typed() && !schema.nullable => {
            return wrong(schema.type_names(), "null");
        }
        Value::Null => return passed,
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) if number.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
    };
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let fits = schema.accepts_type(found)
        || (found == "number" && whole && schema.accepts_type("integer"))
        || (found == "integer" && schema.accepts_type("number"));
    let text_or_list = value.is_string() || value.is_array();
    let numeric = schema.accepts_type("number") || schema.accepts_type("integer");
    if !schema.format.is_empty() {
        if !text_or_list && !fits && found_format != schema.format {
            return wrong(&schema.format, found_format);
        }
        if text_or_list && !numeric {
            return passed;
        }
    }
    if fits { passed } else { wrong(schema.type_names(), found) }
}

fn string(schema: &Node, text: &str, path: &str) -> Outcome {
    let length = || text.chars().count() as u64;
    let value = || What::Value(Value::from(text));
    if let Some(max) = schema.max_length.filter(|max| length() > *max) {
        let message = format!("{path} in body should be at most {max} chars long");
        return Outcome::failed(failure(path, message, What::TooLong(max)));
    }
    if let Some(min) = schema.min_length.filter(|min| length() < *min) {
        let message = format!("{path} in body should be at least {min} chars long");
        return Outcome::failed(failure(path, message, value()));
    }
    if let Some(pattern) = &schema.pattern
        && !pattern.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    {
        let message = format!("{path} in body should match '{}'", pattern.text);
        return Outcome::failed(failure(path, message, value()));
    }
    Outcome::default()
}

fn format(schema: &Node, text: &str, path: &str) -> Outcome {
    let format = &schema.format;
    if has_format(format, text) {
        return Outcome::default();
    }
    let quoted = super::cause::quote(text);
    let message = format!("{path} in body must be of type {format}: {quoted}");
    Outcome::failed(failure(path, message, What::Type(text.to_owned())))
}

fn choices(schema: &Node, value: &Value, path: &str) -> Outcome {
    if schema.choices.is_empty() || schema.choices.iter().any(|choice| is_choice(value, choice)) {
        return Outcome::default();
    }
    let listed: Vec<_> = schema.choices.iter().map(Value::to_string).collect();
    let message = format!("{path} in body should be one of [{}]", listed.join(" "));
    let what = What::Choice { value: value.clone(), choices: schema.choices.clone() };
    Outcome::failed(failure(path, message, what))
}

/// Whether a value equals an allowed choice. The server converts a number to the choice's type
/// first, and so truncates fractions.
fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value.as_f64(), choice.as_i64()) {
        (Some(number), Some(_)) if value.is_f64() => choice.as_f64() == Some(number.trunc()),
        _ => value == choice || (value.is_number() && value.as_f64() == choice.as_f64()),
    }
}

fn count_of_fields(schema: &Node, fields: &Map<String, Value>, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let size = fields.len();
    if let Some(min) = schema.min_properties.filter(|min| (size as u64) < *min) {
        let message = format!("{path} in body should have at least {min} properties");
        outcome.add(failure(path, message, What::Value(Value::from(size))));
    }
    if let Some(max) = schema.max_properties.filter(|max| (size as u64) > *max) {
        let message = format!("{path} in body should have at most {max} properties");
        outcome.add(failure(path, message, What::TooMany { actual: size, max }));
    }
    outcome
}
