//! The meaning of DigitalOcean's refusals.
//!
//! | answer | kind |
//! |---|---|
//! | 401 | `Unauthorized` |
//! | 403 | `Forbidden` |
//! | 404 with `not_found` | `NotFound`; otherwise the answer is not DigitalOcean's: `NoAnswer` |
//! | 408, 5xx except 500 and 503 | `NoAnswer` |
//! | 409, 423, 422 about a pending event | `Busy` |
//! | 422 otherwise, and anything else | `Rejected` |
//! | 429 | `RateLimited` |
//! | 500, 503 | `Unavailable` |

use bytes::Bytes;
use http::Response;
use serde::Deserialize;

use crate::credential::Credential;
use crate::error::{Error, ErrorKind};
use crate::layers::retry_after;
use crate::rest::{self, shown};

pub(super) const VENDOR: &str = "DigitalOcean";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    id: Option<String>,
    message: Option<String>,
}

/// Converts an answer without success.
pub(super) fn refusal(answer: &Response<Bytes>, credential: &dyn Credential) -> Error {
    let body: Body = serde_json::from_slice(answer.body()).unwrap_or_default();
    let message = match body.message.as_deref().map(|text| shown(text, credential)) {
        Some(message) if !message.is_empty() => message,
        _ => format!("{VENDOR} answered {}", answer.status()),
    };
    Error::new(kind(answer, body.id.as_deref(), &message), message)
}

/// The error for a successful answer with an unreadable body.
pub(super) fn unreadable(what: &str) -> Error {
    rest::unreadable(VENDOR, what)
}

/// Whether the message of a refused creation is about a quota. The exact wording is undocumented.
pub(super) fn speaks_of_quota(message: &str) -> bool {
    let message = message.to_lowercase();
    ["limit", "quota", "maximum"].iter().any(|word| message.contains(word))
}

fn kind(answer: &Response<Bytes>, id: Option<&str>, message: &str) -> ErrorKind {
    match answer.status().as_u16() {
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        404 if id == Some("not_found") => ErrorKind::NotFound,
        404 | 408 => ErrorKind::NoAnswer,
        409 | 423 => ErrorKind::Busy,
        422 if message.to_lowercase().contains("pending event") => ErrorKind::Busy,
        429 => ErrorKind::RateLimited { retry_after: retry_after(answer) },
        500 | 503 => ErrorKind::Unavailable,
        501.. => ErrorKind::NoAnswer,
        _ => ErrorKind::Rejected,
    }
}
