//! The meaning of Cloudflare's refusals.
//!
//! | answer | kind |
//! |---|---|
//! | 401; 400 with 6003 or 9106; 403 that mentions the access token | `Unauthorized` |
//! | 403 otherwise | `Forbidden` |
//! | 404 with a code | `NotFound`; without a code the answer is not Cloudflare's: `NoAnswer` |
//! | 408, 5xx except 500 and 503, success without Cloudflare's envelope | `NoAnswer` |
//! | 409, 423 | `Busy` |
//! | 429 | `RateLimited` |
//! | 500, 503 | `Unavailable` |
//! | 81045, or a message about a record quota | `QuotaExceeded` |
//! | anything else | `Rejected` |
//!
//! Codes 81044, 81057 and 81058 mean a record is already gone or already present: the change was
//! planned from an outdated listing.

use bytes::Bytes;
use http::Response;
use serde::Deserialize;

use crate::credential::Credential;
use crate::error::{Error, ErrorKind};
use crate::layers::retry_after;
use crate::rest::{self, shown};

pub(super) const VENDOR: &str = "Cloudflare";

const BAD_HEADERS: [u64; 2] = [6003, 9106];
const OUTDATED: [u64; 3] = [81_044, 81_057, 81_058];
const QUOTA: u64 = 81_045;

/// A failed call with Cloudflare's error codes.
#[derive(Debug)]
pub(super) struct Refusal {
    pub error: Error,
    codes: Vec<u64>,
}

impl Refusal {
    /// Every code says the change was planned from an outdated listing.
    pub fn is_outdated(&self) -> bool {
        !self.codes.is_empty() && self.codes.iter().all(|code| OUTDATED.contains(code))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { error, codes: Vec::new() }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    errors: Vec<Told>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    code: u64,
    message: String,
    error_chain: Vec<Cause>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    message: String,
}

/// Converts an answer without success.
pub(super) fn refusal(answer: &Response<Bytes>, credential: &dyn Credential) -> Refusal {
    let body: Body = serde_json::from_slice(answer.body()).unwrap_or_default();
    let codes: Vec<u64> = body.errors.iter().map(|told| told.code).collect();
    let message = match shown(&words(&body), credential) {
        message if message.is_empty() => format!("{VENDOR} answered {}", answer.status()),
        message => message,
    };
    Refusal { error: Error::new(kind(answer, &codes, &message), message), codes }
}

/// The error for a successful answer with an unreadable body.
pub(super) fn unreadable(what: &str) -> Error {
    rest::unreadable(VENDOR, what)
}

/// All error messages, each with its chain of causes and its code.
fn words(body: &Body) -> String {
    let told = body.errors.iter().filter(|told| !told.message.trim().is_empty()).map(|told| {
        let causes = told.error_chain.iter().map(|cause| cause.message.as_str());
        let parts: Vec<&str> = std::iter::once(told.message.as_str()).chain(causes).collect();
        format!("{} ({})", parts.join(": "), told.code)
    });
    told.collect::<Vec<_>>().join("; ")
}

fn kind(answer: &Response<Bytes>, codes: &[u64], message: &str) -> ErrorKind {
    let message = message.to_lowercase();
    match answer.status().as_u16() {
        401 => ErrorKind::Unauthorized,
        400 if codes.iter().any(|code| BAD_HEADERS.contains(code)) => ErrorKind::Unauthorized,
        403 if message.contains("access token") => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        404 if !codes.is_empty() => ErrorKind::NotFound,
        404 | 408 => ErrorKind::NoAnswer,
        409 | 423 => ErrorKind::Busy,
        429 => ErrorKind::RateLimited { retry_after: retry_after(answer) },
        500 | 503 => ErrorKind::Unavailable,
        501.. | 200..300 => ErrorKind::NoAnswer,
        _ if codes.contains(&QUOTA) || message.contains("record quota") => ErrorKind::QuotaExceeded,
        _ => ErrorKind::Rejected,
    }
}
