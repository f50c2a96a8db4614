//! The functions of rules: those of the CEL crates, some replaced by our own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::This;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value as Cel};
use regex::Regex;

use super::text::go_regex;

thread_local! {
    static BASE: Context<'static> = {
        let mut context = Context::default();
        context.register_all();
        context.add_function("matches", matches);
        context.add_function("size", size);
        // Types are texts here, because rules only compare them.
        context.add_function("type", type_of);
        for name in TYPES {
            context.add_variable_from_value(name, Cel::from(name));
        }
        context
    };

    /// Compiled patterns. A rule matches the items of a list against the same pattern.
    static PATTERNS: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// Calls `call` with a scope of all functions.
pub(super) fn with_functions<R>(call: impl FnOnce(&Context<'static>) -> R) -> R {
    BASE.with(call)
}

const TYPES: [&str; 9] =
    ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type"];

/// The name of a value's type.
fn type_of(value: Cel) -> Result<Cel, ExecutionError> {
    Ok(Cel::from(match value {
        Cel::Int(_) => "int",
        Cel::UInt(_) => "uint",
        Cel::Float(_) => "double",
        Cel::Bool(_) => "bool",
        Cel::String(_) => "string",
        Cel::Bytes(_) => "bytes",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null_type",
        _ => "unknown",
    }))
}

/// Counts characters, unlike the crate's function, which counts bytes, and names a missing key.
fn size(call: &FunctionContext<'_, '_>) -> Result<Cel, ExecutionError> {
    let value = match (&call.this, call.args) {
        (Some(this), _) => this.clone(),
        (None, [argument, ..]) => call.ptx.resolve(argument)?,
        (None, []) => return Err(ExecutionError::missing_argument_or_target()),
    };
    let size = match value {
        Cel::List(items) => items.len(),
        Cel::Map(fields) => fields.map.len(),
        Cel::String(text) => text.chars().count(),
        Cel::Bytes(bytes) => bytes.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    Ok(Cel::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// Highest number of cached patterns.
const PATTERNS_KEPT: usize = 256;

/// Matches with Go's regular expressions, and compiles each pattern once.
fn matches(This(this): This<Arc<String>>, pattern: Arc<String>) -> Result<bool, ExecutionError> {
    PATTERNS.with_borrow_mut(|patterns| {
        if patterns.len() >= PATTERNS_KEPT {
            patterns.clear();
        }
        let compiled = patterns
            .entry(pattern.to_string())
            .or_insert_with(|| Regex::new(&go_regex(&pattern)).ok());
        match compiled {
            Some(regex) => Ok(regex.is_match(&this)),
            None => Err(ExecutionError::function_error("matches", "error parsing regexp")),
        }
    })
}
