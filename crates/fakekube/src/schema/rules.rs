//! CEL rules: compilation, and evaluation of a schema's rules over an object.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, Program, Value as Cel};
use serde_json::Value;

use super::cause::{Cause, NO_FIELD};
use super::correlation::{Correlation, same_item};
use super::functions::with_functions;
use super::lists::child;
use super::node::Node;
use super::variables::to_cel;

/// Longest computed message of a rule, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

thread_local! {
    /// Cache of compiled rules. Parsing a rule takes about as long as serving fifty requests, and
    /// all servers of a simulation have the same rules.
    static PROGRAMS: RefCell<HashMap<String, Arc<Program>>> = RefCell::default();
}

fn compiled(text: &str) -> Result<Arc<Program>, String> {
    if let Some(known) = PROGRAMS.with_borrow(|programs| programs.get(text).cloned()) {
        return Ok(known);
    }
    let program = Program::compile(text).map_err(|error| format!("compilation failed: {error}"))?;
    let program = Arc::new(program);
    PROGRAMS.with_borrow_mut(|programs| programs.insert(text.to_owned(), Arc::clone(&program)));
    Ok(program)
}

/// An entry of `x-kubernetes-validations`, compiled.
#[derive(Debug)]
pub(super) struct Rule {
    program: Arc<Program>,
    message_program: Option<Arc<Program>>,
    text: String,
    message: String,
    reason: String,
    field: String,
    optional_old_self: bool,
    uses_old_self: bool,
}

impl Rule {
    /// Compiles a rule. Neither the types of the schema nor the cost of the rule are checked.
    pub(super) fn compile(written: &Value) -> Result<Self, String> {
        let of = |key: &str| written[key].as_str().unwrap_or_default().trim().to_owned();
        let text = of("rule");
        let program = compiled(&text)?;
        let uses_old_self = program.references().has_variable("oldSelf");
        let message_program = match of("messageExpression") {
            none if none.is_empty() => None,
            expression => Some(compiled(&expression)?),
        };
        let field = of("fieldPath").replace("['", ".").replace("']", "");
        Ok(Self {
            message: of("message"),
            reason: of("reason"),
            field: field.trim_start_matches('.').to_owned(),
            optional_old_self: written["optionalOldSelf"].as_bool().unwrap_or_default(),
            program,
            message_program,
            text,
            uses_old_self,
        })
    }

    /// The name of the rule in messages about the rule itself.
    fn name(&self) -> &str {
        if self.message.is_empty() { &self.text } else { &self.message }
    }

    /// The message for a value that breaks the rule.
    fn detail(&self, scope: &Context<'_>) -> String {
        let computed = self.message_program.as_ref().and_then(|program| {
            let Ok(Cel::String(text)) = program.execute(scope) else { return None };
            let text = text.trim().to_owned();
            let fits = text.len() <= LONGEST_MESSAGE && !text.contains('\n') && !text.is_empty();
            fits.then_some(text)
        });
        computed.unwrap_or_else(|| match self.message.as_str() {
            "" => format!("failed rule: {}", self.text),
            message => message.to_owned(),
        })
    }
}

/// The former state of a part of the object, for ratcheting.
#[derive(Clone, Copy)]
struct Before<'a> {
    current: Option<Correlation<'a>>,
    /// The nearest enclosing part with a counterpart.
    around: Option<Correlation<'a>>,
}

impl<'a> Before<'a> {
    fn unchanged(&self) -> bool {
        self.current.or(self.around).is_some_and(|part| part.unchanged())
    }

    fn step(&self, to: impl FnOnce(Correlation<'a>) -> Option<Correlation<'a>>) -> Self {
        match self.current {
            Some(current) => Self { current: to(current), around: Some(current) },
            None => *self,
        }
    }

    fn key(&self, name: &str) -> Self {
        if self.around.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self { current: None, around: None };
        }
        self.step(|current| current.key(name))
    }

    fn index(&self, index: usize) -> Self {
        self.step(|current| current.index(index))
    }
}

/// Evaluates all rules of a schema over an object.
pub(super) fn check(schema: &Node, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    if !schema.ruled {
        return Vec::new();
    }
    let current = old.map(|old| Correlation::new(new, old, schema));
    let before = Before { current, around: None };
    let mut walk = Walk { causes: Vec::new() };
    walk.value(&Part { rules: schema, types: schema, new, old, root: true }, "", before);
    walk.causes
}

/// A part of the object. The rules come from `rules`, the types from `types`.
struct Part<'a> {
    rules: &'a Node,
    types: &'a Node,
    new: &'a Value,
    old: Option<&'a Value>,
    /// Whether the part is an object with its own `metadata`.
    root: bool,
}

struct Walk {
    causes: Vec<Cause>,
}

