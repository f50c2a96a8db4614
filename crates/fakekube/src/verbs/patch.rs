//! Patching: JSON patch, merge patch, strategic merge patch.

use serde_json::{Value, json};

use crate::decode::{self, go_error, go_text, type_of};
use crate::object;
use crate::patches::strategic::Unusable;
use crate::patches::{json as json_patch, merge, strategic};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::schema::Cause;
use crate::validation;

use super::Turn;

/// Type of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Json,
    Merge,
    Strategic,
}

impl Turn<'_> {
    /// PATCH of an object or its status.
    pub(super) fn patch(mut self) -> Result<Reply, Refusal> {
        if self.applies() {
            return self.apply_config();
        }
        let way = self.way()?;
        self.params.check_write("PatchOptions")?;
        let kind = self.kind();
        let name = self.target.name.clone().unwrap_or_default();
        let old = self.state.store.get(&kind.storage, &self.target.key()).cloned();
        let Some(old) = old else {
            return Err(Refusal::not_found(&kind, &name));
        };
        let mut object = object::load(&kind, &old);
        self.apply(way, &mut object)?;
        self.check_unknown(way, &mut object)?;
        self.check_name(&object)?;
        self.place(&mut object)?;
        self.check_patched_version(&object, &old)?;
        let stored = self.replace(object, &old, None)?;
        self.object_reply(200, &stored)
    }

    /// Checks the resource version of a patched object, if the patch names one. A changed UID is not a
    /// failed precondition here, but a forbidden change.
    pub(super) fn check_patched_version(&self, object: &Value, old: &Value) -> Result<(), Refusal> {
        let mut versioned = object.clone();
        object::copy(&mut versioned["metadata"], &old["metadata"], "uid");
        if object::meta(&versioned, "resourceVersion").is_empty() {
            object::copy(&mut versioned["metadata"], &old["metadata"], "resourceVersion");
        }
        self.check_version(&versioned, old)
    }

    /// The type of patch by content type.
    fn way(&self) -> Result<Way, Refusal> {
        let kind = &self.target.kind;
        let given = self.call.content_type().and_then(|text| text.split(';').next());
        match given.unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Way::Json),
            "application/merge-patch+json" => Ok(Way::Merge),
            "application/strategic-merge-patch+json" if kind.built_in() => Ok(Way::Strategic),
            "application/apply-patch+cbor" => Err(Refusal::unsupported("CBOR")),
            _ if kind.built_in() => {
                let refusal = Refusal::unsupported_media("415: Unsupported Media Type");
                Err(Refusal { details: Some(json!({})), ..refusal })
            }
            _ => Err(Refusal::unsupported_media(
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
        }
    }

    /// A scale after a patch.
    pub(super) fn patched_scale(&self, mut scale: Value) -> Result<Value, Refusal> {
        if self.applies() {
            return Err(Refusal::unsupported("server-side apply of a scale"));
        }
        let way = self.way()?;
        self.params.check_write("PatchOptions")?;
        self.change(way, &mut scale)?;
        Ok(scale)
    }

    fn apply(&self, way: Way, object: &mut Value) -> Result<(), Refusal> {
        self.change(way, object)?;
        match decode::mismatch(&self.target.kind, object) {
            Some(why) => Err(self.unfit(way, object, why)),
            None => Ok(()),
        }
    }

    fn change(&self, way: Way, object: &mut Value) -> Result<(), Refusal> {
        let body = &self.call.body;
        let patch: Value = serde_json::from_slice(body).map_err(|error| {
            let why = go_error(&error, body);
            Refusal::bad_request(match way {
                Way::Strategic => why,
                Way::Json | Way::Merge => format!("error decoding patch: {why}"),
            })
        })?;
        let wrong_type = |wanted: &str| {
            let what = type_of(Some(&patch));
            let why = format!("json: cannot unmarshal {what} into Go value of type {wanted}");
            Refusal::bad_request(format!("error decoding patch: {why}"))
        };
        match way {
            Way::Json => {
                let operations =
                    patch.as_array().ok_or_else(|| wrong_type("[]handlers.jsonPatchOp"))?;
                json_patch::apply(object, operations).map_err(|_| Refusal::unprocessable())?;
            }
            Way::Merge if !patch.is_object() => {
                return Err(wrong_type("map[string]interface {}"));
            }
            Way::Merge => merge::apply(object, patch),
            Way::Strategic if !patch.is_object() => {
                return Err(wrong_type("map[string]interface {}"));
            }
            Way::Strategic => strategic::apply(&self.target.kind, object, patch)
                .map_err(|Unusable(why)| Refusal::bad_request(why))?,
        }
        if !object.is_object() {
            return Err(Refusal::unprocessable());
        }
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        Ok(())
    }

    /// Unknown fields after a patch have a message of their own.
    fn check_unknown(&mut self, way: Way, object: &mut Value) -> Result<(), Refusal> {
        let patched = object.clone();
        let unknown = validation::prune(&self.state.registry, &self.target.kind, object);
        if unknown.is_empty() || self.params.field_validation == "Ignore" {
            return Ok(());
        }
        if self.params.field_validation == "Strict" {
            return Err(self.unfit(way, &patched, validation::strict_error(&unknown)));
        }
        let lines = unknown.iter().map(|path| format!("unknown field {path:?}"));
        self.state.warnings.extend(lines);
        Ok(())
    }

    /// The refusal of a patch whose result cannot be decoded.
    fn unfit(&self, way: Way, patched: &Value, why: String) -> Refusal {
        let shown = match way {
            Way::Strategic => {
                go_text(&serde_json::from_slice(&self.call.body).unwrap_or(Value::Null))
            }
            Way::Json | Way::Merge => patched.to_string(),
        };
        Refusal::invalid_as("", "", "", &[Cause::invalid("patch", &json!(shown), why)])
    }
}
