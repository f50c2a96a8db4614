//! Cloudflare's API v4: zones and their DNS records, one by one and in batches.
//!
//! What is not emulated is answered with 501, never with a guess. Where the vendor's behaviour is not known for sure
//! the code says "not verified".

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

/// What an endpoint gives: an answer, or a reason why not.
type Answer = Result<Reply, Refusal>;

/// Carries out a call.
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

/// An error as Cloudflare words it.
pub(crate) fn error(status: StatusCode, message: Option<&str>) -> Reply {
    Refusal::usual(status, message).reply()
}

/// No token, something that is no token, or one that is not good.
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

/// The two budget headers, and how long to wait where there is nothing left.
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
