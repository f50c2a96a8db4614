//! What DigitalOcean's refusals mean.
//!
//! | answer | kind |
//! |---|---|
//! | 401 | `Unauthorized` |
//! | 403 | `Forbidden` |
//! | 404 with `not_found` | `NotFound`; without it nobody of DigitalOcean's answered: `NoAnswer` |
//! | 408, 5xx but 500 and 503 | `NoAnswer` |
//! | 409, 423, 422 about a pending event | `Busy` |
//! | 422 otherwise, and what is not named here | `Rejected` |
//! | 429 | `RateLimited` |
//! | 500, 503 | `Unavailable` |

use bytes::Bytes;
use http::Response;
use serde::Deserialize;

use crate::access::Token;
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

/// The error that an answer without success stands for.
pub(super) fn refusal(answer: &Response<Bytes>, token: &Token) -> Error {
    let body: Body = serde_json::from_slice(answer.body()).unwrap_or_default();
    let message = match body.message.as_deref().map(|text| shown(text, token)) {
        Some(message) if !message.is_empty() => message,
        _ => format!("{VENDOR} answered {}", answer.status()),
    };
    Error::new(kind(answer, body.id.as_deref(), &message), message)
}

/// The error of an answer that says success in a body that cannot be understood.
pub(super) fn unreadable(what: &str) -> Error {
    rest::unreadable(VENDOR, what)
}

/// The message of a refused creation is about the number of addresses (its exact words are
/// not documented).
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
