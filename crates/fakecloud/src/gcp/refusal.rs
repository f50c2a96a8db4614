//! Refusals in the vendor's format.

use http::{StatusCode, header};
use serde_json::{Value, json};

use crate::call::{Call, Reply};

/// An error answer.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    reason: &'static str,
    message: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, reason: &'static str, message: String) -> Self {
        Self { status, reason, message }
    }

    /// An answer of the framework. A rate limit is a 403, told from missing permissions by its
    /// reason alone.
    pub(super) fn usual(status: StatusCode, message: Option<&str>) -> Self {
        let (status, reason, usual) = usual(status);
        Self::new(status, reason, message.unwrap_or(usual).to_owned())
    }

    /// 404, for a path below `projects/`.
    pub(super) fn not_found(path: &str) -> Self {
        let message = format!("The resource '{path}' was not found");
        Self::new(StatusCode::NOT_FOUND, "notFound", message)
    }

    /// 400, for a value that cannot be.
    pub(super) fn invalid(field: &str, value: &str, why: &str) -> Self {
        let message = format!("Invalid value for field '{field}': '{value}'. {why}");
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// 400, for a request that is wrong otherwise.
    pub(super) fn bad(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "badRequest", message.to_owned())
    }

    /// 400, for a parameter that is missing.
    pub(super) fn required(parameter: &str) -> Self {
        let message = format!("Required parameter: {parameter}");
        Self::new(StatusCode::BAD_REQUEST, "required", message)
    }

    /// 400, for a resource with an open operation (not verified).
    pub(super) fn not_ready(path: &str) -> Self {
        let message = format!("The resource '{path}' is not ready");
        Self::new(StatusCode::BAD_REQUEST, "resourceNotReady", message)
    }

    /// 501, for an unknown request.
    pub(super) fn not_emulated(call: &Call) -> Self {
        let message = format!("fakecloud does not emulate {} {}", call.method, call.path);
        Self::new(StatusCode::NOT_IMPLEMENTED, "notImplemented", message)
    }

    pub(super) fn reply(&self) -> Reply {
        let Self { status, reason, message } = self;
        let domain = match *reason {
            "rateLimitExceeded" | "quotaExceeded" => "usageLimits",
            _ => "global",
        };
        let body = json!({"error": {
            "code": status.as_u16(),
            "message": message,
            "errors": [{"message": message, "domain": domain, "reason": reason}],
            "status": code(*status),
        }});
        reply(*status, &body)
    }
}

/// An answer with the vendor's content type.
pub(super) fn reply(status: StatusCode, body: &Value) -> Reply {
    let mut reply = Reply::json(status, body);
    reply.set(header::CONTENT_TYPE, "application/json; charset=UTF-8");
    reply
}

/// The status, reason and message of an answer of the framework.
fn usual(status: StatusCode) -> (StatusCode, &'static str, &'static str) {
    let (reason, message) = match status.as_u16() {
        400 => ("badRequest", "Bad Request"),
        401 => (
            "authError",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login \
             cookie or other valid authentication credential.",
        ),
        403 => ("forbidden", "The caller does not have permission"),
        404 => ("notFound", "The resource was not found"),
        409 => ("alreadyExists", "The resource already exists"),
        412 => ("conditionNotMet", "Invalid fingerprint."),
        429 => {
            let message = "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' \
                 of service 'compute.googleapis.com'.";
            return (StatusCode::FORBIDDEN, "rateLimitExceeded", message);
        }
        _ if status.is_server_error() => ("backendError", "Internal error encountered."),
        _ => ("invalid", status.canonical_reason().unwrap_or("Unexpected error.")),
    };
    (status, reason, message)
}

/// The canonical code of a status. The vendor's code beside a rate limit is not verified.
fn code(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ALREADY_EXISTS",
        412 => "FAILED_PRECONDITION",
        501 => "UNIMPLEMENTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ if status.is_server_error() => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}
