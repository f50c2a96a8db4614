//! Listings, page by page.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::call::{Call, Reply};
use crate::request_context::Turn;

const DEFAULT_SIZE: usize = 20;
const LARGEST_SIZE: usize = 200;

/// Answers a listing: `{<key>: [...], links, meta}`. Numbers out of range are clamped (not
/// verified).
pub(super) fn answer<T>(
    turn: &Turn<'_>,
    call: &Call,
    key: &str,
    items: &[T],
    show: impl Fn(&T) -> Value,
) -> Reply {
    let page = number(call, "page").unwrap_or(1).max(1);
    let size = number(call, "per_page").unwrap_or(DEFAULT_SIZE).clamp(1, LARGEST_SIZE);
    // A gap: the rest moves up as if an item of an earlier page had been deleted meanwhile.
    let moved = usize::from(turn.weather.own.page_gap && page > 1);
    let total = items.len().saturating_sub(moved);
    let shown: Vec<Value> =
        items.iter().skip((page - 1).saturating_mul(size) + moved).take(size).map(show).collect();
    let mut body = Map::new();
    body.insert(key.to_owned(), Value::Array(shown));
    body.insert("links".to_owned(), links(call, page, total.div_ceil(size).max(1)));
    body.insert("meta".to_owned(), json!({"total": total}));
    Reply::json(StatusCode::OK, &Value::Object(body))
}

fn number(call: &Call, name: &str) -> Option<usize> {
    call.parameter(name)?.parse().ok()
}

fn links(call: &Call, page: usize, last: usize) -> Value {
    let mut pages = Map::new();
    let mut link = |name: &str, to: usize| {
        pages.insert(name.to_owned(), Value::String(url(call, to)));
    };
    if page > 1 {
        link("first", 1);
        link("prev", (page - 1).min(last));
    }
    if page < last {
        link("next", page + 1);
        link("last", last);
    }
    if pages.is_empty() { json!({}) } else { json!({"pages": pages}) }
}

fn url(call: &Call, page: usize) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("page", &page.to_string());
    query.extend_pairs(call.query.iter().filter(|(name, _)| name != "page"));
    format!("{}{}?{}", call.origin, call.path, query.finish())
}
