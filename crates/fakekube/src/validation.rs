//! From the sent object to a storable one: unknown fields, empty fields, defaults, validation.

use serde_json::{Map, Value, json};

use crate::object::meta;
use crate::openapi;
use crate::refusal::Refusal;
use crate::registry::{Kind, Registry};
use crate::schema::{Cause, Structural, builtin_validate, workload_warnings};
use crate::strategy::Special;
use crate::verbs::Turn;
use crate::{crd, decode, events};

/// Removes unknown fields, and refuses, warns or ignores according to `fieldValidation`.
pub(crate) fn unknown_fields(turn: &mut Turn<'_>, object: &mut Value) -> Result<(), Refusal> {
    let kind = turn.kind();
    let unknown = prune(&turn.state.registry, &kind, object);
    if unknown.is_empty() || turn.params.field_validation == "Ignore" {
        return Ok(());
    }
    if turn.params.field_validation == "Strict" {
        return Err(decode::unhandled(&kind, &kind, &strict_error(&unknown)));
    }
    turn.state.warnings.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    Ok(())
}

/// `strict decoding error: unknown field "a", unknown field "b"`
pub(crate) fn strict_error(unknown: &[String]) -> String {
    let each: Vec<String> = unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
    format!("strict decoding error: {}", each.join(", "))
}

/// Removes unknown and empty fields; returns the paths of the unknown fields.
pub(crate) fn prune(registry: &Registry, kind: &Kind, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Some(structural) = &kind.structural {
        if let Some(any) = registry.get("", "v1", "configmaps") {
            let mut shell = json!({"metadata": object["metadata"]});
            unknown.extend(openapi::prune(any, &mut shell));
            object["metadata"] = shell["metadata"].take();
        }
        unknown.extend(structural.unknown_fields(object));
        structural.prune(object);
    } else {
        unknown.extend(openapi::prune(kind, object));
        if Special::of(kind) != Special::Definition {
            tidy(object, Special::of(kind) == Special::Lease);
        }
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        tidy_metadata(metadata);
    }
    unknown
}

/// Removes empty metadata fields, as the server does.
fn tidy_metadata(metadata: &mut Map<String, Value>) {
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    });
}

/// Maps, which the server omits when empty, unlike structs.
const MAPS: &[&str] = &[
    "allocatable",
    "annotations",
    "binaryData",
    "capacity",
    "data",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "requests",
];

/// Texts and flags that the server omits when empty or false.
const PLAIN: &[&str] = &[
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "message",
    "nodeName",
    "podCIDR",
    "providerID",
    "readOnly",
    "reason",
    "serviceAccountName",
    "unschedulable",
    "value",
];

/// Removes fields that the server's Go types omit when empty. With `pointers`, zeros stay: all
/// fields of a Lease are pointers.
fn tidy(value: &mut Value, pointers: bool) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                tidy(value, pointers);
                match value {
                    Value::Null => false,
                    Value::Array(items) => !items.is_empty(),
                    Value::Object(fields) => !fields.is_empty() || !MAPS.contains(&name.as_str()),
                    Value::String(text) => {
                        pointers || !text.is_empty() || !PLAIN.contains(&name.as_str())
                    }
                    Value::Bool(flag) => pointers || *flag || !PLAIN.contains(&name.as_str()),
                    Value::Number(_) => true,
                }
            });
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, pointers)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Fills in the schema's defaults.
pub(crate) fn default(kind: &Kind, object: &mut Value) {
    if let Some(structural) = &kind.structural {
        structural.default(object);
    }
}

/// Refuses an object that breaks the kind's rules. With an old object, checks an update.
pub(crate) fn check(turn: &Turn<'_>, object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
    let kind = turn.kind();
    if Special::of(&kind) == Special::Definition && crd::needs_webhook(object) {
        return Err(Refusal::unsupported("conversion webhooks"));
    }
    let causes = match (&kind.structural, old) {
        (Some(structural), Some(old)) if turn.status_only() => {
            structural.validate_status(object, old)
        }
        (Some(structural), old) => structural.validate(object, old),
        (None, old) => {
            let mut causes = builtin_validate(&kind, object, old);
            causes.extend(own_causes(&kind, object, old));
            causes
        }
    };
    if causes.is_empty() {
        return Ok(());
    }
    // Both Event kinds share a type in the server, without a group.
    let group = if Special::of(&kind) == Special::NewEvent { "" } else { &kind.group };
    Err(Refusal::invalid_as(group, &kind.kind, meta(object, "name"), &causes))
}

/// Warns of what is accepted and unwise.
pub(crate) fn warn(turn: &mut Turn<'_>, object: &Value, created: bool) {
    let kind = turn.kind();
    if Special::of(&kind).is_workload() && !turn.status_only() {
        turn.state.warnings.extend(workload_warnings(&kind.kind, object, created));
    }
}

/// Violations of a built-in kind beyond [`builtin_validate`].
fn own_causes(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = unqualified_finalizers(object);
    match Special::of(kind) {
        Special::Definition => {
            let versions = object["spec"]["versions"].as_array();
            for (index, version) in versions.into_iter().flatten().enumerate() {
                let schema = &version["schema"]["openAPIV3Schema"];
                if let Err(why) = Structural::from_crd_version(schema) {
                    let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
                    causes.push(Cause::invalid(field, &Value::Null, why));
                }
            }
        }
        Special::Secret | Special::Plain => {
            let frozen = old.filter(|old| old["immutable"] == json!(true));
            for field in ["data", "binaryData"] {
                if frozen.is_some_and(|old| old.get(field) != object.get(field)) {
                    let why = "field is immutable when `immutable` is set";
                    causes.push(Cause::forbidden(field, why));
                }
            }
        }
        Special::Node => {
            for (field, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
                let of = |object: &Value| object["spec"][field].clone();
                if old.is_some_and(|old| !of(old).is_null() && of(old) != of(object)) {
                    let why =
                        format!("node updates may not change {name} except from \"\" to valid");
                    causes.push(Cause::forbidden(format!("spec.{field}"), why));
                }
            }
        }
        Special::Event => causes.extend(events::causes(object)),
        Special::NewEvent => causes.extend(events::new_causes(object, old.is_some())),
        _ => {}
    }
    causes
}

/// Finalizers of built-in kinds must be the server's own, or have a domain.
fn unqualified_finalizers(object: &Value) -> Vec<Cause> {
    let known = ["kubernetes", "orphan", "foregroundDeletion"];
    let names = object["metadata"]["finalizers"].as_array().into_iter().flatten().enumerate();
    let wrong = names.filter(|(_, name)| {
        name.as_str().is_none_or(|name| !name.contains('/') && !known.contains(&name))
    });
    let why = "name is neither a standard finalizer name nor is it fully qualified";
    wrong
        .map(|(index, name)| Cause::invalid(format!("metadata.finalizers[{index}]"), name, why))
        .collect()
}
