//! Cloudflare's API v4: zones and their DNS records, single and in batches.
//!
//! Unknown requests get 501, never a guess. "Not verified" in a comment marks behaviour that has
//! not been checked against the vendor.

mod batch;
mod draft;
mod envelope;
mod filter;
mod ids;
mod plan;
mod records;
mod wish;
mod zones;

use http::{HeaderName, StatusCode, header};

use crate::call::{Call, Reply};
use crate::clock::{self, Clock};
use crate::limit::Usage;
use crate::turn::Turn;
use envelope::Refusal;

pub(crate) use ids::zone_id;
pub use plan::ZonePlan;

/// The reply of an endpoint, or its refusal.
type Answer = Result<Reply, Refusal>;

/// Executes a call.
pub(crate) fn answer(turn: &mut Turn<'_>, call: &Call) -> Reply {
    let path: Vec<&str> = call.segments.iter().skip(2).map(String::as_str).collect();
    let mut reply = route(turn, call, &path).unwrap_or_else(|refusal| refusal.reply());
    reply.set(HeaderName::from_static("cf-ray"), &turn.request_id);
    reply
}

fn route(turn: &mut Turn<'_>, call: &Call, path: &[&str]) -> Answer {
    match (call.method.as_str(), path) {
        ("GET", ["zones"]) => zones::list(turn, call),
        ("GET", ["zones", id]) => zones::get(turn, call, id),
        (_, ["zones", id, "dns_records", rest @ ..]) => {
            let zone = zones::known(turn.truth(), call, id)?.name.clone();
            records::route(turn, call, &zone, rest)
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

/// An error in Cloudflare's format.
pub(crate) fn error(status: StatusCode, message: Option<&str>) -> Reply {
    Refusal::usual(status, message).reply()
}

/// The error for a missing, malformed or wrong token.
pub(crate) fn unknown_credential(call: &Call) -> Reply {
    let bad_request = StatusCode::BAD_REQUEST;
    let refusal = match call.header(header::AUTHORIZATION).map(str::trim) {
        None | Some("" | "Bearer") => {
            let words = "Missing X-Auth-Key, X-Auth-Email or Authorization headers";
            Refusal::new(bad_request, 9106, words)
        }
        Some(_) if call.bearer().is_none() => {
            Refusal::new(bad_request, 6003, "Invalid request headers")
                .because(6111, "Invalid format for Authorization header")
        }
        Some(_) => Refusal::new(StatusCode::FORBIDDEN, 9109, "Invalid access token"),
    };
    refusal.reply()
}

/// Adds the two budget headers, and `retry-after` to a 429.
pub(crate) fn show_budget(usage: &Usage, clock: &Clock, reply: &mut Reply) {
    let Usage { limit, remaining, window, reset, .. } = usage;
    let left = clock::whole_seconds(reset.saturating_duration_since(clock.now()));
    let window = clock::whole_seconds(*window);
    let name = HeaderName::from_static("ratelimit");
    reply.set(name, &format!("\"default\";r={remaining};t={left}"));
    let name = HeaderName::from_static("ratelimit-policy");
    reply.set(name, &format!("\"default\";q={limit};w={window}"));
    let limited = reply.status == StatusCode::TOO_MANY_REQUESTS;
    if limited && !reply.headers.contains_key(header::RETRY_AFTER) {
        reply.set(header::RETRY_AFTER, &left.max(1).to_string());
    }
}
