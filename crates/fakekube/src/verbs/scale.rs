//! The subresource `scale` of workloads: their replicas alone.

use serde_json::{Value, json};

use crate::accept::{self, Form};
use crate::object::{self, meta};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::schema::Cause;
use crate::{decode, label_selector};

use super::Turn;

impl Turn<'_> {
    /// GET, PUT or PATCH of a workload's `scale`.
    pub(super) fn scale(mut self) -> Result<Reply, Refusal> {
        if self.form != Form::Object {
            return Err(Refusal::unsupported("a scale in another form"));
        }
        let (kind, key) = (self.kind(), self.target.key());
        let name = self.target.name.clone().unwrap_or_default();
        let old = self.state.store.get(&kind.storage, &key).cloned();
        let old = old.ok_or_else(|| Refusal::not_found(&kind, &name))?;
        if self.call.method == http::Method::GET {
            return Ok(Reply::json(200, scale_of(&old)));
        }
        let scale = self.asked_scale(&old)?;
        let mut object = object::load(&kind, &old);
        object["spec"]["replicas"] = json!(scale["spec"]["replicas"].as_i64().unwrap_or_default());
        let stored = self.replace(object, &old, None)?;
        Ok(Reply::json(200, scale_of(&stored)))
    }

    /// The scale that a request asks for, checked.
    fn asked_scale(&self, old: &Value) -> Result<Value, Refusal> {
        let scale = if self.call.method == http::Method::PUT {
            accept::readable(self.call.content_type())?;
            self.params.check_write("UpdateOptions")?;
            let scale: Value = serde_json::from_slice(&self.call.body)
                .map_err(|error| Refusal::bad_request(decode::go_error(&error, &self.call.body)))?;
            let says = (&scale["apiVersion"], &scale["kind"]);
            if says != (&json!("autoscaling/v1"), &json!("Scale")) || !scale["metadata"].is_object()
            {
                return Err(Refusal::unsupported("a scale that is not of autoscaling/v1"));
            }
            scale
        } else {
            self.patched_scale(scale_of(old))?
        };
        self.check_name(&scale)?;
        self.check_version(&scale, old)?;
        let replicas = &scale["spec"]["replicas"];
        if !replicas.is_null() && !replicas.is_i64() {
            return Err(Refusal::unsupported("a scale with a value of another type"));
        }
        if replicas.as_i64().is_some_and(|count| count < 0) {
            let why = "must be greater than or equal to 0";
            let cause = Cause::invalid("spec.replicas", replicas, why);
            return Err(Refusal::invalid_as("autoscaling", "Scale", meta(old, "name"), &[cause]));
        }
        Ok(scale)
    }
}

/// The scale of a workload.
fn scale_of(object: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        object::copy(&mut metadata, &object["metadata"], field);
    }
    let count = |part: &str| object[part]["replicas"].as_i64().unwrap_or_default();
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {}, "status": {"replicas": count("status")},
    });
    if count("spec") != 0 {
        scale["spec"]["replicas"] = json!(count("spec"));
    }
    let selector = label_selector::text(&object["spec"]["selector"]);
    if !selector.is_empty() {
        scale["status"]["selector"] = json!(selector);
    }
    scale
}