impl Walk {
    fn value(&mut self, part: &Part<'_>, path: &str, before: Before<'_>) {
        if part.new.is_null() || !part.rules.ruled {
            return;
        }
        if !part.rules.rules.is_empty() {
            with_functions(|base| self.rules(part, path, before, base));
        }
        for rules in &part.rules.all_of {
            let before = Before { current: None, around: before.around };
            self.value(&Part { rules, ..*part }, path, before);
        }
        match part.new {
            Value::Object(fields) => {
                for (name, new) in fields {
                    self.field(part, name, new, path, before);
                }
            }
            Value::Array(items) => self.items(part, items, path, before),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn field(&mut self, part: &Part<'_>, name: &str, new: &Value, path: &str, before: Before<'_>) {
        let listed = part.rules.properties.get(name);
        let (Some(rules), Some(types)) =
            (listed.or_else(|| part.rules.additional_schema()), part.types.field(name))
        else {
            return;
        };
        let path = match listed {
            Some(_) => child(path, name),
            None => format!("{path}[{name}]"),
        };
        let old = part.old.and_then(|old| old.get(name));
        self.value(&Part { rules, types, new, old, root: types.embedded }, &path, before.key(name));
    }

    fn items(&mut self, part: &Part<'_>, items: &[Value], path: &str, before: Before<'_>) {
        let (Some(rules), Some(types)) = (part.rules.items.as_deref(), part.types.items.as_deref())
        else {
            return;
        };
        let old = part.old.and_then(Value::as_array);
        for (index, new) in items.iter().enumerate() {
            let old = old.and_then(|old| same_item(part.types, old, new));
            let part = Part { rules, types, new, old, root: types.embedded };
            self.value(&part, &format!("{path}[{index}]"), before.index(index));
        }
    }

    fn rules(&mut self, part: &Part<'_>, path: &str, before: Before<'_>, base: &Context<'_>) {
        let mut scope = base.new_inner_scope();
        scope.add_variable_from_value("self", to_cel(part.new, part.types, part.root));
        let transitional = part.rules.rules.iter().any(|rule| rule.uses_old_self);
        let old = part.old.filter(|old| transitional && !old.is_null());
        let old = old.map(|old| to_cel(old, part.types, part.root));
        for rule in &part.rules.rules {
            if rule.uses_old_self && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let mut scope = scope.new_inner_scope();
            match (&old, rule.optional_old_self) {
                (_, true) => {
                    let optional = old.clone().map_or_else(OptionalValue::none, OptionalValue::of);
                    scope.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(optional)));
                }
                (Some(old), false) => scope.add_variable_from_value("oldSelf", old.clone()),
                (None, false) => {}
            }
            if let Some(cause) = verdict(rule, part, path, &scope)
                && (rule.uses_old_self || !before.unchanged() || cause.1)
            {
                self.causes.push(cause.0);
            }
        }
    }
}

/// The violation of a rule, and whether the rule itself failed rather than the value.
fn verdict(rule: &Rule, part: &Part<'_>, path: &str, scope: &Context<'_>) -> Option<(Cause, bool)> {
    let whole = if path.is_empty() { NO_FIELD } else { path };
    let failed = |detail: String| {
        Some((Cause::invalid(whole, &Value::from(part.types.kind.as_str()), detail), true))
    };
    match rule.program.execute(scope) {
        Ok(Cel::Bool(true)) => None,
        Ok(Cel::Bool(false)) => {
            let field = match rule.field.as_str() {
                "" => whole.to_owned(),
                field => child(path, field),
            };
            Some((broken(rule, part, field, rule.detail(scope)), false))
        }
        Ok(_) => failed(format!("no such overload evaluating rule: {}", rule.name())),
        Err(error) => failed(match explained(&error) {
            overload if overload.starts_with("no such overload") => format!(
                "'{overload}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                rule.name()
            ),
            other => format!("{other} evaluating rule: {}", rule.name()),
        }),
    }
}

fn broken(rule: &Rule, part: &Part<'_>, field: String, detail: String) -> Cause {
    let omitted = matches!(part.types.kind.as_str(), "object" | "array");
    match (rule.reason.as_str(), omitted) {
        ("FieldValueForbidden", _) => Cause::forbidden(field, detail),
        ("FieldValueRequired", _) => Cause::required(field, detail),
        ("FieldValueDuplicate", true) => Cause::duplicate_omitted(field),
        ("FieldValueDuplicate", false) => Cause::duplicate(field, part.new),
        (_, true) => Cause::invalid_omitted(field, detail),
        (_, false) => Cause::invalid(field, part.new, detail),
    }
}

/// The message of cel-go for a runtime error of a rule.
fn explained(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => {
            format!("index out of bounds: {index}")
        }
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::UndeclaredReference(name) => {
            format!("fakekube does not know '{name}':")
        }
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedTargetType { .. } => "no such overload".to_owned(),
        other => other.to_string(),
    }
}
