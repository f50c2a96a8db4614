//! Decodes bodies into objects of the path's kind.

use serde_json::Value;

use crate::openapi::types;
use crate::refusal::Refusal;
use crate::registry::Kind;
use crate::verbs::go_package;

/// Length of a body's excerpt in messages, in bytes.
const SHOWN: usize = 30;

/// Decodes a body and checks that its `apiVersion` and `kind` are those of `kind`.
pub(crate) fn object(kind: &Kind, body: &[u8]) -> Result<Value, Refusal> {
    let object = json(kind, body)?;
    check_kind(kind, &object, body)?;
    let metadata = object.get("metadata");
    if metadata.is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
        let what = type_of(metadata);
        let into = match kind.built_in() {
            true => format!("Go struct field {}.metadata of type v1.ObjectMeta", kind.kind),
            false => "Go value of type v1.ObjectMeta".to_owned(),
        };
        return Err(unhandled(kind, kind, &format!("json: cannot unmarshal {what} into {into}")));
    }
    let object = with_metadata(object);
    match mismatch(kind, &object) {
        Some(why) => Err(unhandled(kind, kind, &why)),
        None => Ok(object),
    }
}

/// The message of Go's decoder for a value of the wrong type.
pub(crate) fn mismatch(kind: &Kind, object: &Value) -> Option<String> {
    if kind.built_in() {
        types::mismatch(kind, object)
    } else {
        types::metadata_mismatch(&object["metadata"])
    }
}

/// Replaces a missing or null `metadata` by an empty object.
fn with_metadata(mut object: Value) -> Value {
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(serde_json::Map::new());
    }
    object
}

fn json(kind: &Kind, body: &[u8]) -> Result<Value, Refusal> {
    let unrecognized = |why: &str, shown: &str| {
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {why} ({shown})",
            kind.kind
        ))
    };
    if body.is_empty() {
        return Err(unrecognized("unexpected end of JSON input", "<empty>"));
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(object) if object.is_object() => Ok(object),
        Ok(other) => {
            let what = type_of(Some(&other));
            let why = format!(
                "json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            );
            Err(unrecognized(&why, &shown(body)))
        }
        Err(error) => Err(unrecognized(&go_error(&error, body), &shown(body))),
    }
}

/// The beginning of a body for messages: text if the body begins with `{`, else hexadecimal digits.
fn shown(body: &[u8]) -> String {
    let beginning = &body[..body.len().min(SHOWN)];
    let text: String = match beginning.first() {
        Some(b'{') => String::from_utf8_lossy(beginning).into_owned(),
        _ => beginning.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if body.len() > SHOWN { format!("{text} ...") } else { text }
}

/// A JSON error in Go's words.
pub(crate) fn go_error(error: &serde_json::Error, body: &[u8]) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let text = String::from_utf8_lossy(body);
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let column = error.column().saturating_sub(1);
    let letter = line.chars().nth(column).or(line.chars().last()).unwrap_or(' ');
    let place = match error.to_string() {
        text if text.contains("key must be a string") => {
            "looking for beginning of object key string"
        }
        text if text.contains("expected `:`") => "after object key",
        text if text.contains("expected `,` or `}`") => "after object key:value pair",
        text if text.contains("expected `,` or `]`") => "after array element",
        text if text.contains("trailing characters") => "after top-level value",
        _ => "looking for beginning of value",
    };
    format!("invalid character '{letter}' {place}")
}

/// Name of a value's type in Go's JSON errors.
pub(crate) fn type_of(value: Option<&Value>) -> &'static str {
    match value {
        None | Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

/// `X in version "v1" cannot be handled as a Y: why`
pub(crate) fn unhandled(given: &Kind, wanted: &Kind, why: &str) -> Refusal {
    cannot_be_handled(&given.kind, &given.version, wanted, why)
}

fn cannot_be_handled(given: &str, version: &str, wanted: &Kind, why: &str) -> Refusal {
    Refusal::bad_request(format!(
        "{given} in version {version:?} cannot be handled as a {}: {why}",
        wanted.kind
    ))
}

fn check_kind(kind: &Kind, object: &Value, body: &[u8]) -> Result<(), Refusal> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let given = object["kind"].as_str().unwrap_or_default();
    if !kind.built_in() {
        return check_custom_kind(kind, object, api_version, given, body);
    }
    let version_fits = api_version.is_empty() || api_version == kind.api_version();
    let kind_fits = given.is_empty() || given == kind.kind;
    if version_fits && kind_fits {
        return Ok(());
    }
    let given = if given.is_empty() { &kind.kind } else { given };
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let version = if version.is_empty() { &kind.version } else { version };
    let full = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let known = match kind.group.as_str() {
        "" => KNOWN_CORE,
        "apps" => KNOWN_APPS,
        _ => &[],
    };
    let why = if version_fits && known.contains(&given) {
        let package = go_package(kind);
        format!("converting (v1.{given}) to ({package}.{}): unknown conversion", kind.kind)
    } else {
        format!(
            "no kind {given:?} is registered for version {full:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Err(cannot_be_handled(given, version, kind, &why))
}

/// Core kinds that the server decodes, but refuses at the path of another kind.
const KNOWN_CORE: &[&str] =
    &["ConfigMap", "Event", "Namespace", "Node", "Pod", "Secret", "Service", "ServiceAccount"];

/// The same for the group `apps`.
const KNOWN_APPS: &[&str] =
    &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

fn check_custom_kind(
    kind: &Kind,
    object: &Value,
    api_version: &str,
    given: &str,
    body: &[u8],
) -> Result<(), Refusal> {
    if given.is_empty() {
        return Err(Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{}' ({})",
            kind.kind,
            String::from_utf8_lossy(body),
            shown(body)
        )));
    }
    if api_version != kind.api_version() {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            kind.api_version()
        )));
    }
    if given != kind.kind {
        let cause = crate::schema::Cause::invalid(
            "kind",
            &Value::from(given),
            format!("must be {}", kind.kind),
        );
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Refusal::invalid_as(&kind.group, given, name, &[cause]));
    }
    Ok(())
}

/// A value as Go's `%v` prints it.
pub(crate) fn go_text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let parts: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", go_text(value))).collect();
            format!("map[{}]", parts.join(" "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(go_text).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        plain => plain.to_string(),
    }
}

/// A value as Go's `%#v` prints it.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let parts: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        Value::Null => "interface {}(nil)".to_owned(),
        plain => plain.to_string(),
    }
}

/// The Go type of a decoded value.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "map[string]interface {}",
        Value::Array(_) => "[]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::Null => "<nil>",
    }
}
