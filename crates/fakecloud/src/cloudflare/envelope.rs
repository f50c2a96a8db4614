//! The envelope of every answer: `{success, errors, messages, result}`, and `result_info` for
//! listings.

use http::StatusCode;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::request_context::Turn;

/// An error answer with its code, message and cause.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: u32,
    message: String,
    cause: Option<(u32, String)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: u32, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), cause: None }
    }

    /// The vendor's default error for a status (the codes of 5xx are not verified).
    pub(super) fn usual(status: StatusCode, message: Option<&str>) -> Self {
        let (code, words) = match status.as_u16() {
            401 => (10_000, "Authentication error"),
            403 => (9109, "Unauthorized to access requested resource"),
            404 => {
                (7003, "Could not route to the path, perhaps your object identifier is invalid?")
            }
            429 => (10_429, "Rate limited. Please wait and consider throttling your request speed"),
            400..=499 => (1004, "DNS Validation Error"),
            _ => (10_001, "Internal error"),
        };
        Self::new(status, code, message.unwrap_or(words))
    }

    /// Adds the underlying error.
    pub(super) fn because(mut self, code: u32, message: &str) -> Self {
        self.cause = Some((code, message.to_owned()));
        self
    }

    /// 400, for an invalid record.
    pub(super) fn bad(code: u32, message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 400, for an invalid record, with the reason in the error chain.
    pub(super) fn invalid(code: u32, message: &str) -> Self {
        Self::bad(1004, "DNS Validation Error").because(code, message)
    }

    /// 404, for a missing record.
    pub(super) fn no_record() -> Self {
        Self::new(StatusCode::NOT_FOUND, 81_044, "Record does not exist.")
    }

    /// 501, for an unknown request.
    pub(super) fn not_emulated(call: &Call) -> Self {
        let words = format!("fakecloud does not emulate {} {}", call.method, call.target);
        Self::new(StatusCode::NOT_IMPLEMENTED, 7000, &words)
    }

    pub(super) fn reply(&self) -> Reply {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some((code, message)) = &self.cause {
            error["error_chain"] = json!([{"code": code, "message": message}]);
        }
        let body = json!({"success": false, "errors": [error], "messages": [], "result": null});
        Reply::json(self.status, &body)
    }
}

/// An answer with a single result.
pub(super) fn single(result: &Value) -> Reply {
    let body = json!({"success": true, "errors": [], "messages": [], "result": result});
    Reply::json(StatusCode::OK, &body)
}

/// Limits of the page size.
pub(super) struct Sizes {
    pub(super) smallest: usize,
    pub(super) usual: usize,
    pub(super) largest: usize,
}

/// A page of a listing. Numbers out of range are clamped (not verified).
pub(super) fn page<T>(
    turn: &Turn<'_>,
    call: &Call,
    sizes: &Sizes,
    items: &[T],
    show: impl Fn(&T) -> Value,
) -> Reply {
    let number = |name| call.parameter(name)?.parse::<usize>().ok();
    let page = number("page").unwrap_or(1).max(1);
    let size = number("per_page").unwrap_or(sizes.usual).clamp(sizes.smallest, sizes.largest);
    // A gap: the rest moves up as if an item of an earlier page had been deleted meanwhile.
    let moved = usize::from(turn.weather.own.page_gap && page > 1);
    let total = items.len().saturating_sub(moved);
    let shown: Vec<Value> =
        items.iter().skip((page - 1).saturating_mul(size) + moved).take(size).map(show).collect();
    let info = json!({
        "page": page,
        "per_page": size,
        "count": shown.len(),
        "total_count": total,
        "total_pages": total.div_ceil(size),
    });
    let body = json!({
        "success": true, "errors": [], "messages": [], "result": shown, "result_info": info,
    });
    Reply::json(StatusCode::OK, &body)
}
