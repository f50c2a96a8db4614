//! The meaning of Google's refusals, by status and reason.
//!
//! | answer | kind |
//! |---|---|
//! | 400 `resourceNotReady`, 409, 412 | `Busy` |
//! | 400 "not found in region" | `NotFound` |
//! | 400, 409 about an address in use or a name that exists; anything else | `Rejected` |
//! | 401 | `Unauthorized` |
//! | 403 `rateLimitExceeded`, concurrent operations; 429 | `RateLimited` |
//! | 403 `quotaExceeded` | `QuotaExceeded` |
//! | 403 otherwise | `Forbidden` |
//! | 404 with Google's error | `NotFound`; otherwise the answer is not Google's: `NoAnswer` |
//! | 408, 5xx except 500 and 503 | `NoAnswer` |
//! | 500, 503 | `Unavailable` |
//!
//! An operation that ended with an error is judged by the error's code in the same way.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Deserialize;

use super::wire::OperationError;
use crate::credential::Credential;
use crate::error::{Error, ErrorKind};
use crate::layers::retry_after;
use crate::rest::{self, shown};

pub(super) const VENDOR: &str = "Google Cloud";

const IN_USE: &str = "IP_IN_USE_BY_ANOTHER_RESOURCE";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Envelope {
    error: Option<Body>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    message: Option<String>,
    errors: Vec<Item>,
    details: Vec<Item>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    reason: Option<String>,
}

impl Body {
    fn of(answer: &Response<Bytes>) -> Option<Self> {
        serde_json::from_slice::<Envelope>(answer.body()).ok()?.error
    }

    /// Whether the answer has one of these reasons, in an error or in a detail.
    fn has(&self, reasons: &[&str]) -> bool {
        let all = self.errors.iter().chain(&self.details);
        all.filter_map(|item| item.reason.as_deref()).any(|reason| reasons.contains(&reason))
    }

    fn says(&self, words: &str) -> bool {
        self.message.as_deref().is_some_and(|message| message.contains(words))
    }
}

/// Converts an answer without success.
pub(super) fn refusal(answer: &Response<Bytes>, credential: &dyn Credential) -> Error {
    let body = Body::of(answer);
    let told = body.as_ref().and_then(|body| body.message.as_deref());
    let message = match told.map(|text| shown(text, credential)) {
        Some(message) if !message.is_empty() => message,
        _ => format!("{VENDOR} answered {}", answer.status()),
    };
    Error::new(kind(answer, body.as_ref()), message)
}

/// Whether a refused creation says that the name is there already.
pub(super) fn exists_already(answer: &Response<Bytes>) -> bool {
    answer.status() == StatusCode::CONFLICT
        && Body::of(answer).is_some_and(|body| body.has(&["alreadyExists"]))
}

/// Whether an answer is a refusal by a rate limit, or by the limit of concurrent operations.
pub(super) fn is_throttled(answer: &Response<Bytes>) -> bool {
    const REASONS: [&str; 4] = [
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED",
    ];
    match answer.status() {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => Body::of(answer).is_some_and(|body| body.has(&REASONS)),
        _ => false,
    }
}

fn kind(answer: &Response<Bytes>, body: Option<&Body>) -> ErrorKind {
    let has = |reasons: &[&str]| body.is_some_and(|body| body.has(reasons));
    let says = |words: &str| body.is_some_and(|body| body.says(words));
    let in_use = || has(&[IN_USE, "alreadyExists"]) || says(IN_USE);
    match answer.status().as_u16() {
        401 => ErrorKind::Unauthorized,
        _ if is_throttled(answer) => ErrorKind::RateLimited { retry_after: retry_after(answer) },
        403 if has(&["quotaExceeded", "QUOTA_EXCEEDED"]) => ErrorKind::QuotaExceeded,
        403 => ErrorKind::Forbidden,
        404 if body.is_some() => ErrorKind::NotFound,
        404 | 408 => ErrorKind::NoAnswer,
        400 if has(&["resourceNotReady"]) => ErrorKind::Busy,
        400 if says("not found in region") => ErrorKind::NotFound,
        409 if !in_use() => ErrorKind::Busy,
        412 => ErrorKind::Busy,
        500 | 503 => ErrorKind::Unavailable,
        501.. => ErrorKind::NoAnswer,
        _ => ErrorKind::Rejected,
    }
}

/// Converts the error of an operation that ended.
pub(super) fn failure(errors: &[OperationError], credential: &dyn Credential) -> Error {
    let told: Vec<_> = errors.iter().filter_map(|error| error.message.as_deref()).collect();
    let codes: Vec<_> = errors.iter().filter_map(|error| error.code.as_deref()).collect();
    let words = if told.is_empty() { codes.join(", ") } else { told.join("; ") };
    let message = match shown(&words, credential) {
        empty if empty.is_empty() => format!("{VENDOR} took the change and it failed"),
        message => message,
    };
    let kind = match codes.first().copied().unwrap_or_default() {
        "RESOURCE_NOT_FOUND" => ErrorKind::NotFound,
        "RESOURCE_NOT_READY" | "RESOURCE_OPERATION_RATE_EXCEEDED" => ErrorKind::Busy,
        "QUOTA_EXCEEDED" => ErrorKind::QuotaExceeded,
        "PERMISSIONS_ERROR" => ErrorKind::Forbidden,
        "INTERNAL_ERROR" | "SERVICE_UNAVAILABLE" => ErrorKind::Unavailable,
        _ => ErrorKind::Rejected,
    };
    Error::new(kind, message)
}

/// The error for a successful answer with an unreadable body.
pub(super) fn unreadable(what: &str) -> Error {
    rest::unreadable(VENDOR, what)
}
