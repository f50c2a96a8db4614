//! Requests and answers of hooks, as Cluster API writes and reads them.
//!
//! An answer to the same request is always the same: Cluster API shows messages in conditions.

use serde_json::{Map, Value, json};

/// Group and version of all hooks.
pub(super) const API: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// The longest part of a request that a message repeats, in characters.
const REPEATED: usize = 60;

/// Reads the request of a hook.
///
/// # Errors
/// In words, if the body is not a request of this hook.
pub(super) fn request(hook: &str, body: &[u8]) -> Result<Value, String> {
    let request: Value = serde_json::from_slice(body)
        .map_err(|error| format!("the request cannot be read as JSON: {error}"))?;
    if !request.is_object() {
        return Err("the request is not a JSON object".to_owned());
    }
    for (field, wanted) in [("apiVersion", API), ("kind", &format!("{hook}Request"))] {
        match request[field].as_str() {
            Some(found) if found == wanted => {}
            Some(found) => {
                return Err(format!("{field} of the request is {}, not {wanted}", short(found)));
            }
            None => return Err(format!("{field} of the request is missing; write {wanted}")),
        }
    }
    Ok(request)
}

/// The answer of a hook: its fields, or a failure in words.
pub(super) fn response(hook: &str, outcome: Result<Value, String>) -> Value {
    let mut answer = Map::new();
    answer.insert("apiVersion".to_owned(), json!(API));
    answer.insert("kind".to_owned(), json!(format!("{hook}Response")));
    match outcome {
        Ok(Value::Object(fields)) => {
            answer.insert("status".to_owned(), json!("Success"));
            answer.extend(fields);
        }
        Ok(_) => drop(answer.insert("status".to_owned(), json!("Success"))),
        Err(message) => answer.extend(failed(&message)),
    }
    Value::Object(answer)
}

/// The answer to a request that concerns no hook.
pub(super) fn failure(message: &str) -> Value {
    Value::Object(failed(message))
}

fn failed(message: &str) -> Map<String, Value> {
    let fields = [("status", json!("Failure")), ("message", json!(message))];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A text of a request, cut so that a message stays readable.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
