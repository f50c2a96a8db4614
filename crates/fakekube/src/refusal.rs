//! Refusals: failed requests as the API server's Status objects.

use serde_json::{Value, json};

use crate::registry::Kind;
use crate::schema::{Cause, invalid_message};

/// A failure answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    pub(crate) retry_after: Option<u64>,
    /// Token to continue an expired list.
    pub(crate) go_on: Option<String>,
    /// Answered as plain text, as by the server's router, rather than as a Status.
    pub(crate) plain: bool,
    /// Whether fakekube lacks the feature, rather than the API server.
    pub(crate) unsupported: bool,
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            retry_after: None,
            go_on: None,
            plain: false,
            unsupported: false,
        }
    }

    fn with(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// An error without a reason, the server's answer to unexpected failures.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// An unknown path.
    pub(crate) fn page_not_found() -> Self {
        Self { plain: true, ..Self::new(404, "NotFound", "404 page not found\n") }
    }

    /// An unknown path in a built-in group.
    pub(crate) fn no_such_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with(json!({}))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with(json!({}))
    }

    /// An unsupported verb on custom objects.
    pub(crate) fn not_supported_on(kind: &Kind, verb: &str) -> Self {
        let what = kind.qualified();
        let message = format!("{verb} is not supported on resources of kind {what:?}");
        let details = json!({"group": kind.group, "kind": kind.plural});
        Self::new(405, "MethodNotAllowed", message).with(details)
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", kind.qualified());
        Self::new(404, "NotFound", message).with(about(&kind.group, &kind.plural, name))
    }

    pub(crate) fn no_namespace(name: &str) -> Self {
        let message = format!("namespaces {name:?} not found");
        Self::new(404, "NotFound", message).with(about("", "namespaces", name))
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", kind.qualified());
        Self::new(409, "AlreadyExists", message).with(about(&kind.group, &kind.plural, name))
    }

    pub(crate) fn modified(kind: &Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified());
        Self::new(409, "Conflict", message).with(about(&kind.group, &kind.plural, name))
    }

    /// A server-side apply to an object of a certain UID, where no object is.
    pub(crate) fn applied_to_nobody(kind: &Kind, name: &str, uid: &str) -> Self {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        Self::conflict(kind, name, &why)
    }

    /// Conflicts of a server-side apply, as pairs of manager and path.
    pub(crate) fn apply_conflicts(conflicts: &[(String, String)]) -> Self {
        let message = match conflicts {
            [(manager, path)] => {
                format!("Apply failed with 1 conflict: conflict with {manager}: {path}")
            }
            many => {
                let mut lines = Vec::new();
                for (index, (manager, path)) in many.iter().enumerate() {
                    if index == 0 || many[index - 1].0 != *manager {
                        lines.push(format!("conflicts with {manager}:"));
                    }
                    lines.push(format!("- {path}"));
                }
                format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
            }
        };
        let causes = conflicts.iter().map(|(manager, path)| {
            let message = format!("conflict with {manager}");
            json!({"reason": "FieldManagerConflict", "message": message, "field": path})
        });
        let causes: Vec<_> = causes.collect();
        Self::new(409, "Conflict", message).with(json!({"causes": causes}))
    }

    /// A failed precondition of a delete. The message names the kind instead of the resource.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let what = kind.qualified_kind();
        let message = format!("Operation cannot be fulfilled on {what} {name:?}: {why}");
        Self::new(409, "Conflict", message).with(about(&kind.group, &kind.kind, name))
    }

    /// An object, or options of a request, with violations.
    pub(crate) fn invalid_as(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let message = invalid_message(&qualified, name, causes);
        let mut details = about(group, kind, name);
        let causes = causes.iter().map(
            |cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}),
        );
        details["causes"] = causes.collect();
        Self::new(422, "Invalid", message).with(details)
    }

    /// A patch that cannot be applied.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message).with(json!({}))
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", kind.qualified());
        Self::new(403, "Forbidden", message).with(about(&kind.group, &kind.plural, name))
    }

    /// A create in a namespace that is being deleted.
    pub(crate) fn terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut refusal = Self::forbidden(kind, name, &why);
        if let Some(details) = &mut refusal.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        refusal
    }

    /// An eviction that a disruption budget does not allow now. With 0 seconds the server does not
    /// say when to try again.
    pub(crate) fn disrupts(why: &str, seconds: u64) -> Self {
        let message = "Cannot evict pod as it would violate the pod's disruption budget.";
        let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
        let retry_after = Some(seconds).filter(|seconds| *seconds > 0);
        if let Some(seconds) = retry_after {
            details["retryAfterSeconds"] = json!(seconds);
        }
        Self { retry_after, ..Self::new(429, "TooManyRequests", message).with(details) }
    }

    /// An eviction that a disruption budget never allows as it is.
    pub(crate) fn over_budget(name: &str, why: &str) -> Self {
        let message = format!("poddisruptionbudget.policy {name:?} is forbidden: {why}");
        let details = about("policy", "poddisruptionbudget", name);
        Self::new(403, "Forbidden", message).with(details)
    }

    /// A resource version before the start of the history.
    pub(crate) fn too_old(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    /// A continue token before the start of the history.
    pub(crate) fn list_expired(go_on: String) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
        Self { go_on: Some(go_on), ..Self::new(410, "Expired", message) }
    }

    /// A resource version in the future that did not appear in time.
    pub(crate) fn too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause =
            json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        let details = json!({"causes": [cause], "retryAfterSeconds": 1});
        Self { retry_after: Some(1), ..Self::new(504, "Timeout", message).with(details) }
    }

    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// A feature of a real API server that fakekube lacks.
    pub(crate) fn unsupported(what: &str) -> Self {
        let message = format!("fakekube does not support {what}");
        Self { unsupported: true, ..Self::new(501, "NotImplemented", message) }
    }

    /// The answer of a fault rule.
    pub(crate) fn forced(code: u16, message: Option<&str>, retry_after: Option<u64>) -> Self {
        let (reason, usual) = match code {
            409 => (
                "Conflict",
                "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again",
            ),
            410 => ("Expired", "The resourceVersion for the provided watch is too old."),
            429 => (
                "TooManyRequests",
                "the server has received too many requests and has asked us to try again later",
            ),
            403 => ("Forbidden", "forbidden"),
            500 => ("InternalError", "Internal error occurred: etcdserver: request timed out"),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => (
                "Timeout",
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            ),
            _ => ("", "unknown"),
        };
        let details = retry_after.map(|seconds| json!({"retryAfterSeconds": seconds}));
        Self { details, retry_after, ..Self::new(code, reason, message.unwrap_or(usual)) }
    }

    /// The Status object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        if let Some(token) = &self.go_on {
            status["metadata"]["continue"] = json!(token);
        }
        status
    }
}

/// `details` of a Status, without empty parts.
fn about(group: &str, kind: &str, name: &str) -> Value {
    let mut details = serde_json::Map::new();
    for (key, text) in [("name", name), ("group", group), ("kind", kind)] {
        if !text.is_empty() {
            details.insert(key.to_owned(), json!(text));
        }
    }
    Value::Object(details)
}
