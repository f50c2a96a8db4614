//! Refusals in the vendor's format.

use http::StatusCode;
use serde_json::json;

use crate::call::{Call, Reply};

/// An error answer with its status and message.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: &str) -> Self {
        Self { status, message: message.to_owned() }
    }

    /// 404, for missing or hidden resources.
    pub(super) fn not_found() -> Self {
        let status = StatusCode::NOT_FOUND;
        Self::new(status, usual_message(status))
    }

    /// 422, the vendor's status for most errors.
    pub(super) fn unprocessable(message: &str) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// 501, for an unknown request.
    pub(super) fn not_emulated(call: &Call) -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            &format!("fakecloud does not emulate {} {}", call.method, call.path),
        )
    }

    pub(super) fn reply(&self, request_id: &str) -> Reply {
        let body = json!({
            "id": id(self.status),
            "message": self.message,
            "request_id": request_id,
        });
        Reply::json(self.status, &body)
    }
}

fn id(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "bad_request",
        401 => "unauthorized",
        402 => "payment_required",
        403 => "forbidden",
        404 => "not_found",
        405 => "method_not_allowed",
        409 => "conflict",
        412 => "precondition_failed",
        422 => "unprocessable_entity",
        429 => "too_many_requests",
        501 => "not_implemented",
        502 => "bad_gateway",
        503 => "service_unavailable",
        504 => "gateway_timeout",
        _ if status.is_server_error() => "server_error",
        _ => "error",
    }
}

/// The vendor's default message for a status.
pub(super) fn usual_message(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "Unable to authenticate you.",
        403 => "You are not authorized to perform this operation.",
        404 => "The resource you were accessing could not be found.",
        429 => "API rate limit exceeded.",
        500 => "Server was unable to give you a response.",
        503 => "Service Unavailable",
        _ => status.canonical_reason().unwrap_or("Unexpected error."),
    }
}
